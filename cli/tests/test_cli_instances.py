"""An app's life with the command alone: a real server, simulated hosts, and a controller that is a program of the SDK."""

import os
import pty
import re
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpuaas_cli.failures import ExitCode
from gpuaas_sdk import ClaimedOperation
from gpuaas_sdk.testing import Sandbox
from system_support.plain_controller import LOST_DISK, Controller
from system_support.server import RunningServer

MANIFEST = """\
manifest: 1
slug: {slug}
display_name: Echo
version: {version}
runtime_version: "1.0"
artifact: {{kind: controller, digest: "{digest}"}}
compatibility: {{requires_capacity_shape: [gpu_slice]}}
shared_secrets: true
secrets:
  - {{key: token, source: given, required: false}}
  - {{key: own-key, source: generated}}
components:
  - {{key: head, min: 1, max: 1}}
  - {{key: node, min: 1, max: 8, depends_on: [head]}}
inputs:
  type: object
  additionalProperties: false
  required: [greeting]
  properties:
    greeting: {{type: string, x-ui: {{label: Greeting}}}}
    tries: {{type: integer, default: 3}}
options:
  drain:
    type: object
    additionalProperties: false
    properties: {{seconds: {{type: integer}}, what: {{enum: [wait, cut]}}}}
footprint: {{units: [echo.service]}}
"""


@pytest.fixture(scope="module")
def app_sandbox(server: RunningServer) -> Iterator[Sandbox]:
    """One fleet for the whole story: eight GPUs are enough for all of it."""
    sandbox = Sandbox.create(server)
    sandbox.offer()
    with sandbox.simulated_fleet(2, "--delay-ms", "20", first_index=7300 + secrets.randbelow(500)):
        yield sandbox


@pytest.fixture
def operator(app_sandbox: Sandbox, gpuaas: Any) -> Any:
    server = app_sandbox.server
    login = gpuaas(
        "login", server.admin_email, "--server", server.url, "--password-stdin", typed=f"{server.admin_password}\n"
    )
    assert login.code == 0, login.err
    assert gpuaas("config", "set", "project", app_sandbox.project_id).code == 0
    return gpuaas


@pytest.fixture
def app(operator: Any, tmp_path: Path) -> str:
    """An app with two active versions, published with the command."""
    slug = f"echo-{secrets.token_hex(3)}"
    file = tmp_path / "controller.bin"
    file.write_bytes(secrets.token_bytes(64))
    artifact = operator("artifacts", "publish", str(file), "--name", slug, "-o", "json").json
    for kind in ("lint", "smoke"):
        assert (
            operator("artifacts", "add-evidence", artifact["id"], kind, "--tool", "ours", "--summary", "fine").code == 0
        )
    for stage in ("staged", "canary", "active"):
        percent = ("--percent", "50") if stage == "canary" else ()
        assert operator("artifacts", "promote", artifact["id"], stage, *percent, "--reason", "as planned").code == 0
    for version in ("1.0.0", "1.1.0"):
        file.write_text(MANIFEST.format(slug=slug, version=version, digest=artifact["digest"]))
        registered = operator("apps", "register", "-f", str(file))
        assert registered.code == 0, registered.err
        assert operator("versions", "activate", slug, version).code == 0
    return slug


@pytest.fixture
def boxes(operator: Any) -> Iterator[list[str]]:
    """Three active allocations, by name."""
    mark = secrets.token_hex(2)
    made = operator(
        "allocations", "create", "--sku", "h100-slice", "--gpus", "1", "--count", "3", "--name", mark, "--watch"
    )
    assert made.code == 0, made.err
    yield [f"{mark}-{number}" for number in (1, 2, 3)]
    for number in (1, 2, 3):
        operator("allocations", "release", f"{mark}-{number}", "--yes")


@pytest.fixture
def controller(operator: Any, app_sandbox: Sandbox, app: str) -> Iterator[Controller]:
    made = operator("service-accounts", "create", app, "--scope", "apps:control", "--app", app, "-o", "json")
    assert made.code == 0, made.err
    bound = operator("service-accounts", "show", app).out
    assert re.search(rf"Apps\s+{app}", bound), bound
    account: Any = made.json
    where = (app_sandbox.server.url, app_sandbox.project_id, account["id"], account["key"]["secret"])
    with Controller(*where) as running:
        yield running
    assert running.faults == []


