"""Wire types of signing in, users, roles and service accounts."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.identity.rules import ScopeName
from gpuaas_server.kernel.http.schemas import AllowedActions, Body, Generation, Moment, Name, Slug, examples
from gpuaas_server.kernel.ids import ServiceAccountId, TenantId
from gpuaas_server.secrets.schemas import PrivateKeyCustody

Email = Annotated[
    str,
    StringConstraints(
        min_length=3,
        max_length=200,
        pattern=r"^[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(\.[A-Za-z0-9-]{1,63}){1,8}$",
    ),
]
_ANY_TEXT = r"^[^\x00-\x1f\x7f]+$"
TypedSecret = Annotated[str, StringConstraints(min_length=1, max_length=256, pattern=_ANY_TEXT)]
NewPassword = Annotated[str, StringConstraints(min_length=12, max_length=256, pattern=_ANY_TEXT)]
RefreshTokenText = Annotated[str, StringConstraints(pattern=r"^gsr_[A-Za-z0-9_-]{64}$")]
ProjectRole = Literal["project_admin", "project_member", "project_viewer"]
PlatformRole = Literal["platform_admin", "platform_operator"]


class PasswordGrant(Body):
    grant_type: Literal["password"]
    username: TypedSecret = Field(description="E-mail address of the user.")
    password: TypedSecret


class ClientCredentialsGrant(Body):
    grant_type: Literal["client_credentials"]
    client_id: ServiceAccountId = Field(description="Id of the service account.")
    client_secret: TypedSecret = Field(description="Secret of any key of the service account.")


class RefreshGrant(Body):
    grant_type: Literal["refresh_token"]
    refresh_token: RefreshTokenText


class Logout(Body):
    refresh_token: RefreshTokenText


class AccessToken(BaseModel):
    access_token: str = Field(description="Send as `Authorization: Bearer …`.")
    token_type: Literal["Bearer"] = "Bearer"  # noqa: S105
    expires_in: int = Field(description="Lifetime of the token in seconds.")
    scope: str | None = Field(default=None, description="Scopes of a service account, separated by spaces.")
    certificate_thumbprint: str | None = Field(
        default=None,
        description="The client certificate that the token is bound to (its `cnf`). Without that certificate the token is"
        " refused.",
    )
    refresh_token: str | None = Field(
        default=None, description="Refresh token of a user's session, valid once. Service accounts get none."
    )
    session_expires_at: datetime | None = Field(
        default=None, description="When the session ends, however often it is refreshed."
    )


class JsonWebKey(BaseModel):
    kty: Literal["OKP"] = "OKP"
    crv: Literal["Ed25519"] = "Ed25519"
    use: Literal["sig"] = "sig"
    alg: Literal["EdDSA"] = "EdDSA"
    kid: str
    x: str


class JsonWebKeySet(BaseModel):
    keys: list[JsonWebKey]


class SigningKey(BaseModel):
    id: str
    created_at: datetime
    verifies_until: datetime | None = Field(description="When the key stops verifying. Null: this key signs.")
    fingerprint: str = Field(description="SHA-256 of the public key, in hex.")
    custody: PrivateKeyCustody
    secret_key_id: str | None = Field(
        description="Id of the secret store's key that wraps the private key; see `/secret-keys`."
    )


class RoleBinding(BaseModel):
    role: str
    tenant_id: str | None = Field(description="Null for a role of the platform.")
    project_id: str | None = Field(description="Null for a role in the tenant as a whole, or of the platform.")


class Me(BaseModel):
    id: str
    kind: Literal["user", "service_account"]
    name: str
    email: str | None = Field(description="E-mail address of a user; null for a service account.")
    tenant_id: str | None = Field(description="Null for a user of the platform.")
    roles: list[RoleBinding]
    scopes: list[str] | None = Field(description="Scopes of a service account; null for a user.")
    app_slugs: list[str] | None = Field(
        default=None, description="Slugs of the apps that a service account controls now; null for a user."
    )


class BrowserSession(BaseModel):
    user: Me
    csrf_token: str = Field(description="Send as `X-CSRF-Token` with every call that may change something.")
    expires_at: datetime = Field(description="When the session ends if it is not used. Each use moves it.")
    ends_at: datetime = Field(description="When the session ends, however much it is used.")


class PasswordChange(Body):
    current_password: TypedSecret
    new_password: NewPassword = Field(description="At least twelve characters, and not easy to guess.")


class TenantUserCreate(Body):
    email: Email
    name: Name
    password: NewPassword | None = Field(default=None, description="Absent: the platform makes one and shows it once.")


class UserCreate(TenantUserCreate):
    tenant_id: TenantId | None = Field(default=None, description="Absent: a user of the platform.")


class UserUpdate(Body):
    name: Name | None = None
    disabled: bool | None = Field(default=None, description="True ends all access immediately; nothing is deleted.")
    unlock: Literal[True] | None = Field(default=None, description="True ends a lockout now.")
    reset_password: Literal[True] | None = Field(
        default=None, description="True makes a new password and shows it once."
    )


class User(BaseModel):
    id: str
    tenant_id: str | None = Field(description="Null for a user of the platform.")
    email: str
    name: str
    disabled: bool = Field(description="A disabled user cannot sign in, and their tokens are refused.")
    roles: list[RoleBinding]
    last_sign_in_at: datetime | None
    created_at: datetime
    generation: Generation
    allowed_actions: AllowedActions


class UserWithPassword(User):
    initial_password: str | None = Field(description="The password, if the platform made it. It is shown once.")


class Member(BaseModel):
    id: str = Field(description="Id of the user.")
    email: str
    name: str
    disabled: bool
    role: str = Field(description="Role in this tenant or project.")
    created_at: datetime
    generation: Generation


class TenantMemberSet(Body):
    role: Literal["tenant_admin"]


class ProjectMemberSet(Body):
    model_config = examples({"role": "project_member"})

    role: ProjectRole


class PlatformRoleSet(Body):
    role: PlatformRole


Scopes = Annotated[list[ScopeName], Field(min_length=1, max_length=20)]
AppSlugs = Annotated[list[Slug], Field(max_length=50)]
_APP_SLUGS = "Apps whose work the account may claim and report on. The scope `apps:control` requires at least one."


class ServiceAccountCreate(Body):
    model_config = examples({"name": "echo controller", "scopes": ["apps:control"], "app_slugs": ["echo"]})

    name: Name
    scopes: Scopes = Field(description="What the account may do in its project.")
    app_slugs: AppSlugs = Field(default=[], description=_APP_SLUGS)
    expires_at: Moment | None = Field(default=None, description="Absent: the account does not expire.")


class ServiceAccountUpdate(Body):
    scopes: Scopes | None = Field(
        default=None, description="What the account may do in its project. They replace all previous scopes."
    )
    app_slugs: AppSlugs | None = Field(default=None, description=_APP_SLUGS)
    disabled: bool | None = Field(default=None, description="True ends all access immediately; nothing is deleted.")
    certificate_required: bool | None = Field(
        default=None, description="True ends tokens that are not bound to one of its client certificates."
    )
    expires_at: Moment | None = Field(default=None, description="Null removes the expiry.")


class ServiceAccountKeyCreate(Body):
    expires_at: Moment | None = Field(default=None, description="Absent: the key does not expire.")


class ServiceAccountKeyUpdate(Body):
    disabled: bool = Field(
        description="True ends the key's tokens immediately, and the account's certificates. False enables the key again."
    )


class ServiceAccountKey(BaseModel):
    id: str
    disabled: bool = Field(description="A disabled key gets no token, and the tokens that it obtained are refused.")
    created_at: datetime
    expires_at: datetime | None = Field(description="Null: the key does not expire.")
    last_used_at: datetime | None


class NewServiceAccountKey(ServiceAccountKey):
    secret: str = Field(description="The secret, shown once. Only its digest is stored.")


class ServiceAccountCertificate(BaseModel):
    id: str
    thumbprint: str = Field(description="`x5t#S256` of RFC 8705: SHA-256 of the certificate, in base64url.")
    authority_id: str = Field(description="Id of the platform key (of kind `client_ca`) that signed the certificate.")
    expires_at: datetime
    created_by: str = Field(description="Id of the user who requested the certificate.")
    created_at: datetime
    last_used_at: datetime | None = Field(description="When a token was last bound to the certificate.")


class ServiceAccount(BaseModel):
    id: str = Field(description="Id of the account, and its `client_id` for tokens.")
    tenant_id: str
    project_id: str
    name: str
    scopes: list[str]
    app_slugs: list[str] = Field(description="Apps whose work the account may claim and report on.")
    disabled: bool = Field(description="A disabled account gets no token, and its tokens are refused.")
    certificate_required: bool = Field(
        description="Tokens are issued and accepted only over connections with one of its client certificates."
    )
    expires_at: datetime | None = Field(description="Null: the account does not expire.")
    created_by: str = Field(description="Id of the user.")
    created_at: datetime
    generation: Generation
    allowed_actions: AllowedActions


class NewServiceAccount(ServiceAccount):
    key: NewServiceAccountKey = Field(description="The first key, with its secret.")
