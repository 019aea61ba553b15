"""Rows of identity: users and their bindings, service accounts and their keys, sessions, signing keys, sign-ins."""

from dataclasses import replace
from datetime import datetime, timedelta

from gpuaas_server.identity.principals import Account, Principal
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import computed

SLIDE_AFTER = timedelta(minutes=1)  # a session is moved on once a minute, not with every call


@dataclass(frozen=True, slots=True)
class AccountIdentity:
    """Says who an account is, as audit rows name it. `tenant_id` is None for a user of the platform."""

    id: str
    name: str
    tenant_id: str | None


@dataclass(frozen=True, slots=True)
class UserRow:
    """A user."""

    id: str
    tenant_id: str | None
    email: str
    name: str
    disabled: bool
    last_sign_in_at: datetime | None
    created_at: datetime
    generation: int


@dataclass(frozen=True, slots=True)
class UserPassword:
    """A user's password hash, and the epoch in which it holds."""

    email: str
    password_hash: str
    auth_epoch: int


@dataclass(frozen=True, slots=True)
class UserBinding:
    """A role of a user."""

    user_id: str
    role: str
    tenant_id: str | None
    project_id: str | None


@dataclass(frozen=True, slots=True)
class BindingState:
    """A binding after it was set."""

    role: str
    created_at: datetime
    generation: int


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A user with their role in one place."""

    id: str
    email: str
    name: str
    disabled: bool
    role: str
    created_at: datetime
    generation: int


@dataclass(frozen=True, slots=True)
class UserPrincipalRow(Account):
    """A user with their bindings, each as role, tenant and project."""

    bindings: list[tuple[str, str | None, str | None]] | None = None


CertificateExpiry = tuple[str, float]  # a thumbprint, and when it expires, in seconds since 1970


@dataclass(frozen=True, slots=True)
class AccountPrincipalRow:
    """A service account with one of its live keys; without keys it has one row, whose key is NULL."""

    id: str
    name: str
    tenant_id: str
    project_id: str
    scopes: list[str]
    app_slugs: list[str]
    disabled: bool
    expires_at: datetime | None
    certificate_required: bool
    certificates: list[CertificateExpiry] | None
    key_id: str | None
    key_expires_at: datetime | None
    deleting: bool


@dataclass(frozen=True, slots=True)
class NewServiceAccountRow:
    """A service account to insert."""

    id: str
    tenant_id: str
    project_id: str
    name: str
    scopes: list[str]
    app_slugs: list[str]
    expires_at: datetime | None
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ServiceAccountRow(NewServiceAccountRow):
    """A service account."""

    disabled: bool
    certificate_required: bool
    generation: int


@dataclass(frozen=True, slots=True)
class NewKeyRow:
    """A key of a service account to insert."""

    id: str
    service_account_id: str
    tenant_id: str
    digest: bytes
    expires_at: datetime | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A key of a service account, without its digest."""

    id: str
    disabled: bool
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class SignInKey(AccountIdentity):
    """A live key of a service account, with the account's own state."""

    key_id: str
    digest: bytes
    project_id: str
    scopes: list[str]
    disabled: bool
    expires_at: datetime | None
    certificate_required: bool
    certificates: list[CertificateExpiry] | None
    deleting: bool

    def has_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now


@dataclass(frozen=True, slots=True)
class NewCertificateRow:
    """A client certificate to insert."""

    id: str
    tenant_id: str
    service_account_id: str
    thumbprint: str
    authority_id: str
    expires_at: datetime
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class CertificateRow:
    """A client certificate of a service account."""

    id: str
    thumbprint: str
    authority_id: str
    expires_at: datetime
    created_by: str
    created_at: datetime
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewSessionRow:
    """A session to insert."""

    id: str
    user_id: str
    tenant_id: str | None
    auth_epoch: int
    family_digest: bytes
    token_digest: bytes
    rotated_at: datetime
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class LockedSession:
    """A session whose row is locked, with its user's epoch. `disabled`: its user is, or their tenant is to be deleted."""

    id: str
    auth_epoch: int
    token_digest: bytes
    previous_digest: bytes | None
    rotated_at: datetime
    retried: bool
    expires_at: datetime
    revoked_at: datetime | None
    user_epoch: int
    disabled: bool


@dataclass(frozen=True, slots=True)
class NewBrowserSessionRow:
    """A browser session to insert."""

    id: str
    user_id: str
    tenant_id: str | None
    auth_epoch: int
    secret_digest: bytes
    created_at: datetime
    last_used_at: datetime
    expires_at: datetime
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class BrowserSessionRow:
    """A person's session in a browser. `expires_at` moves on while it is used, up to `ends_at`."""

    id: str
    user_id: str
    auth_epoch: int
    last_used_at: datetime
    expires_at: datetime
    ends_at: datetime

    def is_good(self, user: Principal, now: datetime) -> bool:
        """Tell whether the session is valid. What ends a person's tokens, such as a new password, starts a new epoch."""
        return self.expires_at > now and user.auth_epoch == self.auth_epoch and not (user.disabled or user.deleting)

    def is_to_slide(self, now: datetime) -> bool:
        return self.last_used_at <= now - SLIDE_AFTER and self.expires_at < self.ends_at

    def moved_on(self, now: datetime, idle: timedelta) -> "BrowserSessionRow":
        return replace(self, last_used_at=now, expires_at=min(now + idle, self.ends_at))


@dataclass(frozen=True, slots=True)
class EndedBrowserSession(AccountIdentity):
    """A session that was ended, and whose it was."""

    session_id: str


@dataclass(frozen=True, slots=True)
class SealedSigningKey:
    """A signing key. `sealed_private_key` is of an older release: under the master key, until the worker moves it."""

    id: str
    sealed_private_key: bytes | None


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """A public key that verifies tokens."""

    id: str
    public_key: bytes
    verifies_until: datetime | None


@dataclass(frozen=True, slots=True)
class SigningKeyRow:
    """A signing key, and whether its private side is still under the master key."""

    id: str
    public_key: bytes
    created_at: datetime
    verifies_until: datetime | None
    sealed: bool = computed("sealed_private_key IS NOT NULL")


@dataclass(frozen=True, slots=True)
class RevokedSigningKey:
    """A signing key as it was before it was revoked."""

    id: str
    verifies_until: datetime | None


@dataclass(frozen=True, slots=True)
class LoginUser(AccountIdentity):
    """The user of a name that somebody typed."""

    password_hash: str
    disabled: bool
    auth_epoch: int
    deleting: bool


@dataclass(frozen=True, slots=True)
class LoginAccount:
    """Holds what the database says about a name that somebody typed: the user, if there is one, and the locks on the name.

    `known`: the account has signed in from this network before.
    """

    user: LoginUser | None
    locked_until: datetime | None
    slowed_until: datetime | None
    known: bool


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Failed sign-ins of a name in a network, and until when it is locked there."""

    failures: int
    locked_until: datetime | None
