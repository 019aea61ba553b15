"""Logs of real members on real hosts: read and followed over the public API, against hosts that flood, lie and die."""

import json
import queue
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import httpx
import pytest
from typer.testing import CliRunner

from gpuaas_cli.main import app
from gpuaas_echo.controller import Echo
from gpuaas_sdk import Client, Conflict, Denied, GpuaasError, InstanceMember, LogLine, NotFound
from system_support.echo_lab import OLD, EchoLab, at_work, echo_lab
from system_support.ledger import Ledger, until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
ANYWHERE = "0.3.0"  # the app as it is, also on slices
WRITER = "echo-relay.service"  # of the app's footprint, and not needed on the host of the hub
PASSWORD = "hunter2-is-not-a-good-one"
HOSTILE = rf"""
printf 'plain line\n'
printf '\033[31mred\033[0m \033]0;title\007 bell \007 \xe2\x80\xae turned\n'
printf 'broken \xff\xfe utf-8\n'
printf 'connect postgres://app:{PASSWORD}@db/x\n'
python3 -c "print('x' * (10 << 20))"
printf 'the end\n'
"""


@pytest.fixture(scope="module")
def lab() -> Iterator[EchoLab]:
    with echo_lab("logs", log_readers_per_host="12") as made, at_work(Echo(), made.controller()):
        yield made


@pytest.fixture(scope="module")
def instance(lab: EchoLab) -> str:
    made, deploy = lab.deploy("logged", [("hub", lab.places[0])], greeting="hi")
    lab.succeeds(deploy)
    lab.succeeds(lab.add(made, lab.places[1]))
    return made


@pytest.fixture(scope="module")
def person(lab: EchoLab) -> Client:
    return lab.sandbox.person("project_member")


def write(lab: EchoLab, script: str, host: int = 0, wait: bool = True) -> None:
    """Run a script as a unit of the app."""
    waits = ["--wait"] if wait else []
    lab.hosts[host].run(["systemctl", "reset-failed", WRITER], check=False)
    lab.hosts[host].run(["systemd-run", "-q", *waits, "--collect", f"--unit={WRITER}", "bash", "-c", script])
    if wait:  # the unit has ended; the journal may still be reading what it wrote
        lab.hosts[host].run(["journalctl", "--sync"])


def at(line: LogLine) -> datetime:
    assert line.at is not None
    return line.at


def began_at(member: InstanceMember) -> datetime:
    assert member.created_at is not None
    return member.created_at


def texts(lines: list[LogLine]) -> list[str]:
    return [line.text for line in lines]


def test_a_member_reads_the_lines_of_the_apps_units_and_of_no_other(
    lab: EchoLab, instance: str, person: Client
) -> None:
    lab.hosts[0].run(["systemd-run", "-q", "--wait", "--unit=other.service", "echo", "not the app's"])
    hub = lab.member(instance, "hub")
    write(lab, "for i in $(seq 1 30); do echo line $i; done")
    found = person.logs.tail(lab.project_id, instance, 500, member=hub.id)
    assert {line.source for line in found} == {"echo-hub.service", WRITER}
    assert [text for text in texts(found) if text.startswith("line ")] == [f"line {n}" for n in range(1, 31)]
    assert any("Started" in text for text in texts(found))
    assert all(at(line) >= began_at(hub) for line in found)
    page = person.logs.read(lab.project_id, instance, member=hub.id, limit=7, source=WRITER)
    older = person.logs.read(lab.project_id, instance, member=hub.id, limit=7, source=WRITER, cursor=page.next_cursor)
    assert len({line.cursor for line in (*page.lines, *older.lines)}) == 14
    assert at(older.lines[-1]) <= at(page.lines[0])
    forwards = list(person.logs.lines(lab.project_id, instance, member=hub.id))
    assert texts(forwards) == texts(person.logs.tail(lab.project_id, instance, 500, member=hub.id))
    future = datetime.now(UTC) + timedelta(hours=1)
    assert list(person.logs.lines(lab.project_id, instance, member=hub.id, since=future)) == []


def test_a_hostile_host_is_shown_as_plain_bounded_text(lab: EchoLab, instance: str, person: Client) -> None:
    hub = lab.member(instance, "hub")
    began = datetime.now(UTC)
    write(lab, HOSTILE)
    found: list[LogLine] = []

    def ended() -> bool:
        found[:] = person.logs.lines(lab.project_id, instance, member=hub.id, source=WRITER, since=began)
        return "the end" in texts(found)

    until(ended, "the last line")
    shown = texts(found)
    assert "plain line" in shown
    assert "red  bell \ufffd \ufffd turned" in shown
    assert "broken \ufffd\ufffd utf-8" in shown
    assert "connect postgres://app:********@db/x" in shown
    long = [line for line in found if line.text.startswith("xxx")]
    assert long
    assert all(len(line.text) <= 4096 for line in long)
    assert any(line.cut for line in long)
    assert not any(letter < " " for text in shown for letter in text.replace("\t", ""))


