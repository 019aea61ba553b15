"""A host of an operation, reached over SSH. Commands are argument lists; nothing is ever interpreted by a shell."""

import asyncio
import contextlib
import posixpath
import secrets
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import asyncssh

from gpuaas_sdk.controller.failures import CommandFailed, HostUnreachable
from gpuaas_sdk.controller.host_installer import HostInstaller
from gpuaas_sdk.controller.host_output import read_output
from gpuaas_sdk.controller.process_pool import CLOSE_SECONDS, RemoteProcessPool

COMMAND_SECONDS = 60.0
MAX_REFUSALS = 20  # after that many refused connections, no SSH server listens there
REFUSAL_PAUSE = 0.2  # seconds
Connect = Callable[[], Awaitable[asyncssh.SSHClientConnection]]


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Says how a command on a host ended: its exit status and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def ok(self) -> bool:
        """Tell whether the command ended with status 0."""
        return self.status == 0


def instance_environment(instance_id: str) -> dict[str, str]:
    """Return the variable by which the platform's teardown check finds processes that no unit and no name identifies."""
    return {"GPUAAS_INSTANCE": instance_id}


class Host(HostInstaller):
    """A host of the operation, reached over SSH. The other hosts of the instance reach it at `address`."""

    def __init__(self, address: str, connect: Connect, environment: Mapping[str, str]) -> None:
        super().__init__(address, environment)
        self._connect = connect
        # Set by `env`: SSH servers rarely accept variables from clients, and sudo drops them.
        self._env = ["env", *(f"{name}={value}" for name, value in environment.items())]
        self._connection: asyncssh.SSHClientConnection | None = None
        self._lock = asyncio.Lock()
        self._processes = RemoteProcessPool(address)

    async def run(
        self, argv: Sequence[str], *, check: bool = True, stdin: str | None = None, timeout: float = COMMAND_SECONDS
    ) -> CommandResult:
        """Run a program as the login user. With `check`, an error status raises `CommandFailed`."""
        return self._checked(argv, await self._run([*self._env, *argv], stdin, timeout), check)

    async def sudo(
        self, argv: Sequence[str], *, check: bool = True, stdin: str | None = None, timeout: float = COMMAND_SECONDS
    ) -> CommandResult:
        """Run a program as root. With `check`, an error status raises `CommandFailed`."""
        return self._checked(argv, await self._run([*self._as_root, *argv], stdin, timeout), check)

    async def request(self, argv: Sequence[str], line: str, *, timeout: float = COMMAND_SECONDS) -> str:
        """Send a line to a program that runs as root and answers each line with one; return its answer. The first request
        starts the program, and it stays until this host is closed.
        """
        connection = await self._connected()
        return await self._processes.request(connection, [*self._as_root, *argv], line, timeout)

    @property
    def _as_root(self) -> list[str]:
        return ["sudo", "-n", "--", *self._env]

    async def _run(self, words: Sequence[str], stdin: str | None, timeout: float) -> CommandResult:
        connection = await self._connected()
        try:
            async with asyncio.timeout(timeout):
                return await self._run_to_end(connection, shlex.join(map(str, words)), stdin)
        except TimeoutError:  # the host answers; the program is slow
            raise
        except (OSError, asyncssh.Error) as error:
            raise HostUnreachable(self.address, type(error).__name__) from error

    async def _run_to_end(
        self, connection: asyncssh.SSHClientConnection, command: str, stdin: str | None
    ) -> CommandResult:
        process = await connection.create_process(command, encoding=None)
        try:
            if stdin:
                process.stdin.write(stdin.encode())
            process.stdin.write_eof()  # without input too: a program must not wait for a person
            out, err = await read_output(process, self.address)
        finally:
            process.close()
        status = -1 if process.exit_status is None else process.exit_status
        return CommandResult(status, out.decode(errors="replace"), err.decode(errors="replace"))

    def _checked(self, argv: Sequence[str], result: CommandResult, check: bool) -> CommandResult:
        if check and not result.ok:
            raise CommandFailed(self.address, [str(word) for word in argv], result.status, result.err or result.out)
        return result

    async def has_file(self, path: str, text: str, mode: int = 0o644) -> bool:
        """Tell whether the file exists with this content and mode."""
        content = await self.sudo(["cat", "--", path], check=False)
        stat = await self.sudo(["stat", "-c", "%a", "--", path], check=False)
        return content.ok and content.out == text and stat.out.strip() == f"{mode:o}"

    async def put_file(self, path: str, text: str, mode: int = 0o644) -> bool:
        """Write a file of root's atomically, without a record: `remove_all` leaves it. Use `put` for what the app installs.
        Returns False when it already had this content and mode.
        """
        if await self.has_file(path, text, mode):
            return False
        temporary = f"{posixpath.dirname(path)}/.{posixpath.basename(path)}.{secrets.token_hex(4)}"
        # The mode is set before the content is written: the content may be a secret.
        await self.sudo(["install", "-D", "-m", f"{mode:o}", "/dev/null", temporary])
        await self.sudo(["dd", f"of={temporary}", "status=none"], stdin=text)
        await self.sudo(["mv", "-T", "--", temporary, path])
        return True

    async def close(self) -> None:
        """End the connection. The framework does this when the operation ends."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await self._processes.close()
            connection.close()
            try:
                async with asyncio.timeout(CLOSE_SECONDS):
                    await connection.wait_closed()
            except TimeoutError:  # the host does not take what is left to send
                connection.abort()

    async def _connected(self) -> asyncssh.SSHClientConnection:
        async with self._lock:
            if self._connection is None or self._connection.is_closed():
                try:
                    self._connection = await self._connect_with_retries()
                except (OSError, asyncssh.Error) as error:
                    raise HostUnreachable(self.address, type(error).__name__) from error
            return self._connection

    async def _connect_with_retries(self) -> asyncssh.SSHClientConnection:
        """Connect, and try again for a moment: an SSH server that reloads its configuration refuses connections."""
        for _ in range(MAX_REFUSALS):
            with contextlib.suppress(ConnectionRefusedError):
                return await self._connect()
            await asyncio.sleep(REFUSAL_PAUSE)
        return await self._connect()
