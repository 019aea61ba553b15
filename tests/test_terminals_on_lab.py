"""A shell in a real allocation over the API: what it does, who may, and each way in which it ends."""

import fcntl
import os
import pty
import secrets
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpuaas_lab import Fleet, Host
from gpuaas_sdk import Client, Denied, NewAllocation, Terminal
from gpuaas_sdk.terminal import TerminalStream
from gpuaas_sdk.testing import Sandbox
from system_support.lab_site import lab_site
from system_support.ledger import Ledger, until
from system_support.screen import Screen
from system_support.server import RunningServer

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
IDLE = 12


@dataclass
class Site:
    sandbox: Sandbox
    host: Host
    ledger: Ledger

    def allocate(self, owner: Client, sku: str, gpus: int | None) -> str:
        made = owner.allocations.create(self.sandbox.project_id, NewAllocation(sku=sku, gpu_count=gpus))[0]
        active = list(owner.allocations.follow(self.sandbox.project_id, [made.id], 90.0))[-1]
        assert active.state == "active", active.failure
        assert "terminal_open" in active.allowed_actions
        return made.id

    def release(self, allocation_id: str) -> None:
        self.sandbox.admin.allocations.release(self.sandbox.project_id, allocation_id)
        assert self.settled(allocation_id) == "released"

    def settled(self, allocation_id: str) -> str:
        followed = self.sandbox.admin.allocations.follow(self.sandbox.project_id, [allocation_id], 120.0)
        return list(followed)[-1].state

    def runs(self, mark: str) -> bool:
        """Whether a process with this argument runs on the host, in a slice or not. Not asked of the agent."""
        return self.host.run(["pgrep", "-f", f"[s]leep {mark}"], check=False).returncode == 0

    def kinds(self, allocation_id: str) -> list[str]:
        page = self.sandbox.admin.events.page(self.sandbox.project_id, subject=allocation_id)
        return [event.type for event in page.items]

    def listed(self, allocation_id: str, terminal_id: str) -> Terminal:
        found = self.sandbox.admin.terminals.list(self.sandbox.project_id, allocation_id)
        return next(one for one in found if one.id == terminal_id)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with lab_site("terms", 1, terminal_idle_seconds=str(IDLE), terminals_per_allocation="4") as (sandbox, fleet):
        yield Site(sandbox, host_of(fleet), Ledger(sandbox.server.database_url()))


def host_of(fleet: Fleet) -> Host:
    return fleet.hosts[0]


@pytest.fixture(scope="module", params=[("h100-node", None), ("h100-slice", 2)], ids=["baremetal", "slice"])
def place(site: Site, request: pytest.FixtureRequest) -> Iterator[str]:
    allocation_id = site.allocate(site.sandbox.admin, *request.param)
    yield allocation_id
    site.release(allocation_id)


def screen(site: Site, place: str, columns: int = 80, rows: int = 24) -> Screen:
    return Screen.open(site.sandbox.admin, site.sandbox.project_id, place, columns, rows)


# The host is one: what needs all of it comes before the allocations that the other tests share.
def test_a_release_hangs_up_at_once_and_the_wipe_is_as_clean_as_ever(site: Site) -> None:
    for sku, gpus in (("h100-node", None), ("h100-slice", 1)):
        place = site.allocate(site.sandbox.admin, sku, gpus)
        with screen(site, place) as person:
            person.stream.send(b"echo left > ~/behind; (setsid nohup sleep 4711 >/dev/null 2>&1 &); echo done\n")
            person.look_for(b"done\r\n")
            site.sandbox.admin.allocations.release(site.sandbox.project_id, place)
            assert person.ends().reason == "released"
        assert site.settled(place) == "released"
        assert site.sandbox.admin.allocations.show(site.sandbox.project_id, place).wipe_verified
        assert not site.runs("4711")
    assert os.listdir(site.host.upper / "var/lib/gpuaas/agent/terminals") == []


