"""`make demo` and `make up`. Ctrl-C ends them without a traceback from the first moment, while their modules still load."""

import signal
import sys
from types import FrameType

from gpuaas_lab.errors import LabError


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGINT):  # also SIGINT: a shell ignores it for background jobs
        signal.signal(number, _interrupt)
    try:
        from gpuaas_lab.demo.run import main

        sys.exit(main())
    except LabError as error:
        print(f"gpuaas demo: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:  # before the fleet was started, or after it was removed
        print("Interrupted; nothing of it runs.", file=sys.stderr)
        sys.exit(0 if "--stay" in sys.argv else 130)
