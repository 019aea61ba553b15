"""The container of one member on its host: check, pull, start, stop, remove. Every function is repeatable."""

import asyncio
import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from gpuaas_containers.container_secrets import ContainerSecret, file_owner, of_files, of_variables
from gpuaas_containers.engine_arguments import LABEL
from gpuaas_containers.failures import host_failure
from gpuaas_containers.gpu_devices import GpuDevices
from gpuaas_containers.hostside import ask_host
from gpuaas_containers.member_container import MemberContainer
from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import RuntimeProfile
from gpuaas_containers.readiness import ReadinessProbe
from gpuaas_containers.reported_facts import SIGNATURE, STATE, reported_facts
from gpuaas_containers.user_data import KILL_SECONDS, render_user_data
from gpuaas_sdk.controller import Context, Host, MemberCounts, PublishedArtifact, counts_path, parse_counts

REPLY_SECONDS = 30.0  # for the host to say that it has given up
LONGEST_STOP = 600 + KILL_SECONDS
MOST_COUNTS = 8192  # bytes of what a host has counted for a member
LONGEST_REMOVAL = 600  # the host gives each image and volume as long


async def check_host(host: Host, names: MemberNames, profile: RuntimeProfile) -> GpuDevices:
    """Return the GPUs of the host. Raises Failed when it lacks something else, before anything is pulled."""
    ports = [{"port": one.host, "protocol": one.protocol} for one in profile.ports]
    found = await ask_host(host, "facts", unit=names.unit, ports=ports)
    return GpuDevices(_numbers(found["gpus"]), _texts(found["shared"]), _numbers(found["described"]))


@dataclass(frozen=True, slots=True)
class PulledImage:
    reference: str
    signature: Mapping[str, object]  # what the host found of it: verified by a key, or not required
    has_earlier: bool  # the member has images of other versions on the host


async def pull(host: Host, names: MemberNames, artifact: PublishedArtifact, limit: float) -> PulledImage:
    """Let the host check the image's signature by the policy of the operation, and pull the image by its digest."""
    image, seconds = await artifact.image_pull(), _seconds_until(limit, host)
    policy = image.signature_policy
    pulled = await ask_host(
        host,
        "pull",
        timeout=seconds + REPLY_SECONDS,
        name=names.image,
        digest=image.digest,
        reference=image.reference,
        registry=image.registry,
        username=image.username,
        password=image.password,
        tls=image.tls,
        trust=image.trust,
        size=image.size_bytes,
        folder=names.pull_folder,
        seconds=seconds,
        signature_policy=None if policy is None else asdict(policy),
        signature_file=names.signature_path,
    )
    signature = reported_facts(pulled.get("signature"), SIGNATURE)
    return PulledImage(image.reference, signature, bool(pulled.get("has_earlier")))


async def fetch_files(host: Host, names: MemberNames, profile: RuntimeProfile, ctx: Context) -> None:
    """Let the host download the files that the container reads; each is checked by its digest."""
    for one in profile.files:
        place, artifact = names.file(one.digest, one.unpack), ctx.artifact_of(one.digest)
        if one.unpack:
            await host.unpack(place, artifact)
        else:
            await host.put(place, artifact, mode=0o444)


async def put_secrets(host: Host, container: MemberContainer) -> None:
    """Let the host keep the values. They go over the connection only, as the program's input."""
    profile, found = container.profile, container.secrets
    if found:
        await ask_host(
            host,
            "put_secrets",
            variables=_encoded(of_variables(profile, found)),
            folder=container.names.secrets_folder,
            files=_encoded(of_files(profile, found)),
            owner=file_owner(profile),
        )


def _encoded(secrets: Iterable[ContainerSecret]) -> dict[str, str]:
    return {one.name: base64.b64encode(one.value).decode() for one in secrets}


async def forget_secrets(host: Host, names: MemberNames, keep: Iterable[ContainerSecret]) -> None:
    """Remove values that the member's container does not read any more."""
    kept = [one.name for one in keep]
    await ask_host(host, "forget_secrets", secrets=names.secrets, folder=names.secrets_folder, keep=kept)


async def start(host: Host, container: MemberContainer, limit: float, *, restart: bool) -> dict[str, object]:
    """Apply the container's document and wait until it runs. Returns what the host says of it."""
    data, names, seconds = render_user_data(container), container.names, _seconds_until(limit, host)
    applied = await ask_host(
        host,
        "apply",
        document=data.text,
        name=names.name,
        unit=names.unit,
        fingerprint=data.fingerprint,
        label=LABEL,
        restart=restart,
    )
    ports = [one.host for one in container.profile.ports if one.protocol == "tcp"]
    state = await ask_host(
        host,
        "watch",
        timeout=seconds + REPLY_SECONDS,
        unit=names.unit,
        ports=ports,
        seconds=seconds,
        restarts=applied.get("restarts", 0),
    )
    return reported_facts(state, STATE)


async def forget_images(host: Host, container: MemberContainer) -> None:
    """Remove images of other versions that the member has on the host."""
    await ask_host(
        host,
        "forget_images",
        timeout=LONGEST_REMOVAL + REPLY_SECONDS,
        image=container.names.image,
        keep=container.profile.image,
    )


async def await_ready(host: Host, names: MemberNames, probes: Sequence[ReadinessProbe]) -> None:
    """Wait until the container passes its readiness probes. Raises Failed with what the last answer was."""
    seconds = max(probe.longest for probe in probes)
    listed = [probe.document() for probe in probes]
    await ask_host(
        host, "await_ready", timeout=seconds + REPLY_SECONDS, unit=names.unit, probes=listed, seconds=seconds
    )


async def stop(host: Host, names: MemberNames) -> None:
    await ask_host(host, "stop", timeout=LONGEST_STOP + REPLY_SECONDS, unit=names.unit, seconds=LONGEST_STOP)


async def read_counts(host: Host, instance_id: str, member_id: str) -> list[MemberCounts]:
    """Read what the host has counted for the member; empty where it has counted nothing."""
    command = ["head", "-c", str(MOST_COUNTS), "--", counts_path(instance_id, member_id)]
    found = await host.run(command, check=False)
    return [one for one in parse_counts(found.out) if one.member_id == member_id] if found.ok else []


async def remove(host: Host, names: MemberNames, digests: Sequence[str], counts: str) -> None:
    """Remove the container, its volumes, network, images, files, secrets, counts, units and folder."""
    await ask_host(
        host,
        "remove",
        timeout=LONGEST_STOP + LONGEST_REMOVAL + REPLY_SECONDS,
        name=names.name,
        unit=names.unit,
        unit_paths=[names.unit_path, names.meter_unit_path, names.meter_timer_path],
        meter=names.meter,
        counts=counts,
        folder=names.folder,
        image=names.image,
        digests=digests,
        secrets=names.secrets,
        seconds=LONGEST_STOP,
    )


async def remove_rest(host: Host, names: MemberNames) -> None:
    """Remove what is the instance's on the host: the record of its files, and network and volumes that services share."""
    await host.remove_all()
    if names.shared is not None:
        await ask_host(host, "remove_shared", timeout=LONGEST_REMOVAL + REPLY_SECONDS, name=names.shared)


def _seconds_until(limit: float, host: Host) -> float:
    left = limit - asyncio.get_running_loop().time()
    if left <= 0:
        raise host_failure(host.address, "container_start_timeout", "the container has not started in time")
    return round(left, 1)


def _numbers(value: object) -> tuple[int, ...]:
    return tuple(int(one) for one in value) if isinstance(value, list) else ()


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, list) else ()
