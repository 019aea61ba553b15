"""Benchmarks: each figure is a ratio against a peer, or a measure against a limit, taken in one run on one machine."""

import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
if str(REPOSITORY / "tests") not in sys.path:
    sys.path.insert(0, str(REPOSITORY / "tests"))  # system_support is shared with the whole-system tests
