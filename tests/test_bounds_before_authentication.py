"""What a stranger may send, how much and how slowly: on both listeners, with others served meanwhile. See decision 0024."""

import json
import re
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpuaas_sdk.testing import Sandbox
from system_support.raw_http import Place, drip, is_closed, read_answer, request, send_until_refused
from system_support.server import RunningServer, free_port

SIGN_IN = {"path": "/api/v1/auth/token", "method": "POST", "content_type": "application/json"}


@dataclass(frozen=True, slots=True)
class Site:
    server: RunningServer
    http: Place
    https: Place

    def refused(self, reason: str) -> int:
        """How often, as the metric says it."""
        with self.http.connect() as connection:
            connection.sendall(request("/metrics"))
            text = read_answer(connection).body.decode()
        found = re.search(rf'^gpuaas_connections_refused_total{{reason="{reason}"}} ([0-9.]+)$', text, re.MULTILINE)
        return int(float(found[1])) if found else 0


@contextmanager
def running(**settings: str) -> Iterator[Site]:
    port = free_port()
    with RunningServer.start(https_bind=f"127.0.0.1:{port}", **settings) as server:
        yield Site(server, Place(int(server.url.rpartition(":")[2])), Place(port, tls=True))


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with running(header_seconds="2", body_seconds="2", idle_seconds="2", log_level="WARNING") as made:
        yield made


@pytest.fixture(params=["http", "https"])
def place(site: Site, request: pytest.FixtureRequest) -> Place:
    chosen: Place = getattr(site, request.param)
    return chosen


def assert_serves(place: Place) -> None:
    with place.connect() as connection:
        connection.sendall(request())
        assert read_answer(connection).status == 200


def test_sixty_mebibytes_of_header_are_refused_while_others_are_served(place: Place) -> None:
    refusals, chunk = [], b"x" * (1 << 20)

    def flood() -> None:
        with place.connect() as connection:
            connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
            sent = send_until_refused(connection, chunk, 60)
            refusals.append((sent, read_answer(connection).code))

    attackers = [threading.Thread(target=flood) for _ in range(4)]
    for attacker in attackers:
        attacker.start()
    for _ in range(20):
        assert_serves(place)
    for attacker in attackers:
        attacker.join()
    assert [code for _, code in refusals] == ["header_too_large"] * 4
    assert all(sent < 60 for sent, _ in refusals)


