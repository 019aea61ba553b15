"""A tenant that uses all its limits in parallel: `python -m benchmarks.busy_tenant`, order on stdin, until it is stopped.

It uploads, checks and deletes blobs, creates and releases allocations, asks for certificates and grants of SSH and takes the
grants back, and signs in, each as fast as the platform allows. A request that a limit refuses is retried after a pause.
`busy_streams` holds its streams, `load` sends its reads.
"""

import json
import os
import secrets
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_sdk import Client, GpuaasError, NewAllocation, NewSshGrant, PasswordCredentials
from gpuaas_sdk.signatures import digest_of

TIMEOUT = 120.0
REFUSED_PAUSE = 0.1


@dataclass(frozen=True, slots=True)
class BusyOrder:
    """How much it does at once."""

    url: str
    token: str
    email: str
    password: str
    project_ids: list[str]
    blob_bytes: int
    uploads: int
    cycles: int
    accesses: int


class BusyTenant:
    def __init__(self, order: BusyOrder) -> None:
        self._order = order
        self._projects = cycle(order.project_ids)
        self._turn = threading.Lock()

    def run(self) -> None:
        order = self._order
        wanted = ((self.upload, order.uploads), (self.cycle, order.cycles), (self.use_access, order.accesses))
        for work, count in (*wanted, (self.sign_in, 1)):
            for _ in range(count):
                threading.Thread(target=self._repeat, args=(work,), daemon=True).start()
        print("busy", flush=True)
        sys.stdin.read()

    def _repeat(self, work: Callable[[Client, str], None]) -> None:
        with self._turn:
            project_id = next(self._projects)
        with Client(self._order.url, token=self._order.token) as client:
            while True:
                try:
                    work(client, project_id)
                except GpuaasError:
                    time.sleep(REFUSED_PAUSE)

    def upload(self, client: Client, project_id: str) -> None:
        size = self._order.blob_bytes
        with tempfile.NamedTemporaryFile() as file:
            file.write(os.urandom(1 << 16))
            file.truncate(size)  # a hole: the client's disk would be another one than the database's
            file.flush()
            source = Path(file.name)
            intent = client.publish_intents.create(project_id, "blob", f"busy-{secrets.token_hex(4)}", size_bytes=size)
            client.publish_intents.upload(intent, source)
            client.publish_intents.complete(project_id, intent.id, digest_of(source))
        made = client.publish_intents.wait_until_checked(project_id, intent.id, TIMEOUT).artifact_id
        if made is not None:
            client.artifacts.delete(project_id, made)

    def cycle(self, client: Client, project_id: str) -> None:
        with _allocated(client, project_id):
            pass

    def use_access(self, client: Client, project_id: str) -> None:
        with _allocated(client, project_id) as allocation_id:
            with suppress(GpuaasError):  # refused, after its retries: another allocation
                while True:
                    client.ssh_access.create_certificate(project_id, allocation_id, new_public_key())
                    wanted = NewSshGrant(expires_at=datetime.now(UTC) + timedelta(hours=1), public_key=new_public_key())
                    grant = client.ssh_access.create_grant(project_id, allocation_id, wanted)
                    client.ssh_access.delete_grant(project_id, allocation_id, grant.id)

    def sign_in(self, client: Client, _: str) -> None:
        client.sign_in(PasswordCredentials(self._order.email, self._order.password))


@contextmanager
def _allocated(client: Client, project_id: str) -> Iterator[str]:
    """Yield an active allocation of one GPU; it is released, and proven clean, after the block."""
    made = client.allocations.create(project_id, NewAllocation(sku="h100-slice", gpu_count=1))[0]
    try:
        list(client.allocations.follow(project_id, [made.id], TIMEOUT))
        yield made.id
    finally:
        client.allocations.release(project_id, made.id)
        list(client.allocations.follow(project_id, [made.id], TIMEOUT))


def new_public_key() -> str:
    key = Ed25519PrivateKey.generate().public_key()
    return key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()


def take_lowest_priority() -> None:
    """A client is elsewhere: it must not take the processor from the server that is measured."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with suppress(OSError):  # where the kernel weighs whole sessions, priorities count only within one
        Path("/proc/self/autogroup").write_text("19")


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        BusyTenant(BusyOrder(**json.loads(sys.stdin.readline()))).run()
