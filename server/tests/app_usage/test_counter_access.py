"""The certificates by which a controller reads what hosts have counted: for its own apps, and for nothing but the counts."""

import base64
import struct
from datetime import datetime, timedelta

from tests_support.agents import ssh_line
from tests_support.apps import AppSite


def critical_options(certificate: str) -> dict[str, str]:
    """As sshd reads them out of the blob: after the times come options, extensions, and what is reserved."""
    blob = base64.b64decode(certificate.split(" ")[1])

    def text(at: int) -> tuple[bytes, int]:
        end = at + 4 + int(struct.unpack(">I", blob[at : at + 4])[0])
        return blob[at + 4 : end], end

    at = 0
    for _ in range(3):  # type name, nonce, Ed25519 key
        _, at = text(at)
    at += 8 + 4  # serial, type
    for _ in range(2):  # key id, principals
        _, at = text(at)
    options, at = text(at + 16)  # the two times
    extensions, _ = text(at)
    found = {"extensions": extensions.decode(errors="replace")}
    position = 0
    while position < len(options):
        parts = []
        for _ in range(2):
            length = int(struct.unpack(">I", options[position : position + 4])[0])
            parts.append(options[position + 4 : position + 4 + length])
            position += 4 + length
        found[parts[0].decode()] = parts[1][4:].decode()
    return found


async def test_a_certificate_prints_the_counts_of_the_instance_for_minutes_and_does_nothing_else(
    world: AppSite,
) -> None:
    instance_id = await world.running(nodes=1)
    path = f"{world.path}/instances/{instance_id}/usage-access"
    answer = await world.controller.person.call("POST", path, {"public_key": ssh_line()})
    assert answer.status_code == 201, answer.text
    given = answer.json()
    assert {one["principal"] for one in given["certificates"]} == set(world.allocations[:1])
    until = datetime.fromisoformat(given["valid_before"])
    assert timedelta() < until - world.clock() <= timedelta(minutes=10)
    for one in given["certificates"]:
        options = critical_options(one["certificate"])
        assert options["force-command"] == f"exec head -qc 8192 /var/lib/gpuaas-usage/{instance_id}/*.json"
        assert options["extensions"] == ""  # neither a terminal nor forwarding


async def test_only_the_controller_of_the_app_gets_it(world: AppSite) -> None:
    instance_id = await world.running(nodes=1)
    path = f"{world.path}/instances/{instance_id}/usage-access"
    stranger = await world.another_controller(apps=("other-app",))
    refused = await stranger.person.call("POST", path, {"public_key": ssh_line()})
    assert refused.json()["code"] == "not_the_controller"
    assert (await world.admin.call("POST", path, {"public_key": ssh_line()})).status_code == 403


async def test_a_report_that_does_not_judge_keeps_the_health_and_only_the_runtime_that_it_has_read(
    world: AppSite,
) -> None:
    instance_id = await world.running()
    before = await world.instance(instance_id)
    path, send = f"{world.path}/instances/{instance_id}/health", world.controller.person.call
    kept = {"usage_counters": [1]}
    report = {"generation": before["generation"], "runtime": kept, "expected_runtime": before["runtime"] or {}}
    assert (await send("PUT", path, report)).status_code == 200
    late = await send("PUT", path, {**report, "runtime": {"usage_counters": [2]}})
    assert (late.status_code, late.json()["code"]) == (409, "stale_generation")
    after = await world.instance(instance_id)
    assert (after["runtime"], after["health"], after["health_reported_at"], after["generation"]) == (
        kept,
        before["health"],
        before["health_reported_at"],
        before["generation"],
    )
