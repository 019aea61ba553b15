"""Every step can be repeated, can fail, and is recorded either way."""

from __future__ import annotations

import pytest

from gpuaas_agent import commands, phases
from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import DeadlineExceeded, Superseded, TaskFailure
from gpuaas_agent.phases import PhaseRunner, Step
from gpuaas_agent.protocol import Phase


def fail() -> str:
    raise TaskFailure("broken", "It broke", "Mend it", retryable=True)


def test_each_step_is_recorded_with_its_times_and_detail() -> None:
    runner = PhaseRunner(Deadline.after(5))
    runner.run([Step("one", lambda: "fine"), Step("two", lambda: None, when=False)])
    assert [(p.name, p.status, p.detail) for p in runner.phases] == [
        ("one", "succeeded", "fine"),
        ("two", "skipped", ""),
    ]
    assert all(phase.finished_at for phase in runner.phases)


@pytest.mark.parametrize("failing", range(4))
def test_a_failure_at_any_step_stops_there_and_a_repeat_finishes(failing: int) -> None:
    done: list[int] = []

    def step(number: int, broken: bool) -> Step:
        def run() -> str:
            if broken and number == failing:
                return fail()
            done.append(number)
            return ""

        return Step(f"step {number}", run)

    runner = PhaseRunner(Deadline.after(5))
    with pytest.raises(TaskFailure):
        runner.run([step(number, True) for number in range(4)])
    assert runner.phases[-1].status == "failed"
    assert len(runner.phases) == failing + 1
    PhaseRunner(Deadline.after(5)).run([step(number, False) for number in range(4)])
    assert set(done) == {0, 1, 2, 3}


def test_no_step_begins_after_the_deadline() -> None:
    with pytest.raises(DeadlineExceeded):
        PhaseRunner(Deadline.after(-1)).run([Step("late", lambda: "never")])


def test_a_newer_task_stops_the_older_between_two_steps() -> None:
    newer: list[int] = []
    runner = PhaseRunner(Deadline.after(5), superseded=lambda: bool(newer))
    with pytest.raises(Superseded):
        runner.run([Step("one", lambda: newer.append(1)), Step("two", lambda: "never")])
    assert [phase.name for phase in runner.phases] == ["one"]


def test_only_long_tasks_report_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[list[Phase]] = []
    PhaseRunner(Deadline.after(5), report=told.append).run([Step("quick", lambda: None)])
    assert told == []
    monkeypatch.setattr(phases, "PROGRESS_AFTER_SECONDS", -1.0)
    PhaseRunner(Deadline.after(5), report=told.append).run([Step("slow", lambda: None)])
    assert len(told) == 1


def test_every_exception_becomes_a_coded_failure() -> None:
    assert phases.failure_of(TaskFailure("a", "b")).code == "a"
    assert phases.failure_of(FileNotFoundError(2, "gone", "/x")).code == "host_io_error"
    assert phases.failure_of(RuntimeError("x")).code == "agent_internal_error"


def test_a_program_that_prints_without_end_is_ended_with_a_code() -> None:
    with pytest.raises(TaskFailure) as failed:
        commands.run(["yes"], Deadline.after(60))
    assert failed.value.code == "output_too_long"
    assert not commands.running()


def test_a_program_gets_its_whole_input_or_what_it_reads_of_it() -> None:
    given = b"x" * (1 << 20)
    assert len(commands.run(["cat"], Deadline.after(60), stdin=given)) == len(given)
    assert commands.attempt(["true"], Deadline.after(60), stdin=given).returncode == 0
