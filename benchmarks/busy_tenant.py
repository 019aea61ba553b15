"""A tenant that uses all its limits in parallel: `python -m benchmarks.busy_tenant`, order on stdin, until it is stopped.

It uploads, checks and deletes blobs, creates and releases allocations, reads event streams and signs in, each as fast as
the platform allows. A request that a limit refuses is retried after a pause.
"""

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gpuaas_sdk import Client, GpuaasError, NewAllocation, PasswordCredentials
from gpuaas_sdk.signatures import digest_of

REFUSED_PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class BusyOrder:
    url: str
    email: str
    password: str
    project_id: str
    blob_bytes: int
    uploads: int
    cycles: int
    streams: int


class BusyTenant:
    def __init__(self, order: BusyOrder) -> None:
        self._order = order
        self._credentials = PasswordCredentials(order.email, order.password)

    def run(self) -> None:
        order = self._order
        wanted = ((self.upload, order.uploads), (self.cycle, order.cycles), (self.read_events, order.streams))
        for work, count in (*wanted, (self.sign_in, 1)):
            for _ in range(count):
                threading.Thread(target=self._repeat, args=(work,), daemon=True).start()
        print("busy", flush=True)
        sys.stdin.read()

    def _repeat(self, work: Callable[[Client], None]) -> None:
        with Client(self._order.url, credentials=self._credentials) as client:
            while True:
                try:
                    work(client)
                except GpuaasError:
                    time.sleep(REFUSED_PAUSE)

    def upload(self, client: Client) -> None:
        project_id, size = self._order.project_id, self._order.blob_bytes
        with tempfile.NamedTemporaryFile() as file:
            file.write(os.urandom(1 << 16))
            file.truncate(size)  # a hole: the client's disk would be another one than the database's
            file.flush()
            source = Path(file.name)
            intent = client.publish_intents.create(project_id, "blob", "busy", size_bytes=size)
            client.publish_intents.upload(intent, source)
            client.publish_intents.complete(project_id, intent.id, digest_of(source))
        made = client.publish_intents.wait_until_checked(project_id, intent.id, 120.0).artifact_id
        if made is not None:
            client.artifacts.delete(project_id, made)

    def cycle(self, client: Client) -> None:
        project_id = self._order.project_id
        made = client.allocations.create(project_id, NewAllocation(sku="h100-slice", gpu_count=1))[0]
        list(client.allocations.follow(project_id, [made.id], 120.0))
        client.allocations.release(project_id, made.id)
        list(client.allocations.follow(project_id, [made.id], 120.0))

    def read_events(self, client: Client) -> None:
        for _ in client.events.watch(self._order.project_id):
            pass

    def sign_in(self, client: Client) -> None:
        client.sign_in(self._credentials)


def take_lowest_priority() -> None:
    """A client is elsewhere: it must not take the processor from the server that is measured."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with suppress(OSError):  # where the kernel weighs whole sessions, priorities count only within one
        Path("/proc/self/autogroup").write_text("19")


if __name__ == "__main__":
    take_lowest_priority()
    with suppress(KeyboardInterrupt):
        BusyTenant(BusyOrder(**json.loads(sys.stdin.readline()))).run()
