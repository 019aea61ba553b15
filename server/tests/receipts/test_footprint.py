"""A footprint before it leaves for a host; the host checks the same again with rules of its own."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_agent import footprint as on_the_host
from gpuaas_agent.failures import SpecInvalid
from gpuaas_server.receipts.footprint import KINDS, FootprintInvalid, digest, normalize

MANIFEST: dict[str, object] = {
    "units": ["echo.service", "echo@.service"],
    "processes": ["echo-server"],
    "ports": [{"port": 7777, "protocol": "tcp", "name": "echo"}, {"port": 53, "protocol": "udp"}, 9000],
    "paths": ["/opt/echo"],
    "users": ["echo"],
}


def test_a_manifests_footprint_becomes_plain_names() -> None:
    sent = normalize(MANIFEST)
    assert sent["ports"] == ["7777/tcp", "53/udp", "9000/tcp"]
    assert set(sent) == set(KINDS)
    assert sent["cron"] == []


def test_both_sides_read_the_same_footprint_and_agree_on_its_digest() -> None:
    sent = normalize(MANIFEST)
    arrived = json.loads(json.dumps(sent))
    assert on_the_host.parse(arrived).ports == ("7777/tcp", "53/udp", "9000/tcp")
    assert on_the_host.digest(arrived) == digest(sent)


@pytest.mark.parametrize(
    ("kind", "entry"),
    [
        ("units", "x.service; reboot"),
        ("units", "*.service"),
        ("processes", "$(id)"),
        ("ports", {"port": 70000}),
        ("ports", {"port": 22, "protocol": "tcp; id"}),
        ("ports", True),
        ("paths", "/opt/../etc"),
        ("paths", "/"),
        ("paths", "/proc/1"),
        ("paths", "relative"),
        ("users", "root\n"),
        ("containers", "{{.ID}}"),
        ("cron", None),
    ],
)
def test_a_hostile_entry_never_leaves(kind: str, entry: object) -> None:
    with pytest.raises(FootprintInvalid):
        normalize({kind: [entry]})


def test_another_shape_is_refused() -> None:
    for raw in ({"commands": ["id"]}, {"paths": "/opt/echo"}, {"users": ["u"] * 641}):
        with pytest.raises(FootprintInvalid):
            normalize(raw)


@given(st.sampled_from(KINDS), st.text(max_size=200))
def test_what_one_side_lets_pass_the_other_does_too(kind: str, entry: str) -> None:
    try:
        sent = normalize({kind: [entry]})
    except FootprintInvalid:
        with pytest.raises(SpecInvalid):
            on_the_host.parse({kind: [entry]})
        return
    assert getattr(on_the_host.parse(sent), kind) == (entry,)
