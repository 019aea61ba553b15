"""An idle controller made with the SDK: says when an operation is in its hands, and does nothing else.

`python -m benchmarks.claimer SLUG`, with the environment of any controller; a line `operation time` for each.
"""

import sys
import time

from gpuaas_sdk.controller import AppController, Context, main


class Claimer(AppController):
    health_seconds = 3600.0

    def __init__(self, slug: str) -> None:
        self.slug = slug

    async def deploy(self, ctx: Context) -> None:
        sys.stdout.write(f"{ctx.operation.id} {time.time()}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Claimer(sys.argv[1]))
