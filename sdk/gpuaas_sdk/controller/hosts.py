"""A machine of an operation, reached over SSH: argument lists in, output out. Nothing here is ever a shell's text."""

import asyncio
import contextlib
import posixpath
import secrets
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import asyncssh

from gpuaas_sdk.controller.attendants import Attendants
from gpuaas_sdk.controller.failures import CommandFailed, HostUnreachable

COMMAND_SECONDS = 60.0
REFUSALS = 20  # after as many, nobody listens there
REFUSAL_PAUSE = 0.2  # seconds
Connect = Callable[[], Awaitable[asyncssh.SSHClientConnection]]


@dataclass(frozen=True, slots=True)
class Ran:
    status: int
    out: str
    err: str

    @property
    def ok(self) -> bool:
        return self.status == 0


def mark_of(instance_id: str) -> dict[str, str]:
    """What the teardown's receipt looks for in the environment of processes that no unit and no name gives away."""
    return {"GPUAAS_INSTANCE": instance_id}


class Host:
    """`address` is where the other machines of the instance reach it; what is run there has `environment`."""

    def __init__(self, address: str, connect: Connect, environment: Mapping[str, str]) -> None:
        self.address = address
        self._connect = connect
        # By a program: servers take variables from clients only where they are told to, and sudo drops them.
        self._env = ["env", *(f"{name}={value}" for name, value in environment.items())]
        self._connection: asyncssh.SSHClientConnection | None = None
        self._lock = asyncio.Lock()
        self._attendants = Attendants(address)

    async def run(
        self, argv: Sequence[str], *, check: bool = True, stdin: str | None = None, timeout: float = COMMAND_SECONDS
    ) -> Ran:
        """Run a program as the login user. With `check`, an error status raises `CommandFailed`."""
        return self._checked(argv, await self._run([*self._env, *argv], stdin, timeout), check)

    async def sudo(
        self, argv: Sequence[str], *, check: bool = True, stdin: str | None = None, timeout: float = COMMAND_SECONDS
    ) -> Ran:
        """The same, as root."""
        return self._checked(argv, await self._run([*self._as_root, *argv], stdin, timeout), check)

    async def ask(self, argv: Sequence[str], line: str, *, timeout: float = COMMAND_SECONDS) -> str:
        """One line of a program that reads lines and answers each with one, as root. It is started when it is first asked,
        and stays until this way to the host is closed.
        """
        connection = await self._connected()
        return await self._attendants.ask(connection, [*self._as_root, *argv], line, timeout)

    @property
    def _as_root(self) -> list[str]:
        return ["sudo", "-n", "--", *self._env]

    async def _run(self, words: Sequence[str], stdin: str | None, timeout: float) -> Ran:
        connection = await self._connected()
        try:
            # Without input there is an end of input: a program that reads must not wait for a person who is not there.
            given = {"input": stdin} if stdin else {"stdin": asyncssh.DEVNULL}
            async with asyncio.timeout(timeout):
                done = await connection.run(shlex.join(map(str, words)), **given)
        except TimeoutError:  # the host is there, and the program takes its time
            raise
        except (OSError, asyncssh.Error) as error:
            raise HostUnreachable(self.address, type(error).__name__) from error
        return Ran(-1 if done.exit_status is None else done.exit_status, _text(done.stdout), _text(done.stderr))

    def _checked(self, argv: Sequence[str], ran: Ran, check: bool) -> Ran:
        if check and not ran.ok:
            raise CommandFailed(self.address, [str(word) for word in argv], ran.status, ran.err or ran.out)
        return ran

    async def has(self, path: str, text: str, mode: int = 0o644) -> bool:
        """Whether the file is there with this content and mode."""
        same = await self.sudo(["cat", "--", path], check=False)
        kept = await self.sudo(["stat", "-c", "%a", "--", path], check=False)
        return same.ok and same.out == text and kept.out.strip() == f"{mode:o}"

    async def put(self, path: str, text: str, mode: int = 0o644) -> bool:
        """A file of root's with this content, there in one moment or not at all. False: it was so already."""
        if await self.has(path, text, mode):
            return False
        beside = f"{posixpath.dirname(path)}/.{posixpath.basename(path)}.{secrets.token_hex(4)}"
        # Made with its mode before anything is in it: what is written may be for few eyes.
        await self.sudo(["install", "-D", "-m", f"{mode:o}", "/dev/null", beside])
        await self.sudo(["dd", f"of={beside}", "status=none"], stdin=text)
        await self.sudo(["mv", "-T", "--", beside, path])
        return True

    async def close(self) -> None:
        if self._connection is not None:
            await self._attendants.dismiss()
            self._connection.close()
            await self._connection.wait_closed()
            self._connection = None

    async def _connected(self) -> asyncssh.SSHClientConnection:
        async with self._lock:
            if self._connection is None or self._connection.is_closed():
                try:
                    self._connection = await self._connect_patiently()
                except (OSError, asyncssh.Error) as error:
                    raise HostUnreachable(self.address, type(error).__name__) from error
            return self._connection

    async def _connect_patiently(self) -> asyncssh.SSHClientConnection:
        """An SSH server that reads its configuration anew refuses connections for a moment."""
        for _ in range(REFUSALS):
            with contextlib.suppress(ConnectionRefusedError):
                return await self._connect()
            await asyncio.sleep(REFUSAL_PAUSE)
        return await self._connect()


def _text(output: str | bytes | None) -> str:
    return output.decode(errors="replace") if isinstance(output, bytes) else output or ""
