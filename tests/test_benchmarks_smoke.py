"""The benchmarks themselves work: tiny sizes, no clock in any verdict."""

import os
import signal
import time
from dataclasses import replace
from math import nan
from pathlib import Path

import psycopg
import pytest
from benchmarks import (
    blobs,
    console,
    controllers,
    fairness,
    fanout,
    instances,
    launch,
    machine,
    operations,
    reads,
    recovery,
    release,
    report,
    saved,
    slurm,
    soak,
    ssh,
    startup,
    terminals,
)
from benchmarks.claims import measure
from benchmarks.figures import Figure, Size
from benchmarks.polling import measure as measure_polling

from system_support.console.requirements import require_browser
from tests_support.parts import part


@pytest.mark.slow
def test_creating_allocations_is_measured_against_pgbench() -> None:
    series = measure(Size.smoke(), api_processes=1)
    assert all(value > 0 for values in series.rounds.values() for value in values)
    assert series.ratio("empty", "pgbench") > 0


@pytest.mark.slow
def test_every_task_reaches_its_agent_over_two_replicas() -> None:
    figures = measure_polling(Size.smoke(), replicas=2)
    assert figures[0].value > 0


@pytest.mark.slow
def test_another_tenant_is_measured_alone_and_beside_one_at_its_limits() -> None:
    for delays in fairness.delays(Size.smoke()):
        assert all(value > 0 for value in (*delays.allocate, *delays.revoke))


def test_reads_are_measured_against_a_peer_that_gives_the_same_answer() -> None:
    assert reads.run(Size.smoke())[0].value > 0


def test_the_wait_for_a_controller_is_measured_from_outside_and_from_inside() -> None:
    for delay in operations.delays(Size.smoke()):
        assert 0 < delay.inside < delay.outside


def test_a_controller_is_measured_while_it_reports_the_health_of_all_its_instances() -> None:
    assert [figure.value > 0 for figure in controllers.run(Size.smoke())] == [True, True]


@pytest.mark.slow
def test_an_event_reaches_every_watcher_of_the_platform_and_of_its_peer() -> None:
    size = Size.smoke()
    series = fanout.measured(size)
    for source in ("platform", "peer"):
        assert len(series.rounds[f"{source}/all"]) == fanout.PER_ROUND
        assert 0 < series.median(f"{source}/p50") <= series.median(f"{source}/all")


@pytest.mark.slow
def test_many_instances_are_measured_against_few_by_every_look_and_stream() -> None:
    figures = instances.run(Size.smoke())
    assert len(figures) == len(instances.READS) + len(instances.STREAMS)
    assert all(figure.value > 0 for figure in figures)


@pytest.mark.slow
def test_the_console_is_measured_in_a_browser_against_the_api_and_an_empty_page() -> None:
    require_browser()
    figures = console.run(Size.smoke())
    assert len(figures) == 3
    assert all(figure.value > 0 for figure in figures)


@pytest.mark.lab
@pytest.mark.slow
def test_a_terminal_is_measured_against_ssh() -> None:
    assert all(value > 0 for values in terminals.measured(Size.smoke()).rounds.values() for value in values)


@pytest.mark.slow
def test_a_server_at_rest_is_measured_alone_and_with_the_apps_of_the_platform() -> None:
    start, memory, idle, idle_with_apps, memory_of_apps = startup.run(Size.smoke())
    assert min(start.value, memory.value, memory_of_apps.value) > 0
    assert min(idle.value, idle_with_apps.value) >= 0
    assert memory_of_apps.note.startswith("3 processes")


def test_a_host_that_downloads_a_blob_is_measured_against_curl() -> None:
    for program in ("weed", "curl"):
        part(program)
    speed, memory = blobs.run(Size.smoke())
    assert min(speed.value, memory.value) > 0


@pytest.mark.slow
def test_api_and_worker_are_measured_after_a_database_that_was_killed_and_one_that_was_frozen() -> None:
    figures = recovery.run(Size.smoke())
    assert len(figures) == 4
    assert all(0 < figure.value < recovery.GIVE_UP_SECONDS for figure in figures)


