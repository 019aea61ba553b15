"""The platform's errors as exceptions, one class for each way in which a program would react."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import httpx

CAPACITY_CODES = frozenset(
    {
        "no_capacity",
        "capacity_fragmented",
        "capacity_blocked",
        "capacity_below_grade",
        "sku_not_offered",
        "quota_exceeded",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A problem document (RFC 9457) of the platform."""

    code: str
    status: int
    detail: str
    next_step: str = ""
    retryable: bool = False
    correlation_id: str = ""
    details: Mapping[str, object] = field(default_factory=dict)


class GpuaasError(Exception):
    """The base of all errors: `code` is for programs, `detail` and `next_step` are for people."""

    def __init__(self, problem: Problem, retry_after: float | None = None) -> None:
        super().__init__(problem.detail)
        self.problem = problem
        self.retry_after = retry_after
        self.code = problem.code
        self.status = problem.status
        self.detail = problem.detail
        self.next_step = problem.next_step
        self.retryable = problem.retryable
        self.correlation_id = problem.correlation_id
        self.details = problem.details

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


class Unreachable(GpuaasError):
    """There was no answer: wrong address, network, certificate, or a server that is down."""


class InvalidRequest(GpuaasError):
    """The request is wrong; repeating it does not help."""


class Unauthenticated(GpuaasError):
    """The request had no token, or one that is no longer valid."""


class Denied(GpuaasError):
    """The caller is signed in and not allowed to do this, or is locked out."""


class NotFound(GpuaasError):
    """The resource does not exist, or this caller cannot see it."""


class Conflict(GpuaasError):
    """The current state does not allow the request."""


class CapacityRefused(Conflict):
    """There is no room for what was requested: capacity, fragmentation, blocked slots, SKU or quota. `code` says which."""


class RateLimited(GpuaasError):
    """There were too many calls; `retry_after` says how long to wait."""


class ServerFailed(GpuaasError):
    """The platform failed to answer the request."""


class DeadlineExceeded(GpuaasError):
    """The result did not come before the deadline."""


_BY_STATUS: dict[int, type[GpuaasError]] = {
    400: InvalidRequest,
    401: Unauthenticated,
    403: Denied,
    404: NotFound,
    405: InvalidRequest,
    409: Conflict,
    412: Conflict,
    413: InvalidRequest,
    415: InvalidRequest,
    422: InvalidRequest,
    423: Denied,
    429: RateLimited,
    504: DeadlineExceeded,
}


def error_for(problem: Problem, retry_after: float | None = None) -> GpuaasError:
    kind = _BY_STATUS.get(problem.status, ServerFailed)
    if problem.code in CAPACITY_CODES:
        kind = CapacityRefused
    return kind(problem, retry_after)


def error_from(response: httpx.Response) -> GpuaasError:
    """Reads the problem document. An answer without one, such as a proxy's page, gets the same shape."""
    return error_for(_problem(response), _retry_after(response))


def deadline_exceeded(detail: str) -> DeadlineExceeded:
    return DeadlineExceeded(
        Problem(
            code="deadline_exceeded",
            status=504,
            detail=detail,
            next_step="Check again later, or wait with a longer deadline.",
            retryable=True,
        )
    )


def _problem(response: httpx.Response) -> Problem:
    document = _document(response)
    status = response.status_code
    details = document.get("details")
    return Problem(
        code=str(document.get("code") or f"http_{status}"),
        status=status,
        detail=str(document.get("detail") or document.get("title") or f"The server answered {status}."),
        next_step=str(document.get("next_step") or ""),
        retryable=bool(document.get("retryable", status in (429, 502, 503, 504))),
        correlation_id=str(document.get("correlation_id") or response.headers.get("X-Correlation-ID") or ""),
        details=details if isinstance(details, dict) else {},
    )


def _document(response: httpx.Response) -> dict[str, object]:
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _retry_after(response: httpx.Response) -> float | None:
    text = response.headers.get("Retry-After", "")
    return float(text) if text.isdigit() else None
