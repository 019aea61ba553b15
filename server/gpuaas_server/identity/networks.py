"""The network that a client's address belongs to: people and attackers both change addresses within theirs."""

from ipaddress import IPv6Address, ip_address, ip_network

from gpuaas_server.kernel.settings import Settings

UNKNOWN = "unknown"
_IPV4_BITS = 32


def client_network(address: str, settings: Settings) -> str:
    """Return the network of an address, such as 198.51.100.0/24. Failures lock accounts there; sign-ins make it known there."""
    return _network(address, settings.login_ipv4_prefix, settings.login_ipv6_prefix)


def rate_source(address: str, settings: Settings) -> str:
    """Return the source whose attempts are counted together: an IPv4 address, since many share a network; of IPv6 a network,
    since one customer has all of its addresses.
    """
    return _network(address, _IPV4_BITS, settings.login_ipv6_prefix)


def _network(address: str, ipv4_prefix: int, ipv6_prefix: int) -> str:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return UNKNOWN
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    prefix = ipv4_prefix if parsed.version == 4 else ipv6_prefix
    return str(ip_network((parsed, prefix), strict=False))
