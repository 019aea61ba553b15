"""Manifests are strangers' texts: none of them costs more than a moment, and no name in one can be more than a name."""

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuaas_server.catalog.manifest import Manifest, parse
from gpuaas_server.catalog.yaml_reader import LARGEST_TEXT
from gpuaas_server.catalog.yaml_text import MOST_FAULTS
from gpuaas_server.kernel.errors import Problem
from tests_support.manifests import EXAMPLE, document, text_of

LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGE = "base: &base {slug: echo}\nother:\n  <<: *base\n"


def refused(text: str) -> list[dict[str, Any]]:
    started = time.thread_time()
    with pytest.raises(Problem) as problem:
        parse(text)
    assert time.thread_time() - started < 2.0
    assert problem.value.code == "manifest_invalid"
    found = problem.value.details["faults"]
    assert isinstance(found, list)
    assert 1 <= len(found) <= MOST_FAULTS
    assert len(str(problem.value.details)) < 40_000
    return found


@pytest.mark.parametrize(
    "text",
    [
        LAUGHS,
        MERGE,
        "[" * 100_000,
        "{a: " * 20_000,
        "- " * 60_000,
        "a:\n" + "".join(f"{' ' * n}a:\n" for n in range(1, 400)),
        "x" * (LARGEST_TEXT + 1),
        "é" * (LARGEST_TEXT // 2 + 1),
        "[" + "1," * 60_000 + "]",
        "\n".join(f"k{n}: 1" for n in range(12_000)),
        "a: 1\n" * 20_000,
        "!!python/object/apply:os.system ['true']",
        "slug: !!python/name:os.system",
        "? [a, b]\n: c\n",
        "? {a: b}\n: c\n",
        "a: 1\n---\nb: 2\n",
        "slug: \ud800",
        '"\\uD800": 1',
        "%YAML 9.9\n---\na: 1\n",
        "a: " + "9" * 100_000,
        "\x00",
        "slug: e\x1b[2Jcho",
        "slug: e\u202echo",
        'slug: "e\\e[2Jcho"',
        'slug: "e\\0cho"',
        "'" * 99_999,
        "&" * 5_000,
        "*" * 5_000,
        "\t" * 5_000,
        "a: |\n" + " x\n" * 30_000,
    ],
    ids=lambda text: repr(text[:24]),
)
def test_a_hostile_text_is_refused_at_once(text: str) -> None:
    refused(text)


def test_a_key_that_is_there_twice_is_refused_rather_than_half_read() -> None:
    (fault,) = refused(EXAMPLE + "slug: other\n")
    assert fault["message"] == "slug appears twice here."
    assert fault["line"] == EXAMPLE.count("\n") + 1


SHELL = [
    "a;b",
    "a b",
    "$(id)",
    "`id`",
    "a|b",
    "a&b",
    "a>b",
    "a\nb",
    "a'b",
    'a"b',
    "a\\b",
    "a*",
    "a?b",
    "~a",
    "a\u00e4",
    "",
]


@pytest.mark.parametrize("hostile", SHELL)
@pytest.mark.parametrize("kind", ["units", "processes", "paths", "users", "mounts", "containers", "cron"])
def test_no_name_of_a_footprint_means_something_to_a_shell(kind: str, hostile: str) -> None:
    forms = {"units": "{}.service", "paths": "/opt/{}", "mounts": "/srv/{}"}
    name = forms.get(kind, "{}").format(hostile)
    value = document()
    value["footprint"] = {kind: [name]}
    assert [fault["path"] for fault in refused(text_of(value))] == [f"footprint.{kind}[0]"]


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/opt",
        "opt/echo",
        "/opt/../etc/shadow",
        "/opt/./echo",
        "/opt//echo",
        "/opt/echo/",
        "/opt/...",
        "/proc/self/mem",
        "/sys/power/state",
        "/dev/sda1",
        "/opt/" + "a" * 600,
        "C:\\echo",
        "/opt/echo\u202egnp",
    ],
)
@pytest.mark.parametrize("kind", ["paths", "mounts"])
def test_a_path_that_could_lead_elsewhere_is_refused(kind: str, path: str) -> None:
    value = document()
    value["footprint"] = {kind: [path]}
    assert refused(text_of(value))


@pytest.mark.parametrize("port", [0, -1, 65536, "22", 1.5, True, None, {"port": 22}])
def test_a_port_is_a_number_that_can_be_listened_on(port: object) -> None:
    value = document()
    value["footprint"] = {"ports": [{"port": port}]}
    assert [fault["path"] for fault in refused(text_of(value))] == ["footprint.ports[0].port"]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("slug", "../../etc"),
        ("slug", "echo\n"),
        ("slug", "a" * 60),
        ("display_name", "Echo\nadmin: true"),
        ("display_name", " Echo"),
        ("runtime_version", "$(reboot)"),
        ("artifact", {"kind": "oci", "digest": "latest"}),
        ("artifact", {"kind": "oci", "digest": "sha256:" + "A" * 64}),
        ("ui", {"documentation_url": "javascript:alert(1)"}),
        ("ui", {"documentation_url": "https://user@evil/"}),
        ("ui", {"endpoints": [{"key": "k", "component": "node", "port": 1, "path": "//evil"}, {"key": 1}]}),
        ("unknown", 1),
    ],
)
def test_hostile_strings_elsewhere_are_refused(field: str, value: object) -> None:
    refused(text_of({**document(), field: value}))


@given(st.text(max_size=400))
@settings(max_examples=300, deadline=None)
def test_any_text_is_a_manifest_or_a_coded_refusal(text: str) -> None:
    try:
        assert isinstance(parse(text), Manifest)
    except Problem as problem:
        assert problem.code == "manifest_invalid"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@given(st.sampled_from(sorted(document())), JSON)
@settings(max_examples=300, deadline=None)
def test_any_value_in_any_field_is_taken_or_refused_with_a_place(field: str, value: object) -> None:
    text = text_of({**document(), field: value})
    try:
        parse(text)
    except Problem as problem:
        assert problem.code == "manifest_invalid"
        faults = problem.details["faults"]
        assert isinstance(faults, list)
        assert all(fault["line"] == 1 and fault["column"] >= 1 for fault in faults)
