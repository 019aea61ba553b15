"""A test that needs a foreign program is not passed over where it must run."""

import pytest

from tests_support.parts import part

NOWHERE = "a-program-that-nobody-has"


def test_a_missing_program_is_a_failure_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="CI must run this test"):
        part(NOWHERE)


def test_a_missing_program_skips_its_tests_elsewhere_and_says_who_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="tools/test-parts"):
        part(NOWHERE)
