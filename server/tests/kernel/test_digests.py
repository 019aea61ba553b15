"""A digest is `sha256:` and 64 hexadecimal digits, and nothing else anywhere."""

import pytest

from gpuaas_sdk import digests as sdk_digests
from gpuaas_server.artifacts.oci import part_of
from gpuaas_server.kernel import digests
from gpuaas_server.kernel.errors import Problem

GOOD = "sha256:" + "0123456789abcdef" * 4
BAD = (
    "",
    GOOD[:-1],
    GOOD + "0",
    GOOD + "\n",
    "\n" + GOOD,
    GOOD.upper(),
    GOOD.replace("sha256", "sha512"),
    "sha256:" + "g" * 64,
    "sha256:" + "٠" * 64,  # digits, but not of ours
    "sha256:../../../" + "a" * 55,
    "sha256:" + "a" * 64 + "/../other",
)


def test_the_grammar_is_one_in_server_and_sdk() -> None:
    for module in (digests, sdk_digests):
        assert module.is_digest(GOOD)
        assert [text for text in (*BAD, None, 7, GOOD.encode()) if module.is_digest(text)] == []
        assert module.digest_bytes(GOOD).hex() == GOOD.removeprefix("sha256:")
        assert module.is_digest(module.digest_of(b"bytes"))


@pytest.mark.parametrize("text", BAD)
def test_what_is_no_digest_reaches_no_address_and_no_signature(text: str) -> None:
    with pytest.raises(ValueError, match="sha256"):
        digests.digest_bytes(text)
    with pytest.raises(Problem) as refused:
        part_of({"digest": text, "size": 1})
    assert refused.value.code == "artifact_invalid"


def test_a_truth_value_is_no_size() -> None:
    assert part_of({"digest": GOOD, "size": 1}).size == 1
    with pytest.raises(Problem):
        part_of({"digest": GOOD, "size": True})
