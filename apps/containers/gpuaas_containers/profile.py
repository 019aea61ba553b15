"""The runtime profile of a version, with the answers of the instance filled in."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gpuaas_containers.services import components_of
from gpuaas_sdk.controller import Failed

Json = Mapping[str, object]
START_SECONDS, STOP_SECONDS = 300, 10
SHARED_MEMORY_MIB, PROCESSES = 64, 4096
METRICS_PAGE = "/metrics"


@dataclass(frozen=True, slots=True)
class Port:
    container: int
    host: int
    protocol: str


@dataclass(frozen=True, slots=True)
class Volume:
    key: str
    path: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class File:
    """A published file that the container reads at this path; `unpack`: the folder of a tar archive's content."""

    digest: str
    path: str
    unpack: bool


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A secret of the instance that the container reads at this path."""

    key: str
    path: str


@dataclass(frozen=True, slots=True)
class MeteredCounter:
    """A counter that the container offers, and the key of the manifest's `metering` that it counts for."""

    key: str
    port: int  # the container's
    path: str
    metric: str
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class VersionPage:
    """A page of the container that says the version of what runs; in a field, if it is a JSON object."""

    port: int  # the container's
    path: str
    field: str | None = None


@dataclass(frozen=True, slots=True)
class RuntimeProfile:
    image: str  # the digest
    command: tuple[str, ...] | None
    args: tuple[str, ...] | None
    env: tuple[tuple[str, str], ...]
    answers: tuple[str, ...]  # values of `env` that people gave at launch; they may be secrets
    secret_variables: tuple[tuple[str, str], ...]  # names of variables, and the keys of their secrets
    secret_files: tuple[SecretFile, ...]
    ports: tuple[Port, ...]
    volumes: tuple[Volume, ...]
    files: tuple[File, ...]
    gpus: int | None  # None: all
    share_gpus: bool  # with other containers of the allocation that share theirs
    cpus: float | None
    memory_mib: int | None
    shared_memory_mib: int
    processes: int
    user: str | None
    read_only_root: bool
    restart: str
    start_seconds: int
    stop_seconds: int
    counters: tuple[MeteredCounter, ...] = ()
    version_page: VersionPage | None = None

    @property
    def secret_keys(self) -> tuple[str, ...]:
        """The secrets of the instance that the container reads, each once."""
        keys = (*(key for _, key in self.secret_variables), *(file.key for file in self.secret_files))
        return tuple(dict.fromkeys(keys))


def read_profile(manifest: Json, inputs: Json, component_key: str = "") -> RuntimeProfile:
    """Return the component's own profile, or else the version's, of a manifest that the platform has checked. Raises Failed
    where there is none.
    """
    profile = _profile_of(manifest, component_key)
    if not isinstance(profile, Mapping):
        message = "This version has no runtime_profile, so its image cannot run."
        raise Failed("not_launchable", message, next_step="Launch a version with a runtime_profile.")
    schema = manifest.get("inputs")
    resources, user = _mapping(profile, "resources"), _mapping(profile, "user")
    variables = _mapping(profile, "env")
    secret_keys = {name: _secret_key(value) for name, value in variables.items()}
    env = [
        (name, value, _resolve(value, schema, inputs)) for name, value in variables.items() if secret_keys[name] is None
    ]
    gpus = profile.get("gpus", 0)
    return RuntimeProfile(
        image=str(profile["image"]),
        command=_words(profile, "command", schema, inputs),
        args=_words(profile, "args", schema, inputs),
        env=tuple((name, text) for name, _, text in env if text is not None),
        answers=tuple(text for _, value, text in env if text and isinstance(value, Mapping)),
        secret_variables=tuple((name, key) for name, key in secret_keys.items() if key is not None),
        secret_files=tuple(SecretFile(str(one["secret"]), str(one["path"])) for one in _items(profile, "secrets")),
        ports=tuple(_port(one) for one in _items(profile, "ports")),
        volumes=tuple(
            Volume(str(one["name"]), str(one["path"]), one.get("read_only") is True)
            for one in _items(profile, "volumes")
        ),
        files=tuple(
            File(str(one["digest"]), str(one["path"]), one.get("unpack") is True)
            for one in _items(profile, "artifacts")
        ),
        gpus=None if gpus == "all" else int(str(gpus)),
        share_gpus=profile.get("share_gpus") is True,
        cpus=None if "cpus" not in resources else float(str(resources["cpus"])),
        memory_mib=None if "memory_mib" not in resources else int(str(resources["memory_mib"])),
        shared_memory_mib=int(str(resources.get("shared_memory_mib", SHARED_MEMORY_MIB))),
        processes=int(str(resources.get("processes", PROCESSES))),
        user=f"{user['uid']}:{user.get('gid', user['uid'])}" if user else None,
        read_only_root=profile.get("read_only_root") is True,
        restart=str(profile.get("restart", "on_failure")),
        start_seconds=int(str(profile.get("start_timeout_seconds", START_SECONDS))),
        stop_seconds=int(str(profile.get("stop_timeout_seconds", STOP_SECONDS))),
        counters=tuple(_counters(manifest, component_key)),
        version_page=_version_page(_mapping(profile, "runtime_version_from")),
    )


