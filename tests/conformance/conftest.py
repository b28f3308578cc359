"""The naive evaluator of rete's tests is the first judge here too."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "rete"))
