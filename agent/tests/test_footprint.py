"""A footprint is an app team's text: it names things, and can do nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_agent import footprint, specs
from gpuaas_agent.failures import SpecInvalid

SOUND: dict[str, object] = {
    "units": ["echo.service", "echo-worker@*.service"],
    "processes": ["echo-server", "echo*"],
    "ports": ["7777/tcp", "53/udp"],
    "paths": ["/opt/echo", "/run/echo-*.sock"],
    "users": ["echo"],
    "mounts": ["/mnt/echo"],
    "containers": ["echo-*"],
    "cron": ["echo"],
}


def inspect_spec(**changes: object) -> dict[str, object]:
    return {
        "receipt_id": "rcp_1",
        "instance_id": "ins_1",
        "allocation_id": "alc_1",
        "shape": "baremetal",
        "depth": "gone",
        "footprint": SOUND,
        "revoked_serials": [7],
        **changes,
    }


def test_a_sound_footprint_is_read_and_answered_by_its_digest() -> None:
    read = specs.parse_inspect(inspect_spec())
    assert read.footprint.ports == ("7777/tcp", "53/udp")
    assert read.echo()["footprint_sha256"] == footprint.digest(SOUND)
    assert footprint.digest(SOUND) != footprint.digest({**SOUND, "ports": []})


@pytest.mark.parametrize(
    ("key", "entry"),
    [
        ("units", "echo.service; reboot"),
        ("units", "--now.service"),
        ("units", "*.service"),
        ("units", "../../etc/x.service"),
        ("units", "echo"),
        ("processes", "$(reboot)"),
        ("processes", "-9"),
        ("processes", "*"),
        ("processes", "a b"),
        ("processes", ""),
        ("ports", "0/tcp"),
        ("ports", "65536/tcp"),
        ("ports", "22"),
        ("ports", 22),
        ("paths", "/"),
        ("paths", "opt/echo"),
        ("paths", "/opt/../etc"),
        ("paths", "/opt/./echo"),
        ("paths", "/opt//echo"),
        ("paths", "/opt/echo/"),
        ("paths", "/*"),
        ("paths", "/*/shadow"),
        ("paths", "/opt/[a-z]"),
        ("paths", "/proc/1/root"),
        ("paths", "/sys"),
        ("paths", "/opt/echo\n"),
        ("paths", "/opt/echo\0"),
        ("paths", "/opt/\u202eecho"),
        ("paths", "/a" * 17),
        ("users", "root:x"),
        ("users", "-R"),
        ("users", "Echo"),
        ("mounts", "/mnt/.."),
        ("containers", "{{.Config}}"),
        ("cron", "../shadow"),
    ],
)
def test_an_entry_that_is_more_than_a_name_is_refused(key: str, entry: object) -> None:
    with pytest.raises(SpecInvalid):
        specs.parse_inspect(inspect_spec(footprint={**SOUND, key: [entry]}))


@pytest.mark.parametrize(
    "changes",
    [
        {"footprint": None},
        {"footprint": {"commands": ["reboot"]}},
        {"footprint": {"paths": "/opt/echo"}},
        {"footprint": {"ports": ["1/tcp"] * (footprint.MOST_ENTRIES + 1)}},
        {"depth": "deep"},
        {"receipt_id": "../x"},
        {"instance_id": "ins_1\n"},
        {"revoked_serials": [-1]},
    ],
)
def test_a_task_of_another_shape_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(SpecInvalid):
        specs.parse_inspect(inspect_spec(**changes))


@given(st.sampled_from(sorted(SOUND)), st.text(max_size=300))
def test_whatever_passes_is_printable_and_leads_nowhere_else(key: str, text: str) -> None:
    try:
        read = getattr(footprint.parse({key: [text]}), key)[0]
    except SpecInvalid:
        return
    assert read == text
    assert text.isascii()
    assert text.isprintable()
    assert ".." not in text.split("/")
    assert not set(text) & set(" ;|&$`'\"\\<>(){}[]\n")


def test_a_path_names_itself_and_what_is_under_it() -> None:
    paths = ("/opt/echo", "/run/echo-*.sock")
    assert footprint.under(paths, "/opt/echo/bin/server") == "/opt/echo"
    assert footprint.under(paths, "/run/echo-1.sock") == "/run/echo-*.sock"
    assert footprint.under(paths, "/opt/echoes") is None
    assert footprint.under(paths, "/opt") is None
    assert footprint.under(paths, "/run/echo-1/x.sock") is None


def test_a_template_stands_for_its_instances() -> None:
    assert footprint.unit_matching(("echo@.service",), "echo@1.service") == "echo@.service"
    assert footprint.unit_matching(("echo@.service",), "echo.service") is None
