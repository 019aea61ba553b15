"""Every public operation is offered by the CLI and by the console, or a short list says why not."""

import json
from pathlib import Path

import pytest

from system_support.documents import REPOSITORY
from system_support.parity import pages
from system_support.parity.commands import calls_of_commands
from system_support.parity.page import PAGE, Row, render, rows, unexplained
from system_support.parity.reasons import ABSENCES


@pytest.fixture(scope="module")
def table() -> list[Row]:
    return rows()


def test_every_operation_is_offered_by_both_or_it_is_said_why_not(table: list[Row]) -> None:
    assert unexplained(table) == []


def test_the_page_says_what_the_code_does(table: list[Row]) -> None:
    assert PAGE.read_text() == render(table), "run .venv/bin/python tools/parity"


def test_every_kind_of_member_operation_is_a_command() -> None:
    """They share one endpoint, so that the table of operations does not show one that is missing."""
    document = json.loads((REPOSITORY / "contract/openapi.json").read_text())
    kinds = document["components"]["schemas"]["MemberOperationCreate"]["properties"]["kind"]["enum"]
    commands = calls_of_commands()["instances.change_members"]
    assert {command.split()[-1] for command in commands} == set(kinds)


def test_the_list_of_what_is_missing_is_short() -> None:
    lasting = [absence for absence in ABSENCES if not absence.because.startswith("It has no page in the console yet")]
    assert len(lasting) <= 11, "tools/new-noun adds the twelfth, for nouns whose page is still missing"
    assert len(ABSENCES) <= 12
    assert all(len(absence.because) > 20 for absence in ABSENCES)


def test_commands_are_found_by_what_they_call_directly_by_verbs_and_through_what_the_sdk_adds() -> None:
    calls = calls_of_commands()
    assert calls["allocations.create"] == ["allocations create"]
    assert calls["instances.decommission"] == ["instances decommission"]
    assert "artifacts publish" in calls["publish_intents.upload_content"]
    assert calls["auth_token"] == ["login"]


def test_pages_are_found_by_the_addresses_in_their_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "app/routes.tsx": 'createRoute({ path: "/things/$id", component: lazy(() => import("../things/Page"), "Page") })',
        "app/Frame.tsx": "fetch(`/api/v1/projects/${project}/events?tail=0`)",
        "things/Page.tsx": 'import { load } from "./queries";\nimport { Frame } from "../app/Frame";',
        "things/queries.ts": 'api.GET("/api/v1/things/{thing_id}", {})\napi.POST(\n  "/api/v1/things/{thing_id}/stop")',
        "things/queries.test.ts": 'api.DELETE("/api/v1/things/{thing_id}")',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(pages, "SOURCES", tmp_path)
    monkeypatch.setattr(pages, "ROUTES", tmp_path / "app/routes.tsx")
    assert pages.calls_of_pages() == {
        ("GET", "/api/v1/projects/{}/events"): [pages.FRAME],
        ("GET", "/api/v1/things/{}"): ["/things/:id"],
        ("POST", "/api/v1/things/{}/stop"): ["/things/:id"],
    }