FIELDS = b"".join(b"X-%d: y\r\n" % number for number in range(10_000))
TOO_MUCH = {
    "ten thousand fields": (b"GET / HTTP/1.1\r\n" + FIELDS + b"\r\n", 431, "header_too_large"),
    "a hundred and one fields": (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 101 + b"\r\n", 431, "header_too_large"),
    "a long field": (b"GET / HTTP/1.1\r\nX: " + b"y" * 8_001 + b"\r\n\r\n", 431, "header_too_large"),
    "a long name": (b"GET / HTTP/1.1\r\n" + b"y" * 40_000 + b": x\r\n\r\n", 431, "header_too_large"),
    "a long target": (b"GET /" + b"y" * 16_001 + b" HTTP/1.1\r\n\r\n", 414, "target_too_long"),
    "a very long target": (b"GET /" + b"y" * 100_000 + b" HTTP/1.1\r\n\r\n", 414, "target_too_long"),
    "empty lines": (b"\r\n" * 40_000, 431, "header_too_large"),
    "no HTTP": (b"hello\r\n\r\n", 400, "malformed_request"),
    "a PROXY header from anybody": (b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n" + request(), 400, "malformed_request"),
    "two lengths": (
        b"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        400,
        "malformed_request",
    ),
    "a length that is none": (b"POST / HTTP/1.1\r\nContent-Length: -3\r\n\r\n", 400, "malformed_request"),
    "an endless chunk extension": (
        request(**SIGN_IN, transfer_encoding="chunked") + b"1;" + b"x" * 2_000_000,
        400,
        "malformed_request",
    ),
    "an endless trailer": (
        request(**SIGN_IN, transfer_encoding="chunked") + b"1\r\na\r\n0\r\nX: " + b"x" * 2_000_000,
        400,
        "malformed_request",
    ),
    "a body of nearly two mebibytes": (request(body=b" " * 2_000_000, **SIGN_IN), 413, "body_too_large"),
}


@pytest.mark.parametrize("what", TOO_MUCH)
def test_too_much_is_refused_with_a_code_and_the_connection_ends(place: Place, what: str) -> None:
    sent, status, code = TOO_MUCH[what]
    with place.connect() as connection:
        send_until_refused(connection, sent, 1)
        answer = read_answer(connection)
        assert (answer.status, answer.code) == (status, code)
        assert is_closed(connection)
    assert_serves(place)


def test_a_header_at_its_bounds_is_taken(place: Place) -> None:
    fields = b"".join(b"X-%d: %s\r\n" % (number, b"y" * 250) for number in range(99))
    with place.connect() as connection:
        connection.sendall(b"GET /readyz?" + b"z" * 4_000 + b" HTTP/1.1\r\nHost: x\r\n" + fields + b"\r\n")
        assert read_answer(connection).status == 200


def test_a_header_that_drips_in_ends_with_a_timeout(place: Place) -> None:
    with place.connect() as connection:
        assert not drip(connection, request(x_slow="y" * 500), 0.1)
    with place.connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n")
        assert read_answer(connection).code == "request_timeout"
        assert is_closed(connection)


def test_a_connection_without_a_byte_is_closed(site: Site, place: Place) -> None:
    before = site.refused("header_late")
    with place.connect() as connection:
        assert is_closed(connection)
    assert site.refused("header_late") > before


def test_a_tls_handshake_that_never_comes_is_closed(site: Site) -> None:
    before = site.refused("tls_handshake")
    with Place(site.https.port).connect() as connection:
        assert is_closed(connection)
    with Place(site.https.port).connect() as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert is_closed(connection)
    assert site.refused("tls_handshake") >= before + 2


def test_an_idle_connection_without_an_authenticated_request_is_closed(place: Place) -> None:
    with place.connect() as connection:
        connection.sendall(request())
        assert read_answer(connection).status == 200
        assert is_closed(connection)


def test_a_body_that_stalls_ends_with_a_timeout(place: Place) -> None:
    with place.connect() as connection:
        connection.sendall(request(**SIGN_IN, content_length="100") + b"{")
        answer = read_answer(connection)
        assert (answer.status, answer.code) == (408, "request_timeout")
        assert is_closed(connection)


def test_a_stranger_may_not_drip_a_body_either(place: Place) -> None:
    with place.connect() as connection:
        connection.sendall(request(**SIGN_IN, content_length="100000"))
        assert not drip(connection, b" " * 200, 0.05)


@pytest.fixture(scope="module")
def upload(site: Site) -> Callable[[int], bytes]:
    """The head of an upload of so many bytes, which has no bound but the blob's own."""
    sandbox = Sandbox.create(site.server)
    token, intents = sandbox.bearer("project_admin"), f"/api/v1/projects/{sandbox.project_id}/publish-intents"

    def head(size: int) -> bytes:
        wanted = b'{"kind": "blob", "name": "weights"}'
        bearer = f"Bearer {token}"
        with site.http.connect() as connection:
            connection.sendall(request(intents, "POST", wanted, content_type="application/json", authorization=bearer))
            intent = json.loads(read_answer(connection).body)
        return request(
            f"{intents}/{intent['id']}/content",
            "PUT",
            authorization=bearer,
            content_type="application/octet-stream",
            content_length=str(size),
        )

    return head


def test_an_upload_that_is_slow_but_comes_on_is_taken(place: Place, upload: Callable[[int], bytes]) -> None:
    """Three times as long as a body may stall; each piece is enough for as long as one may, should this process wait."""
    size = 12 * 4096
    with place.connect() as connection:
        connection.sendall(upload(size))
        for _ in range(12):
            time.sleep(0.5)
            connection.sendall(b"x" * 4096)
        answer = read_answer(connection)
    assert (answer.status, json.loads(answer.body)["size_bytes"]) == (200, size), answer


def test_an_upload_that_stalls_ends_with_a_timeout(place: Place, upload: Callable[[int], bytes]) -> None:
    with place.connect() as connection:
        connection.sendall(upload(1 << 30) + b"x" * 100_000)
        assert read_answer(connection).code == "request_timeout"
        assert is_closed(connection)


def test_requests_that_wait_on_one_connection_have_a_bound(place: Place) -> None:
    with place.connect() as connection:
        connection.sendall(request() * 3)
        for _ in range(3):
            assert read_answer(connection).status == 200
    with place.connect() as connection:
        send_until_refused(connection, request() * 5_000, 1)
        assert is_closed(connection)
    assert_serves(place)


def test_trailers_are_no_header_fields(place: Place) -> None:
    chunked = request(transfer_encoding="chunked", **SIGN_IN)
    with place.connect() as connection:
        connection.sendall(chunked + b"2\r\n{}\r\n0\r\nX-Correlation-ID: from-a-trailer\r\n\r\n")
        answer = read_answer(connection)
    assert answer.status == 422
    assert answer.headers["x-correlation-id"] != "from-a-trailer"


def test_an_upgrade_that_we_do_not_know_is_answered_without_it(place: Place) -> None:
    with place.connect() as connection:
        connection.sendall(request(connection="Upgrade", upgrade="h2c"))
        assert read_answer(connection).status == 200
        assert is_closed(connection)


def test_no_frame_of_a_web_socket_is_read_before_authentication(place: Place) -> None:
    path = "/api/v1/projects/x/allocations/y/terminals/z/stream"
    upgrade = request(
        path,
        connection="Upgrade",
        upgrade="websocket",
        sec_websocket_version="13",
        sec_websocket_key="dGhlIHNhbXBsZSBub25jZQ==",
    )
    ping = bytes([0x89, 0xFD]) + bytes(4) + b"p" * 125
    with place.connect() as connection:
        send_until_refused(connection, upgrade + ping * 2_000, 1)
        answer = read_answer(connection)
        assert (answer.status, json.loads(answer.body)["code"]) == (401, "unauthenticated")
        assert is_closed(connection)
    assert_serves(place)


def test_a_connection_that_reads_nothing_of_a_long_answer_is_closed(site: Site) -> None:
    before = site.refused("answer_unread")
    with Place(site.http.port).connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        send_until_refused(connection, request("/api/v1/openapi.json") * 8, 1)
        while site.refused("answer_unread") == before:
            pass


@contextmanager
def idle(place: Place, count: int, source: str = "") -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(place.connect(source)) for _ in range(count)]


