"""Settings by environment. `gpuaas-server settings` prints this table; docs/reference/settings.md is generated from it."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import SettingsConfigDict

from gpuaas_server.kernel.artifact_settings import ArtifactSettings
from gpuaas_server.kernel.networks import Networks


class Settings(ArtifactSettings):
    model_config = SettingsConfigDict(env_prefix="GPUAAS_", frozen=True)

    data_dir: Path = Field(
        default=Path("var"), description="Directory of the keys, the certificates and the embedded database."
    )
    database_url: SecretStr | None = Field(
        default=None,
        description="PostgreSQL database, with a role without SUPERUSER and BYPASSRLS. Unset: the embedded one.",
    )
    master_key_file: Path | None = Field(
        default=None,
        description="File with 32 random bytes (hex) that seal stored keys. Unset: made at the first start in the data"
        " directory.",
    )
    http_bind: str = Field(default="127.0.0.1:8080", description="Address for plain HTTP, loopback only. Empty: off.")
    https_bind: str = Field(
        default="", description="Address for HTTPS with a certificate of the platform's own CA. Empty: off."
    )
    client_certificate_bind: str = Field(
        default="",
        description="Address for HTTPS that also requests (but does not require) a client certificate. It may be that of"
        " GPUAAS_HTTPS_BIND; browsers with certificates then ask which one to use. Empty: off.",
    )
    tls_certificate_days: int = Field(
        default=60,
        ge=1,
        le=60,
        description="Lifetime of the platform's own server certificates. They are renewed after two thirds of it.",
    )
    agent_urls: list[str] = Field(
        default=["http://127.0.0.1:8080"],
        description="JSON list of URLs at which node agents reach the API. They are written into enrolment bundles.",
    )
    trusted_proxies: str = Field(
        default="",
        description="Addresses and networks (comma-separated) whose X-Forwarded-For is trusted. Empty: none.",
    )
    proxy_protocol_peers: str = Field(
        default="",
        description="Addresses and networks (comma-separated) of load balancers that begin every connection with a PROXY"
        " header, version 1 or 2. The header is required from them and refused from all others. Empty: none.",
    )
    max_connections: int = Field(
        default=16_384,
        ge=16,
        description="Largest number of connections of one api process. The file limit may lower it.",
    )
    max_unauthenticated_connections: int = Field(
        default=8192,
        ge=8,
        description="Largest number of connections of one api process without an authenticated request so far.",
    )
    unauthenticated_connections_per_address: int = Field(
        default=2048,
        ge=1,
        description="The same from one IPv4 address or IPv6 /64. Many hosts behind one address that start together need more.",
    )
    max_header_bytes: int = Field(
        default=32_768, ge=4096, le=1 << 20, description="Largest size of request line and headers together."
    )
    header_seconds: float = Field(
        default=10.0, gt=0, description="Time limit for the TLS handshake and the headers of a request."
    )
    body_seconds: float = Field(
        default=30.0,
        gt=0,
        description="Over each such time a body must bring 1 KiB a second on average. Before authentication it must be"
        " complete within this time.",
    )
    idle_seconds: float = Field(
        default=15.0, gt=0, description="An idle connection without an authenticated request is closed after this time."
    )
    streams_per_caller: int = Field(
        default=256,
        ge=1,
        description="Largest number of watches, long polls and terminals of one caller at one api process.",
    )
    streams_per_project: int = Field(
        default=1024, ge=1, description="The same for all callers of one project whose quota does not set it."
    )
    streams_per_tenant: int = Field(
        default=2048, ge=1, description="The same for all callers of one tenant whose quota does not set it."
    )
    tenant_changes_per_second: float = Field(
        default=5.0,
        gt=0,
        description="Average rate of changes of one tenant at one api process. Each allocation of a request counts; requests"
        " that end something do not. A faster caller waits, and is refused if the wait would exceed 5 s.",
    )
    tenant_change_burst: int = Field(
        default=1000, ge=1, description="Number of changes that may come together after a quiet time."
    )
    tenant_upload_bytes_per_second: int = Field(
        default=64 << 20,
        ge=1 << 16,
        description="Average rate of blob uploads of one tenant at one api process. Faster uploads are slowed down.",
    )
    site: str = Field(
        default="",
        max_length=60,
        pattern=r"^[A-Za-z0-9 ._-]*$",
        description="Name of this installation, written into every audit record.",
    )
    api_processes: int = Field(default=1, ge=1, le=64, description="Number of api processes that `up` starts.")
    pool_size: int = Field(default=8, ge=2, le=200, description="Number of database connections of one process.")
    token_minutes: int = Field(default=15, ge=1, le=60, description="Lifetime of an access token.")
    session_hours: int = Field(
        default=12, ge=1, le=720, description="How long a person stays signed in without entering the password again."
    )
    session_idle_minutes: int = Field(
        default=60, ge=5, le=1440, description="A browser session ends after this time without use."
    )
    public_url: str = Field(
        default="",
        pattern=r"^(https?://[A-Za-z0-9.:\[\]-]+)?$",
        description="URL that browsers use, such as https://cloud.example, if a proxy in front changes scheme or Host. Empty:"
        " as each request says.",
    )
    console_dir: Path | None = Field(
        default=None,
        description="Directory of the built console. Unset: console/dist of the checkout, or the one of the package.",
    )
    ssh_certificate_minutes: int = Field(
        default=15, ge=1, le=60, description="Default lifetime of an SSH user certificate."
    )
    ssh_certificate_source_check: bool = Field(
        default=True,
        description="SSH certificates of people and controllers work only from the address that requested them and from those"
        " that the request names. Turn it off where clients reach hosts from addresses that they cannot name: their"
        " certificates then work from everywhere. Certificates of terminals always work on the host only.",
    )
    custody_backend: Literal["builtin", "openbao"] = Field(
        default="builtin",
        description="Where new secrets are stored: sealed in the database, or in OpenBao (or Vault). Both stay readable.",
    )
    openbao_url: str = Field(default="", description="URL of OpenBao, such as https://bao.example:8200.")
    openbao_token_file: Path | None = Field(
        default=None,
        description="File with the token for OpenBao. It is read for every call, so that an agent may renew it.",
    )
    openbao_ca_file: Path | None = Field(
        default=None, description="CA of OpenBao's certificate. Unset: the system's CAs."
    )
    openbao_namespace: str = Field(default="", description="Namespace in OpenBao. Empty: the root.")
    openbao_transit_mount: str = Field(default="transit", description="Mount of the transit engine.")
    openbao_transit_key: str = Field(default="gpuaas", description="Name of the transit key that wraps data keys.")
    openbao_kv_mount: str = Field(default="secret", description="Mount of the KV engine, version 2.")
    openbao_kv_prefix: str = Field(
        default="gpuaas", description="Folder in the KV engine for the platform's sealed values."
    )
    max_body_bytes: int = Field(default=1_048_576, ge=1024, description="Largest request body.")
    login_attempts: int = Field(
        default=5,
        ge=1,
        description="Number of wrong passwords in a row from one network before it is locked out of the account.",
    )
    lockout_seconds: int = Field(default=900, ge=1, description="Duration of such a lockout.")
    login_ipv4_prefix: int = Field(
        default=24, ge=8, le=32, description="Bits of an IPv4 address that name the network of a sign-in."
    )
    login_ipv6_prefix: int = Field(
        default=64, ge=16, le=128, description="Bits of an IPv6 address that name the network of a sign-in."
    )
    login_account_attempts: int = Field(
        default=50,
        ge=1,
        description="Number of wrong passwords for one account from all networks without a previous sign-in, before such"
        " networks must wait longer and longer. Networks with a previous sign-in are not slowed.",
    )
    login_delay_seconds: int = Field(default=300, ge=1, description="Longest wait of such networks.")
    login_known_days: int = Field(
        default=90, ge=1, description="How long a network counts as known after a sign-in to the account."
    )
    login_rate_per_minute: int = Field(
        default=30,
        ge=1,
        description="Largest number of password sign-ins a minute from one address, and to one account from a known network.",
    )
    refresh_rate_per_minute: int = Field(
        default=60,
        ge=1,
        description="Largest number of refreshes a minute of one session, and of unknown refresh tokens from one address.",
    )
    service_rate_per_minute: int = Field(
        default=600,
        ge=1,
        description="Largest number of tokens a minute for one service account from one network. Wrong secrets are counted"
        " separately.",
    )
    enrolment_rate_per_minute: int = Field(
        default=30, ge=1, description="Largest number of refused enrolments a minute from one address."
    )
    node_key_days: int = Field(
        default=30,
        ge=1,
        le=365,
        description="Lifetime of a node agent's key. The agent renews it after two thirds of it.",
    )
    node_source_check: bool = Field(
        default=True,
        description="Refuse a node's key from networks other than those recorded for the node. Turn it off where agents"
        " connect through proxies or NAT with changing addresses.",
    )
    node_lost_seconds: int = Field(
        default=150, ge=5, description="A node counts as lost after this time without a report."
    )
    drain_notice_seconds: int = Field(
        default=3600,
        ge=0,
        description="Notice that projects have before a drain releases their allocations, unless the operator names a time. 0:"
        " none.",
    )
    provision_deadline_seconds: int = Field(default=600, ge=5, description="Time limit for provisioning.")
    release_deadline_seconds: int = Field(default=900, ge=5, description="Time limit for a release.")
    task_attempts: int = Field(
        default=3, ge=1, le=20, description="Number of attempts of a retryable host task in one phase."
    )
    operation_lease_seconds: int = Field(
        default=60,
        ge=5,
        le=3600,
        description="Another controller may resume an operation after this time without a report.",
    )
    controller_silence_seconds: int = Field(
        default=60,
        ge=5,
        le=3600,
        description="Silence of a controller after which nothing is launched that only it would serve.",
    )
    operation_verify_seconds: int = Field(
        default=900, ge=10, description="Time limit for the inspection of the hosts after a teardown."
    )
    operation_attempts: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="Number of claims of an operation that may end without a report before it fails.",
    )
    terminal_open_seconds: int = Field(
        default=20, ge=1, le=300, description="Time limit for a requested terminal to have a shell and a stream."
    )
    terminal_idle_seconds: int = Field(
        default=1800, ge=1, description="A terminal ends after this time without input and output."
    )
    terminal_max_seconds: int = Field(default=28800, ge=1, description="Longest duration of a terminal.")
    host_reports_per_tenant: int = Field(
        default=5,
        ge=0,
        description="Largest number of open reports of broken hosts of one tenant. 0: tenants cannot report hosts.",
    )
    terminals_per_allocation: int = Field(
        default=8, ge=1, description="Largest number of open terminals on one allocation."
    )
    terminals_per_user: int = Field(default=16, ge=1, description="Largest number of open terminals of one person.")
    log_readers_per_host: int = Field(default=16, ge=1, description="Log readers per host; a quarter per allocation.")
    peer_bind: str = Field(
        default="127.0.0.1:0",
        description="Address at which api processes reach each other, for a terminal or a log whose two streams are at"
        " different processes. Port 0: a free one. For apis on several machines: an address that all of them reach; beyond"
        " loopback it uses TLS.",
    )
    idempotency_hours: int = Field(default=24, ge=1, description="How long answers are stored for repeated requests.")
    event_retention_days: int = Field(default=30, ge=1, description="How long events are kept.")
    audit_retention_days: int = Field(
        default=400, ge=30, description="How long audit records are kept. The database refuses to remove younger ones."
    )
    history_retention_days: int = Field(
        default=90, ge=1, description="How long host tasks and the state changes of ended allocations are kept."
    )
    operation_retention_days: int = Field(
        default=90,
        ge=1,
        description="How long ended operations, their steps, and timeline entries are kept. Operations that a teardown"
        " receipt names, and the last one of an instance or member, are kept longer.",
    )
    delivery_retention_days: int = Field(
        default=400,
        ge=30,
        description="How long the log of delivered credentials is kept. The database refuses to remove younger entries.",
    )
    certificate_retention_days: int = Field(
        default=30, ge=1, description="How long SSH certificates are listed after they have expired."
    )
    enrolment_retention_days: int = Field(
        default=30, ge=1, description="How long enrolment tokens and their uses are listed after they have expired."
    )
    deletion_grace_days: int = Field(
        default=7,
        ge=0,
        le=365,
        description="How long the deletion of a tenant or project can be undone. Afterwards everything in it is removed.",
    )
    event_sink_file: Path | None = Field(
        default=None, description="File to which every event is appended as a JSON line (at least once)."
    )
    work_lease_seconds: float = Field(
        default=6.0, gt=0, description="Lifetime of a worker's lease without a heartbeat."
    )
    work_concurrency: int = Field(
        default=10,
        ge=1,
        le=256,
        description="Number of work rows of the safety and interactive lanes that one worker runs at the same time. A fifth"
        " is reserved for each of the two; the rest is shared.",
    )
    work_bulk_concurrency: int = Field(
        default=2,
        ge=1,
        le=64,
        description="Number of work rows of the bulk lane that one worker runs at the same time, in separate slots. One"
        " tenant gets at most half of them.",
    )
    worker_metrics_bind: str = Field(
        default="127.0.0.1:0",
        description="Address at which the worker serves its Prometheus metrics. Port 0: a free one, written to"
        " worker-metrics.address in the data directory. Empty: off.",
    )
    quota_unproven_gpus: int = Field(
        default=32,
        ge=0,
        description="Default limit of a tenant's released GPUs that are not proven clean. At the limit the tenant gets no new"
        " allocation.",
    )
    platform_apps: str = Field(
        default="all",
        description="Which installed apps `up` provides: all, none, or names separated by commas. Examples must be named.",
    )
    platform_apps_for_tenants: bool = Field(
        default=True,
        description="Entitle every tenant to the platform's own apps, with a consent that the tenant can withdraw.",
    )
    log_level: str = Field(default="INFO", description="DEBUG, INFO, WARNING or ERROR.")

    @field_validator("trusted_proxies", "proxy_protocol_peers")
    @classmethod
    def _names_networks(cls, value: str) -> str:
        Networks(value)  # a misspelt entry would silently match nothing
        return value


def settings_reference() -> list[tuple[str, str, str]]:
    """Return (variable, default, description) of every setting, for the printed and the committed reference."""
    rows = []
    for name, field in sorted(Settings.model_fields.items(), key=lambda item: item[0] in ArtifactSettings.model_fields):
        default = "" if field.default is None else str(field.default)
        rows.append((f"GPUAAS_{name.upper()}", default, field.description or ""))
    return rows
