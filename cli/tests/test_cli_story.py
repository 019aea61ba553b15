"""The command against a real server with simulated agents: the operator's day, then the user's."""

import json
import os
import secrets
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuaas_sdk import Client, PasswordCredentials, Token, Unauthenticated
from gpuaas_sdk.testing.child_process import ending_with_test
from system_support.server import RunningServer

GPU = "NVIDIA H100 80GB HBM3"
PASSWORD = "correct horse battery staple"


@pytest.fixture
def operator(server: RunningServer, gpuaas: Any) -> Any:
    """The command, signed in as the first administrator."""
    login = gpuaas(
        "login", server.admin_email, "--server", server.url, "--password-stdin", typed=f"{server.admin_password}\n"
    )
    assert login.code == 0, login.err
    assert "platform_admin" in login.out
    return gpuaas


@pytest.fixture
def fleet(operator: Any, tmp_path: Path) -> Iterator[str]:
    """One simulated node with eight GPUs, enrolled and approved with the command; yields its name."""
    index = secrets.randbelow(9000)
    enrolled = operator("nodes", "enrol", "--note", "story")
    assert enrolled.out.startswith("gpuaas-enrol.v1.")
    assert "shown only once" in enrolled.err
    bundle = tmp_path / "bundle"
    bundle.write_text(enrolled.out)
    command = [sys.executable, "-m", "gpuaas_agent.sim", "--bundle-file", str(bundle), "--first-index", str(index)]
    agents = subprocess.Popen(ending_with_test([*command, "--delay-ms", "50"]), stderr=subprocess.DEVNULL)
    name = f"sim-{index:05}"
    try:
        wait_until(lambda: operator("slots", "list", name, "-o", "json").code == 0)
        wait_until(lambda: len(operator("slots", "list", name, "-o", "json").items) == 8)
        assert operator("slots", "approve", name).code == 0
        yield name
        operator("nodes", "drain", name, "--reason", "the story ends", "--now", "--watch", "--yes")
    finally:
        agents.kill()
        agents.wait(60)


@pytest.fixture
def project(operator: Any) -> str:
    mark = secrets.token_hex(3)
    assert operator("tenants", "create", f"acme-{mark}", "--name", "Acme").code == 0
    assert operator("projects", "create", "research", "--tenant", f"acme-{mark}").code == 0
    return f"acme-{mark}/research"


@pytest.fixture
def sku(operator: Any) -> str:
    name = f"slice-{secrets.token_hex(3)}"
    counts = ("--gpus", "1", "--gpus", "2")
    made = operator("skus", "create", name, "--shape", "gpu_slice", "--gpu-model", GPU, *counts, "--price", "250")
    assert made.code == 0, made.err
    return name


def wait_until(condition: Any, seconds: float = 90.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.1)


def test_an_allocation_lives_and_ends(operator: Any, fleet: str, project: str, sku: str) -> None:
    assert operator("config", "set", "project", project).code == 0
    made = operator("allocations", "create", "--sku", sku, "--gpus", "2", "--name", "train", "--watch")
    assert made.code == 0, made.err
    assert "provisioning" in made.out
    assert "train is active" in made.out
    [listed] = operator("allocations", "list", "-o", "json").items
    assert (listed["name"], listed["state"], listed["gpu_count"]) == ("train", "active", 2)
    assert "USED" in operator("nodes", "list").out
    released = operator("allocations", "release", "train", "--watch", "--yes", "--reason", "finished")
    assert released.code == 0, released.err
    assert "verify_wipe" in released.out
    shown = operator("allocations", "show", "train")
    assert "verified" in shown.out
    assert "released" in shown.out
    types = [event["type"] for event in operator("events", "list", "-o", "json").items]
    assert "allocation.active" in types
    assert "allocation.released" in types
    actions = [record["action"] for record in operator("audit", "list", "-o", "json").items]
    assert "allocation_create" in actions


