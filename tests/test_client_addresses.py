"""Whose address counts behind balancers and proxies: PROXY headers and X-Forwarded-For, from whom they are believed."""

import json
import secrets
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from gpuaas_sdk import Client, PasswordCredentials
from system_support.raw_http import Place, is_closed, read_answer, request
from system_support.server import RunningServer, free_port

BALANCER, PROXY, STRANGER = "127.0.0.5", "127.0.0.6", "127.0.0.9"
SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    port = free_port()
    with RunningServer.start(
        https_bind=f"127.0.0.1:{port}",
        proxy_protocol_peers=f"{BALANCER}, 2001:db8::/32",
        trusted_proxies=f"{PROXY},10.0.0.0/8",
        header_seconds="3",
        log_level="WARNING",
    ) as running:
        yield running


@pytest.fixture(params=["http", "https"])
def place(server: RunningServer, request: pytest.FixtureRequest) -> Place:
    if request.param == "http":
        return Place(int(server.url.rpartition(":")[2]))
    return Place(int(server.environment["GPUAAS_HTTPS_BIND"].rpartition(":")[2]), tls=True)


@dataclass(frozen=True, slots=True)
class Trail:
    """Reads from the audit trail what address a change came from."""

    admin: Client
    token: str

    def address_seen(self, place: Place, source: str, preamble: bytes = b"", **headers: str) -> str:
        body = json.dumps({"slug": f"t-{secrets.token_hex(6)}", "name": "T"}).encode()
        headers |= {"authorization": f"Bearer {self.token}", "content_type": "application/json"}
        with place.connect(source, preamble) as connection:
            connection.sendall(request("/api/v1/tenants", "POST", body, **headers))
            answer = read_answer(connection)
        assert answer.status == 201, answer
        (row,) = self.admin.audit.list(correlation_id=answer.headers["x-correlation-id"])
        return str(row.address)


@pytest.fixture(scope="module")
def trail(server: RunningServer) -> Trail:
    credentials = PasswordCredentials(server.admin_email, server.admin_password)
    return Trail(server.admin(), Client(server.url).sign_in(credentials).access_token)


def version_2(family: int, addresses: bytes, command: int = 0x21) -> bytes:
    return SIGNATURE + struct.pack("!BBH", command, family, len(addresses)) + addresses


FOUR = socket.inet_aton("203.0.113.9") + socket.inet_aton("192.0.2.1") + struct.pack("!HH", 40_000, 443)
SIX = socket.inet_pton(socket.AF_INET6, "2001:db8:1::9") + bytes(16) + struct.pack("!HH", 40_000, 443)
MAPPED = socket.inet_pton(socket.AF_INET6, "::ffff:203.0.113.9") + bytes(16) + struct.pack("!HH", 40_000, 443)
TLV = b"\x04\x00\x08" + b"12345678"

GOOD = {
    "version 1": (b"PROXY TCP4 203.0.113.9 192.0.2.1 40000 443\r\n", "203.0.113.9"),
    "version 1, IPv6": (b"PROXY TCP6 2001:DB8:1::9 ::1 40000 443\r\n", "2001:db8:1::9"),
    "version 1, unknown": (b"PROXY UNKNOWN whatever it is\r\n", BALANCER),
    "version 2": (version_2(0x11, FOUR), "203.0.113.9"),
    "version 2, IPv6 and more": (version_2(0x21, SIX + TLV), "2001:db8:1::9"),
    "version 2, IPv4 in IPv6": (version_2(0x21, MAPPED), "203.0.113.9"),
    "version 2, of its own": (version_2(0x00, b"", 0x20), BALANCER),
    "version 2, unspecified": (version_2(0x00, TLV), BALANCER),
}


@pytest.mark.parametrize("what", GOOD)
def test_a_balancers_word_is_the_clients_address(trail: Trail, place: Place, what: str) -> None:
    preamble, address = GOOD[what]
    assert trail.address_seen(place, BALANCER, preamble) == address


BAD = {
    "none": b"",
    "another protocol": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "no addresses": b"PROXY TCP4\r\n",
    "a name": b"PROXY TCP4 localhost 192.0.2.1 1 2\r\n",
    "the wrong family": b"PROXY TCP4 ::1 ::1 1 2\r\n",
    "a port that is none": b"PROXY TCP4 203.0.113.9 192.0.2.1 99999 443\r\n",
    "an endless line": b"PROXY TCP4 " + b"1" * 500,
    "an unknown version": version_2(0x11, FOUR, 0x31),
    "an unknown command": version_2(0x11, FOUR, 0x22),
    "datagrams": version_2(0x12, FOUR),
    "cut off addresses": version_2(0x11, FOUR[:8]),
    "too long a block": SIGNATURE + struct.pack("!BBH", 0x21, 0x11, 65_535) + bytes(65_535),
}


@pytest.mark.parametrize("what", BAD)
def test_a_balancer_that_does_not_say_whose_the_connection_is_gets_none(place: Place, what: str) -> None:
    with Place(place.port).connect(BALANCER, BAD[what]) as connection:
        assert is_closed(connection)


@pytest.mark.parametrize("what", ["version 1", "version 2"])
def test_a_strangers_proxy_header_is_refused(server: RunningServer, what: str) -> None:
    preamble, _ = GOOD[what]
    with Place(int(server.url.rpartition(":")[2])).connect(STRANGER, preamble) as connection:
        connection.sendall(request())
        answer = read_answer(connection)
        assert (answer.status, answer.code) == (400, "malformed_request")
        assert is_closed(connection)
    tls = Place(int(server.environment["GPUAAS_HTTPS_BIND"].rpartition(":")[2]))
    with tls.connect(STRANGER, preamble) as connection:
        assert is_closed(connection)


FORWARDED = {
    "203.0.113.9": "203.0.113.9",
    "192.0.2.7, 203.0.113.9": "203.0.113.9",  # the first was written by the client itself
    "192.0.2.7, 203.0.113.9, 10.1.2.3": "203.0.113.9",
    "203.0.113.9:1234": "203.0.113.9",
    "2001:DB8::9": "2001:db8::9",
    "[2001:db8::9]:1234, 10.0.0.1": "2001:db8::9",
    "::ffff:203.0.113.9": "203.0.113.9",
    "10.0.0.1, 10.0.0.2": "10.0.0.1",
    "192.0.2.7, unknown": PROXY,
    "": PROXY,
}


@pytest.mark.parametrize("header", FORWARDED)
def test_a_trusted_proxy_says_whose_a_request_is(trail: Trail, place: Place, header: str) -> None:
    assert trail.address_seen(place, PROXY, x_forwarded_for=header) == FORWARDED[header]


def test_a_strangers_forwarded_header_is_ignored(trail: Trail, place: Place) -> None:
    assert trail.address_seen(place, STRANGER, x_forwarded_for="203.0.113.9") == STRANGER


def test_a_forwarded_header_counts_behind_a_balancer_if_its_client_is_a_trusted_proxy(
    trail: Trail, place: Place
) -> None:
    behind = b"PROXY TCP4 10.0.0.7 192.0.2.1 40000 443\r\n"
    assert trail.address_seen(place, BALANCER, behind, x_forwarded_for="203.0.113.9") == "203.0.113.9"
    direct = GOOD["version 1"][0]
    assert trail.address_seen(place, BALANCER, direct, x_forwarded_for="198.51.100.1") == "203.0.113.9"


def test_a_caller_behind_a_balancer_is_not_local(place: Place) -> None:
    with place.connect(BALANCER, GOOD["version 2"][0]) as connection:
        connection.sendall(request("/metrics"))
        assert read_answer(connection).status == 401
