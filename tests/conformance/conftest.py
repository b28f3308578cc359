"""The naive evaluator of rete's tests is the first judge here too, and the simulated peers of gsg's are judged as well."""

import sys
from pathlib import Path

for folder in ("rete", "gsg"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))
