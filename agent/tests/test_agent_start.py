"""What an agent knows about its host certificates after its start, against a control plane that issues them."""

from __future__ import annotations

from pathlib import Path

import pytest
from little_platform import LittlePlatform

from gpuaas_agent import agent, identity
from gpuaas_agent.allocations import AllocationLedger, AllocationRecord
from gpuaas_agent.certificate_schedule import CertificateSchedule
from gpuaas_agent.config import Config
from gpuaas_agent.drivers import registry
from gpuaas_agent.drivers.seam import TaskContext
from gpuaas_agent.failures import TaskFailure
from gpuaas_agent.host import sshd

MINUTE, HOUR = 60.0, 3600.0


class Watch:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.at = 1000.0

    def __call__(self) -> float:
        return self.at


class CertifyingDriver:
    """Asks the platform for one host certificate, as a driver does when its host starts."""

    def __init__(self, config: Config, ledger: AllocationLedger) -> None:
        self._ssh = sshd.SshFiles(sshd.ROOT)

    def prepare(self, context: TaskContext) -> None:
        context.certify_host(None, self._ssh.host_public_key(), "10.0.0.1")


class BrokenDriver(CertifyingDriver):
    """Gets a certificate, and then cannot make its sshd use it."""

    def prepare(self, context: TaskContext) -> None:
        super().prepare(context)
        raise TaskFailure("sshd_config_rejected", "sshd rejects its configuration")


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def settings(tmp_path: Path, hw_root: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A host below a folder: its sshd files are not those of the machine that runs the test."""
    monkeypatch.setattr(sshd, "ROOT", tmp_path / "root")
    monkeypatch.setitem(registry._DRIVERS, "certifying", CertifyingDriver)
    monkeypatch.setitem(registry._DRIVERS, "broken", BrokenDriver)
    return Config(
        address="10.0.0.1",
        state_dir=tmp_path / "state",
        hw_root=hw_root,
        source=tmp_path / "agent.json",
        bare_metal_driver="certifying",
    )


def start(platform: LittlePlatform, settings: Config, watch: Watch) -> CertificateSchedule:
    known = identity.enrol(identity.parse_bundle(platform.bundle()), settings.state_dir, agent.host_facts(settings))
    schedule = CertificateSchedule(watch)
    agent.Agent(settings, known, schedule).start_up()
    assert platform.heartbeats
    assert platform.inventories
    return schedule


def test_certificates_that_were_all_issued_at_the_start_are_not_renewed_a_minute_later(
    platform: LittlePlatform, settings: Config, watch: Watch
) -> None:
    schedule = start(platform, settings, watch)
    watch.at += MINUTE
    assert not schedule.is_due
    watch.at += 8 * HOUR  # a third of the life that the platform gave
    assert schedule.is_due


def test_an_allocation_that_is_not_proven_clean_keeps_an_old_certificate_which_is_renewed_soon(
    platform: LittlePlatform, settings: Config, watch: Watch
) -> None:
    AllocationLedger(settings.state_dir).put(AllocationRecord("alc_1", "gpu_slice", 1, "gpu"))
    schedule = start(platform, settings, watch)
    assert not schedule.is_due
    watch.at += MINUTE
    assert schedule.is_due


def test_a_driver_that_could_not_be_prepared_is_renewed_soon(
    platform: LittlePlatform, settings: Config, watch: Watch
) -> None:
    schedule = start(platform, Config(**{**vars(settings), "bare_metal_driver": "broken"}), watch)
    assert not schedule.is_due
    watch.at += MINUTE
    assert schedule.is_due
