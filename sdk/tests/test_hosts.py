"""Connections to hosts, against real SSH servers in this process: authentication both ways, and what arrives."""

import asyncio
import os
import shlex
import signal
import subprocess
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from subprocess import PIPE
from typing import IO

import asyncssh
import pytest

from gpuaas_sdk import MachineAccess, SshCertificate, SshTarget, UnreachableAllocation
from gpuaas_sdk.controller import CommandFailed, Failed, HostUnreachable
from gpuaas_sdk.controller.connections import HostConnections
from gpuaas_sdk.controller.lease import Lease

ALLOCATION = "alc_one"


@dataclass
class Authority:
    """The platform's two CAs, and the answer of its machine-access call."""

    hosts: asyncssh.SSHKey
    users: asyncssh.SSHKey
    port: int = 0
    asked: int = 0
    life: timedelta = timedelta(minutes=60)

    async def request_machine_access(self, public_key: str) -> MachineAccess:
        self.asked += 1
        key = asyncssh.import_public_key(public_key)
        signed = self.users.generate_user_certificate(key, "operation", principals=[ALLOCATION])
        certificate = SshCertificate(
            certificate=signed.export_certificate("openssh").decode().strip(),
            ssh=SshTarget(address="127.0.0.1", port=self.port, user="gpu"),
            principal=ALLOCATION,
            host_ca_keys=[self.hosts.export_public_key("openssh").decode().strip()],
        )
        gone = UnreachableAllocation(allocation_id="alc_two", state="released")
        until = datetime.now(UTC) + self.life
        return MachineAccess(operation_id="op", valid_before=until, certificates=[certificate], unreachable=[gone])

    def connect(self) -> HostConnections:
        lease: Lease = self  # type: ignore[assignment]  # connections use only this call of a lease
        return HostConnections(lease, {"GPUAAS_INSTANCE": "ins_one"})


@pytest.fixture
def authority() -> Authority:
    return Authority(asyncssh.generate_private_key("ssh-ed25519"), asyncssh.generate_private_key("ssh-ed25519"))


async def feed(said: "asyncssh.SSHReader[bytes]", child: subprocess.Popen[bytes]) -> None:
    while word := await said.read(1 << 16):
        os.write(child.stdin.fileno(), word) if child.stdin else None
    child.stdin.close() if child.stdin else None


async def carry(source: IO[bytes] | None, sink: "asyncssh.SSHWriter[bytes]") -> None:
    """Copies to the end: the last words of a child must not be lost. If nobody listens any more, the child learns it."""
    while source and (word := await asyncio.to_thread(os.read, source.fileno(), 1 << 16)):
        try:
            sink.write(word)
            await sink.drain()
        except OSError:
            source.close()
            return


@asynccontextmanager
async def host(authority: Authority, certified_for: str | None) -> AsyncIterator[list[str]]:
    """An SSH server that runs each command with this machine's own shell, and keeps the list of commands."""
    commands: list[str] = []
    running: dict[asyncio.Task[None], subprocess.Popen[bytes]] = {}

    async def serve(process: asyncssh.SSHServerProcess[bytes]) -> None:
        commands.append(process.command or "")
        words = ["sh", "-c", process.command or ""]
        done = await asyncio.to_thread(
            subprocess.Popen, words, bufsize=0, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
        if (mine := asyncio.current_task()) is not None:
            running[mine] = done
        fed = asyncio.create_task(feed(process.stdin, done))
        await asyncio.gather(carry(done.stdout, process.stdout), carry(done.stderr, process.stderr))
        fed.cancel()
        process.exit(await asyncio.to_thread(done.wait))
        await process.wait_closed()

    class Server(asyncssh.SSHServer):
        def validate_ca_key(self, username: str, key: asyncssh.SSHKey) -> bool:
            return key.public_data == authority.users.public_data

        def public_key_auth_supported(self) -> bool:
            return True

    own = asyncssh.generate_private_key("ssh-ed25519")
    certificates = []
    if certified_for is not None:
        certificates = [authority.hosts.generate_host_certificate(own, "host", principals=[certified_for])]
    listener = await asyncssh.create_server(
        Server,
        "127.0.0.1",
        0,
        server_host_keys=[own],
        server_host_certs=certificates,
        process_factory=serve,
        encoding=None,
        authorized_client_keys=asyncssh.import_authorized_keys(
            f'cert-authority,principals="{ALLOCATION}" {authority.users.export_public_key("openssh").decode()}'
        ),
    )
    authority.port = listener.get_port()
    try:
        yield commands
    finally:
        listener.close()
        for child in running.values():
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)  # with its children, which hold its output open
        if running:
            await asyncio.wait(running, timeout=10)


