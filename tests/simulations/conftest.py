"""What is simulated is held against whole peers, those of gsg's tests."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gsg"))
