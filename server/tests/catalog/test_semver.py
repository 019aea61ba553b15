"""Versions sort in the database as the standard says."""

from functools import cmp_to_key

from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.catalog.semver import precedence

NUMBER = st.integers(0, 999_999_999).map(str)
WORD = st.from_regex(r"[0-9]{0,3}[A-Za-z-][0-9A-Za-z-]{0,5}", fullmatch=True)
PRERELEASE = st.lists(NUMBER | WORD, min_size=1, max_size=4).map(".".join)
VERSION = st.builds(
    lambda core, rest: ".".join(core) + (f"-{rest}" if rest else ""),
    st.lists(st.integers(0, 12).map(str) | NUMBER, min_size=3, max_size=3),
    st.none() | PRERELEASE,
)


def compared(left: str, right: str) -> int:
    """Section 11 of the standard, word by word."""
    (left_core, _, left_pre), (right_core, _, right_pre) = left.partition("-"), right.partition("-")
    left_numbers, right_numbers = [[int(n) for n in core.split(".")] for core in (left_core, right_core)]
    if left_numbers != right_numbers:
        return -1 if left_numbers < right_numbers else 1
    if not left_pre or not right_pre:
        return (not left_pre) - (not right_pre)
    for one, other in zip(left_pre.split("."), right_pre.split("."), strict=False):
        if one == other:
            continue
        if one.isdigit() and other.isdigit():
            return -1 if int(one) < int(other) else 1
        if one.isdigit() != other.isdigit():
            return -1 if one.isdigit() else 1
        return -1 if one < other else 1
    return left_pre.count(".") - right_pre.count(".")


def test_the_standards_own_example() -> None:
    ordered = ["alpha", "alpha.1", "alpha.beta", "beta", "beta.2", "beta.11", "rc.1"]
    versions = [*(f"1.0.0-{name}" for name in ordered), "1.0.0", "1.9.0", "1.10.0", "2.0.0"]
    assert sorted(versions, key=precedence) == versions


@given(st.lists(VERSION, max_size=8))
def test_the_order_of_the_texts_is_the_order_of_the_versions(versions: list[str]) -> None:
    assert [precedence(v) for v in sorted(versions, key=cmp_to_key(compared))] == sorted(map(precedence, versions))


def test_build_metadata_has_no_say() -> None:
    assert precedence("1.0.0+a") == precedence("1.0.0+b-c") == precedence("1.0.0")