async def test_an_argument_list_arrives_as_it_is_whatever_is_in_it(authority: Authority) -> None:
    words = ["printf", "%s|", "a b", "$HOME", "`id`", "'", '"', "; false", "*", ""]
    async with host(authority, ALLOCATION) as commands:
        connections = authority.connect()
        result = await (await connections.get_host(ALLOCATION)).run(words)
        await connections.close()
    assert result.out == "".join(f"{word}|" for word in words[2:])
    assert shlex.split(commands[0]) == ["env", "GPUAAS_INSTANCE=ins_one", *words]


async def test_commands_carry_the_mark_of_their_instance_also_as_root(authority: Authority) -> None:
    async with host(authority, ALLOCATION) as commands:
        connections = authority.connect()
        machine = await connections.get_host(ALLOCATION)
        assert (await machine.run(["sh", "-c", "echo $GPUAAS_INSTANCE"])).out == "ins_one\n"
        await machine.sudo(["true"], check=False)
        await connections.close()
    assert shlex.split(commands[1]) == ["sudo", "-n", "--", "env", "GPUAAS_INSTANCE=ins_one", "true"]


async def test_an_error_status_is_an_error_unless_it_is_expected(authority: Authority) -> None:
    async with host(authority, ALLOCATION):
        connections = authority.connect()
        machine = await connections.get_host(ALLOCATION)
        assert (await machine.run(["sh", "-c", "exit 3"], check=False)).status == 3
        with pytest.raises(CommandFailed, match="ended with 1"):
            await machine.run(["cat", "/nowhere/at/all"], stdin="hunter2")
        assert (await machine.run(["cat"], stdin="hunter2")).out == "hunter2"
        assert (await machine.run(["cat"], timeout=5)).out == ""  # it gets end-of-file
        await connections.close()


COUNTS = ["sh", "-c", 'while read -r word; do echo "$$ $word"; done']  # answers with its process id and the line


