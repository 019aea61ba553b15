"""Client for the gpuaas public API. `Client` is the door, `GpuaasError` what it raises."""

from gpuaas_sdk.access import (
    IssuedSshCertificate,
    PlatformKey,
    RevokedSshCertificates,
    SshCertificate,
    SshEndpoint,
    SshGrant,
    SshKey,
)
from gpuaas_sdk.allocations import Allocation, NewAllocation, Timeline, TimelineEntry
from gpuaas_sdk.artifacts import Artifact, Evidence, PublishIntent, TrustKey, TrustPolicy
from gpuaas_sdk.audit import AuditFilter, AuditRecord
from gpuaas_sdk.calls import Pages
from gpuaas_sdk.capacity import NewSku, Quota, Sku, Slot
from gpuaas_sdk.client import Client
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
from gpuaas_sdk.events import Event
from gpuaas_sdk.identity import Me, Member, RoleBinding, SigningKey, Tenant, User
from gpuaas_sdk.nodes import EnrolmentToken, Failure, Node, Phase, Task
from gpuaas_sdk.projects import Project, ServiceAccount, ServiceAccountKey
from gpuaas_sdk.reader import Resource
from gpuaas_sdk.retries import NO_RETRIES, RetryPolicy
from gpuaas_sdk.waiting import wait_for

__version__ = "0.1.0"

__all__ = [
    "NO_RETRIES",
    "Allocation",
    "Artifact",
    "AuditFilter",
    "AuditRecord",
    "CapacityRefused",
    "Client",
    "Conflict",
    "Credentials",
    "DeadlineExceeded",
    "Denied",
    "EnrolmentToken",
    "Event",
    "Evidence",
    "Failure",
    "GpuaasError",
    "InvalidRequest",
    "IssuedSshCertificate",
    "Me",
    "Member",
    "NewAllocation",
    "NewSku",
    "Node",
    "NotFound",
    "Pages",
    "PasswordCredentials",
    "Phase",
    "PlatformKey",
    "Problem",
    "Project",
    "PublishIntent",
    "Quota",
    "RateLimited",
    "Resource",
    "RetryPolicy",
    "RevokedSshCertificates",
    "RoleBinding",
    "ServerFailed",
    "ServiceAccount",
    "ServiceAccountCredentials",
    "ServiceAccountKey",
    "SigningKey",
    "Sku",
    "Slot",
    "SshCertificate",
    "SshEndpoint",
    "SshGrant",
    "SshKey",
    "Task",
    "Tenant",
    "Timeline",
    "TimelineEntry",
    "Token",
    "TokenStore",
    "TrustKey",
    "TrustPolicy",
    "Unauthenticated",
    "Unreachable",
    "User",
    "wait_for",
]