def test_who_may_read_and_what_is_kept_of_it(lab: EchoLab, instance: str, person: Client) -> None:
    hub, project = lab.member(instance, "hub"), lab.project_id
    write(lab, "echo a-line-that-nobody-keeps")
    assert "a-line-that-nobody-keeps" in texts(person.logs.tail(project, instance, 50, member=hub.id))
    for role in ("project_viewer", "platform_operator"):
        with pytest.raises(Denied):
            lab.sandbox.person(role).logs.read(project, instance, member=hub.id)
    other = type(lab.sandbox).create(lab.sandbox.server)
    with pytest.raises((NotFound, Denied)):
        other.person("project_admin").logs.read(project, instance, member=hub.id)
    with pytest.raises(NotFound):
        other.person("project_admin").logs.read(other.project_id, instance, member=hub.id)
    with pytest.raises(GpuaasError, match="name one"):
        person.logs.read(project, instance)
    rows = list(lab.sandbox.admin.audit.list(project_id=project, action="log_read"))
    assert any(row.resource_id == instance and row.details.get("member_id") == hub.id for row in rows)
    ledger = Ledger(lab.sandbox.server.database_url())
    for table in ("node_tasks", "events", "audit_records", "work_items"):
        assert not ledger.rows(f"SELECT 1 FROM {table} t WHERE t::text LIKE %s", "%nobody-keeps%"), table


@contextmanager
def followed(lab: EchoLab, instance: str, member: str) -> Iterator["queue.Queue[object]"]:
    client = lab.sandbox.person("project_member")
    arrived: queue.Queue[object] = queue.Queue()

    def follow() -> None:
        try:
            for one in client.logs.follow(lab.project_id, instance, member=member, tail=1):
                arrived.put(one)
        except (GpuaasError, httpx.HTTPError, RuntimeError) as error:
            arrived.put(error)

    threading.Thread(target=follow, daemon=True).start()
    arrived.get(timeout=30)
    yield arrived
    client.close()


def shows(arrived: "queue.Queue[object]", text: str, seconds: float = 60.0) -> list[object]:
    seen: list[object] = []
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        try:
            seen.append(arrived.get(timeout=1))
        except queue.Empty:
            continue
        last = seen[-1]
        assert not isinstance(last, Exception), last
        if isinstance(last, LogLine) and last.text == text:
            return seen
    raise AssertionError(f"{text!r} did not arrive: {seen[-3:]}")


def test_a_follower_sees_lines_at_once_and_goes_on_after_the_agent_and_the_api_were_killed(
    lab: EchoLab, instance: str
) -> None:
    hub = lab.member(instance, "hub")
    with followed(lab, instance, hub.id) as arrived:
        write(lab, "echo first")
        first = shows(arrived, "first")[-1]
        assert isinstance(first, LogLine)
        assert datetime.now(UTC) - at(first) < timedelta(seconds=5)  # one machine, one clock
        lab.hosts[0].kill_agent()
        write(lab, "echo while the agent was dead")
        shows(arrived, "while the agent was dead")
        lab.sandbox.server.kill("api")
        write(lab, "echo after the api")
        shows(arrived, "after the api")


def test_a_flood_is_shown_in_part_and_counted_and_nobody_else_waits(
    lab: EchoLab, instance: str, person: Client
) -> None:
    hub, relay = lab.member(instance, "hub"), lab.member(instance, "relay")
    with followed(lab, instance, hub.id) as arrived:
        lab.hosts[0].run(["mkdir", "-p", "/run/systemd/journald.conf.d"])
        lab.hosts[0].run(
            ["bash", "-c", "printf '[Journal]\\nRateLimitBurst=0\\n' > /run/systemd/journald.conf.d/x.conf"]
        )
        lab.hosts[0].run(["systemctl", "restart", "systemd-journald"])
        write(lab, "seq 1 20000; echo flood over", wait=False)
        assert person.logs.tail(lab.project_id, instance, 10, member=relay.id)  # refused after ANSWER_SECONDS
        seen = shows(arrived, "flood over")
    left_out = sum(getattr(one, "lines", 0) for one in seen if not isinstance(one, LogLine))
    shown = sum(isinstance(one, LogLine) and one.text.isdecimal() for one in seen)
    assert left_out > 0
    assert 0 < shown < 20000
    assert shown + left_out >= 20000