@pytest.fixture
def sudo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for sudo that runs the command as the user who runs the tests."""
    (tmp_path / "sudo").write_text('#!/bin/sh\nshift 2\nexec "$@"\n')
    (tmp_path / "sudo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")


@pytest.mark.usefixtures("sudo")
async def test_a_program_that_stays_is_started_once_and_is_gone_when_the_host_is_closed(authority: Authority) -> None:
    async with host(authority, ALLOCATION) as commands:
        connections = authority.connect()
        machine = await connections.get_host(ALLOCATION)
        answers = [(await machine.request(COUNTS, word)).split() for word in ("one", "two", "three")]
        assert [word for _, word in answers] == ["one", "two", "three"]
        [pid] = {who for who, _ in answers}
        await connections.close()
        assert pid not in os.listdir("/proc")
    assert len(commands) == 1


@pytest.mark.usefixtures("sudo")
async def test_a_busy_program_does_not_block_other_requests(authority: Authority) -> None:
    slow = ["sh", "-c", 'while read -r word; do sleep "$word"; echo "$$"; done']
    async with host(authority, ALLOCATION):
        connections = authority.connect()
        machine = await connections.get_host(ALLOCATION)
        busy = asyncio.create_task(machine.request(slow, "30"))
        first = await machine.request(slow, "0", timeout=10)
        assert await machine.request(slow, "0", timeout=10) == first
        assert not busy.done()
        busy.cancel()
        await connections.close()


@pytest.mark.usefixtures("sudo")
async def test_a_program_that_timed_out_is_not_used_again(authority: Authority) -> None:
    slow = ["sh", "-c", 'while read -r word; do sleep "$word"; echo "$word"; done']
    async with host(authority, ALLOCATION) as commands:
        connections = authority.connect()
        machine = await connections.get_host(ALLOCATION)
        assert await machine.request(slow, "0") == "0\n"  # the program is running: only its next answer is late
        with pytest.raises(TimeoutError):
            await machine.request(slow, "30", timeout=0.3)
        assert await machine.request(slow, "0") == "0\n"
        await connections.close()
    assert len(commands) == 2


@pytest.mark.usefixtures("sudo")
async def test_a_program_that_ends_without_an_answer_fails_with_its_status(authority: Authority) -> None:
    async with host(authority, ALLOCATION):
        connections = authority.connect()
        with pytest.raises(CommandFailed, match="ended with 3: no more"):
            await (await connections.get_host(ALLOCATION)).request(
                ["sh", "-c", "read -r word; echo no more >&2; exit 3"], "one"
            )
        await connections.close()


ENDLESS = "head -c 1073741824 /dev/zero | tr '\\0' x"  # 1 GiB without a newline


@pytest.mark.usefixtures("sudo")
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_a_host_that_sends_without_end_gets_a_failure_and_no_memory(authority: Authority, stream: str) -> None:
    flood = ["sh", "-c", f"{ENDLESS}{' >&2' if stream == 'stderr' else ''}"]
    async with host(authority, ALLOCATION):
        connections = authority.connect()
        machine = await connections.get_host(ALLOCATION)
        await machine.run(["true"])
        tracemalloc.start()
        try:
            for call in (machine.run(flood), machine.sudo(flood, stdin="words", check=False)):
                with pytest.raises(Failed) as refused:
                    await call
                assert refused.value.failure.code == "host_output_too_large"
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert (await machine.run(["echo", "still there"])).out == "still there\n"  # the connection is of use
        await connections.close()
    assert most < 128 << 20  # of 2 GiB


@pytest.mark.usefixtures("sudo")
async def test_an_answer_without_end_is_refused_and_its_program_not_used_again(authority: Authority) -> None:
    answers = ["sh", "-c", f'read -r word; [ "$word" = flood ] && {ENDLESS}; echo "$word"; read -r word']
    async with host(authority, ALLOCATION) as commands:
        connections = authority.connect()
        machine = await connections.get_host(ALLOCATION)
        tracemalloc.start()
        try:
            with pytest.raises(Failed) as refused:
                await machine.request(answers, "flood")
            most = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert refused.value.failure.code == "host_output_too_large"
        assert await machine.request(answers, "one") == "one\n"
        await connections.close()
    assert len(commands) == 2
    assert most < 64 << 20


@pytest.mark.usefixtures("sudo")
async def test_an_answer_of_a_megabyte_and_one_in_no_encoding_arrive(authority: Authority) -> None:
    large = ["sh", "-c", "read -r word; head -c 1000000 /dev/zero | tr '\\0' x; echo"]
    async with host(authority, ALLOCATION):
        connections = authority.connect()
        machine = await connections.get_host(ALLOCATION)
        assert len(await machine.request(large, "one")) == 1_000_001
        assert (await machine.run(["printf", "\\377ok"])).out == "\ufffdok"
        await connections.close()


@pytest.mark.parametrize("certified_for", [None, "alc_other"], ids=["a bare key", "another allocation's certificate"])
async def test_a_host_without_a_valid_certificate_gets_no_command(
    authority: Authority, certified_for: str | None
) -> None:
    async with host(authority, certified_for) as commands:
        connections = authority.connect()
        machine = await connections.get_host(ALLOCATION)
        with pytest.raises(HostUnreachable):
            await machine.run(["true"])
        await connections.close()
    assert commands == []


async def test_a_host_that_is_silent_is_unreachable_and_a_program_that_does_not_end_is_not(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuaas_sdk.controller.connections.LOGIN_SECONDS", 0.2)
    silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
    authority.port = silent.sockets[0].getsockname()[1]
    with pytest.raises(HostUnreachable):
        await (await authority.connect().get_host(ALLOCATION)).run(["true"])
    silent.close()
    monkeypatch.undo()
    async with host(authority, ALLOCATION):
        connections = authority.connect()
        with pytest.raises(TimeoutError):
            await (await connections.get_host(ALLOCATION)).run(["sleep", "5"], timeout=0.5)
        await connections.close()


async def test_certificates_are_asked_for_once_and_again_when_they_are_about_to_end(authority: Authority) -> None:
    async with host(authority, ALLOCATION):
        connections = authority.connect()
        for _ in range(2):
            await (await connections.get_host(ALLOCATION)).run(["true"])
        assert authority.asked == 1
        authority.life = timedelta(minutes=1)
        short = authority.connect()
        await (await short.get_host(ALLOCATION)).run(["true"])
        assert authority.asked > 2
        await connections.close()
        await short.close()


async def test_there_is_no_access_to_an_allocation_that_ended_or_is_not_in_the_operation(
    authority: Authority,
) -> None:
    connections = authority.connect()
    for allocation, why in (("alc_two", "released"), ("alc_stranger", "it does not belong to this operation")):
        with pytest.raises(Failed, match=why):
            await connections.get_host(allocation)


def test_the_key_of_an_operation_is_its_own(authority: Authority) -> None:
    public: Callable[[HostConnections], bytes] = lambda connections: connections._key.export_public_key()  # noqa: E731
    assert public(authority.connect()) != public(authority.connect())


@pytest.mark.parametrize(("refusals", "reached"), [(2, True), (1000, False)], ids=["for a moment", "for good"])
async def test_a_host_that_refuses_connections_for_a_moment_is_reached(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, refusals: int, reached: bool
) -> None:
    monkeypatch.setattr("gpuaas_sdk.controller.hosts.REFUSAL_PAUSE", 0.01)
    left = [ConnectionRefusedError()] * refusals
    async with host(authority, ALLOCATION):
        connections = authority.connect()
        machine = await connections.get_host(ALLOCATION)
        connect = machine._connect

        async def refused_first() -> asyncssh.SSHClientConnection:
            if left:
                raise left.pop()
            return await connect()

        monkeypatch.setattr(machine, "_connect", refused_first)
        if reached:
            assert (await machine.run(["true"])).ok
        else:
            with pytest.raises(HostUnreachable):
                await machine.run(["true"])
        await connections.close()
