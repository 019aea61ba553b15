"""Decides which hosts the platform may call for a tenant: those on the operator's list, at addresses that are public or named.
Pure.

`artifacts/external_transport.py` checks each request, also one that follows a redirect.
"""

import re
from ipaddress import IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.networks import Address, Networks, is_address, parse_address

PORTS = {"https": 443, "http": 80}
_NAME = re.compile(r"(\*\.)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
# IPv4 addresses embedded in IPv6 addresses: the embedded address counts.
_NAT64 = IPv6Network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Origin:
    """Names where a request goes: scheme, host name or address, and port."""

    scheme: str
    host: str
    port: int

    @property
    def netloc(self) -> str:
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == PORTS[self.scheme] else f"{name}:{self.port}"


def origin_of(url: str) -> Origin | None:
    """Return the origin of an http or https URL, or None where it is another, or has credentials in it."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    if parts.scheme not in PORTS or not parts.hostname or "@" in parts.netloc:
        return None
    return Origin(parts.scheme, parts.hostname.lower(), port or PORTS[parts.scheme])


class AllowedHosts:
    """Hosts of a setting: comma-separated `host`, `host:port` or `*.domain`; `http://` before one means plain HTTP."""

    def __init__(self, hosts: str, networks: str = "") -> None:
        """Parse the settings; ValueError names a wrong entry."""
        entries = [entry for part in hosts.split(",") if (entry := part.strip())]
        self._entries = tuple(_entry(entry) for entry in entries)
        self._networks = Networks(networks)

    def scheme_of(self, netloc: str) -> str | None:
        """Return how a registry with this name is spoken to, or None if it is not on the list."""
        for scheme in PORTS:
            origin = origin_of(f"{scheme}://{netloc}")
            if origin is not None and self.allows(origin):
                return scheme
        return None

    def allows(self, origin: Origin) -> bool:
        return any(_matches(entry, origin) for entry in self._entries)

    def allows_address(self, origin: Origin, address: str) -> bool:
        """Tell whether a host on the list may have this address: a public one, one of the networks, or the entry itself."""
        return is_address(address) and (
            _same_address(origin.host, address) or address in self._networks or _is_public(parse_address(address))
        )


def _entry(text: str) -> Origin:
    url = text if "://" in text else f"https://{text}"
    origin = origin_of(url)
    rest = urlsplit(url).path.rstrip("/")
    if origin is None or rest or not (is_address(origin.host) or _NAME.fullmatch(origin.host)):
        raise ValueError(f"{text!r} is not a host, such as registry.example.com or *.example.com:5000")
    return origin


def _matches(entry: Origin, origin: Origin) -> bool:
    if (entry.scheme, entry.port) != (origin.scheme, origin.port):
        return False
    if entry.host.startswith("*."):
        return origin.host.endswith(entry.host[1:]) and not is_address(origin.host)
    return entry.host == origin.host


def _same_address(host: str, address: str) -> bool:
    return is_address(host) and parse_address(host) == parse_address(address)


def _is_public(address: Address) -> bool:
    if isinstance(address, IPv6Address):
        inner = address.sixtofour
        if address in _NAT64:
            inner = parse_address(str(ip_address(int(address) & 0xFFFFFFFF)))  # type: ignore[assignment]
        if inner is not None:
            return _is_public(inner)
    return address.is_global and not address.is_multicast