def _version_page(said: Json) -> VersionPage | None:
    field = said.get("field")
    return (
        VersionPage(int(str(said["port"])), str(said["path"]), None if field is None else str(field)) if said else None
    )


def _counters(manifest: Json, component_key: str) -> Iterator[MeteredCounter]:
    for dimension in _items(manifest, "metering"):
        counter = _mapping(dimension, "counter")
        if counter and counter["component"] == component_key:
            labels = tuple(sorted((name, str(text)) for name, text in _mapping(counter, "labels").items()))
            port, path = int(str(counter["port"])), str(counter.get("path", METRICS_PAGE))
            yield MeteredCounter(str(dimension["key"]), port, path, str(counter["metric"]), labels)


def image_of(manifest: Json, component_key: str) -> str | None:
    """Return the digest of the image that a component runs; None if it has no profile."""
    profile = _profile_of(manifest, component_key)
    return str(profile["image"]) if isinstance(profile, Mapping) else None


def _profile_of(manifest: Json, component_key: str) -> object:
    own = components_of(manifest).get(component_key, {}).get("runtime_profile")
    return manifest.get("runtime_profile") if own is None else own


def _words(profile: Json, field: str, schema: object, inputs: Json) -> tuple[str, ...] | None:
    values = profile.get(field)
    if not isinstance(values, Sequence):
        return None
    texts = (_resolve(value, schema, inputs) for value in values)
    return tuple(text for text in texts if text is not None)


def _resolve(value: object, schema: object, inputs: Json) -> str | None:
    """Returns the text itself, or the answer that it refers to. Where the answer is absent, so is the value."""
    if not isinstance(value, Mapping):
        return str(value)
    found: object = inputs
    for part in str(value["input"]).split("/")[1:]:
        schema = _mapping(schema, "properties").get(part)
        found = found.get(part) if isinstance(found, Mapping) else None
        if found is None and isinstance(schema, Mapping):
            found = schema.get("default")
    if found is None:
        return None
    return str(found).lower() if isinstance(found, bool) else str(found)


def _secret_key(value: object) -> str | None:
    return str(value["secret"]) if isinstance(value, Mapping) and "secret" in value else None


def _port(one: Json) -> Port:
    inside = int(str(one["container_port"]))
    return Port(inside, int(str(one.get("host_port", inside))), str(one.get("protocol", "tcp")))


def _items(profile: Json, field: str) -> Iterator[Json]:
    values = profile.get(field)
    yield from (one for one in values if isinstance(one, Mapping)) if isinstance(values, Sequence) else ()


def _mapping(value: object, field: str) -> Json:
    found = value.get(field) if isinstance(value, Mapping) else None
    return found if isinstance(found, Mapping) else {}
