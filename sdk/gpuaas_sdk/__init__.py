"""Client for the gpuaas public API. Start with `Client` or `AsyncClient`; they raise `GpuaasError`."""

from gpuaas_sdk.aio.client import AsyncClient
from gpuaas_sdk.credentials import (
    ClientCertificate,
    Credentials,
    PasswordCredentials,
    ServiceAccountCredentials,
    Token,
    TokenStore,
)
from gpuaas_sdk.errors import (
    CapacityRefused,
    Conflict,
    DeadlineExceeded,
    Denied,
    GpuaasError,
    InvalidRequest,
    NotFound,
    Problem,
    RateLimited,
    ServerFailed,
    Unauthenticated,
    Unreachable,
)
from gpuaas_sdk.generated import models
from gpuaas_sdk.generated.models import *  # noqa: F403 (every model is public and in its __all__)
from gpuaas_sdk.generated.operation_kinds import OPERATION_KINDS, OperationKind
from gpuaas_sdk.reader import Resource
from gpuaas_sdk.retries import NO_RETRIES, RetryPolicy
from gpuaas_sdk.sealed_boxes import RecipientKey, UnsealError
from gpuaas_sdk.sync.calls import Pages
from gpuaas_sdk.sync.client import Client
from gpuaas_sdk.sync.wait import wait_for

__version__ = "0.1.0"

__all__ = [
    "NO_RETRIES",
    "OPERATION_KINDS",
    "AsyncClient",
    "CapacityRefused",
    "Client",
    "ClientCertificate",
    "Conflict",
    "Credentials",
    "DeadlineExceeded",
    "Denied",
    "GpuaasError",
    "InvalidRequest",
    "NotFound",
    "OperationKind",
    "Pages",
    "PasswordCredentials",
    "Problem",
    "RateLimited",
    "RecipientKey",
    "Resource",
    "RetryPolicy",
    "ServerFailed",
    "ServiceAccountCredentials",
    "Token",
    "TokenStore",
    "Unauthenticated",
    "Unreachable",
    "UnsealError",
    "wait_for",
]
__all__ += models.__all__
