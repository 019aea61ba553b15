"""Tests of the app that need no host; tests/test_echo_on_lab.py has the rest."""

import asyncio
import hashlib
import json
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import yaml

from gpuaas_echo import controller, workload
from gpuaas_sdk.controller import Context, Failed
from gpuaas_sdk.testing import RecordedHost, free_port

PACKAGE = Path(controller.__file__).parent
REPOSITORY = Path(__file__).parents[3]
MANIFEST = (PACKAGE / "manifest.yaml").read_text()


def test_the_manifest_names_the_program_beside_it() -> None:
    digest = hashlib.sha256((PACKAGE / "echod").read_bytes()).hexdigest()
    assert f"digest: sha256:{digest} " in MANIFEST


async def test_the_footprint_lists_everything_that_the_app_installs() -> None:
    host = RecordedHost()
    for role in workload.PORTS:
        await workload.install(host, host.artifact)
        await workload.start(host, role, "0.1.0", ["hello"])
    assert host.installed.missing_in(yaml.safe_load(MANIFEST)) == []
    assert host.installed.missing_in({}) != []


def test_the_whole_app_stays_under_three_hundred_lines() -> None:
    written = [path for path in PACKAGE.iterdir() if path.is_file()]
    assert sum(len(path.read_text().splitlines()) for path in written) < 300


def test_the_page_lists_the_handler_of_every_kind_of_operation() -> None:
    contract = json.loads((REPOSITORY / "contract/openapi.json").read_text())
    kinds = contract["components"]["schemas"]["Operation"]["properties"]["kind"]["enum"]
    rows = re.findall(r"^\| ([a-z ·]+) \|", (REPOSITORY / "apps/echo/README.md").read_text(), re.MULTILINE)
    listed = {kind for row in rows for kind in row.split(" · ")}
    assert set(kinds) <= listed, "add the kind to the table of handlers in apps/echo/README.md"


async def test_a_greeting_reaches_the_unit_as_the_text_that_it_is() -> None:
    host = RecordedHost()
    await workload.start(host, "relay", "0.1.0", ["50 % of $HOME", "10.0.0.1:7007"])
    text = str(host.requests[-1]["text"])
    assert 'ExecStart="/opt/echo/echod" "7008" "50 %% of $$HOME" "10.0.0.1:7007"\n' in text
    assert 'Environment="GPUAAS_INSTANCE=ins_test"\n' in text


@pytest.fixture
def ports() -> tuple[int, int]:
    return free_port(), free_port()


@asynccontextmanager
async def program(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(sys.executable, str(PACKAGE / "echod"), *arguments)
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def until(port: int, answers: bool) -> int | str:
    async with asyncio.timeout(10):
        while isinstance(answer := await controller.enquire_at("127.0.0.1", port), int) is not answers:
            await asyncio.sleep(0.05)
    return answer


async def test_a_relay_passes_lines_through_its_hub_and_takes_no_more_when_it_is_drained(
    ports: tuple[int, int],
) -> None:
    hub, relay = ports
    async with program(str(hub), "hub"), program(str(relay), "relay", f"127.0.0.1:{hub}") as process:
        await until(relay, answers=True)
        reader, writer = await asyncio.open_connection("127.0.0.1", relay)
        writer.write(b"one\n")
        assert await reader.readline() == b"relay hub one\n"
        process.send_signal(signal.SIGUSR1)
        assert "does not answer" in str(await until(relay, answers=False))
        writer.write(b"two\n")
        assert await reader.readline() == b"relay hub two\n"  # the open connection is still served
        writer.close()
        assert await controller.enquire_at("127.0.0.1", hub) == 2  # the enquiries themselves are not counted


async def test_what_does_not_echo_is_named_instead_of_counted() -> None:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readline())
        writer.close()

    async with await asyncio.start_server(say, "127.0.0.1", port := free_port()):
        assert await controller.enquire_at("127.0.0.1", port) == f"127.0.0.1:{port} does not echo"


async def test_a_relay_without_a_hub_is_told_apart() -> None:
    no_hub = SimpleNamespace(instance=SimpleNamespace(runtime=None), members_of=lambda _: [])
    with pytest.raises(Failed) as failed:
        await controller.hub_address(cast(Context, no_hub))
    assert failed.value.failure.code == "no_hub"
