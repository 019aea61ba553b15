"""Settings of artifacts: the blob store, uploads, and image registries. `Settings` inherits them."""

from pathlib import Path

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings

from gpuaas_server.kernel.allowed_hosts import AllowedHosts
from gpuaas_server.kernel.networks import Networks


class ArtifactSettings(BaseSettings):
    s3_bucket_url: str = Field(
        default="",
        description="S3-compatible bucket for blobs, as https://host/bucket. Empty: a directory in the data directory.",
    )
    s3_region: str = Field(default="us-east-1", description="Region for which requests to the bucket are signed.")
    s3_access_key: SecretStr | None = Field(default=None, description="Access key of the bucket.")
    s3_secret_key: SecretStr | None = Field(default=None, description="Secret key of the bucket.")
    artifact_max_bytes: int = Field(
        default=1 << 40, ge=1, le=5 << 40, description="Largest blob. A bucket takes no object larger than 5 TiB."
    )
    upload_part_bytes: int = Field(
        default=64 << 20,
        ge=5 << 20,
        le=5 << 30,
        description="Size of the parts of an upload. A larger blob is sent in parts. If there would be more than 10,000 parts,"
        " they are larger.",
    )
    upload_grace_hours: int = Field(
        default=24,
        ge=1,
        le=168,
        description="How long an upload in parts may pause. Then its publish intent expires and its parts are removed.",
    )
    quota_artifacts: int = Field(default=1000, ge=0, description="Default limit of artifacts of a tenant.")
    quota_artifact_bytes: int = Field(
        default=200 << 30, ge=0, description="Default limit of artifact bytes of a tenant."
    )
    uploads_per_project: int = Field(
        default=4, ge=1, description="Largest number of simultaneous blob uploads of one project."
    )
    uploads_per_tenant: int = Field(
        default=8, ge=1, description="Largest number of simultaneous blob uploads of one tenant."
    )
    publish_minutes: int = Field(
        default=60, ge=1, le=1440, description="How long a publish intent waits for its bytes."
    )
    registry_bind: str = Field(
        default="",
        description="Address of the image registry (docker-registry) that `up` runs. Plain HTTP on a loopback address,"
        " otherwise with a certificate of the platform's CA. Empty: none.",
    )
    registry_url: str = Field(
        default="",
        description="URL of an image registry that trusts the platform's tokens. Empty: the one of GPUAAS_REGISTRY_BIND, if"
        " any.",
    )
    registry_host: str = Field(
        default="",
        description="Address that clients use for the registry, as host:port. Empty: the address that the platform uses.",
    )
    registry_realm: str = Field(
        default="",
        description="URL to which the platform's own registry sends clients for tokens. Empty: the first of"
        " GPUAAS_AGENT_URLS, with the path.",
    )
    artifact_grace_hours: int = Field(
        default=168,
        ge=1,
        description="How long a collection spares an artifact that nothing refers to, since it was published, last moved to"
        " another stage, its last version was retired or its last instance ended.",
    )
    registry_grace_hours: int = Field(
        default=24,
        ge=1,
        description="How long the platform's own registry keeps bytes that no artifact and no publish intent refers to.",
    )
    registry_collect_hours: int = Field(
        default=6,
        ge=1,
        description="How often the platform's own registry removes such bytes. It does not respond during the removal.",
    )
    external_registries: str = Field(
        default="",
        description="Image registries (comma-separated) that artifacts may refer to: `host`, `host:port` or `*.domain`, with"
        " `http://` before one that speaks plain HTTP. Name their token servers and the hosts to which they redirect too."
        " Empty: none.",
    )
    external_registry_networks: str = Field(
        default="",
        description="Addresses and networks (comma-separated) that are not public and that external registries may have."
        " Empty: none, except addresses in GPUAAS_EXTERNAL_REGISTRIES itself.",
    )
    external_registry_ca_file: Path | None = Field(
        default=None,
        description="Certificates (PEM) of authorities that sign the certificates of such registries, besides the public ones."
        " Hosts get them with each pull. Unset: the public ones alone.",
    )
    external_image_max_bytes: int = Field(
        default=100 << 30, ge=1, description="Largest image of an external registry, by the sizes in its manifest."
    )

    @field_validator("external_registries")
    @classmethod
    def _names_hosts(cls, value: str) -> str:
        AllowedHosts(value)
        return value

    @field_validator("external_registry_networks")
    @classmethod
    def _names_registry_networks(cls, value: str) -> str:
        Networks(value)  # a misspelt entry would silently match nothing
        return value