def test_a_place_is_shown_gpu_by_gpu_by_its_host_and_in_the_map_of_the_fleet(
    operator: Any, fleet: str, project: str, sku: str
) -> None:
    arguments = ("--sku", sku, "--gpus", "2", "--watch", "-p", project, "-o", "json")
    made = operator("allocations", "create", *arguments).items[0]
    gpus = operator("allocations", "topology", made["id"], "-p", project, "-o", "json").items
    claimed = [gpu["slot_index"] for gpu in gpus if gpu["claimed"]]
    assert (len(gpus), len(claimed)) == (8, made["gpu_count"])
    shown = operator("slots", "map").out
    assert f"claimed {' '.join(str(index) for index in claimed)}" in shown
    assert operator("allocations", "release", made["id"], "--yes", "--watch", "-p", project).code == 0


def test_several_allocations_are_watched_together(operator: Any, fleet: str, project: str, sku: str) -> None:
    made = operator(
        "-o", "json", "allocations", "create", "-p", project, "--sku", sku, "--gpus", "1", "--count", "3",
        "--name", "pack", "--watch",
    )  # fmt: skip
    assert made.code == 0, made.err
    assert [one["name"] for one in made.items] == ["pack-1", "pack-2", "pack-3"]
    assert {one["state"] for one in made.items} == {"active"}
    planned = operator("nodes", "drain", fleet, "--reason", "kernel update", "--yes")
    assert (planned.code, "drain planned" in planned.out, "Drain begins" in planned.out) == (0, True, True)
    assert "host_drain_planned, from " in operator("allocations", "show", "pack-1", "-p", project).out
    assert operator("nodes", "drain", fleet, "--reason", "x", "--at", "2h", "--now", "--yes").code == 2
    drained = operator("nodes", "drain", fleet, "--reason", "kernel update", "--now", "--watch", "--yes")
    assert drained.code == 0, drained.err
    assert "is drained" in drained.out
    states = {one["state"] for one in operator("allocations", "list", "-p", project, "-o", "json").items}
    assert states == {"released"}


def test_an_operator_limits_the_streams_of_a_project(operator: Any, project: str) -> None:
    assert operator("quota", "set", "-p", project, "--streams", "12").code == 0
    shown = operator("quota", "show", "-p", project)
    assert "at most 12 at one api process" in shown.out
    tenant = json.loads(operator("projects", "show", project, "-o", "json").out)["tenant_id"]
    changed = operator("quota", "set", "--tenant", tenant, "--streams", "20", "-o", "json")
    assert (changed.code, json.loads(changed.out)["stream_limit"]) == (0, 20)
    beyond = operator("quota", "set", "-p", project, "--streams", "21")
    assert (beyond.code, "quota_beyond_tenant" in beyond.err) == (5, True)
    assert operator("quota", "set", "-p", project, "--streams", "0").code == 2


def test_refusals_tell_what_to_do_and_end_with_their_code(operator: Any, project: str, sku: str) -> None:
    odd = operator("allocations", "create", "-p", project, "--sku", sku, "--gpus", "7")
    assert (odd.code, "sku_not_offered" in odd.err) == (5, True)
    assert "Next:" in odd.err
    assert "correlation id" in odd.err
    assert operator("quota", "set", "1", "-p", project).code == 0
    over = operator("allocations", "create", "-p", project, "--sku", sku, "--gpus", "2")
    assert (over.code, "quota_exceeded" in over.err or "no_capacity" in over.err) == (5, True)
    assert operator("tenants", "show", "nowhere").code == 3
    assert operator("allocations", "show", "nothing", "-p", project).code == 3


def test_people_get_roles_and_no_more(operator: Any, gpuaas: Any, server: RunningServer, project: str) -> None:
    email = f"ada-{secrets.token_hex(3)}@example.test"
    tenant = project.split("/", maxsplit=1)[0]
    created = operator(
        "users", "create", email, "--name", "Ada", "--tenant", tenant, "--password-stdin", typed=f"{PASSWORD}\n"
    )
    assert created.code == 0, created.err
    assert operator("members", "set", email, "project_viewer", "-p", project).code == 0
    assert email in operator("members", "list", "-p", project).out
    assert gpuaas("login", email, "--server", server.url, "--password-stdin", typed=f"{PASSWORD}\n").code == 0
    assert gpuaas("allocations", "list").code == 0, "the only project needs no name"
    for name in (project, project.split("/")[1]):
        assert gpuaas("allocations", "list", "-p", name).code == 0, "all members call it by the name that admins use"
    denied = gpuaas("members", "set", email, "project_admin")
    assert denied.code == 4
    assert "needs: " in denied.err


