"""The steps of an operation: reported by name, kept with times. Pure."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.operations.rows import StepDocument
from gpuaas_server.operations.schemas import StepReport

MOST_STEPS = 200


def merge_steps(known: Sequence[StepDocument], reported: Sequence[StepReport], now: datetime) -> list[StepDocument]:
    """Let each reported step change the one of its name and member, or join at the end. A repeated report changes nothing.

    A step that had ended and runs again (a resumed attempt) begins anew.
    """
    steps = {(step["name"], step.get("member_id")): step for step in known}
    for report in reported:
        place = (report.name, report.member_id)
        steps[place] = _merge(steps.get(place), report, now.isoformat())
    return list(steps.values())[:MOST_STEPS]


def _merge(before: StepDocument | None, report: StepReport, at: str) -> StepDocument:
    ended = report.status != "running"
    if before is not None and before["finished_at"] is not None and not ended:
        before = None
    same_end = before is not None and before["status"] == report.status
    return {
        "name": report.name,
        "member_id": report.member_id,
        "status": report.status,
        "message": report.message if report.message is not None or before is None else before["message"],
        "started_at": at if before is None else before["started_at"],
        "finished_at": None if not ended else before["finished_at"] if before is not None and same_end else at,
    }
