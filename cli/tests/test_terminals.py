"""The command for terminals: the keys that hang up, and a host without a shell that says so."""

import os
import pty
import subprocess
import sys
from typing import Any

import pytest

from gpuaas_cli.raw_terminal import Escape
from gpuaas_sdk import NewAllocation
from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer


@pytest.mark.parametrize(
    ("typed", "sent", "hangs_up"),
    [
        ([b"~."], b"", True),
        ([b"ls\r~", b"."], b"ls\r", True),
        ([b"cd ~. \r"], b"cd ~. \r", False),
        ([b"~~x"], b"~x", False),
        ([b"~x~."], b"~x~.", False),
        ([b"a\r~~.", b"\r", b"~."], b"a\r~.\r", True),
    ],
)
def test_a_tilde_and_a_dot_at_a_lines_beginning_hang_up(typed: list[bytes], sent: bytes, hangs_up: bool) -> None:
    escape = Escape()
    passed = [escape.filter_keys(keys) for keys in typed]
    assert (b"".join(keys for keys, _ in passed), passed[-1][1]) == (sent, hangs_up)


def test_a_host_without_a_shell_says_so_and_leaves_the_terminal_as_it_was(server: RunningServer) -> None:
    sandbox = Sandbox.create(server)
    sandbox.offer()
    with sandbox.simulated_fleet(1):
        made = sandbox.admin.allocations.create(sandbox.project_id, NewAllocation(sku="h100-slice", gpu_count=1))[0]
        list(sandbox.admin.allocations.follow(sandbox.project_id, [made.id], 60.0))
        environment = os.environ | {"GPUAAS_URL": server.url, "GPUAAS_TOKEN": sandbox.bearer("project_admin")}
        ran = on_a_terminal(["allocations", "terminal", made.id, "--project", sandbox.project_id], environment)
        assert ran.returncode == 1
        assert "A simulated host has no shell (terminal_not_offered)." in ran.stderr
        [listed] = sandbox.admin.terminals.list(sandbox.project_id, made.id)
        assert (listed.status, listed.reason) == ("ended", "not_opened")


def on_a_terminal(arguments: list[str], environment: Any) -> "subprocess.CompletedProcess[str]":
    master, slave = pty.openpty()
    try:
        command = [sys.executable, "-m", "gpuaas_cli", *arguments]
        return subprocess.run(
            command,
            stdin=slave,
            capture_output=True,
            env=environment,
            text=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(master)
        os.close(slave)
