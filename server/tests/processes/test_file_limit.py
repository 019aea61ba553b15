"""An api that is started under a small limit of open files: it raises the limit, shares it out, and refuses what is beyond."""

import resource
import shutil
import socket
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from gpuaas_sdk.testing import free_port
from tests_support.server_processes import ServerProcess, running, until

SOFT, HARD = 1024, 1100
SHARE = HARD - 256 - 2 * 8  # what files and the database's connections leave
PRLIMIT = shutil.which("prlimit")
SIGN_IN = b"POST /api/v1/auth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
# In the middle of its body, so that it does not make room for another one.
UNFINISHED = SIGN_IN + b"Content-Length: 9\r\n\r\n{"


@pytest.mark.skipif(PRLIMIT is None, reason="prlimit of util-linux starts a program under other limits")
def test_a_soft_limit_of_1024_files_is_raised_and_connections_beyond_it_are_refused_with_a_reason(
    tmp_path: Path, fresh_database_url: str
) -> None:
    settings = {"database_url": fresh_database_url, "body_seconds": "600", "idle_seconds": "600"}
    under = [str(PRLIMIT), f"--nofile={SOFT}:{HARD}"]
    with running("api", tmp_path, free_port(), under=under, **settings) as api:
        until(api.is_ready, "readiness")
        assert resource.prlimit(api.process.pid, resource.RLIMIT_NOFILE) == (HARD, HARD)
        [warned] = [line for line in api.lines() if line["message"] == "the file limit allows fewer connections"]
        assert (warned["wanted"], warned["possible"]) == (16_384, SHARE)
        assert metric(api, "gpuaas_connection_limit") == SHARE
        with ExitStack() as stack:
            for _ in range(SHARE):
                stack.enter_context(closing(unfinished_request(api)))
            refused = until(lambda: refusal(api), "a refusal")
            assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
            assert refused.json()["detail"] == "This api process has as many connections as it can serve."
            assert refused.headers["Retry-After"]
        until(api.is_ready, "readiness, when there is room again")
        assert metric(api, 'gpuaas_connections_refused_total{reason="full"}') > 0
        assert metric(api, 'gpuaas_connections_refused_total{reason="out_of_files"}') == 0


def unfinished_request(api: ServerProcess) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", int(api.url.rpartition(":")[2])), 120)
    connection.sendall(UNFINISHED)
    return connection


def refusal(api: ServerProcess) -> httpx.Response | None:
    """Ask once more. The api may not have got as far as the last connections before this one."""
    answer = api.answer("/healthz")
    return None if answer is None or answer.status_code == 200 else answer


def metric(api: ServerProcess, name: str) -> float:
    answer = api.answer("/metrics")
    assert answer is not None
    values = [line.rpartition(" ")[2] for line in answer.text.splitlines() if line.startswith(f"{name} ")]
    return float(values[0]) if values else 0.0