def test_a_service_account_signs_in_and_its_keys_rotate(
    operator: Any, gpuaas: Any, server: RunningServer, project: str, configuration_home: Path
) -> None:
    made = operator("service-accounts", "create", "ci", "--scope", "allocations:read", "-p", project, "-o", "json")
    assert made.code == 0, made.err
    rotated = operator("service-accounts", "keys", "rotate", "ci", "-p", project, "-o", "json")
    secret, account = str(rotated.json["secret"]), str(made.json["id"])
    first_key = made.json["key"]
    assert isinstance(first_key, dict)
    deleted = operator("service-accounts", "keys", "delete", "ci", str(first_key["id"]), "-p", project, "--yes")
    assert deleted.code == 0, deleted.err
    login = gpuaas(
        "login", "--service-account", account, "--server", server.url, "--password-stdin", typed=f"{secret}\n"
    )
    assert login.code == 0, login.err
    assert gpuaas("allocations", "list").code == 0, "its own project needs no name"


def test_ssh_keys_certificates_and_grants(
    operator: Any, server: RunningServer, fleet: str, project: str, sku: str, tmp_path: Path
) -> None:
    key = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    name = f"laptop-{secrets.token_hex(3)}"
    assert operator("ssh-keys", "add", f"{key}.pub", "--name", name).code == 0
    assert operator("ssh-keys", "add", str(key)).code == 2, "a private key is refused before it leaves the machine"
    made = operator(
        "allocations", "create", "-p", project, "--sku", sku, "--gpus", "1", "--name", "box", "--ssh-key", name, "--watch"
    )  # fmt: skip
    assert made.code == 0, made.err
    [own] = operator("ssh-grants", "list", "box", "-p", project, "-o", "json").items
    assert own["note"] == name
    granted = operator("ssh-grants", "create", "box", "--key", name, "--expires", "2h", "-p", project, "-o", "json")
    assert granted.code == 0, granted.err
    [grant] = granted.items
    private = ("--reason", "laptop lost", "-p", project, "--yes")
    assert operator("ssh-certificates", "list", "box", "-p", project, "-o", "json").items == []
    assert "none to revoke" in operator("ssh-certificates", "revoke", "box", *private).out
    where = operator("projects", "show", project, "-o", "json").json["id"]
    with Client(server.url, credentials=PasswordCredentials(server.admin_email, server.admin_password)) as client:
        box = next(one.id for one in client.allocations.list(str(where)) if one.name == "box")
        issued = client.ssh_access.create_certificate(
            str(where), box, Path(f"{key}.pub").read_text().strip(), source_addresses=["192.0.2.1"]
        )
    assert operator("ssh-certificates", "list", "box", "-p", project, "-o", "json").items[0]["revoked_at"] is None
    assert str(issued.serial) in operator("ssh-certificates", "revoke", "box", *private).out
    assert "revoked" in operator("ssh-certificates", "list", "box", "-p", project).out
    assert operator("ssh-grants", "delete", "box", str(grant["id"]), "-p", project, "--yes").code == 0
    assert operator("ssh-keys", "delete", name, "--yes").code == 0


def _age(file: Path) -> dict[str, Any]:
    """As after a quarter of an hour: the access token has expired."""
    content = json.loads(file.read_text())
    [sign_in] = content["servers"].values()
    sign_in["expires_at"] = 1.0
    file.write_text(json.dumps(content))
    assert isinstance(sign_in, dict)
    return sign_in


def test_a_session_goes_on_for_hours_and_ends_with_logout(
    operator: Any, server: RunningServer, configuration_home: Path
) -> None:
    file = configuration_home / "credentials.json"
    before = _age(file)
    assert "password" not in file.read_text()
    assert operator("whoami").code == 0, "nobody is asked, and there is no terminal to ask on"
    after = _age(file)
    assert after["refresh_token"] != before["refresh_token"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert operator("logout").code == 0
    with Client(server.url, token=Token("t", 1.0, after["refresh_token"])) as thief:
        with pytest.raises(Unauthenticated):
            thief.me.show()
    ended = operator("whoami")
    assert (ended.code, "gpuaas login" in ended.err) == (4, True)


def test_commands_that_run_at_once_share_one_session(operator: Any, configuration_home: Path) -> None:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(configuration_home.parent)}
    for _ in range(2):
        _age(configuration_home / "credentials.json")
        command = [sys.executable, "-m", "gpuaas_cli", "whoami"]
        runs = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL) for _ in range(4)]
        assert [run.wait(60) for run in runs] == [0, 0, 0, 0]