def test_the_readers_of_an_allocation_are_limited(lab: EchoLab, instance: str, person: Client) -> None:
    relay = lab.member(instance, "relay")
    with followed(lab, instance, relay.id), followed(lab, instance, relay.id), followed(lab, instance, relay.id):
        with pytest.raises(GpuaasError) as refused:
            person.logs.read(lab.project_id, instance, member=relay.id)
        assert refused.value.code == "too_many_streams"
        assert refused.value.details["limit"] == "allocation"
        assert person.logs.tail(lab.project_id, instance, 5, member=lab.member(instance, "hub").id)


def test_the_command_merges_members_by_time(lab: EchoLab, instance: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPUAAS_URL", lab.sandbox.server.url)
    monkeypatch.setenv("GPUAAS_TOKEN", lab.sandbox.bearer("project_member"))
    for number, host in enumerate((0, 1, 0)):
        text = f"step {number} at host {host}"
        if host == 0:
            write(lab, f"echo {text}")
        else:
            lab.hosts[1].run(["systemctl", "restart", "echo-relay.service"])
            lab.hosts[1].run(["journalctl", "--sync"])
    asked = ["logs", "logged", "--project", lab.project_id, "--since", "1m"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    first, last = (next(n for n, line in enumerate(lines) if f"step {k} at" in line) for k in (0, 2))
    between = [line for line in lines[first:last] if " relay/" in line]
    assert between
    assert all("echo-relay.service" in line for line in between)
    hub = f"hub/{lab.member(instance, 'hub').ordinal}"
    done = CliRunner().invoke(app, [*asked[:4], "--member", hub, "--tail", "2", "--output", "json"])
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in done.output.splitlines()]
    assert len(rows) == 2
    assert {row["member"] for row in rows} == {hub}


def test_after_a_removal_and_a_release_there_is_nothing_to_read(lab: EchoLab, instance: str, person: Client) -> None:
    relay = lab.member(instance, "relay")
    lab.succeeds(lab.change(instance, "remove", relay))
    with pytest.raises(Conflict) as refused:
        person.logs.read(lab.project_id, instance, member=relay.id)
    assert refused.value.code == "log_source_missing"
    made, deploy = lab.deploy("later", [("hub", lab.places[1])], greeting="hi")
    lab.succeeds(deploy)
    later = lab.member(made, "hub")
    found = person.logs.tail(lab.project_id, made, 500, member=later.id)
    assert found
    assert all(at(line) >= began_at(later) for line in found)
    before = began_at(relay) - timedelta(minutes=5)
    again = list(person.logs.lines(lab.project_id, made, member=later.id, since=before))
    assert min(map(at, again)) >= began_at(later)
    with followed(lab, made, later.id):
        lab.hosts[1].run(["systemctl", "stop", "gpuaas-agent.service"])
        with pytest.raises(GpuaasError) as away:
            person.logs.read(lab.project_id, made, member=later.id)
        assert away.value.code == "log_host_unavailable"
        lab.hosts[1].run(["systemctl", "start", "gpuaas-agent.service"])
    until(lambda: bool(person.logs.tail(lab.project_id, made, 5, member=later.id)), "the agent answers again")


def test_a_slice_is_read_from_its_own_journal_and_released_while_somebody_follows(lab: EchoLab, person: Client) -> None:
    admin, project = lab.sandbox.admin, lab.project_id
    admin.allocations.release(project, lab.places[2])
    assert list(admin.allocations.follow(project, [lab.places[2]], 120.0))[-1].state == "released"
    files_of = files("gpuaas_echo")
    manifest = files_of.joinpath("manifest.yaml").read_text().replace(OLD, ANYWHERE)
    lab.publish(
        manifest.replace("requires_node_network: true", "requires_node_network: false"),
        files_of.joinpath("echod").read_bytes(),
    )
    [place] = lab.allocate(1, "h100-slice", 1)
    made, deploy = lab.deploy("sliced", [("hub", place)], version=ANYWHERE, greeting="hi")
    lab.succeeds(deploy)
    hub = lab.member(made, "hub")
    found = person.logs.tail(project, made, 100)
    assert {line.source for line in found} == {"echo-hub.service"}
    assert any("Started" in line.text for line in found)
    with followed(lab, made, hub.id):
        lab.torn_down(made)
        admin.allocations.release(project, place)
        assert list(admin.allocations.follow(project, [place], 120.0))[-1].state == "released"
