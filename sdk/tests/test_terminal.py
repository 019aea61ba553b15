"""The terminal stream without a platform."""

import socket
import threading

import pytest

from gpuaas_sdk import Client, Terminal, Unreachable
from gpuaas_sdk.terminal import TerminalStream

TERMINAL = Terminal(id="trm_1", stream="/api/v1/stream")


def hang_up(listener: socket.socket) -> None:
    listener.accept()[0].close()


def opened(port: int) -> TerminalStream:
    with Client(f"http://127.0.0.1:{port}", token="gat_secret") as client:
        return TerminalStream(client, TERMINAL)


@pytest.mark.parametrize("answers", [False, True], ids=["nobody is there", "it ends before it has answered"])
def test_an_unavailable_server_is_an_error_with_a_next_step(answers: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        if answers:
            threading.Thread(target=hang_up, args=(listener,), daemon=True).start()
        else:
            listener.close()
        with pytest.raises(Unreachable) as away:
            opened(port)
    assert (away.value.code, away.value.retryable) == ("unreachable", True)
    assert away.value.next_step


def test_the_token_is_not_in_the_repr_of_a_target() -> None:
    with Client("http://127.0.0.1:1", token="gat_secret") as client:
        target = client.websocket_target(TERMINAL)
    assert "gat_secret" in str(target.headers)
    assert "gat_secret" not in repr(target)
