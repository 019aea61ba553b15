"""Client for the gpuaas public API. `Client` and `AsyncClient` are the doors, `GpuaasError` is what they raise."""

from gpuaas_sdk.aio.client import AsyncClient
from gpuaas_sdk.credentials import (
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
from gpuaas_sdk.generated.models import *  # noqa: F403 (every model is public; its __all__ says so)
from gpuaas_sdk.reader import Resource
from gpuaas_sdk.retries import NO_RETRIES, RetryPolicy
from gpuaas_sdk.sealed import NotForUs, RecipientKey
from gpuaas_sdk.sync.calls import Pages
from gpuaas_sdk.sync.client import Client
from gpuaas_sdk.sync.waiting import wait_for

__version__ = "0.1.0"

__all__ = [
    "NO_RETRIES",
    "AsyncClient",
    "CapacityRefused",
    "Client",
    "Conflict",
    "Credentials",
    "DeadlineExceeded",
    "Denied",
    "GpuaasError",
    "InvalidRequest",
    "NotForUs",
    "NotFound",
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
    "wait_for",
]
__all__ += models.__all__
