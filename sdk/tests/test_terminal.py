"""The stream of a terminal, where there is no platform to carry it."""

import socket
import threading

import pytest

from gpuaas_sdk import Client, Terminal, Unreachable
from gpuaas_sdk.terminal import TerminalStream

TERMINAL = Terminal(id="trm_1", stream="/api/v1/stream")


def hang_up(door: socket.socket) -> None:
    door.accept()[0].close()


def opened(port: int) -> TerminalStream:
    with Client(f"http://127.0.0.1:{port}", token="gat_secret") as client:
        return TerminalStream(client, TERMINAL)


@pytest.mark.parametrize("answers", [False, True], ids=["nobody is there", "it ends before it has answered"])
def test_a_server_that_is_away_is_an_error_with_a_next_step(answers: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as door:
        port = door.getsockname()[1]
        if answers:
            threading.Thread(target=hang_up, args=(door,), daemon=True).start()
        else:
            door.close()
        with pytest.raises(Unreachable) as away:
            opened(port)
    assert (away.value.code, away.value.retryable) == ("unreachable", True)
    assert away.value.next_step


def test_the_token_is_not_in_what_is_shown_of_the_way_to_a_stream() -> None:
    with Client("http://127.0.0.1:1", token="gat_secret") as client:
        doorway = client.doorway(TERMINAL)
    assert "gat_secret" in str(doorway.headers)
    assert "gat_secret" not in repr(doorway)
