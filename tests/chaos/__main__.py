"""`python -m chaos --seed 11 --seconds 90`, in the folder tests: one run, its table, and 1 when anything is violated."""

import argparse
import asyncio
import random
import sys
from pathlib import Path

from chaos.run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument(
        "--seed", type=int, default=random.randrange(1_000_000), help="the same seed gives the same attacks"
    )
    parser.add_argument("--seconds", type=float, default=90.0, help="duration of the attacks")
    parser.add_argument("--history", type=Path, help="write every request and answer to this file, one per line")
    arguments = parser.parse_args()
    return 1 if asyncio.run(run(arguments.seed, arguments.seconds, keep=arguments.history)).violated else 0


if __name__ == "__main__":
    sys.exit(main())
