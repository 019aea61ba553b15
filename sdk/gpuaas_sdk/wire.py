"""How a call is written on the wire: paths, bodies, conditions, patience. Nothing here waits or connects."""

import ipaddress
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import TypedDict
from urllib.parse import quote

import httpx

from gpuaas_sdk.errors import Problem, Unreachable

API = "/api/v1"
PATIENCE_SECONDS = 30.0
QueryValue = str | int | bool | datetime | Sequence[str] | None
Document = Mapping[str, object]


def path_of(*segments: str) -> str:
    return f"{API}/" + "/".join(quote(segment, safe="") for segment in segments)


def body_of(demanded: Document, offered: Document) -> Document:
    """Of what is offered, None means 'not said', not 'set to null'."""
    said = {name: value for name, value in offered.items() if value is not None}
    return {name: _written(value) for name, value in {**demanded, **said}.items()}


def object_of(record: object) -> Document:
    """The fields of a record that were said."""
    if not is_dataclass(record):
        raise TypeError(f"not a record: {type(record).__name__}")
    values = {one.name: getattr(record, one.name) for one in fields(record) if one.name != "raw"}
    return {name: _written(value) for name, value in values.items() if value is not None}


def query_of(asked: Mapping[str, QueryValue]) -> dict[str, str | int | bool | list[str]]:
    """What was asked for; None means 'not said'."""
    return {name: _asked(value) for name, value in asked.items() if value is not None}


def _asked(value: str | int | bool | datetime | Sequence[str]) -> str | int | bool | list[str]:
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, (str, int)) else [*value]


def if_match(generation: int | None) -> dict[str, str]:
    """Change it only while it is still the one that was read."""
    return {} if generation is None else {"If-Match": f'"{generation}"'}


def patience(wait: int | None) -> float | None:
    """The time for an answer that the server may hold back for so long; None: the client's own."""
    return wait + PATIENCE_SECONDS if wait else None


def _written(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return object_of(value)
    if isinstance(value, Mapping):
        return {name: _written(inner) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_written(inner) for inner in value]
    return value


class Verification(TypedDict):
    verify: ssl.SSLContext | bool
    trust_env: bool


def verification(base_url: str, ca_file: str | Path | None) -> Verification:
    """How the server is known to be the one that is meant; refuses an address that would give the token away."""
    url = httpx.URL(base_url)
    loopback = _is_loopback(url.host)
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"not a server address: {base_url!r} (expected https://host[:port])")
    if url.scheme == "http" and not loopback:
        raise ValueError("a token must not travel in clear: use https:// for a remote server")
    return {
        "verify": ssl.create_default_context(cafile=str(ca_file)) if ca_file else True,
        "trust_env": not loopback,  # a proxy for the internet does not lead to this machine
    }


def unreachable(error: httpx.TransportError, correlation_id: str, address: str) -> Unreachable:
    untrusted = _untrusted(error)
    if untrusted is not None:
        detail = f"The certificate of {address} is not trusted: {untrusted}."
        next_step = "Give the platform's CA certificate (ca_file), or correct the address."
    elif isinstance(error, httpx.TimeoutException):
        detail = f"{address} did not answer in time."
        next_step = "Try again; if it repeats, check the server."
    else:
        detail = f"{address} cannot be reached: {error}."
        next_step = "Check the address, and that the server runs."
    problem = Problem(
        code="untrusted_certificate" if untrusted else "unreachable",
        status=0,
        detail=detail,
        next_step=next_step,
        retryable=untrusted is None,
        correlation_id=correlation_id,
    )
    return Unreachable(problem)


def _untrusted(error: BaseException | None) -> str | None:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
