"""Every login certificate is bound to addresses: on each path that issues one, by what the request shows and names."""

import ast
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import SSHCertificate, load_ssh_public_identity

import gpuaas_server
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.terminals import holder_lease
from tests_support import apps
from tests_support.agents import Json, Person, serving, ssh_line
from tests_support.apps import AppSite

REQUESTER = "192.0.2.1/32"  # where the requests of `world` come from
CODE = Path(gpuaas_server.__file__).parent


@pytest.fixture
async def world(platform: Platform) -> AsyncIterator[AppSite]:
    async with apps.opened(platform) as opened:
        yield opened


def sources(certificate: str) -> list[str]:
    read = load_ssh_public_identity(certificate.encode())
    assert isinstance(read, SSHCertificate)
    return read.critical_options[b"source-address"].decode().split(",")


def callers(function: str) -> set[str]:
    """The functions of the server that call it, by file."""
    found = set()
    for path in CODE.rglob("*.py"):
        for outer in ast.walk(ast.parse(path.read_text())):
            if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
                called = {ast.unparse(one.func).split(".")[-1] for one in ast.walk(outer) if isinstance(one, ast.Call)}
                if function in called:
                    found.add(f"{path.relative_to(CODE)}::{outer.name}")
    return found


async def of_people(world: AppSite) -> list[str]:
    path = f"{world.path}/allocations/{world.allocations[0]}/ssh-certificates"
    return [(await world.admin.post(path, {"public_key": ssh_line()}))["certificate"]]


async def of_a_credential(world: AppSite) -> list[str]:
    made = await world.admin.post(f"{world.path}/access-credentials", {"name": "nightly", "kind": "ssh_certificate"})
    body = {"public_key": ssh_line(), "allocation_id": world.allocations[0]}
    given = await world.admin.post(f"{world.path}/access-credentials/{made['id']}/deliveries", body)
    return [given["certificate"]["certificate"]]


async def of_an_operation(world: AppSite) -> list[str]:
    _, operation_id = await world.created(nodes=2)
    await world.controller.does(operation_id, "claim")
    given = await world.controller.send(operation_id, "machine-access", {"public_key": ssh_line()})
    return [one["certificate"] for one in given.json()["certificates"]]


async def of_usage_counters(world: AppSite) -> list[str]:
    path = f"{world.path}/instances/{await world.running(nodes=1)}/usage-access"
    given = await world.controller.person.call("POST", path, {"public_key": ssh_line()})
    return [one["certificate"] for one in given.json()["certificates"]]


async def of_a_terminal(world: AppSite) -> list[str]:
    path = f"{world.path}/allocations/{world.allocations[0]}"
    terminal = await world.admin.post(f"{path}/terminals", {"columns": 80, "rows": 24})
    node = Actor((await world.admin.get(path))["node_id"], "node", "host-1")
    by = holder_lease.AnsweringNode(node, 1)
    taken = await holder_lease.terminal_take(world.platform, by, terminal["id"], ssh_line(), "127.0.0.1:1/x")
    return [taken.certificate]


ON_THE_HOST = {"10.0.0.1/32", "127.0.0.0/8", "::1/128"}
PATHS = {
    "access/certificates.py::ssh_certificate_create": (of_people, {REQUESTER}),
    "access/deliveries.py::certificate_deliver": (of_a_credential, {REQUESTER}),
    "access/operation_access.py::operation_certificates_issue": (of_an_operation, {REQUESTER}),
    "app_usage/counter_access.py::app_usage_access": (of_usage_counters, {REQUESTER}),
    "terminals/holder_lease.py::terminal_take": (of_a_terminal, ON_THE_HOST),
}


def test_the_paths_below_are_all_that_issue_login_certificates() -> None:
    assert callers("certificates_issue") == set(PATHS)
    assert callers("sign_user_certificate") == {"access/certificates.py::certificates_issue"}


@pytest.mark.parametrize("path", PATHS)
async def test_every_certificate_is_bound_to_addresses(world: AppSite, path: str) -> None:
    issue, bound = PATHS[path]
    certificates = await issue(world)
    assert certificates
    for one in certificates:
        assert set(sources(one)) == bound


async def requested(world: AppSite, address: str, check: bool = True, **body: object) -> Json:
    """Request a certificate from this address, as the platform sees it."""
    settings = world.platform.settings.model_copy(update={"ssh_certificate_source_check": check})
    path = f"{world.path}/allocations/{world.allocations[0]}/ssh-certificates"
    async with serving(replace(world.platform, settings=settings), address) as client:
        answer = await Person(client, world.admin.token).call("POST", path, {"public_key": ssh_line(), **body})
    found: Json = answer.json()
    return found


async def test_a_certificate_works_from_where_it_was_requested_and_from_what_the_request_names(world: AppSite) -> None:
    named = ["203.0.113.77/24", "2001:db8::5", "::ffff:198.51.100.9"]
    issued = await requested(world, "198.51.100.9", source_addresses=named)
    expected = ["198.51.100.9/32", "203.0.113.0/24", "2001:db8::5/128"]
    assert issued["source_addresses"] == sources(issued["certificate"]) == expected
    row = (await world.admin.get("/audit?action=ssh_certificate_create"))["items"][0]
    assert row["details"]["source_addresses"] == expected


async def test_a_request_that_shows_no_address_must_name_one(world: AppSite) -> None:
    refused = await requested(world, "127.0.0.1")
    assert (refused["code"], refused["details"]) == ("source_addresses_needed", {"hosts": ["10.0.0.1"]})
    issued = await requested(world, "127.0.0.1", source_addresses=["198.51.100.9"])
    assert sources(issued["certificate"]) == ["198.51.100.9/32"]


@pytest.mark.parametrize(
    "named",
    [
        ["10.0.0.0/23"],
        ["2001:db8::/63"],
        ["0.0.0.0/0"],
        ["::/0"],
        ["fe80::1%eth0"],
        ["::ffff:10.0.0.1/64"],
        ["here"],
        ["10.0.0.1"] * 9,
    ],
)
async def test_a_network_that_is_too_wide_and_too_many_are_refused(world: AppSite, named: list[str]) -> None:
    assert (await requested(world, "198.51.100.9", source_addresses=named))["code"] == "invalid_request"


async def test_an_operator_may_turn_the_check_off(world: AppSite) -> None:
    issued = await requested(world, "198.51.100.9", check=False)
    read = load_ssh_public_identity(issued["certificate"].encode())
    assert isinstance(read, SSHCertificate)
    assert (issued["source_addresses"], read.critical_options) == ([], {})


async def test_addresses_that_a_request_names_bind_its_certificate_although_the_check_is_off(world: AppSite) -> None:
    issued = await requested(world, "127.0.0.1", check=False, source_addresses=["198.51.100.9"])
    assert issued["source_addresses"] == sources(issued["certificate"]) == ["198.51.100.9/32"]
