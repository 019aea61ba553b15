"""Which hosts may be called for a tenant: those of the list, at addresses that are public or named."""

import pytest

from gpuaas_server.kernel.allowed_hosts import AllowedHosts, Origin, origin_of

LIST = AllowedHosts(
    "registry.example.com, *.cdn.example.com,http://10.0.0.7:5000, other.example.com:8443", "10.9.0.0/16"
)


def at(url: str) -> Origin:
    origin = origin_of(url)
    assert origin is not None
    return origin


@pytest.mark.parametrize(
    ("url", "allowed"),
    [
        ("https://registry.example.com/v2/", True),
        ("https://REGISTRY.example.com:443/v2/", True),
        ("http://registry.example.com/v2/", False),
        ("https://registry.example.com:444/v2/", False),
        ("https://registry.example.com.evil.example/v2/", False),
        ("https://evilregistry.example.com/v2/", False),
        ("https://a.b.cdn.example.com/", True),
        ("https://cdn.example.com/", False),
        ("https://evilcdn.example.com/", False),
        ("https://other.example.com:8443/", True),
        ("https://other.example.com/", False),
        ("http://10.0.0.7:5000/v2/", True),
        ("https://10.0.0.7:5000/v2/", False),
        ("https://169.254.169.254/latest", False),
    ],
)
def test_only_what_the_list_names_is_called(url: str, allowed: bool) -> None:
    assert LIST.allows(at(url)) is allowed


@pytest.mark.parametrize(
    "url", ["ftp://registry.example.com/", "https://user@registry.example.com/", "//x", "https://[::1", ""]
)
def test_what_is_no_plain_web_address_has_no_origin(url: str) -> None:
    assert origin_of(url) is None


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("10.9.3.4", True),
        ("192.168.1.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("fe80::1", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("::ffff:169.254.169.254", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("2002:a9fe:a9fe::1", False),
        ("nonsense", False),
    ],
)
def test_a_name_may_lead_to_public_addresses_and_to_networks_that_are_named(address: str, allowed: bool) -> None:
    assert LIST.allows_address(at("https://registry.example.com"), address) is allowed


def test_an_address_in_the_list_itself_is_named() -> None:
    assert LIST.allows_address(at("http://10.0.0.7:5000"), "10.0.0.7")
    assert not LIST.allows_address(at("http://10.0.0.7:5000"), "10.0.0.8")


def test_the_list_says_how_a_registry_is_spoken_to() -> None:
    named = ("registry.example.com", "10.0.0.7:5000", "other.example.com", "unknown.example.com")
    assert [LIST.scheme_of(one) for one in named] == ["https", "http", None, None]


@pytest.mark.parametrize(
    "entry", ["https://a.example/path", "a b", "*", "*.*.example", "host:port", "ftp://a.example", "user@a"]
)
def test_a_misspelt_entry_is_refused(entry: str) -> None:
    with pytest.raises(ValueError, match="is not a host"):
        AllowedHosts(entry)


def test_an_empty_list_names_nobody() -> None:
    assert not AllowedHosts("").allows(at("https://registry.example.com"))
