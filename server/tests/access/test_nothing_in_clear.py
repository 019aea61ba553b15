"""A private key in custody is in clear nowhere: not in an answer, a log, an event, an audit row, a table, or OpenBao."""

import base64
import io
import logging
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_ssh_private_key

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.logs import JsonFormatter
from tests_support import agents, openbao, projects
from tests_support.projects import Project, Recipient


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Every line that the process writes, the talkative libraries' included."""
    written, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(written)
    handler.setFormatter(JsonFormatter())
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield written
    root.removeHandler(handler)
    root.setLevel(level)


def traces(private_key: bytes) -> set[bytes]:
    """What would give the key away: its file, each line of it, its seed; as text, hex and base64."""
    loaded = load_ssh_private_key(private_key, None)
    assert isinstance(loaded, Ed25519PrivateKey)
    seed = loaded.private_bytes_raw()
    lines = [line for line in private_key.splitlines() if line and b"PRIVATE KEY" not in line and len(line) > 60]
    found = {seed, seed.hex().encode(), base64.b64encode(seed).rstrip(b"=")}
    for part in (private_key, *lines[1:]):  # the first line of a file is the same for all keys
        found |= {part, part.hex().encode(), base64.b64encode(part)[:80]}
    return found


async def everything_stored(project: Project) -> bytes:
    tables = await project.sql("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")
    rows = []
    for table in tables:
        found = await project.sql(f'SELECT to_jsonb(t)::text AS row FROM "{table["name"]}" t')
        rows += [row["row"] for row in found]
    return "\n".join(rows).encode()


async def life_of_a_credential(project: Project, seen: list[bytes]) -> bytes:
    """Every verb, once well and once badly; the answer is the private key that was delivered."""

    async def keep(response: httpx.Response) -> None:
        await response.aread()
        seen.append(repr(response.headers).encode() + response.content)

    project.site.client.event_hooks["response"].append(keep)
    admin, recipient = project.site.admin, Recipient.new()
    made = await admin.post(project.credentials, {"name": "deploy", "kind": "ssh_key"})
    path = f"{project.credentials}/{made['id']}"
    await admin.post(f"{path}/rotate", {"overlap_minutes": 5})
    headers = {"Authorization": f"Bearer {admin.token}", "Idempotency-Key": "delivered-once"}
    for _ in range(2):
        given = await project.site.client.post(
            f"{path}/deliveries", json={"recipient_key": recipient.key}, headers=headers
        )
    await admin.call("POST", f"{path}/deliveries", {"recipient_key": base64.b64encode(bytes(32)).decode()})
    await admin.call("POST", project.credentials, {"name": "deploy", "kind": "ssh_key"})
    await admin.post("/secret-keys/rotate", {"reason": "a test"})
    for listing in (project.credentials, path, f"{path}/deliveries", "/secret-keys"):
        await admin.get(listing)
    await admin.get("/audit?limit=200")
    await admin.get(f"{project.path}/events?wait=0")
    return recipient.open(given.json()["sealed_private_key"])


@pytest.mark.parametrize("backend", ["builtin", "openbao"])
async def test_nothing_gives_the_private_key_away(
    platform: Platform, backend: str, log: io.StringIO, tmp_path: Path
) -> None:
    with openbao.running(tmp_path) as bao:
        if backend == "openbao":
            platform.settings = platform.settings.model_copy(update=bao.settings)
        async with agents.opened(platform) as site:
            await _inspect(await projects.furnished(site), log, bao)


async def _inspect(project: Project, log: io.StringIO, bao: openbao.RunningOpenBao) -> None:
    seen: list[bytes] = []
    private_key = await life_of_a_credential(project, seen)
    stored = await everything_stored(project)
    kept = b"".join(bao.ask("GET", f"secret/data/gpuaas/{name}").content for name in bao.kept())
    assert b"deploy" in stored
    assert any(b"access_credential.delivered" in answer for answer in seen)
    assert "/v1/transit/encrypt" in log.getvalue() or not kept  # the log does listen
    for where in (*seen, stored, kept, log.getvalue().encode()):
        assert [trace for trace in traces(private_key) if trace in where] == []


def test_the_search_would_find_a_key(tmp_path: Path) -> None:
    from gpuaas_server.access.credentials import new_key_pair

    clear, _ = new_key_pair()
    for form in (clear, clear.hex().encode(), base64.b64encode(clear)):
        assert any(trace in b"before " + form + b" after" for trace in traces(clear))
