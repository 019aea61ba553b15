"""The table of connections: whatever comes and goes in whatever order, its counts are those of what is there."""

import random

import pytest

from gpuaas_server.kernel.http import connections
from gpuaas_server.kernel.http.connections import ADDRESS_FULL, FULL, UNAUTHENTICATED_FULL, Connection, ConnectionLimits
from gpuaas_server.kernel.networks import Networks, network_of, normal_address


def table(total: int = 100, unauthenticated: int = 100, address: int = 100) -> connections.ConnectionTable:
    return connections.ConnectionTable(ConnectionLimits(total, unauthenticated, address))


def come(made: connections.ConnectionTable, address: str, idle_for: float | None = None) -> Connection:
    """A new connection; with `idle_for`, one that is idle and came so many seconds ago."""
    connection = Connection((address, 1))
    if idle_for is not None:
        connection.opened_at -= idle_for
        connection.evict = lambda: True
    made.add(connection)
    made.identify(connection)
    return connection


def test_an_authenticated_connection_counts_against_no_address() -> None:
    made = table(address=2)
    first, second = come(made, "192.0.2.1"), come(made, "192.0.2.1")
    assert come(made, "192.0.2.1").refusal is ADDRESS_FULL
    first.authenticate()
    third = come(made, "192.0.2.1")
    assert (second.refusal, third.refusal) == (None, None)
    assert (made.open, made.unauthenticated) == (3, 2)


def test_ten_thousand_may_come_from_one_address_one_after_the_other() -> None:
    made = table(20_000, 64, 64)
    for _ in range(10_000):
        arrived = come(made, "192.0.2.1")
        assert arrived.refusal is None
        arrived.authenticate()
    assert (made.open, made.unauthenticated) == (10_000, 0)


def test_hosts_of_one_ipv6_network_are_one_client() -> None:
    made = table(address=2)
    come(made, "2001:db8::1")
    come(made, "2001:db8::2")
    assert come(made, "2001:db8::ffff:3").refusal is ADDRESS_FULL
    assert come(made, "2001:db8:0:1::1").refusal is None


def test_an_idle_stranger_makes_room_and_a_busy_or_fresh_one_does_not() -> None:
    made = table(address=2)
    busy, idle = come(made, "192.0.2.1"), come(made, "192.0.2.1", idle_for=60)
    assert come(made, "192.0.2.1").refusal is None
    assert (busy.table, idle.table) == (made, None)
    assert come(made, "192.0.2.1").refusal is ADDRESS_FULL
    fresh = table(address=1)
    come(fresh, "192.0.2.1", idle_for=0)
    assert come(fresh, "192.0.2.1").refusal is ADDRESS_FULL


def test_when_the_process_is_full_a_crowded_address_makes_room_for_others() -> None:
    made = table(total=connections.CROWD, address=1000)
    crowd = [come(made, "192.0.2.1", idle_for=0) for _ in range(connections.CROWD)]
    assert come(made, "192.0.2.2").refusal is None
    assert crowd[0].table is None
    assert come(made, "192.0.2.3").refusal is FULL  # one fewer is no crowd, and all of them are fresh


def test_authenticated_connections_are_never_evicted() -> None:
    made = table(total=2)
    for _ in range(2):
        come(made, "192.0.2.1", idle_for=60).authenticate()
    assert come(made, "192.0.2.2").refusal is FULL


def test_strangers_have_a_limit_of_their_own() -> None:
    made = table(total=10, unauthenticated=2)
    come(made, "192.0.2.1")
    come(made, "192.0.2.2")
    refused = come(made, "192.0.2.3")
    assert refused.refusal is UNAUTHENTICATED_FULL
    assert (made.open, made.refusing) == (2, 1)
    refused.close()
    refused.close()
    assert (made.open, made.refusing) == (2, 0)


def test_bodies_of_strangers_are_bounded_by_address_and_in_all() -> None:
    made = table()
    one, same = come(made, "192.0.2.1"), come(made, "192.0.2.1")
    assert one.take_body(connections.ADDRESS_BODY_BYTES)
    assert not same.take_body(1)
    others = [come(made, f"192.0.2.{n}") for n in range(2, 9)]
    taken = [other.take_body(connections.ADDRESS_BODY_BYTES) for other in others]
    assert sum(taken) == connections.UNAUTHENTICATED_BODY_BYTES // connections.ADDRESS_BODY_BYTES - 1
    one.release_body()
    assert same.take_body(1)
    same.authenticate()
    assert same.take_body(connections.UNAUTHENTICATED_BODY_BYTES)


@pytest.mark.parametrize("seed", range(20))
def test_counts_are_right_whatever_comes_and_goes(seed: int) -> None:
    chance, made = random.Random(seed), table(40, 20, 8)
    there: list[Connection] = []
    for _ in range(2_000):
        what = chance.random()
        if what < 0.5 or not there:
            address = f"192.0.2.{chance.randrange(6)}"
            there.append(come(made, address, chance.choice([None, 0, 60])))
        elif what < 0.6:
            chance.choice(there).authenticate()
        elif what < 0.8:
            chance.choice(there).take_body(1000)
        else:
            there.pop(chance.randrange(len(there))).close()
        served = [one for one in there if one.table is not None and one.refusal is None]
        assert made.open == len(served) <= 40
        assert made.unauthenticated == sum(not one.authenticated for one in served) <= 20
        assert made.refusing == sum(one.table is not None and one.refusal is not None for one in there)
    for one in there:
        one.close()
    assert (made.open, made.unauthenticated, made.refusing) == (0, 0, 0)
    assert come(made, "192.0.2.1").take_body(connections.ADDRESS_BODY_BYTES)


def test_networks_are_read_strictly() -> None:
    networks = Networks("10.0.0.1/8, 192.0.2.1,2001:db8::/32")
    inside = ["10.9.9.9", "192.0.2.1", "2001:db8:5::1", "::ffff:10.1.1.1"]
    assert [address in networks for address in inside] == [True] * 4
    assert [address in networks for address in ("192.0.2.2", "11.0.0.1", "nonsense", "")] == [False] * 4
    assert not Networks(" , ")
    for bad in ("*", "localhost", "10.0.0.0/33", "10.0.0.1;10.0.0.2"):
        with pytest.raises(ValueError, match="neither an address nor a network"):
            Networks(bad)


def test_addresses_have_one_spelling() -> None:
    assert normal_address("::ffff:192.0.2.1") == "192.0.2.1"
    assert normal_address("2001:DB8:0::1%eth0") == "2001:db8::1"
    assert network_of("2001:db8::1") == network_of("2001:db8::2") == "2001:db8::/64"
    assert network_of("192.0.2.1") != network_of("192.0.2.2")
    assert network_of("no address") == "no address"
