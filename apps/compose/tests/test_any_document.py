"""Whatever the two files say, the lint ends soon with a manifest or with faults: too much of anything is refused unread."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuaas_compose.app_file import read_app
from gpuaas_compose.compose_file import refuse_files
from gpuaas_compose.lint import lint_folder, lint_texts
from gpuaas_compose.yaml_text import LARGEST_TEXT, Document

IMAGE = f"x@sha256:{'1' * 64}"
APP = 'app: 1\nslug: notes\ndisplay_name: Notes\nversion: 0.1.0\nruntime_version: "1"\n'
SERVICE = f"services:\n  web:\n    image: {IMAGE}\n"
CHAIN = "".join(f"  a{number}: {{depends_on: [a{number + 1}]}}\n" for number in range(3500))
MANY = 12_000


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("compose", "said"),
    [
        (f"services:\n{CHAIN}", "at most 32 services"),
        (f"{SERVICE}    ports: [{', '.join(['8080'] * MANY)}]", "at most 32 ports"),
        (f"{SERVICE}    expose: [{', '.join(map(str, range(1, MANY)))}]", "at most 32 ports"),
        (f"{SERVICE}    volumes: [{', '.join(['data:/x'] * MANY)}]\nvolumes: {{data: }}", "at most 16 volumes"),
        (f"{SERVICE}    env_file: [{', '.join(['a'] * MANY)}]", "at most 8 files"),
        (f"{SERVICE}    healthcheck: {{test: '{' ' * 120_000}x'}}", "one line of at most"),
        (f"{SERVICE}    command: '{'a ' * 60_000}'", "128 words"),
    ],
)
def test_too_much_of_anything_is_refused_without_being_compared(compose: str, said: str) -> None:
    assert len(compose) <= LARGEST_TEXT
    messages = [fault.message for fault in lint_texts(APP, compose, "compose.yaml", refuse_files).faults]
    assert any(said in message for message in messages), messages[:3]


@pytest.mark.parametrize(
    ("field", "said"),
    [
        (f"keywords: [{', '.join(['a'] * 21)}]", "at most 20 keywords"),
        (f"endpoints: [{', '.join(['{key: a, service: web, port: 80}'] * 17)}]", "at most 16 endpoints"),
    ],
)
def test_an_app_file_has_the_limits_of_a_manifest(field: str, said: str) -> None:
    faults = lint_texts(f"{APP}{field}\n", SERVICE, "compose.yaml", refuse_files).faults
    assert any(said in fault.message for fault in faults)


def test_special_files_in_the_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").mkdir()
    (tmp_path / "app.yaml").symlink_to("/dev/zero")
    messages = [fault.message for fault in lint_folder(tmp_path).faults]
    assert messages == [
        "app.yaml: it is a link to a file outside of the app's folder.",
        "compose.yaml: there is no such file.",
    ]


_MARKS = "&*{}[]?:,-!|>%@`'\"#~="
_STRUCTURE = ("\n", "\n  ", "\n    ", "<<: ", "*a", "&a ", "a: ", "- ", "---\n", "...\n", "%YAML 1.1\n", "\t")
_WORDS = ("services:", "web: ", f"image: {IMAGE}", "!!binary ", "${x}", "$$", "1e99", "-0", "\u00e9", "null")
PIECES = st.sampled_from([*_MARKS, *_STRUCTURE, *_WORDS])


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join), st.lists(PIECES, max_size=20).map("".join))
def test_any_text_gives_faults_with_places(compose: str, app: str) -> None:
    for app_text, compose_text in (
        (APP, compose),
        (APP, f"{SERVICE}    {compose}"),
        (app, SERVICE),
        (APP + app, SERVICE),
    ):
        linted = lint_texts(app_text, compose_text, "compose.yaml", refuse_files)
        assert (linted.manifest is None) == bool(linted.faults)
        assert all(fault.line >= 1 and fault.column >= 1 and str(fault).isprintable() for fault in linted.faults)


FIELDS = [
    "slug",
    "version",
    "keywords",
    "requires_capacity_shape",
    "allocations",
    "inputs",
    "endpoints",
    "probes",
    "images",
    "ui",
    "type",
]
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from([*FIELDS, "key", "service", "port", "path", "web", "properties"]), inner),
    ),
    max_leaves=15,
)


@settings(max_examples=250, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), VALUES))
def test_any_value_of_an_app_file_gives_faults(fields: dict[str, object]) -> None:
    json.dumps(fields)
    app = read_app(Document("app.yaml", fields))
    assert all(fault.message for fault in app.faults)
    assert isinstance(app.input_names, frozenset)