@pytest.mark.slow
def test_work_counts_as_done_when_it_is_done_and_not_when_a_worker_has_taken_it() -> None:
    with recovery.opened() as site, psycopg.connect(site.database.url, autocommit=True) as database:
        site.sign_in()
        user_id = site.new_user()
        [worker] = site.server.children("worker")
        os.kill(worker, signal.SIGSTOP)
        assert site.call("PATCH", f"/users/{user_id}", {"disabled": True}).is_success
        assert not site.work_is_done(user_id)
        lease = "UPDATE work_items SET lease_token = 7, lease_until = now() + interval '1 s' WHERE subject = %s"
        assert database.execute(lease, (user_id,)).rowcount == 1
        assert not site.work_is_done(user_id)
        os.kill(worker, signal.SIGCONT)
        assert recovery.seconds_until(lambda: site.work_is_done(user_id), time.monotonic()) < recovery.GIVE_UP_SECONDS


@pytest.mark.lab
@pytest.mark.slow
def test_a_cluster_of_the_app_is_measured_against_one_by_hand_and_neither_leaves_anything() -> None:
    figures = slurm.run(Size.smoke())
    assert len(figures) == 6
    assert all(figure.value > 0 for figure in figures)


@pytest.mark.lab
@pytest.mark.slow
def test_a_launched_image_is_measured_against_one_by_hand_and_neither_leaves_anything() -> None:
    [figure] = launch.run(Size.smoke())
    assert figure.value > 0


@pytest.mark.lab
@pytest.mark.slow
def test_the_first_login_is_measured_against_one_by_hand() -> None:
    [figure] = ssh.run(Size.smoke())
    assert figure.value > 0


@pytest.mark.lab
@pytest.mark.slow
def test_the_release_of_a_whole_host_is_measured_against_one_by_hand() -> None:
    [figure] = release.run(Size.smoke())
    assert figure.value > 0


@pytest.mark.slow
def test_a_soak_is_measured_from_its_first_tenth_to_its_last() -> None:
    figures = soak.run(Size.smoke())
    assert len(figures) == 5
    assert all(figure.value > 0 for figure in figures)


@pytest.mark.slow
def test_a_soak_sends_again_what_is_refused_for_a_moment() -> None:
    pace = {"tenant_changes_per_second": "0.5", "tenant_change_burst": "1"}
    samples = soak.measure(replace(Size.smoke(), cycles=10), **pace)
    assert sum(sample.tenth.cycles for sample in samples) == 10
    assert sum(sample.tenth.repeated for sample in samples) > 0


def section(name: str) -> saved.Section:
    figures = [Figure("ratio", 0.6, limit=0.5), Figure("broken", nan)]
    return saved.now(name, figures, machine.measure_speed(), machine.measure_storage(1), replace(Size(), cycles=10))


def test_the_results_are_written_from_sections_that_were_measured_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path / "RESULTS.md")
    one, two = section("one"), section("two")
    assert min(one.speed.python, one.speed.memory, one.speed.syscalls, one.storage.fsyncs, one.storage.pgbench) > 0
    saved.save(one, tmp_path)
    with pytest.raises(saved.NotComparable, match="not measured yet: two"):
        saved.collect(["one", "two"], tmp_path)
    saved.save(replace(two, machine="another"), tmp_path)
    with pytest.raises(saved.NotComparable, match="different machines"):
        saved.collect(["one", "two"], tmp_path)
    saved.save(two, tmp_path)
    sections = saved.collect(["one", "two"], tmp_path)
    assert [found.speed for found in sections] == [one.speed, two.speed]
    report.write(sections, {"one": "By hand.", "two": "By foot."})
    written = (tmp_path / "RESULTS.md").read_text()
    assert "mixed commits" not in written
    for made in (one, two):
        assert f"with cycles 10; the machine just before: {made.speed}; {made.storage}." in written
    assert written.count("| ratio | 0.600 | ≥ 0.5 | met |") == 2
    assert written.count("| broken | – |  | NOT MEASURED |") == 2


def test_the_results_say_which_section_is_of_which_commit_if_there_are_several(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path / "RESULTS.md")
    one, two = (replace(section(name), code=commit) for name, commit in (("one", "aaaa111"), ("two", "bbbb222")))
    report.write([one, two], {"one": "By hand.", "two": "By foot."})
    written = (tmp_path / "RESULTS.md").read_text()
    assert "- **mixed commits**, so this is no run of one build: one at aaaa111; two at bbbb222\n" in written
    for made in (one, two):
        assert f"Measured {made.measured_at} at {made.code}" in written


def test_a_verdict_follows_the_limit() -> None:
    assert Figure("ratio", 0.6, limit=0.5).verdict == "met"
    assert Figure("delay", 300.0, "ms", 250.0, at_least=False).verdict == "MISSED"
    assert Figure("for scale", 1.0).verdict == "info"
