"""However a fleet ends, nothing of it stays on the machine."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gpuaas_lab import Fleet, LabError, cleanup, leftovers, records
from gpuaas_lab.fleet import REPOSITORY

pytestmark = pytest.mark.lab

_OWNER = """
import sys, time
from gpuaas_lab import Fleet
with Fleet(name=sys.argv[1], hosts=1, gpus_per_host=2) as fleet:
    print(fleet.number, flush=True)
    time.sleep(120)
"""


def _name(what: str) -> str:
    return f"{what}-{os.getpid()}"


def _attempt(*arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "gpuaas_lab", *arguments]
    return subprocess.run(argv, check=False, capture_output=True, text=True, timeout=60)


def _command(*arguments: str) -> str:
    done = _attempt(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _start_owner(name: str) -> tuple[subprocess.Popen[str], int]:
    # As in a terminal: whoever runs the tests in the background has SIGINT ignored, and children inherit that.
    owner = subprocess.Popen(
        [sys.executable, "-c", _OWNER, name],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert owner.stdout is not None
    return owner, int(owner.stdout.readline())


def test_nothing_is_left_after_a_fleet_was_left_in_order_and_two_run_side_by_side() -> None:
    with Fleet(name=_name("one"), hosts=2, gpus_per_host=2) as one:
        with Fleet(name=_name("two"), hosts=1) as two:
            numbers = (one.number, two.number)
            assert numbers[0] != numbers[1]
            assert leftovers(one.number)
            tried = two.hosts[0].run(
                ["timeout", "0.3", "bash", "-c", f": < /dev/tcp/{one.hosts[0].address}/22"], check=False
            )
            assert tried.returncode != 0, "fleets must not reach each other"
        assert leftovers(numbers[1]) == []
        assert one.hosts[0].run(["hostname"]).stdout.strip() == one.hosts[0].name
    assert leftovers(numbers[0]) == []


def test_nothing_is_left_after_an_exception() -> None:
    seen: list[int] = []
    with pytest.raises(ZeroDivisionError):
        _fail_inside(_name("broken"), seen)
    assert leftovers(seen[0]) == []


def _fail_inside(name: str, seen: list[int]) -> None:
    with Fleet(name=name, hosts=1, gpus_per_host=1) as fleet:
        seen.append(fleet.number)
        fleet.hosts[0].run(["systemd-run", "--quiet", "sleep", "1000"])
        raise ZeroDivisionError


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_after_a_signal_that_asks_to_end(sign: signal.Signals) -> None:
    owner, number = _start_owner(_name(f"asked{sign.value}"))
    owner.send_signal(sign)
    assert owner.wait(30) != 0
    assert leftovers(number) == []


def test_down_removes_what_an_owner_left_that_was_killed_with_all_that_ran_in_its_hosts() -> None:
    for _ in range(5):
        owner, number = _start_owner(_name("killed"))
        owner.kill()
        owner.wait(60)
        left = [line for line in leftovers(number) if line.startswith("process")]
        done = _attempt("down", "--name", _name("killed"))
        assert leftovers(number) == []
        if done.returncode == 0:
            assert left
            return
        # Whoever makes a fleet at this very moment, in a test beside this one, clears up first.
        assert "no fleet" in done.stdout + done.stderr
    pytest.fail("somebody else was always first")


def test_an_owner_that_is_killed_while_its_hosts_boot_is_cleared_up_after_too() -> None:
    name = _name("early")
    for wait in (0.15, 0.5, 0.9):
        owner = subprocess.Popen([sys.executable, "-c", _OWNER, name], stdout=subprocess.DEVNULL)
        time.sleep(0.3 + wait)
        owner.kill()
        owner.wait(60)
    # The last one is cleared up after by whoever makes the next fleet.
    with Fleet(name=_name("next"), hosts=1, gpus_per_host=1) as fleet:
        number = fleet.number
    assert not [line for line in leftovers() if name in line]
    assert leftovers(number) == []


def test_up_leaves_a_fleet_running_that_other_processes_can_use_until_down() -> None:
    name = _name("stays")
    try:
        _command("up", "--name", name, "--hosts", "1", "--gpus", "1")
        assert f'"{name}"' in _command("status", "--output", "json")
        with pytest.raises(LabError, match=name):
            Fleet(name=name, hosts=1).start()
        # `make clean` ends what its own checkout left running, and this is not another's to end.
        record = records.load(name)
        assert record is not None
        assert (records.is_from(record, REPOSITORY), records.is_from(record, REPOSITORY.parent)) == (True, False)
        assert name not in cleanup.down(None, REPOSITORY / "no-checkout")
    finally:
        _command("down", "--name", name)
    assert f'"{name}"' not in _command("status", "--output", "json")


def test_a_host_that_locks_its_own_files_does_not_stop_the_clean_up() -> None:
    with Fleet(name=_name("locked"), hosts=1, gpus_per_host=1) as fleet:
        number, folder = fleet.number, fleet.hosts[0].upper
        fleet.hosts[0].run(["sh", "-ec", "mkdir /srv/a; touch /srv/a/b; chattr +i /srv/a/b 2>/dev/null || true"])
        fleet.hosts[0].run(["mount", "-t", "tmpfs", "tmpfs", "/mnt"])
    assert leftovers(number) == []
    assert not Path(folder).exists()
