"""Options that several commands share."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

ProjectOption = Annotated[
    str | None,
    typer.Option(
        "--project",
        "-p",
        help="Project: id, slug or tenant/slug. Default: GPUAAS_PROJECT, the configured project, or your only one.",
    ),
]
TenantOption = Annotated[str | None, typer.Option("--tenant", "-t", help="Tenant: id or slug. Default: your own.")]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
WatchOption = Annotated[bool, typer.Option("--watch", "-w", help="Wait and show the progress to the end.")]
DeadlineOption = Annotated[int, typer.Option("--deadline", min=1, help="Maximum seconds to watch.")]
LimitOption = Annotated[int, typer.Option("--limit", min=1, help="Maximum number of results.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, for the audit trail.")]
SourceAddressOption = Annotated[
    list[str] | None,
    typer.Option(
        "--source-address",
        help="Address or network that you connect from, as the host sees it (repeat for several), such as your jump host's."
        " Default: the address of this machine.",
    ),
]
ExpiresOption = Annotated[
    str | None,
    typer.Option("--expires", help="When it ends: 90m, 12h, 30d, or a time such as 2030-01-31T12:00Z."),
]

_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def expiry(text: str | None) -> datetime | None:
    return _moment(text, +1)


def past(text: str | None) -> datetime | None:
    """Parse as `expiry` does, but count a span backwards: 2h is two hours ago."""
    return _moment(text, -1)


def _moment(text: str | None, direction: int) -> datetime | None:
    if text is None:
        return None
    if text[:-1].isdigit() and text[-1] in _UNITS:
        return datetime.now(UTC) + direction * timedelta(**{_UNITS[text[-1]]: int(text[:-1])})
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is neither a span (90m, 12h, 30d) nor a time") from error
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
