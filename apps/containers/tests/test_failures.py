"""What people read when a container fails: a known code and next step, and no secret or escape character."""

import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gpuaas_containers import failures, workload
from gpuaas_containers.controller import Containers
from gpuaas_containers.failures import HIDDEN, MOST_LINE, NEXT_STEPS, clean_line, hide, host_failure
from gpuaas_containers.hostside import ask_host, program_command
from gpuaas_containers.reported_facts import STATE, reported_facts
from gpuaas_sdk.controller import AppSecret, Failed

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
        ("MY_DB_PASSWORD_2 = hunter2 next", "MY_DB_PASSWORD_2 = [hidden] next"),
        ('{"token": "abc", "n": 1}', '{"token": [hidden] "n": 1}'),
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


@pytest.mark.parametrize(
    "part", ["token.", "token ", "api-key-", "\x1b[", "\x1b]", "://", "bearer ", "a@", "password=\x1b"]
)
def test_a_line_that_a_host_makes_for_the_expressions_takes_no_time(part: str) -> None:
    long = part * 500_000
    began = time.process_time()
    failed = host_failure("10.0.0.1", "crash_loop", long, [long] * 1000)
    assert len(clean_line(long)) <= MOST_LINE * 2
    hide(failed, [long[:5000]])
    assert time.process_time() - began < 0.5


def test_a_value_of_several_lines_is_hidden_line_by_line_and_also_where_a_line_is_cut() -> None:
    secret = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nkqhkiG9w0BAQEF\nor\n-----END KEY-----\n"
    lines = ["this or that", "MIIEvQIBADANBg", " kqhkiG9w0BAQEF", "x" * (MOST_LINE - 5) + "open sesame", "y" * 90]
    message = hide(host_failure("10.0.0.1", "not_ready", "probe", lines[:3]), [secret]).failure.message
    assert message.endswith("Its log ends with: this or that / [hidden] / [hidden]")
    cut = hide(host_failure("10.0.0.1", "not_ready", "z" * (MOST_LINE - 4) + "open sesame", lines[3:]), ["open sesame"])
    assert "open" not in cut.failure.message
    long = "0123456789" * 300
    assert "345" not in hide(host_failure("10.0.0.1", "crash_loop", f"it printed {long}"), [long]).failure.message


class Answers:
    """A host that gives one answer to everything."""

    address = "10.0.0.1"

    def __init__(self, answer: object) -> None:
        self.answer = answer

    async def request(self, command: list[str], line: str, *, timeout: float) -> str:
        return json.dumps(self.answer)


@pytest.mark.parametrize(
    "told",
    [
        None,
        7,
        [],
        {"done": 1},
        {"failed": "no"},
        {"failed": {"code": "No!", "message": ["x"], "lines": {"a": 1}, "more": 1}},
        {"failed": {"code": ["crash_loop"], "message": "\ud800", "lines": [None, 7]}},
    ],
)
async def test_whatever_a_host_answers_in_place_of_a_failure_is_a_failure_that_can_be_reported(told: object) -> None:
    with pytest.raises(Failed) as raised:
        await ask_host(Answers(told), "stop")  # type: ignore[arg-type]
    assert raised.value.failure.code == "host_error"
    json.dumps(raised.value.failure.document(), ensure_ascii=False).encode()


def test_of_a_host_only_known_short_and_finite_facts_are_reported() -> None:
    answer = {
        "unit": "x.service\n\ud800" + "y" * 999,
        "restarts": float("nan"),
        "state": ["active"],
        "container": 10**400,
        "runtime_version": "1.2",
        "address": "198.51.100.1",
    }
    facts = reported_facts(answer, STATE)
    assert facts == {"runtime_version": "1.2", "unit": "x.service  " + "y" * 189}
    assert reported_facts({"restarts": 2, "state": "active"}, STATE) == {"state": "active", "restarts": 2}
    assert reported_facts("nothing", STATE) == {}


class Operation:
    """As much of a context as stops and awaits a member: its steps show how they ended."""

    manifest: Any = {"secrets": [{"key": "pass"}], "components": [{"key": "web"}], "runtime_profile": {}}
    instance = SimpleNamespace(id="ins_1", version=SimpleNamespace(manifest={}))
    inputs: Any = {}

    def __init__(self, *, readable: bool = True) -> None:
        self.readable = readable

    async def host(self, member: object) -> object:
        return Answers(None)

    async def secrets(self) -> dict[str, AppSecret]:
        if not self.readable:
            raise Failed("denied", "No consent.")
        return {"pass": AppSecret("pass", 2, b"open sesame", b"old sesame", rotated=True)}

    @asynccontextmanager
    async def step(self, name: str, member: object) -> AsyncIterator[None]:
        yield


@pytest.mark.parametrize("readable", [True, False])
@pytest.mark.parametrize("work", ["stop", "await_ready", "remove"])
async def test_a_container_that_prints_its_secrets_tells_them_to_nobody(
    monkeypatch: pytest.MonkeyPatch, work: str, readable: bool
) -> None:
    async def fails(*arguments: object) -> None:
        raise host_failure("10.0.0.1", "stop_failed", "open sesame", ["I was given open sesame", "and old sesame"])

    monkeypatch.setattr(workload, work, fails)
    for name, value in (
        ("readiness_probes", ["one"]),
        ("awaited_components", {"web"}),
        ("has_services", False),
        ("image_of", None),
    ):
        monkeypatch.setattr(f"gpuaas_containers.controller.{name}", lambda *_, value=value: value)
    monkeypatch.setattr("gpuaas_containers.redaction.read_profile", lambda *_: SimpleNamespace(answers=()))
    app, member, ctx = Containers(), SimpleNamespace(id="mem_1", component_key="web"), Operation(readable=readable)
    ctx.members = [member]  # type: ignore[attr-defined]
    if work == "stop":
        ended = app._stop(ctx, member)  # type: ignore[arg-type]
    elif work == "remove":
        ended = app._remove(ctx, member)  # type: ignore[arg-type]
    else:
        ended = app._await_ready(ctx, [member])  # type: ignore[arg-type, list-item]
    with pytest.raises(Failed) as raised:
        await ended
    assert raised.value.failure.code == "stop_failed"
    assert "sesame" not in raised.value.failure.message
    assert (HIDDEN in raised.value.failure.message) is readable


def test_every_code_of_the_host_has_a_next_step_and_stands_on_the_page() -> None:
    texts = "".join(path.read_text() for path in PROGRAMS.glob("*.py"))
    raised = set(re.findall(r'Failed\(\s*"([a-z_]+)"', texts)) | set(re.findall(r'^    \("([a-z_]+)", r"', texts, re.M))
    assert {"crash_loop", "port_taken", "image_denied", "disk_full"} <= raised
    assert raised - set(NEXT_STEPS) == set()
    page = PAGE.read_text()
    assert [code for code in sorted(NEXT_STEPS) if f"`{code}`" not in page] == []


def test_the_program_of_the_hosts_is_python() -> None:
    compile(program_command()[-1], "container_host", "exec")