def test_fifteen_hundred_idle_connections_keep_no_caller_out() -> None:
    """More than the process takes: those that say nothing make room, however long they might have stayed."""
    with running(max_connections="1000", header_seconds="600", idle_seconds="600") as site:
        with idle(Place(site.http.port), 750, "127.0.0.2"), idle(Place(site.https.port), 750, "127.0.0.3"):
            for _ in range(30):
                assert_serves(site.http)
                assert_serves(site.https)
        assert site.refused("evicted") + site.refused("full") > 0


def test_an_address_has_its_share_of_strangers_and_others_have_theirs() -> None:
    with running(unauthenticated_connections_per_address="20", body_seconds="600", log_level="WARNING") as site:
        with ExitStack() as stack:
            for _ in range(20):
                connection = stack.enter_context(site.http.connect("127.0.0.7"))
                connection.sendall(request(**SIGN_IN, content_length="9") + b"{")  # in the middle, so none makes room
            with site.http.connect("127.0.0.7") as one_more:
                one_more.sendall(request())
                answer = read_answer(one_more)
                assert (answer.status, answer.code) == (429, "too_many_connections")
                assert answer.headers["retry-after"]
                assert is_closed(one_more)
            with site.http.connect("127.0.0.8") as neighbour:
                neighbour.sendall(request())
                assert read_answer(neighbour).status == 200
            assert site.refused("address_full") == 1


def test_without_files_left_connections_are_cut_off_and_not_left_waiting(site: Site) -> None:
    (api,) = site.server.children("api")
    before = resource.prlimit(api, resource.RLIMIT_NOFILE)
    with site.http.connect() as known:
        known.sendall(request())
        assert read_answer(known).status == 200
        used = len(list(Path(f"/proc/{api}/fd").iterdir()))
        resource.prlimit(api, resource.RLIMIT_NOFILE, (used + 5, before[1]))
        try:
            with idle(Place(site.http.port), 40) as connections:
                assert sum(is_closed(connection) for connection in connections) == 40
        finally:
            resource.prlimit(api, resource.RLIMIT_NOFILE, before)
    assert_serves(site.http)
    assert site.refused("out_of_files") > 0