def test_the_platforms_keys_are_rotated_and_a_leaked_one_revoked(operator: Any) -> None:
    made = operator("platform-keys", "rotate", "ssh_user_ca", "--reason", "yearly", "--yes", "-o", "json")
    assert made.code == 0, made.err
    [key] = made.items
    listed = operator("platform-keys", "list").out
    assert "next" in listed
    assert "builtin" in listed
    early = operator("platform-keys", "retire", str(key["id"]), "--reason", "too early", "--yes")
    assert (early.code, "No newer ssh_user_ca key" in early.err) == (5, True)
    assert operator("signing-keys", "rotate", "--yes").code == 0
    [current, *_] = operator("signing-keys", "list", "-o", "json").items
    assert operator("signing-keys", "revoke", str(current["id"]), "--yes").code == 0
    assert operator("whoami").code == 0, "the session goes on"


def test_ctrl_c_ends_a_follow_with_130(operator: Any, project: str, configuration_home: Path) -> None:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(configuration_home.parent)}
    command = [sys.executable, "-m", "gpuaas_cli", "events", "follow", "--from-start", "-p", project]
    follow = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
    assert follow.stdout is not None
    assert b"project.created" in follow.stdout.readline()
    follow.send_signal(signal.SIGINT)
    assert follow.wait(60) == 130


def test_events_and_audit_list_without_a_verb(operator: Any, project: str) -> None:
    for group in ("events", "audit"):
        short, long = (operator(group, *verb, "--platform", "--limit", "5", "-o", "json") for verb in ((), ("list",)))
        assert short.code == long.code == 0, short.err
        assert len(short.items) == len(long.items) == 5
        assert "list" in operator(group, "--help").out


def test_a_bad_count_is_explained_by_the_option(operator: Any, project: str, sku: str) -> None:
    refused = operator("allocations", "create", "--sku", sku, "--project", project)
    assert (refused.code, "Name a --gpus" in refused.err) == (5, True)
    refused = operator("allocations", "create", "--sku", sku, "--gpus", "1", "--count", "9999", "--project", project)
    assert (refused.code, "--count: " in refused.err) == (2, True)


def test_a_retired_node_is_listed_only_when_asked_for_and_has_nothing_free(operator: Any, fleet: str) -> None:
    assert operator("nodes", "drain", fleet, "--reason", "sold", "--watch", "--yes").code == 0
    retired = operator("nodes", "retire", fleet, "--reason", "sold", "--yes", "-o", "json").json["id"]
    assert retired not in operator("nodes", "list").out
    for more in ("--all", "--status=retired"):
        [line] = [line for line in operator("nodes", "list", more).out.splitlines() if retired in line]
        assert line.split()[3:5] == ["8", "-"]


def test_maintenance_is_planned_listed_and_called_off(operator: Any, fleet: str) -> None:
    maintenance = ("nodes", "maintenance")
    planned = operator(*maintenance, "plan", fleet, "--from", "1h", "--until", "2h", "--reason", "new riser")
    assert planned.code == 0, planned.err
    assert "planned" in planned.out
    assert "new riser" in operator(*maintenance, "list", "--node", fleet).out
    (window,) = operator(*maintenance, "list", "--node", fleet, "-o", "json").items
    called_off = operator(*maintenance, "cancel", window["id"], "--reason", "no part", "-o", "json")
    assert called_off.json["state"] == "cancelled"
    assert operator(*maintenance, "list", "--node", fleet, "--state", "planned", "-o", "json").items == []
    body = ("--until", "2h", "--reason", "now", "--cordon-from-now", "-o", "json")
    window = operator(*maintenance, "plan", fleet, *body).json
    wait_until(lambda: operator(*maintenance, "list", "--state", "active", "--node", fleet, "-o", "json").items != [])
    assert operator(*maintenance, "end", window["id"], "--yes").code == 0
    assert operator("nodes", "show", fleet, "-o", "json").json["schedulable"] is True