def deployed(operator: Any, app: str, boxes: list[str], *more: str) -> str:
    """An instance with a head and one node; its name."""
    name = f"talk-{secrets.token_hex(2)}"
    places = ("--place", f"head={boxes[0]}", "--place", f"node={boxes[0]}")
    made = operator("instances", "deploy", app, "--name", name, *places, "--set", "greeting=hello", "--watch", *more)
    assert made.code == 0, made.err + made.out
    assert "nc HOST 7007" in made.out, "who has follow_to_end a deploy is told how to reach the app"
    return name


def test_an_instance_lives_and_ends(
    operator: Any, app: str, boxes: list[str], controller: Controller, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("hf_a-word-of-the-hub\n")
    name = deployed(operator, app, boxes, "--version", "1.0.0", "--secret-file", f"token={token}")
    shown = operator("instances", "show", name)
    for part in ("running", "healthy", "head/0", "node/1", '"greeting": "hello"', "nc HOST 7007", "upgrade"):
        assert part in shown.out, shown.out
    assert name in operator("instances", "list", "--app", app, "--status", "running").out
    for verb, *arguments in (["restart"], ["reconcile"], ["repair"], ["upgrade", "1.1.0"], ["rollback"]):
        done = operator("instances", verb, name, *arguments, "--reason", "the story", "--watch")
        assert (done.code, "✓   prepare as told" in done.out) == (0, True), done.out + done.err
    assert operator("instances", "show", name, "-o", "json").json["version"] == "1.0.0"
    token.write_text("hf_another-word")
    for verb in (["set", name, "token", "--file", str(token)], ["rotate", name, "own-key", "--reason", "lost"]):
        changed = operator("instances", "secrets", *verb, "--watch")
        assert (changed.code, "word" in changed.out) == (0, False), changed.out + changed.err
    listed = operator("instances", "secrets", "list", name, "-o", "json").items
    assert [(one["name"], one["version"]) for one in listed] == [("token", 2), ("own-key", None)], "nobody has read it"
    assert "notify" in operator("instances", "reconcile-policy", name, "notify").out
    assert operator("instances", "reconcile-policy", name, "auto", "-o", "json").json["reconcile_policy"] == "auto"
    stopped = operator("instances", "stop", name, "--watch", "--yes")
    assert (stopped.code, "succeeded" in stopped.out) == (0, True), stopped.out + stopped.err
    assert operator("instances", "start", name, "--watch").code == 0
    again = operator("instances", "start", name)
    assert (again.code, "Next:" in again.err) == (5, True)
    assert operator("instances", "decommission", name, "--watch", "--yes", "--reason", "over").code == 0
    assert "decommissioned" in operator("instances", "show", name).out
    happened = operator("instances", "timeline", name)
    assert "instance.created" in happened.out
    assert "instance.decommissioned" in happened.out
    assert operator("receipts", "list", "--status", "clean", "-o", "json").items


def test_members_come_go_fail_and_recover(operator: Any, app: str, boxes: list[str], controller: Controller) -> None:
    name = deployed(operator, app, boxes)
    refuse: list[str] = ["add"]

    def judge(claimed: ClaimedOperation) -> Any:
        asked = claimed.operation
        return LOST_DISK if asked.kind in refuse or asked.parameters.keys() & set(refuse) else None

    controller.judge = judge
    failed = operator("instances", "members", "add", name, boxes[1], "--component", "node", "--watch")
    assert failed.code == ExitCode.FAILED
    assert "The data disk does not mount. (bootstrap_failed)" in failed.out
    assert "Recover the member" in failed.out
    broken = operator("instances", "members", "show", name, "node/2")
    assert all(part in broken.out for part in ("failed", "bootstrap_failed", "remove, replace, recover")), broken.out
    assert "degraded" in operator("instances", "show", name).out
    refuse.clear()
    recovered = operator("instances", "members", "recover", name, "node/2", "--watch")
    assert recovered.code == 0, recovered.out
    drain = ("instances", "members", "drain", name, "node/2")
    unknown = operator(*drain, "--set", "patience=5")
    assert (unknown.code, "seconds, what" in unknown.err) == (ExitCode.USAGE, True), unknown.err
    refused = operator(*drain, "--set", "what=nothing")
    assert (refused.code, "not one of wait, cut" in refused.err) == (ExitCode.USAGE, True), refused.err
    none = operator("instances", "members", "remove", name, "node/2", "--set", "what=cut", "--yes")
    assert (none.code == 0, "options_invalid" in none.err) == (False, True), none.err  # this kind takes none
    drained = operator(*drain, "--set", "seconds=5", "--set", "what=cut", "-o", "json").items[0]
    assert drained["parameters"] == {"options": {"seconds": 5, "what": "cut"}}  # numbers where the app wants numbers
    assert operator("operations", "follow", drained["id"]).code == 0
    moved = operator("instances", "members", "replace", name, f"node/2={boxes[2]}", "--watch", "--yes")
    assert moved.code == 0, moved.out + moved.err
    assert (
        "The shared secrets of the members are being rotated" in moved.err
    )  # and it is stayed with: see what is asked next
    assert "reconcile is succeeded" in moved.out
    both = ("node/1", "node/3")
    needed = operator("instances", "members", "drain", name, *both, "--on-failure", "stop")
    assert (needed.code, "node would keep 0 ready members, 1 are needed" in needed.err) == (5, True), needed.err
    force = ("--force", "--reason", "no work for it")
    bulk = operator("instances", "members", "drain", name, *both, "--on-failure", "stop", *force, "-o", "json")
    assert bulk.code == 0, bulk.err
    [operation] = bulk.items
    followed = operator("operations", "follow", operation["id"])
    assert (followed.code, "2 succeeded" in followed.out) == (0, True), followed.out
    assert all(f"✓   drain {one} succeeded" in followed.out for one in both), followed.out
    children = operator("operations", "show", operation["id"]).out
    assert all(one in children for one in both), children
    assert "mem_" not in followed.out + children
    listed = operator("operations", "list", "--instance", name).out
    assert operation["id"] in listed
    assert "10 %" not in listed, "how far it had come is of no interest once it is over"
    parts = operator("operations", "list", "--parent", operation["id"], "-o", "json").items
    assert [one["status"] for one in parts] == ["succeeded", "succeeded"]
    refuse.append("rotate_secrets")
    removed = operator("instances", "members", "remove", name, "node/3", "--watch", "--yes")
    assert (removed.code, "were not rotated: The data disk does not mount." in removed.err) == (0, True), removed.err
    assert "secrets_not_rotated" in operator("instances", "show", name, "-o", "json").out
    everybody = operator("instances", "members", "list", name, "--removed", "-o", "json").items
    assert sorted(one["status"] for one in everybody) == ["drained", "ready", "removed", "removed"]
    assert operator("instances", "decommission", name, "--watch", "--yes").code == 0


def test_an_unclaimed_operation_is_cancelled_and_a_second_is_refused_with_the_first(
    operator: Any, app: str, boxes: list[str]
) -> None:
    places = ("--place", f"head={boxes[0]}", "--place", f"node={boxes[0]},{boxes[1]}")
    launch = ("instances", "deploy", app, "--name", "alone", *places, "--set", "greeting=hi", "-o", "json")
    refused = operator(*launch)
    assert (refused.code, "no_controller" in refused.err, "Nobody runs a controller" in refused.err) == (5, True, True)
    made = operator(*launch, "--queue")
    assert made.code == 0, made.err
    [instance] = made.items
    first = instance["operation_id"]
    assert "created" in operator("instances", "show", "alone").out
    second = operator("instances", "members", "drain", "alone", "node/1")
    assert (second.code, str(first) in second.err, "operation_in_progress" in second.err) == (5, True, True)
    late = operator("operations", "follow", first, "--deadline", "1")
    assert (late.code, "waiting for a controller" in late.out) == (ExitCode.DEADLINE, True)
    cancelled = operator("operations", "cancel", first, "--reason", "nobody is there")
    assert (cancelled.code, "cancelled" in cancelled.out) == (0, True), cancelled.err
    again = operator("instances", "redeploy", "alone", "-o", "json")
    assert again.code == 0, again.err
    early = operator("instances", "force", "alone", "--reason", "no controller", "--yes")
    assert (early.code, "conflict" in early.err) == (5, True), "what nobody began is cancelled, not forced"
    assert operator("operations", "cancel", str(again.items[0]["id"])).code == 0
    gone = operator("instances", "decommission", "alone", "--yes", "-o", "json")
    assert gone.code == 0, gone.err


def test_a_controller_that_hangs_is_ended_by_force(
    operator: Any, app: str, boxes: list[str], controller: Controller
) -> None:
    name = deployed(operator, app, boxes)
    hangs, goes_on = threading.Event(), threading.Event()

    def judge(claimed: ClaimedOperation) -> None:
        hangs.set()
        goes_on.wait(60)

    controller.judge = judge
    [asked] = operator("instances", "restart", name, "-o", "json").items
    assert hangs.wait(30)
    told = operator("operations", "cancel", str(asked["id"]))
    assert (told.code, "will stop at the next safe point" in told.out) == (0, True)
    unasked = operator("instances", "force", name, "--reason", "it hangs")
    assert (unasked.code, "--yes" in unasked.err) == (2, True)
    forced = operator("instances", "force", name, "--reason", "it hangs", "--yes")
    assert (forced.code, "operation_forced" in forced.out, "not verified" in forced.out) == (0, True, True), forced.err
    goes_on.set()
    over = operator("operations", "force", str(asked["id"]), "--reason", "once more", "--yes")
    assert over.code == 5
    assert operator("instances", "repair", name, "--watch").code == 0
    assert [fault.code for fault in controller.faults] == ["lease_lost"], "its late word counts for nothing"
    controller.faults.clear()
    assert operator("instances", "decommission", name, "--watch", "--yes").code == 0


def test_what_does_not_fit_is_refused_with_every_reason(operator: Any, app: str, boxes: list[str]) -> None:
    base = ("instances", "deploy", app, "--name", "odd")
    refused = operator(*base, "--place", f"node={boxes[0]}", "--place", f"spare={boxes[0]}", "--set", "greeting=x")
    assert (refused.code, "placement_refused" in refused.err) == (2, True)
    for reason in ("component_unknown", "component_count_low"):
        assert reason in refused.err
    places = ("--place", f"head={boxes[0]}", "--place", f"node={boxes[0]}")
    missing = operator(*base, *places)
    assert (missing.code, "greeting" in missing.err) == (2, True), missing.err
    assert operator(*base, *places, "--set", "tries=often").code == 2
    assert operator(*base, "--place", "head").code == 2
    assert operator(*base, "--place", "head=nowhere").code == 3
    assert operator("instances", "show", "nothing").code == 3
    assert operator("instances", "members", "show", "nothing", "node/1").code == 3
    assert operator("operations", "show", "op_" + "0" * 26).code == 3
    assert operator("instances", "list", "--status", "asleep").code == 2


def test_on_a_terminal_the_schema_asks(operator: Any, app: str, boxes: list[str], configuration_home: Path) -> None:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(configuration_home.parent), "NO_COLOR": "1"}
    places = ["--place", f"head={boxes[0]}", "--place", f"node={boxes[0]}"]
    command = [sys.executable, "-m", "gpuaas_cli", "instances", "deploy", app, "--name", "asked", "--queue", *places]
    ours, theirs = pty.openpty()
    asked = subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    os.close(theirs)
    os.write(ours, b"good day\n\n")  # the second answer takes what is offered
    try:
        said = asked.communicate(timeout=60)[0].decode()
    finally:
        asked.kill()
        os.close(ours)
    assert asked.returncode == 0, said
    assert "Greeting (greeting)" in said
    assert "tries [3]" in said
    shown = operator("instances", "show", "asked", "-o", "json").json
    assert shown["inputs"] == {"greeting": "good day", "tries": 3}
    assert operator("operations", "cancel", str(shown["operation_id"])).code == 0
    assert operator("instances", "decommission", "asked", "--yes").code == 0


def test_a_timeline_is_followed_live(
    operator: Any, app: str, boxes: list[str], configuration_home: Path, controller: Controller
) -> None:
    name = deployed(operator, app, boxes)
    environment = {**os.environ, "XDG_CONFIG_HOME": str(configuration_home.parent), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "gpuaas_cli", "instances", "timeline", name, "--follow"]
    follow = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
    assert follow.stdout is not None
    try:
        assert "instance.created" in follow.stdout.readline()
        assert operator("instances", "decommission", name, "--watch", "--yes").code == 0
        ends = time.monotonic() + 30
        while "instance.decommissioned" not in follow.stdout.readline():
            assert time.monotonic() < ends
    finally:
        follow.kill()
        follow.wait(60)
