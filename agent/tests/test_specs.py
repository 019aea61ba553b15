"""A signed task may still carry text that must never reach a file name or an option line."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_agent import config, specs
from gpuaas_agent.failures import SpecInvalid
from gpuaas_agent.host.sshd import grant_line

BLOB = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + bytes(32)
KEY = "ssh-ed25519 " + base64.b64encode(BLOB).decode()


def spec(**changes: object) -> dict[str, object]:
    return {
        "allocation_id": "alc_1",
        "shape": "baremetal",
        "login_user": "gpu",
        "principal": "alc_1",
        "user_ca_keys": [KEY],
        "hostname": "gpu-1",
        "slots": [{"slot_index": 0, "pci_address": "0000:10:00.0", "nvme_device": None}],
        "grants": [],
        **changes,
    }


def test_a_sound_spec_is_read() -> None:
    read = specs.parse_provision(spec())
    assert (read.allocation_id, read.access.login_user) == ("alc_1", "gpu")


@pytest.mark.parametrize(
    "changes",
    [
        {"allocation_id": "../../x"},
        {"allocation_id": "alc_1\n"},
        {"login_user": "root; rm"},
        {"login_user": "-oProxyCommand"},
        {"login_user": "gpu\n"},
        {"login_user": None},
        {"principal": "a b"},
        {"principal": "a,b"},
        {"principal": "x\ncommand=evil"},
        {"shape": "vm"},
        {"hostname": "a b"},
        {"hostname": "$(x)"},
        {"user_ca_keys": ["ssh-ed25519 not-base64"]},
        {"user_ca_keys": [KEY + "\nssh-rsa AAAA"]},
        {"user_ca_keys": ['command="x" ' + KEY]},
        {"grants": [{"grant_id": 'x" y', "public_key": KEY, "expires_at": None}]},
        {"grants": [{"grant_id": "g", "public_key": KEY, "expires_at": "tomorrow"}]},
        {"grants": [{"grant_id": "g", "public_key": KEY, "expires_at": "2030-01-01T00:00:00"}]},
        {"slots": [{"slot_index": -1, "pci_address": "0000:10:00.0"}]},
        {"slots": [{"slot_index": 0, "pci_address": "/dev/sda"}]},
        {"slots": [{"slot_index": 0, "pci_address": "0000:10:00.0", "nvme_device": "/dev/sda"}]},
        {"revoked_serials": ["1\nkey: x"]},
        {"revoked_serials": [1 << 64]},
    ],
)
def test_a_spec_with_dangerous_text_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(SpecInvalid):
        specs.parse_provision(spec(**changes))


@given(st.text(max_size=60))
def test_a_key_line_never_carries_more_than_type_and_key(text: str) -> None:
    try:
        line = specs.public_key(f"{KEY} {text}")
    except SpecInvalid:
        return
    assert line == KEY


def test_a_grant_line_says_when_it_ends_in_utc() -> None:
    grant = specs.Grant("gra_1", KEY, datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC))
    assert grant_line(grant) == f'expiry-time="20300102030405Z" {KEY} gra_1\n'


def test_unknown_keys_of_the_configuration_are_named_not_fatal() -> None:
    read = config.from_mapping({"address": "10.0.0.1", "colour": "blue"})
    assert (read.address, read.unknown_keys) == ("10.0.0.1", ("colour",))


@pytest.mark.parametrize(
    "raw",
    [{"state_dir": "relative"}, {"ssh_port": 0}, {"ssh_port": "22"}, {"slice_addresses": ["x"]}],
)
def test_a_senseless_configuration_is_refused(raw: dict[str, object]) -> None:
    with pytest.raises(config.ConfigInvalid):
        config.from_mapping(raw)
