"""RFC 9457 problem documents: the one shape of every error, made here and nowhere else."""

import logging
from functools import cache

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from psycopg import errors as pg
from psycopg_pool import PoolTimeout
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.database_health import OUTAGE_ERRORS, describe_failure
from gpuaas_server.kernel.errors import CATALOGUE, Problem
from gpuaas_server.kernel.http.idempotency import PROBLEM_TYPE, KeyedRequest, is_answer

log = logging.getLogger("gpuaas.http")

MEDIA_TYPE = PROBLEM_TYPE
MALFORMED_JSON = "The body could not be read as JSON."
_BY_STATUS = {
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
    415: "unsupported_media_type",
    400: "malformed_body",
}


class ProblemDocument(BaseModel):
    """The document says what went wrong, for people (title, detail, next_step) and for programs (code, retryable, details)."""

    type: str = Field(description="A URI that names the code.", examples=["urn:gpuaas:error:no_capacity"])
    title: str = Field(description="The same sentence for every problem of this code.")
    status: int
    detail: str = Field(description="What went wrong this time, for people.")
    code: str = Field(description="A stable code; see contract/error-codes.json.")
    correlation_id: str = Field(
        description="Id for finding the audit record and the logs of this request. Tell it to an operator."
    )
    retryable: bool = Field(
        description="Whether the same request may succeed later. After a refusal (4xx) it needs a new Idempotency-Key,"
        " except for 401, 423, 429 and `idempotency_in_progress`."
    )
    next_step: str = Field(description="What a person should do next.")
    details: dict[str, object] = Field(
        default_factory=dict,
        description="Details for programs, by code: for example the faulty fields, or the id of what is in the way.",
    )


def problem_response(problem: Problem, correlation: str) -> Response:
    kind = problem.kind
    metrics.problems.labels(kind.code).inc()
    document = ProblemDocument(
        type=f"urn:gpuaas:error:{kind.code}",
        title=kind.title,
        status=kind.status,
        detail=problem.detail or f"{kind.title}.",
        code=kind.code,
        correlation_id=correlation,
        retryable=kind.retryable,
        next_step=kind.next_step,
        details=problem.details,
    )
    headers = dict(problem.headers)
    if kind.status == 401:
        headers.setdefault("WWW-Authenticate", 'Bearer realm="gpuaas"')
    return Response(document.model_dump_json(), kind.status, headers, MEDIA_TYPE)


def _from_validation(error: RequestValidationError) -> Problem:
    faults = error.errors()
    if any(fault["type"] == "json_invalid" for fault in faults):
        return Problem("malformed_body", MALFORMED_JSON)
    fields = [
        {"where": ".".join(str(part) for part in fault["loc"]), "message": str(fault["msg"])[:300]}
        for fault in faults[:20]
    ]
    first = fields[0]
    return Problem("invalid_request", f"{first['where']}: {first['message']}.", {"fields": fields})


def _from_http(error: HTTPException) -> Problem:
    if isinstance(error.__cause__, Problem):
        return error.__cause__  # ours, raised while the body was read, and wrapped on the way
    code = _BY_STATUS.get(error.status_code, "internal")
    return Problem(code, headers=dict(error.headers or {}))


def _methods(request: Request) -> list[str]:
    """Return the methods that the path offers; the framework names only the first route's."""
    routes = request.app.router.routes

    def offered(method: str) -> bool:
        scope = {"type": "http", "method": method, "path": request.scope["path"], "root_path": "", "headers": []}
        return any(route.matches(scope)[0] is Match.FULL for route in routes)

    return [method for method in ("GET", "POST", "PUT", "PATCH", "DELETE") if offered(method)]


async def _tell_gate(request: Request, problem: Problem) -> None:
    """Tell the gate of a refusal. Every verb of every noun ends here when it refuses, and its transaction is over.

    The caller gets the refusal either way; a denial that could not be recorded is in the log.
    """
    admitted = request.scope["state"].get("admitted")
    if admitted is None:
        return
    try:
        await request.app.state.gate.refused(request, admitted, problem)
    except (pg.Error, PoolTimeout, Problem) as error:
        extra = {"action": admitted.action, "code": problem.code, "cause": describe_failure(error)}
        log.warning("a denial could not be written", extra=extra)


def _answer(request: Request, problem: Problem) -> Response:
    return problem_response(problem, request.scope["state"]["correlation_id"])


async def answer_problem(request: Request, problem: Problem) -> Response:
    await _tell_gate(request, problem)
    keyed: KeyedRequest | None = request.scope["state"].get("keyed")
    refusal = _answer(request, problem)
    if keyed is None or not is_answer(problem):
        return refusal
    try:
        return await keyed.settle_refusal(refusal)
    except Problem as unsettled:
        return _answer(request, unsettled)
    except OUTAGE_ERRORS as error:
        return answer_outage(request, error)


def answer_outage(request: Request, error: Exception) -> Response:
    return _answer(request, problem_of_outage(error))


def problem_of_outage(error: Exception) -> Problem:
    return Problem("unavailable", describe_failure(error), headers={"Retry-After": "1"})


# What an endpoint may raise, and `answer_failure` answers. All others are faults of ours.
ANSWERED_FAILURES = (Problem, RequestValidationError, *OUTAGE_ERRORS)


async def answer_failure(request: Request, failure: Exception) -> Response:
    """Turn an exception of an endpoint into a problem document."""
    if isinstance(failure, Problem):
        return await answer_problem(request, failure)
    if isinstance(failure, RequestValidationError):
        return _answer(request, _from_validation(failure))
    if isinstance(failure, pg.DeadlockDetected):
        detail = "Others changed the same things at the same moment; nothing was done."
        return _answer(request, Problem("unavailable", detail, headers={"Retry-After": "1"}))
    return answer_outage(request, failure)


def install_problem_handlers(app: FastAPI) -> None:
    """Teach the app to answer every kind of failure with a problem document."""
    for kind in ANSWERED_FAILURES:
        app.add_exception_handler(kind, answer_failure)

    @app.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> Response:
        problem = _from_http(error)
        if problem.code == "method_not_allowed":
            problem.headers["Allow"] = ", ".join(_methods(request))
        return _answer(request, problem)


def declared(*codes: str) -> dict[int | str, dict[str, object]]:
    """Return the `responses=` of an endpoint: exactly these codes, grouped by status, for the OpenAPI document."""
    by_status: dict[int | str, list[str]] = {}
    for code in dict.fromkeys(codes):  # an endpoint may name one that every call has
        by_status.setdefault(CATALOGUE[code].status, []).append(code)
    return {status: _documented(", ".join(names)) for status, names in by_status.items()}


@cache
def _documented(codes: str) -> dict[str, object]:
    """Return what the document says of these codes. Hundreds of routes share it: nobody may change it."""
    return {"description": codes, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDocument"}}}}


_EVERY_CALL = (
    "malformed_body",
    "unauthenticated",
    "forbidden",
    "not_found",
    "method_not_allowed",
    "conflict",
    "precondition_failed",
    "request_timeout",
    "body_too_large",
    "target_too_long",
    "invalid_request",
    "rate_limited",
    "header_too_large",
    "internal",
    "unavailable",
)


def problem_responses(*codes: str) -> dict[int | str, dict[str, object]]:
    """Return the `responses=` of an endpoint: what any authorised call may answer, and its own codes."""
    return declared(*_EVERY_CALL, *codes)
