"""The steps of an operation: reported by name, kept with times. Pure."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.operations.schemas import StepReport

MOST_STEPS = 200
Step = dict[str, object]


def merged(known: Sequence[Step], reported: Sequence[StepReport], now: datetime) -> list[Step]:
    """Each reported step changes the one of its name, or joins at the end. Repeating a report changes nothing.

    A step that had ended and runs again (a resumed attempt) begins anew.
    """
    steps = {_place(step): dict(step) for step in known}
    at = now.isoformat()
    for report in reported:
        place = (report.name, report.member_id)
        before = steps.get(place)
        ended = report.status != "running"
        again = before is None or (before["finished_at"] is not None and not ended)
        step: Step = {"name": report.name, "member_id": report.member_id, "status": report.status}
        step["message"] = report.message if report.message is not None or again else (before or {}).get("message")
        step["started_at"] = at if again or before is None else before["started_at"]
        same_end = before is not None and before["status"] == report.status
        step["finished_at"] = None if not ended else (before["finished_at"] if same_end and before else at)
        steps[place] = step
    return list(steps.values())[:MOST_STEPS]


def _place(step: Step) -> tuple[object, object]:
    return step["name"], step.get("member_id")
