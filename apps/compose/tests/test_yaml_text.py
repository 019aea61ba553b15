"""Hostile texts: whatever they are, the answer is a document or faults with lines, soon, and never more than a bound."""

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuaas_compose.compose_file import refuse_files
from gpuaas_compose.compose_keys import TABLES
from gpuaas_compose.lint import lint_texts
from gpuaas_compose.yaml_text import DEEPEST, LARGEST_TEXT, MOST_FAULTS, Unreadable, read

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


def faults_of(text: str) -> list[str]:
    with pytest.raises(Unreadable) as refused:
        read(text, "compose.yaml")
    return [fault.message for fault in refused.value.faults]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "too large"),
        ("a: &a {b: *a}", "no anchor a"),
        ("a: !!python/object/apply:os.system [id]", "YAML tags are not allowed"),
        ("a: 1\na: 2", "twice"),
        ("[" * (DEEPEST + 9) + "]" * (DEEPEST + 9), "too deep"),
        ("a: " * 99, "Not YAML"),
        ("x" * (LARGEST_TEXT + 1), "must have at most"),
        ("a: b\u202ec", "U+202E"),
        ('a: "\\u202e"', "written as escapes"),
        ("a: 1\n---\nb: 2", "one document"),
        ("", "empty"),
        ("? {a: b}\n: c", "A key must be a word"),
        ("a: {<<: [1, 2]}", "A merge key takes"),
    ],
)
def test_a_hostile_text_is_refused_soon(text: str, said: str) -> None:
    began = time.thread_time()
    assert any(said in message for message in faults_of(text))
    assert time.thread_time() - began < 5


def test_anchors_and_merge_keys_mean_what_they_do_in_compose() -> None:
    document = read("x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}\nz: {<<: [*x, {a: 9, c: 4}]}", "compose.yaml")
    assert document.value == {"x": {"a": 1, "b": 2}, "y": {"a": 1, "b": 3}, "z": {"a": 1, "b": 2, "c": 4}}
    assert document.fault(("y", "a"), "").line == 2  # what is merged is found where it is merged


NAMES = [*sorted({key.name for table in TABLES for key in table.keys}), "web", "data", "test", "<<", "x-own"]
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 70000),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        ["data:/x", "8080:80", "${a}", f"x@sha256:{'1' * 64}", "all", "1m", "2g", "always", "../x", "CMD", "web"]
    ),
    st.text(max_size=20),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)),
    max_leaves=25,
)


@settings(max_examples=250, deadline=None)
@given(TREES, st.dictionaries(st.sampled_from(NAMES), TREES, max_size=8))
def test_any_tree_gives_a_manifest_or_faults_with_places(services: object, one: dict[str, object]) -> None:
    app = 'app: 1\nslug: notes\ndisplay_name: Notes\nversion: 0.1.0\nruntime_version: "1"\n'
    for tree in (services, {"services": services}, {"services": {"web": one}, "volumes": {"data": None}}):
        linted = lint_texts(app, json.dumps(tree), "compose.yaml", refuse_files)
        assert (linted.manifest is None) == bool(linted.faults)
        assert all(fault.line >= 1 and fault.column >= 1 and fault.message for fault in linted.faults)
        assert all(str(fault).isprintable() for fault in linted.faults)


def test_faults_are_bounded() -> None:
    assert len(faults_of("\n".join(f"a{number}: !x y" for number in range(5000)))) <= MOST_FAULTS
