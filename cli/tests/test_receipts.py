"""How a receipt's checks read: what counts comes first, and nothing is hidden behind a cut."""

import pytest

from gpuaas_cli.commands.receipts import evidence_of, receipt_columns
from gpuaas_cli.member_names import MemberNames
from gpuaas_cli.session import Session
from gpuaas_sdk import ReceiptCheck, ReceiptFinding, ReceiptLine


def check(count: int, **more: object) -> ReceiptCheck:
    found = [ReceiptFinding(item=f"pid {number}", why="named echo") for number in range(count)]
    known = ReceiptFinding(item="tcp 0.0.0.0:22", why="22/tcp", known=True)
    fields: dict[str, object] = {"name": "processes", "verdict": "left", "found": [known, *found], "left": count}
    return ReceiptCheck(**{**fields, **more})  # type: ignore[arg-type]


def test_leftovers_are_named_with_the_reason() -> None:
    assert evidence_of(check(2)) == "pid 0 [named echo]; pid 1 [named echo]"


def test_a_cut_list_says_how_many_there_are_more() -> None:
    assert evidence_of(check(7)).endswith("; and 2 more")
    assert evidence_of(check(5, left=300)).endswith("; and 295 more")


def test_a_check_that_could_not_look_says_why() -> None:
    assert evidence_of(check(0, verdict="not_seen", problem="could not look: EIO")) == "could not look: EIO"


def test_absence_says_what_was_looked_at() -> None:
    clean = check(0, verdict="absent", entries=["echo.service"], examined=81, not_in_footprint=["own.service"])
    assert evidence_of(clean) == "1 asked for, 81 looked at, 1 new and in no footprint"


@pytest.mark.parametrize(
    ("status", "left", "shown"),
    [("clean", 0, 0), ("left", 3, 3), ("pending", 0, None), ("unseen", 0, None), ("not_verified", 0, None)],
)
def test_only_a_check_that_examined_something_reports_nothing_left(status: str, left: int, shown: int | None) -> None:
    [column] = [one for one in receipt_columns(MemberNames(Session())) if one.title == "LEFT"]
    assert column.cell(ReceiptLine(id="rcp_1", status=status, left=left)) == shown
