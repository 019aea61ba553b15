"""The addresses of this machine that the operating system uses towards hosts. No packet is sent."""

import socket
from collections.abc import Iterable, Sequence
from ipaddress import ip_address, ip_network

ANY_PORT = 22  # the route does not depend on it


def local_addresses(hosts: Iterable[str]) -> list[str]:
    """Return the address that connections to each host come from, each once. A host without a route has none."""
    return list(dict.fromkeys(address for host in hosts for address in _addresses_towards(host)))


def _addresses_towards(host: str) -> Iterable[str]:
    try:
        found = socket.getaddrinfo(host, ANY_PORT, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):  # the latter for a name that cannot be one
        return
    for family, kind, protocol, _, target in found:
        try:
            with socket.socket(family, kind, protocol) as probe:
                probe.connect(target)  # of a datagram socket: it only chooses the route
                yield probe.getsockname()[0].partition("%")[0]
        except OSError:
            continue


def is_loopback(address: str) -> bool:
    return ip_address(address).is_loopback


def is_within(address: str, networks: Sequence[str]) -> bool:
    return any(ip_address(address) in ip_network(network) for network in networks)
