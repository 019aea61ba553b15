"""What people read when a container fails: a known code and next step, and no secret or escape character."""

import re
from pathlib import Path

import pytest

from gpuaas_containers import failures
from gpuaas_containers.failures import NEXT_STEPS, clean_line, hide, host_failure
from gpuaas_containers.hostside import program_command

PROGRAMS = Path(failures.__file__).parent / "hostside" / "programs"
PAGE = Path(__file__).parents[3] / "docs/howto/container-failures.md"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m alert", "red alert"),
        ("\x1b]0;title\x07text", "text"),
        ("a\x00b\x9bc", "a b c"),
        ("password=hunter2 next", "password=[hidden] next"),
        ("API_KEY: abc123", "API_KEY: [hidden]"),
        ("Authorization: Bearer eyJhbGciOi.J9", "Authorization: [hidden]"),
        ("pulling https://me:hunter2@example.test/x", "pulling https://[hidden]@example.test/x"),
        ("an ordinary line", "an ordinary line"),
    ],
)
def test_a_line_of_a_log_is_shown_without_escapes_and_secrets(line: str, shown: str) -> None:
    assert clean_line(line) == shown


def test_the_last_lines_are_kept_when_there_are_many() -> None:
    failed = host_failure("10.0.0.1", "crash_loop", "the container ended 4 times", [f"line {n}" for n in range(200)])
    assert failed.failure.message.endswith("/ line 199")
    assert len(failed.failure.message) < 500


def test_what_people_gave_is_hidden() -> None:
    failed = host_failure("10.0.0.1", "crash_loop", "it ended", ["given: open sesame", "a"])
    assert hide(failed, ["open sesame", "a"]).failure.message.endswith("Its log ends with: given: [hidden] / a")


def test_every_code_of_the_host_has_a_next_step_and_stands_on_the_page() -> None:
    texts = "".join(path.read_text() for path in PROGRAMS.glob("*.py"))
    raised = set(re.findall(r'Failed\(\s*"([a-z_]+)"', texts)) | set(re.findall(r'^    \("([a-z_]+)", r"', texts, re.M))
    assert {"crash_loop", "port_taken", "image_denied", "disk_full"} <= raised
    assert raised - set(NEXT_STEPS) == set()
    page = PAGE.read_text()
    assert [code for code in sorted(NEXT_STEPS) if f"`{code}`" not in page] == []


def test_the_program_of_the_hosts_is_python() -> None:
    compile(program_command()[-1], "container_host", "exec")
