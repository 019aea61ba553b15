"""Encodes calls: paths, bodies, conditions, timeouts. Nothing here performs I/O except reading TLS files."""

import ipaddress
import os
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TypedDict
from urllib.parse import quote

import httpx

from gpuaas_sdk.credentials import ClientCertificate
from gpuaas_sdk.errors import Problem, Unreachable

API = "/api/v1"
WAIT_MARGIN_SECONDS = 30.0
QueryValue = str | int | bool | datetime | Sequence[str] | None
Document = Mapping[str, object]


def path_of(*segments: str) -> str:
    return f"{API}/" + "/".join(quote(segment, safe="") for segment in segments)


def body_of(required: Document, optional: Document) -> Document:
    """Builds a JSON body. An optional field that is None is left out, not set to null."""
    given = {name: value for name, value in optional.items() if value is not None}
    return {name: _json_value(value) for name, value in {**required, **given}.items()}


def object_of(record: object) -> Document:
    """Builds a JSON body from the fields of a record that are not None."""
    if not is_dataclass(record):
        raise TypeError(f"not a dataclass: {type(record).__name__}")
    values = {one.name: getattr(record, one.name) for one in fields(record) if one.name != "raw"}
    return {name: _json_value(value) for name, value in values.items() if value is not None}


def query_of(parameters: Mapping[str, QueryValue]) -> dict[str, str | int | bool | list[str]]:
    """Builds a query. A parameter that is None is left out."""
    return {name: _query_value(value) for name, value in parameters.items() if value is not None}


def _query_value(value: str | int | bool | datetime | Sequence[str]) -> str | int | bool | list[str]:
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, (str, int)) else [*value]


def if_match(generation: int | None) -> dict[str, str]:
    """Return the header that allows a change only while the generation is still the one that was read."""
    return {} if generation is None else {"If-Match": f'"{generation}"'}


def wait_timeout(wait: int | None) -> float | None:
    """Return the timeout of a long poll that the server may hold open for `wait` seconds; None means the client's default."""
    return wait + WAIT_MARGIN_SECONDS if wait else None


def _json_value(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if is_dataclass(value):
        return object_of(value)
    if isinstance(value, Mapping):
        return {name: _json_value(inner) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_json_value(inner) for inner in value]
    return value


class Verification(TypedDict):
    verify: ssl.SSLContext | bool
    trust_env: bool


def tls_context(ca_file: str | Path | None, certificate: ClientCertificate | None) -> ssl.SSLContext:
    """Trusts the given CA, or the system's CAs. Presents the certificate to servers that ask for one."""
    context = ssl.create_default_context(cafile=str(ca_file) if ca_file else None)
    if certificate is not None:
        key_file = certificate.key_file
        context.load_cert_chain(str(certificate.certificate_file), str(key_file) if key_file else None)
    return context


_CA_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@cache
def _default_context(scheme: str, named: tuple[str | None, ...]) -> ssl.SSLContext:
    """Trusts the CAs that httpx trusts; `named` are those that the environment names instead, if it counts.

    They take 20 ms to load: once for all clients, and not at all for `http`, which uses none.
    """
    if scheme == "http":
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx.create_ssl_context(trust_env=any(named))


def verification(
    base_url: str, ca_file: str | Path | None, certificate: ClientCertificate | None = None
) -> Verification:
    """Return how the client verifies the server. Raises ValueError for an address over which the token would leak."""
    url = httpx.URL(base_url)
    loopback = _is_loopback(url.host)
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError(f"not a server address: {base_url!r} (expected https://host[:port])")
    if url.scheme == "http" and not loopback:
        raise ValueError("a token must not be sent unencrypted: use https:// for a remote server")
    named = () if loopback else tuple(os.environ.get(name) for name in _CA_VARIABLES)
    return {
        "verify": tls_context(ca_file, certificate) if ca_file or certificate else _default_context(url.scheme, named),
        "trust_env": not loopback,  # a proxy cannot reach the loopback address
    }


def unreachable(
    error: httpx.TransportError, correlation_id: str, address: str, certificate: ClientCertificate | None = None
) -> Unreachable:
    """Return the error of a failed connection. `certificate` was presented; a server that refuses one gives no reason."""
    untrusted = _untrusted(error)
    if untrusted is not None:
        detail = f"The certificate of {address} is not trusted: {untrusted}."
        next_step = "Pass the platform's CA certificate (ca_file), or correct the address."
    elif isinstance(error, httpx.TimeoutException):
        detail = f"{address} did not answer in time."
        next_step = "Try again. If it fails again, check the server."
    else:
        detail = f"{address} cannot be reached: {error}."
        next_step = "Check the address, and that the server is running."
        if certificate is not None and isinstance(error, (httpx.RemoteProtocolError, httpx.ReadError)):
            detail = f"{address} closed the connection; it may have refused the client certificate: {error}."
            next_step = f"Check that {certificate.certificate_file} has not expired and was issued by this platform."
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
