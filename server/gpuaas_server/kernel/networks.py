"""IP addresses and networks, as operators write them in settings and peers report them."""

from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
# A host usually has a whole /64 of IPv6 to itself, so that is what stands for it.
IPV6_HOST_BITS = 64
MAPPED_PREFIX = 96  # bits before the IPv4 address in ::ffff:192.0.2.1

# The same rules as those of `ipaddress`, for the contract: without anchors, and without the zone of an IPv6 address.
_OCTET = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_GROUP = "[0-9A-Fa-f]{1,4}"
IPV4_PATTERN = rf"({_OCTET}\.){{3}}{_OCTET}"
IPV6_PATTERN = "|".join(
    [
        f"({_GROUP}:){{7}}{_GROUP}",
        f"({_GROUP}:){{1,7}}:",
        *(f"({_GROUP}:){{1,{7 - after}}}(:{_GROUP}){{1,{after}}}" for after in range(1, 7)),
        f":((:{_GROUP}){{1,7}}|:)",
        f"({_GROUP}:){{6}}{IPV4_PATTERN}",
        f"::({_GROUP}:){{0,5}}{IPV4_PATTERN}",
        *(f"({_GROUP}:){{{before}}}:({_GROUP}:){{0,{5 - before}}}{IPV4_PATTERN}" for before in range(1, 6)),
    ]
)


def parse_address(text: str) -> Address:
    """Return the address, or ValueError. An IPv4 address written as IPv6 (::ffff:192.0.2.1) is the IPv4 address."""
    address = ip_address(text)
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def parse_network(text: str) -> IPv4Network | IPv6Network:
    """Return the network of an address or CIDR network, or ValueError. Host bits are dropped; IPv4 written as IPv6 is IPv4."""
    network = ip_network(text, strict=False)
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if mapped is None or network.prefixlen < MAPPED_PREFIX:
        return network
    return IPv4Network((mapped, network.prefixlen - MAPPED_PREFIX))


def is_address(text: str) -> bool:
    try:
        parse_address(text)
    except ValueError:
        return False
    return "%" not in text


@lru_cache(maxsize=4096)
def normal_address(text: str) -> str:
    """Return the usual spelling of an address, without a zone. Other text stays as it is."""
    try:
        return str(parse_address(text.partition("%")[0]))
    except ValueError:
        return text


@lru_cache(maxsize=4096)
def network_of(text: str) -> str:
    """Return what counts as one client: an IPv4 address, or the /64 of an IPv6 address. Other text stands for itself."""
    try:
        address = parse_address(text.partition("%")[0])
    except ValueError:
        return text
    if isinstance(address, IPv4Address):
        return str(address)
    return str(IPv6Network((int(address) >> IPV6_HOST_BITS << IPV6_HOST_BITS, 128 - IPV6_HOST_BITS)))


class Networks:
    """The addresses and networks of a setting: comma-separated, each an address or a CIDR network."""

    def __init__(self, text: str) -> None:
        """Parse the setting; ValueError names a wrong entry. A network with host bits (10.0.0.1/8) is taken for the network."""
        entries = [entry for part in text.split(",") if (entry := part.strip())]
        self._networks = tuple(_network(entry) for entry in entries)
        self._contains = lru_cache(maxsize=4096)(self._look_up)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def __contains__(self, address: str) -> bool:
        return bool(self._networks) and self._contains(address)

    def _look_up(self, text: str) -> bool:
        try:
            address = parse_address(text)
        except ValueError:
            return False
        return any(address in network for network in self._networks)


def _network(entry: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(entry, strict=False)
    except ValueError:
        raise ValueError(f"{entry!r} is neither an address nor a network") from None
