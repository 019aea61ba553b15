"""The services of a compose file as this package understands them, and what app.yaml says about them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpuaas_compose.yaml_text import Path


@dataclass(frozen=True, slots=True)
class InputReference:
    """A value that the user answers at launch: ${name} in the compose file."""

    name: str


Value = str | InputReference


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A port of the container. `published`: the host's port, for people; None: for the other services only."""

    container_port: int
    published: int | None = None
    protocol: str = "tcp"


@dataclass(frozen=True, slots=True)
class Mount:
    volume: str
    path: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A secret of the instance that the container reads at a path."""

    secret: str
    path: str


@dataclass(frozen=True, slots=True)
class Check:
    """A healthcheck that a host can run from outside of the container: a connection, or a GET of the path."""

    container_port: int
    path: str | None = None  # None: a connection is enough
    interval_seconds: int = 30
    timeout_seconds: int = 10
    failures: int = 3
    start_period_seconds: int = 60


@dataclass(frozen=True, slots=True)
class Limits:
    cpus: float | int | None = None
    memory_mib: int | None = None
    shared_memory_mib: int | None = None
    processes: int | None = None


@dataclass(frozen=True, slots=True)
class Service:
    """One service. Lists and mappings that the file leaves out are empty; None means the image's own."""

    name: str
    digest: str
    repository: str
    entrypoint: tuple[Value, ...] | None = None
    command: tuple[Value, ...] | None = None
    environment: Mapping[str, Value] = field(default_factory=dict)
    ports: tuple[ServicePort, ...] = ()
    mounts: tuple[Mount, ...] = ()
    secrets: tuple[SecretFile, ...] = ()
    gpus: int | str | None = None  # a number, or all
    limits: Limits = Limits()
    user: tuple[int, int | None] | None = None
    read_only: bool = False
    restart: str = "never"
    check: Check | None = None
    check_place: Path | None = None  # of a test that a host cannot run, unless app.yaml names a probe
    depends_on: tuple[str, ...] = ()
    healthy_first: tuple[str, ...] = ()  # those of depends_on that must be healthy before this one starts
    stop_timeout_seconds: int | None = None
