"""Settings by environment. `gpuaas-server settings` prints this table; docs/reference/settings.md is generated from it."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from gpuaas_server.kernel.networks import Networks


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="GPUAAS_", frozen=True)

    data_dir: Path = Field(default=Path("var"), description="Where keys, certificates and the embedded database live.")
    database_url: SecretStr | None = Field(
        default=None,
        description="PostgreSQL to use, as a role without SUPERUSER and BYPASSRLS. Unset: the embedded one.",
    )
    master_key_file: Path | None = Field(
        default=None,
        description="32 random bytes (hex) that seal stored keys. Unset: made on first start in the data directory.",
    )
    http_bind: str = Field(default="127.0.0.1:8080", description="Plain HTTP, loopback addresses only. Empty: off.")
    https_bind: str = Field(default="", description="HTTPS with a certificate of the platform's own CA. Empty: off.")
    client_certificate_bind: str = Field(
        default="",
        description="HTTPS that also asks programs for a client certificate, which stays optional. An address of its own, or"
        " that of GPUAAS_HTTPS_BIND: then browsers that have certificates ask people which one to show. Empty: off.",
    )
    tls_certificate_days: int = Field(
        default=60,
        ge=1,
        le=60,
        description="Life of the server certificates that we make for ourselves; renewed after two thirds of it.",
    )
    agent_urls: list[str] = Field(
        default=["http://127.0.0.1:8080"],
        description="JSON list: how node agents reach the API; written into enrolment bundles.",
    )
    trusted_proxies: str = Field(
        default="",
        description="Addresses and networks (comma-separated) whose X-Forwarded-For is believed. Empty: nobody's.",
    )
    proxy_protocol_peers: str = Field(
        default="",
        description="Addresses and networks (comma-separated) of load balancers that begin every connection with a PROXY"
        " header, version 1 or 2. From them it is required, from all others it is refused. Empty: nobody.",
    )
    max_connections: int = Field(
        default=16_384, ge=16, description="Connections of one api process; fewer where the file limit leaves fewer."
    )
    max_unauthenticated_connections: int = Field(
        default=8192,
        ge=8,
        description="Those of them that have carried no authenticated request yet.",
    )
    unauthenticated_connections_per_address: int = Field(
        default=2048,
        ge=1,
        description="The same from one IPv4 address or IPv6 /64. Hosts behind one address that start at once need some.",
    )
    max_header_bytes: int = Field(
        default=32_768, ge=4096, le=1 << 20, description="Largest request line and header together."
    )
    header_seconds: float = Field(
        default=10.0, gt=0, description="TLS handshake and header of a request must be complete by then."
    )
    body_seconds: float = Field(
        default=30.0,
        gt=0,
        description="A body must bring 1 KiB a second on average over each such time; before authentication, it must be"
        " complete by then.",
    )
    idle_seconds: float = Field(
        default=15.0, gt=0, description="A connection without an authenticated request is closed after so long idle."
    )
    streams_per_caller: int = Field(
        default=256,
        ge=1,
        description="Watches, long polls and terminals that one caller may have at once at one api process.",
    )
    streams_per_project: int = Field(default=1024, ge=1, description="The same of all callers in one project.")
    streams_per_tenant: int = Field(default=2048, ge=1, description="The same of all callers in one tenant.")
    tenant_changes_per_second: float = Field(
        default=5.0,
        gt=0,
        description="Changes that the people and programs of one tenant may make at one api process on average; each"
        " allocation of a request counts, what ends something does not. A caller that is ahead of the pace waits, and is"
        " refused where that would take over 5 s.",
    )
    tenant_change_burst: int = Field(
        default=1000, ge=1, description="So many of them may come at once after a quiet time."
    )
    tenant_upload_bytes_per_second: int = Field(
        default=64 << 20,
        ge=1 << 16,
        description="Bytes of blobs that one tenant may send to one api process on average; faster senders are slowed down.",
    )
    site: str = Field(
        default="",
        max_length=60,
        pattern=r"^[A-Za-z0-9 ._-]*$",
        description="Name of this installation, written into every audit row.",
    )
    api_processes: int = Field(default=1, ge=1, le=64, description="Api processes that `up` starts.")
    pool_size: int = Field(default=8, ge=2, le=200, description="Database connections of one process.")
    token_minutes: int = Field(default=15, ge=1, le=60, description="Life of an access token.")
    session_hours: int = Field(
        default=12, ge=1, le=720, description="How long a person stays signed in without the password."
    )
    session_idle_minutes: int = Field(
        default=60, ge=5, le=1440, description="A session in a browser that nobody used for so long has ended."
    )
    public_url: str = Field(
        default="",
        pattern=r"^(https?://[A-Za-z0-9.:\[\]-]+)?$",
        description="What browsers call us, such as https://cloud.example, where a proxy stands in front that speaks"
        " another scheme or Host to us. Empty: what each request says.",
    )
    console_dir: Path | None = Field(
        default=None, description="The built console. Unset: console/dist of the checkout, or what the package has."
    )
    ssh_certificate_minutes: int = Field(
        default=15, ge=1, le=60, description="Default life of an SSH user certificate."
    )
    ssh_certificate_source_check: bool = Field(
        default=False,
        description="Certificates of people and controllers open allocations only from the address that asked for them."
        " For sites where clients reach the platform and the hosts by one address. Those of terminals always work on the"
        " host alone.",
    )
    custody_backend: Literal["builtin", "openbao"] = Field(
        default="builtin",
        description="Where new secrets go: sealed into the database, or to OpenBao (or Vault). Both stay readable.",
    )
    openbao_url: str = Field(default="", description="OpenBao's address, such as https://bao.example:8200.")
    openbao_token_file: Path | None = Field(
        default=None, description="File with the token for OpenBao, read for every call: its agent may renew it."
    )
    openbao_ca_file: Path | None = Field(default=None, description="CA of OpenBao's certificate. Unset: the system's.")
    openbao_namespace: str = Field(default="", description="Namespace in OpenBao. Empty: the root.")
    openbao_transit_mount: str = Field(default="transit", description="Mount of the transit engine.")
    openbao_transit_key: str = Field(default="gpuaas", description="Name of the transit key that wraps data keys.")
    openbao_kv_mount: str = Field(default="secret", description="Mount of the KV engine, version 2.")
    openbao_kv_prefix: str = Field(default="gpuaas", description="Folder there for our sealed values.")
    max_body_bytes: int = Field(default=1_048_576, ge=1024, description="Largest request body.")
    login_attempts: int = Field(
        default=5, ge=1, description="Wrong passwords in a row from one network before it is locked out of the account."
    )
    lockout_seconds: int = Field(default=900, ge=1, description="How long such a lockout lasts.")
    login_ipv4_prefix: int = Field(
        default=24, ge=8, le=32, description="Bits of an IPv4 address that name the network of a sign-in."
    )
    login_ipv6_prefix: int = Field(
        default=64, ge=16, le=128, description="Bits of an IPv6 address that name the network of a sign-in."
    )
    login_account_attempts: int = Field(
        default=50,
        ge=1,
        description="Wrong passwords for one account, from all networks that it never signed in from, before these have to"
        " wait longer and longer. Networks that it did sign in from are not slowed.",
    )
    login_delay_seconds: int = Field(default=300, ge=1, description="The longest that they have to wait.")
    login_known_days: int = Field(
        default=90, ge=1, description="How long a network is known for a good sign-in of the account."
    )
    login_rate_per_minute: int = Field(
        default=30,
        ge=1,
        description="Sign-ins by password in a minute: from one address, and for an account from a network it is known in.",
    )
    refresh_rate_per_minute: int = Field(
        default=60,
        ge=1,
        description="Refreshes of one session, and unknown refresh tokens of one address, in a minute.",
    )
    service_rate_per_minute: int = Field(
        default=600,
        ge=1,
        description="Tokens in a minute for one service account from one network; wrong secrets count for themselves.",
    )
    enrolment_rate_per_minute: int = Field(
        default=30, ge=1, description="Refused enrolments from one address in a minute, before it has to wait."
    )
    node_key_days: int = Field(
        default=30,
        ge=1,
        le=365,
        description="Life of a node agent's key; the agent makes a new one after two thirds of it.",
    )
    node_source_check: bool = Field(
        default=True,
        description="Refuse a node's key from other networks than those recorded for the node. Off: where agents come"
        " through proxies or NAT with changing addresses.",
    )
    node_lost_seconds: int = Field(default=150, ge=5, description="Silence after which a node counts as lost.")
    provision_deadline_seconds: int = Field(default=600, ge=5, description="Provisioning must end by then.")
    release_deadline_seconds: int = Field(default=900, ge=5, description="Release must end by then.")
    task_attempts: int = Field(
        default=3, ge=1, le=20, description="How often a retryable host task is tried in one phase."
    )
    operation_lease_seconds: int = Field(
        default=60,
        ge=5,
        le=3600,
        description="Silence of a controller after which another one may resume its operation.",
    )
    operation_verify_seconds: int = Field(
        default=900, ge=10, description="After a teardown, the hosts must have said by then what is left on them."
    )
    operation_attempts: int = Field(
        default=10, ge=1, le=1000, description="Claims of an operation that may end without a word, before it fails."
    )
    terminal_open_seconds: int = Field(
        default=20, ge=1, le=300, description="A terminal that was asked for must have a shell and a stream by then."
    )
    terminal_idle_seconds: int = Field(
        default=1800, ge=1, description="A terminal ends when for so long nothing was typed and nothing shown."
    )
    terminal_max_seconds: int = Field(default=28800, ge=1, description="A terminal ends after that in any case.")
    host_reports_per_tenant: int = Field(
        default=5, ge=0, description="Open reports of broken hosts that one tenant may have. 0: tenants report none."
    )
    terminals_per_allocation: int = Field(default=8, ge=1, description="Terminals that may live on one allocation.")
    terminals_per_user: int = Field(default=16, ge=1, description="Terminals that one person may have at once.")
    peer_bind: str = Field(
        default="127.0.0.1:0",
        description="Where an api process meets the others, for terminals whose two streams came to two of them. Port 0: a"
        " free one. With apis on several machines: an address that they reach; beyond loopback it is TLS.",
    )
    idempotency_hours: int = Field(default=24, ge=1, description="How long answers are kept for replay.")
    event_retention_days: int = Field(default=30, ge=1, description="How long events are kept.")
    audit_retention_days: int = Field(
        default=400, ge=30, description="How long audit rows are kept; the database refuses to remove younger ones."
    )
    history_retention_days: int = Field(
        default=90, ge=1, description="How long host tasks and the state changes of ended allocations are kept."
    )
    operation_retention_days: int = Field(
        default=90,
        ge=1,
        description="How long ended operations, with their steps, and entries of timelines are kept. Longer where a"
        " teardown receipt names the operation, or it is the last one of an instance or member.",
    )
    delivery_retention_days: int = Field(
        default=400,
        ge=30,
        description="How long the log of delivered credentials is kept; the database refuses to remove younger entries.",
    )
    certificate_retention_days: int = Field(
        default=30, ge=1, description="How long issued SSH certificates are listed after they have expired."
    )
    enrolment_retention_days: int = Field(
        default=30, ge=1, description="How long enrolment tokens and their uses are listed after they have expired."
    )
    deletion_grace_days: int = Field(
        default=7,
        ge=0,
        le=365,
        description="How long the deletion of a tenant or project can be undone before everything in it is removed.",
    )
    event_sink_file: Path | None = Field(
        default=None, description="Append every event as a JSON line to this file (at least once)."
    )
    work_lease_seconds: float = Field(default=6.0, gt=0, description="Life of a lease without heartbeat.")
    work_concurrency: int = Field(
        default=10,
        ge=1,
        le=256,
        description="Work rows of the safety and interactive lanes that one worker runs at once. A fifth is reserved for"
        " each of the two, the rest is shared.",
    )
    work_bulk_concurrency: int = Field(
        default=2,
        ge=1,
        le=64,
        description="Work rows of the bulk lane that one worker runs at once, in slots of their own. One tenant takes at"
        " most half of them.",
    )
    worker_metrics_bind: str = Field(
        default="127.0.0.1:0",
        description="Where the worker serves its Prometheus metrics. Port 0: a free one, named in"
        " worker-metrics.address in the data directory. Empty: off.",
    )
    s3_bucket_url: str = Field(
        default="",
        description="S3-compatible bucket for blobs, as https://host/bucket. Empty: a directory in the data directory.",
    )
    s3_region: str = Field(default="us-east-1", description="Region that requests to the bucket are signed for.")
    s3_access_key: SecretStr | None = Field(default=None, description="Access key of the bucket.")
    s3_secret_key: SecretStr | None = Field(default=None, description="Secret key of the bucket.")
    artifact_max_bytes: int = Field(default=5 << 30, ge=1, description="Largest blob; one S3 request takes no more.")
    quota_artifacts: int = Field(
        default=1000, ge=0, description="Artifacts of a tenant for which no other quota is set."
    )
    quota_artifact_bytes: int = Field(
        default=200 << 30, ge=0, description="Bytes of artifacts of a tenant for which no other quota is set."
    )
    quota_unproven_gpus: int = Field(
        default=32,
        ge=0,
        description="GPUs that a tenant may have released without a proof that they are clean, before nothing more is"
        " given to it. A tenant's quota may say otherwise.",
    )
    uploads_per_project: int = Field(default=4, ge=1, description="Uploads of blobs that one project runs at once.")
    uploads_per_tenant: int = Field(default=8, ge=1, description="Uploads of blobs that one tenant runs at once.")
    publish_minutes: int = Field(
        default=60, ge=1, le=1440, description="How long a publish intent waits for its bytes."
    )
    registry_bind: str = Field(
        default="",
        description="Where `up` runs an image registry of its own (docker-registry). On a loopback address in plain HTTP,"
        " else with a certificate of the platform's CA. Empty: none.",
    )
    registry_url: str = Field(
        default="",
        description="An image registry that trusts our tokens. Empty: the one of GPUAAS_REGISTRY_BIND, if any.",
    )
    registry_host: str = Field(
        default="", description="What clients call the registry, as host:port. Empty: as we reach it ourselves."
    )
    registry_realm: str = Field(
        default="",
        description="Where our own registry sends clients for tokens. Empty: the first of GPUAAS_AGENT_URLS, and the path.",
    )
    registry_grace_hours: int = Field(
        default=24,
        ge=1,
        description="How long bytes stay in our own registry that no artifact and no publish intent refers to.",
    )
    registry_collect_hours: int = Field(
        default=6,
        ge=1,
        description="How often our own registry removes such bytes; it is away for the moment that this takes.",
    )
    log_level: str = Field(default="INFO", description="DEBUG, INFO, WARNING or ERROR.")

    @field_validator("trusted_proxies", "proxy_protocol_peers")
    @classmethod
    def _names_networks(cls, value: str) -> str:
        Networks(value)  # a misspelt one would silently be nobody's
        return value


def settings_reference() -> list[tuple[str, str, str]]:
    """(variable, default, description) of every setting, for the printed and the committed reference."""
    rows = []
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else str(field.default)
        rows.append((f"GPUAAS_{name.upper()}", default, field.description or ""))
    return rows