def test_members_have_terminals_on_their_own_allocations_and_administrators_on_all(site: Site) -> None:
    sandbox = site.sandbox
    member, other, viewer = (sandbox.person(f"project_{role}") for role in ("member", "member", "viewer"))
    own = site.allocate(member, "h100-slice", 1)
    for stranger in (other, viewer, sandbox.person("platform_operator")):
        assert "terminal_open" not in stranger.allocations.show(sandbox.project_id, own).allowed_actions
        with pytest.raises(Denied):
            stranger.terminals.open(sandbox.project_id, own)
    with Screen.open(member, sandbox.project_id, own) as person:
        with pytest.raises(Denied):  # an administrator may close it, and never looks on
            TerminalStream(sandbox.admin, person.terminal)
        with pytest.raises(Denied):
            other.terminals.close(sandbox.project_id, own, person.terminal.id)
        sandbox.admin.terminals.close(sandbox.project_id, own, person.terminal.id)
        end = person.ends()
        assert end.reason == "closed"
        assert "Administrator" in end.message
    with Screen.open(sandbox.person("project_admin"), sandbox.project_id, own) as person:
        person.run("true")
    with Screen.open(member, sandbox.project_id, own) as person:
        mark = start_sleeping(site, person)
        sandbox.admin.users.update(sandbox.tenant_id, member.me.show().id, disabled=True)
        assert person.ends().reason == "access_lost"
        until(lambda: not site.runs(mark), "the end of what ran there")
    site.release(own)


def test_a_shell_has_the_window_that_was_asked_for_and_says_how_it_ended(site: Site, place: str) -> None:
    with screen(site, place, 101, 33) as person:
        assert person.run("stty size; id -un; tty | cut -c1-8").split() == ["33", "101", "gpu", "/dev/pts"]
        person.stream.resize(132, 50)
        until(lambda: person.run("stty size") == "50 132", "the new size")
        # The far side knows how long a character is, whoever edits the line: first the shell, then the terminal itself.
        person.stream.send("echo grüß\x7f en\n".encode())
        person.look_for("\rgrü en\r\n".encode())
        person.stream.send(b"echo now; read line; echo $line\n")
        person.look_for(b"\rnow\r\n")
        person.stream.send("süß\x7f\x7f\n".encode())
        person.look_for(b"\r\ns\r\n")
        person.stream.send(b"exit 7\n")
        assert (person.ends().reason, person.stream.end and person.stream.end.exit_status) == ("exited", 7)
    record = site.listed(place, person.terminal.id)
    assert (record.status, record.reason, record.exit_status) == ("ended", "exited", 7)
    assert record.bytes_in > 0
    assert record.bytes_out > 0
    told = ["allocation.terminal_opened", "allocation.terminal_ended"]
    until(lambda: site.kinds(place)[-2:] == told, "opening and end told to who follows")


def test_what_is_typed_and_shown_is_kept_nowhere(site: Site, place: str) -> None:
    secret = f"s-{secrets.token_hex(12)}"
    with screen(site, place) as person:
        assert person.run(f"echo {secret}") == secret
        person.stream.send(b"exit\n")
        person.ends()
    tables = site.ledger.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    for table in (row["tablename"] for row in tables):
        assert site.ledger.rows(f"SELECT 1 FROM {table} t WHERE t::text LIKE %s", f"%{secret}%") == [], table
    assert secret not in site.sandbox.server.log_file.read_text()
    assert secret not in site.host.agent_log(1000)
    [entry] = [
        one for one in site.sandbox.admin.audit.list(action="terminal_close") if one.resource_id == person.terminal.id
    ]
    assert entry.details["why"] == "exited"
    assert int(str(entry.details["bytes_out"])) > 0


def test_the_command_gives_its_own_terminal_over_and_hangs_up_by_tilde_and_dot(site: Site, place: str) -> None:
    master, slave = pty.openpty()
    resize(master, 90, 30)
    environment = os.environ | {
        "GPUAAS_URL": site.sandbox.server.url,
        "GPUAAS_TOKEN": site.sandbox.bearer("project_admin"),
    }
    command = [
        sys.executable,
        "-m",
        "gpuaas_cli",
        "allocations",
        "terminal",
        place,
        "--project",
        site.sandbox.project_id,
    ]
    with subprocess.Popen(
        ["setsid", "--ctty", *command], stdin=slave, stdout=slave, stderr=slave, env=environment
    ) as ran:
        os.close(slave)
        show_until(master, b"$ ")
        os.write(master, b"stty size\r")
        show_until(master, b"30 90")
        resize(master, 111, 44)
        until(lambda: b"44 111" in shown_by(master, "stty size"), "the new size")
        os.write(master, b"\r~.")
        show_until(master, b"closed")
        assert ran.wait(20) == 0
    os.close(master)


