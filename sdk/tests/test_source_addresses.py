"""The client names the addresses that its machine connects from, so that certificates work from there."""

import asyncio
from collections.abc import Sequence

import pytest

from gpuaas_sdk import InvalidRequest, SshCertificate, SshTarget
from gpuaas_sdk.aio.source_addresses import SourceAddresses
from gpuaas_sdk.errors import Problem
from gpuaas_sdk.local_addresses import local_addresses

HERE, ELSEWHERE = "127.0.0.1", "192.0.2.1"  # the hosts of these tests are on this machine


class FakePlatform:
    """Binds a certificate to the address that it sees and to those that it is told, as the platform does."""

    def __init__(self, seen: str | None, host: str = HERE, check: bool = True) -> None:
        self.seen, self.host, self.check = seen, host, check
        self.named: list[Sequence[str] | None] = []

    async def send(self, named: Sequence[str] | None) -> SshCertificate:
        self.named.append(named)
        bound = [f"{one}/32" for one in ([self.seen] if self.seen else []) + list(named or [])]
        if self.check and not bound:
            details = {"hosts": [self.host]}
            raise InvalidRequest(Problem(code="source_addresses_needed", status=422, detail="which?", details=details))
        target = SshTarget(address=self.host, port=22, user="gpu")
        return SshCertificate(certificate="…", ssh=target, source_addresses=bound if self.check else [])

    def request(self, sources: SourceAddresses) -> SshCertificate:
        return asyncio.run(self._request(sources))

    async def _request(self, sources: SourceAddresses) -> SshCertificate:
        return await sources.request(self.send, lambda issued: [issued])


def test_one_request_is_enough_where_the_platform_sees_the_right_address() -> None:
    platform = FakePlatform(seen=HERE)
    platform.request(SourceAddresses())
    assert platform.named == [None]


@pytest.mark.parametrize("seen", [ELSEWHERE, None], ids=["another address", "no address"])
def test_the_address_towards_the_host_is_named_and_remembered(seen: str | None) -> None:
    platform, sources = FakePlatform(seen), SourceAddresses()
    assert f"{HERE}/32" in platform.request(sources).source_addresses
    assert platform.named == [None, [HERE]]
    platform.request(sources)
    assert platform.named == [None, [HERE], [HERE]]


def test_nothing_is_named_where_certificates_work_from_everywhere() -> None:
    platform = FakePlatform(seen=None, check=False)
    platform.request(SourceAddresses())
    assert platform.named == [None]


def test_a_host_that_this_machine_does_not_know_leaves_the_refusal_as_it_is() -> None:
    platform = FakePlatform(seen=None, host="no-such-host.invalid")
    with pytest.raises(InvalidRequest, match="which"):
        platform.request(SourceAddresses())
    assert platform.named == [None]


def test_each_local_address_is_named_once() -> None:
    assert local_addresses([HERE, "no-such-host.invalid", HERE]) == [HERE]


def test_what_an_earlier_request_named_stays_named() -> None:
    """Hosts in two networks are reached from two addresses; alternating between them needs no second request."""
    sources = SourceAddresses()
    FakePlatform(seen=ELSEWHERE).request(sources)
    sources._remember(["192.0.2.7"])
    platform = FakePlatform(seen=ELSEWHERE)
    platform.request(sources)
    assert platform.named == [["192.0.2.7", HERE]]


@pytest.mark.parametrize(("local", "named"), [("127.0.0.1", None), ("192.0.2.9", ["192.0.2.9"])])
def test_the_first_request_names_the_address_towards_the_platform_unless_it_is_loopback(
    monkeypatch: pytest.MonkeyPatch, local: str, named: list[str] | None
) -> None:
    routes = {"platform.example": [local], HERE: [HERE]}
    monkeypatch.setattr(
        "gpuaas_sdk.aio.source_addresses.local_addresses", lambda hosts: [one for host in hosts for one in routes[host]]
    )
    platform = FakePlatform(seen=HERE)
    platform.request(SourceAddresses("platform.example"))
    assert platform.named == [named]


def test_a_name_that_cannot_be_one_has_no_address() -> None:
    assert local_addresses([f"{'x' * 64}.example", "a..b"]) == []
