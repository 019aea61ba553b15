"""A controller for the benchmark `controllers`: finds every member ready, and prints a line for each instance it checks.

`python -m benchmarks.health_reporter SLUG SECONDS`: the pause between two rounds of checks.
"""

import sys
import time

from gpuaas_sdk.controller import AppController, Health, InstanceSnapshot, main


class HealthReporter(AppController):
    def __init__(self, slug: str, pause: float) -> None:
        self.slug = slug
        self.health_seconds = pause

    async def health(self, snapshot: InstanceSnapshot) -> Health:
        health = Health()
        for member in snapshot.members:
            health.add_member(member, None)
        print(snapshot.instance.id, time.monotonic(), flush=True)
        return health


if __name__ == "__main__":
    main(HealthReporter(sys.argv[1], float(sys.argv[2])))