def resize(master: int, columns: int, rows: int) -> None:
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def show_until(master: int, wanted: bytes, seconds: float = 60.0) -> bytes:
    shown, deadline = b"", time.monotonic() + seconds
    while wanted not in shown:
        ready, _, _ = select.select([master], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, shown
        try:
            shown += os.read(master, 65536)
        except OSError:  # whoever had the other end has left
            raise AssertionError(shown) from None
    return shown


def shown_by(master: int, command: str) -> bytes:
    """All that is shown until the command is through; its end is marked, and the mark is not what is typed."""
    mark = secrets.token_hex(4)
    os.write(master, f"{command}; echo {mark[:4]}''{mark[4:]}\r".encode())
    return show_until(master, mark.encode())


def test_two_replicas_join_the_streams_that_came_to_each(site: Site, place: str) -> None:
    with RunningServer.replica_of(site.sandbox.server, login_rate_per_minute="100000") as other:
        with Screen.open(other.admin(), site.sandbox.project_id, place) as person:
            assert person.run("stty size") == "24 80"
            assert len(person.run("head -c 300000 /dev/zero | tr '\\0' x")) == 300_000
            person.stream.resize(90, 30)
            until(lambda: person.run("stty size") == "30 90", "the new size")
            person.stream.send(b"exit 3\n")
            assert person.ends().exit_status == 3
        with Screen.open(other.admin(), site.sandbox.project_id, place) as person:
            mark = start_sleeping(site, person)
            other.kill("api")
            assert person.ends().reason == "interrupted"
        assert ended(site, place, person).reason == "closed"  # who held it saw the person's side go
        until(lambda: not site.runs(mark), "the end of what ran there")


def start_sleeping(site: Site, person: Screen) -> str:
    """Something in the foreground, seen to run on the host; its argument is its mark."""
    mark = str(secrets.randbelow(10**9) + 10**6)
    person.stream.send(f"sleep {mark}\n".encode())
    until(lambda: site.runs(mark), "what is to run there")
    return mark


def ended(site: Site, place: str, person: Screen, seconds: float = 90.0) -> Terminal:
    def look() -> Terminal | None:
        found = site.listed(place, person.terminal.id)
        return found if found.status == "ended" else None

    return until(look, "the end in the record", seconds)


def test_a_shell_that_writes_without_end_fills_no_memory_and_holds_up_nobody(site: Site, place: str) -> None:
    [api], agent = site.sandbox.server.children("api"), int(site.host.run(["pgrep", "-of", "gpuaas_agent"]).stdout)
    agent_memory = ["grep", "VmRSS", f"/proc/{agent}/status"]
    with screen(site, place) as person:
        before = (resident(Path(f"/proc/{api}/status").read_text()), resident(site.host.run(agent_memory).stdout))
        person.stream.send(b"yes 0123456789012345678901234567890123456789\n")
        for _ in range(40):  # nobody reads; others are served all the same
            site.sandbox.admin.allocations.show(site.sandbox.project_id, place)
            time.sleep(0.1)
        after = (resident(Path(f"/proc/{api}/status").read_text()), resident(site.host.run(agent_memory).stdout))
        assert max(now - then for now, then in zip(after, before, strict=True)) < 30_000, (before, after)
        site.sandbox.admin.terminals.close(site.sandbox.project_id, place, person.terminal.id)
        assert ended(site, place, person).reason == "closed"
    until(lambda: site.host.run(["pgrep", "-x", "yes"], check=False).returncode == 1, "the end of yes")


def resident(status: str) -> int:
    """In kB."""
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


def test_an_idle_terminal_ends(site: Site, place: str) -> None:
    with screen(site, place) as person:
        start = time.monotonic()
        assert person.ends(IDLE + 60).reason == "idle"
        assert time.monotonic() - start > IDLE - 2


def test_a_killed_agent_takes_its_terminals_along(site: Site, place: str) -> None:
    with screen(site, place) as person:
        mark, killed = start_sleeping(site, person), site.host.agent_pid()
        site.host.kill_agent()
        assert person.ends().reason == "host_lost"
        until(lambda: not site.runs(mark), "the end of what ran there")
    until(lambda: site.host.agent_pid() not in (None, killed), "the agent is back")
    with screen(site, place) as person:
        assert person.run("echo again") == "again"


def test_a_killed_api_leaves_no_shell_and_no_open_record(site: Site, place: str) -> None:
    with screen(site, place) as person:
        mark = start_sleeping(site, person)
        site.sandbox.server.kill("api")
        assert person.ends().reason == "interrupted"
    site.sandbox.server.wait_ready()
    until(lambda: not site.runs(mark), "the end of what ran there")
    assert ended(site, place, person).reason == "interrupted"
