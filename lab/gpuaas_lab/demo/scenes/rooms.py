"""Allocations: two whole hosts and a slice of a third. Taken, logged in to, littered, given back, and found clean."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gpuaas_lab.demo.cast import Cast, address_of
from gpuaas_lab.errors import LabError
from gpuaas_sdk import Allocation, NewAllocation

# What a tenant might leave behind: a file of root's, a schedule, a process that outlives the session.
LITTER = (
    "echo secret-weights | sudo tee /opt/weights.bin >/dev/null;"
    " echo '* * * * * true' | crontab -;"
    " sudo systemd-run --quiet --unit=left-behind sleep 86400;"
    " echo left: file, crontab, service"
)
LOOK = "echo $(hostname) as $(id -un), $(ls -d /dev/nvidia[0-9]* | wc -l) GPUs"


@dataclass(frozen=True)
class Rooms:
    head: Allocation
    more: Allocation
    part: Allocation | None = None

    @property
    def all(self) -> list[Allocation]:
        return [one for one in (self.head, self.more, self.part) if one is not None]


def taken(cast: Cast, with_slice: bool = True) -> Rooms:
    what = "Allocate two whole hosts" + (" and a 2-GPU slice" if with_slice else "")
    with cast.report.step(what) as step:
        wishes = [NewAllocation(sku="h100-node", name=name) for name in ("head", "more")]
        if with_slice:
            wishes.append(NewAllocation(sku="h100-slice", gpu_count=2, name="part"))
        asked = [cast.mia.allocations.create(cast.project_id, wish)[0] for wish in wishes]
        rooms = Rooms(*cast.settled(asked, "active"))
        step.detail = ", ".join(f"{one.name} at {address_of(one)}" for one in rooms.all) + ", all active"
    return rooms


def logged_in(cast: Cast, rooms: Rooms) -> None:
    with cast.report.step("Log in by SSH with a 15-minute certificate") as step:
        visits = {one.id: LOOK for one in rooms.all} | {rooms.head.id: f"{LOOK}; {LITTER}"}
        with ThreadPoolExecutor() as people:
            seen = list(people.map(lambda one: cast.said(one, visits[one.id]), rooms.all))
        step.detail = "; ".join(seen).replace("\n", ", ")


def given_back(cast: Cast, rooms: Rooms) -> None:
    with cast.report.step("Release all, wipe with a restart, and verify the wipe") as step:
        for one in rooms.all:
            cast.mia.allocations.release(cast.project_id, one.id)
        ended = cast.settled(rooms.all, "released")
        for one in ended:
            if not one.wipe_verified:
                raise LabError(f"the wipe of {one.name} is not verified")
        restarted = [one.name for one in ended if one.wipe_grade == "rebooted"]
        if restarted != [rooms.head.name, rooms.more.name]:
            raise LabError(f"of the whole hosts, only {restarted} were wiped with a restart")
        evidence = cast.mia.allocations.timeline(cast.project_id, rooms.head.id).wipe_evidence or {}
        checks = evidence.get("checks")
        names = [f"{check['name']} {check['examined']}" for check in checks] if isinstance(checks, list) else []
        step.detail = f"all {len(rooms.all)} proven clean, whole hosts after a restart; looked at: {', '.join(names)}"


def nothing_is_left(cast: Cast, rooms: Rooms) -> None:
    with cast.report.step("Try the door again, look at the disk from outside") as step:
        if cast.ssh(rooms.head, "true").returncode == 0:
            raise LabError("SSH still works after the release")
        host = cast.fleet.host_at(address_of(rooms.head))
        if host is not None and (host.upper / "opt/weights.bin").exists():
            raise LabError("the tenant's file is still on the host's disk")
        step.detail = "no certificate is issued any more; the tenant's file is gone from the disk"
