"""The container of one member on its host: check, pull, start, stop, remove. Every function is repeatable."""

import asyncio
from collections.abc import Sequence

from gpuaas_containers.engine_arguments import LABEL, GpuDevices, choose_gpus
from gpuaas_containers.failures import host_failure
from gpuaas_containers.hostside import ask_host
from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import RuntimeProfile
from gpuaas_containers.user_data import KILL_SECONDS, MemberContainer, render_user_data
from gpuaas_sdk.controller import Context, Host, PublishedArtifact

REPLY_SECONDS = 30.0  # for the host to say that it has given up
LONGEST_STOP = 600 + KILL_SECONDS


async def check_host(host: Host, names: MemberNames, profile: RuntimeProfile) -> GpuDevices:
    """Return the GPUs for the container. Raises Failed when the host lacks something, before anything is pulled."""
    ports = [{"port": one.host, "protocol": one.protocol} for one in profile.ports]
    found = await ask_host(host, "facts", unit=names.unit, ports=ports)
    return choose_gpus(profile, GpuDevices(_numbers(found["gpus"]), _texts(found["shared"])))


async def pull(host: Host, names: MemberNames, artifact: PublishedArtifact, limit: float) -> str:
    """Let the host pull the image by its digest. Returns the reference."""
    image, seconds = await artifact.image_pull(), _seconds_until(limit, host)
    await ask_host(
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
        seconds=seconds,
    )
    return image.reference


async def fetch_files(host: Host, names: MemberNames, profile: RuntimeProfile, ctx: Context) -> None:
    """Let the host download the files that the container reads; each is checked by its digest."""
    for one in profile.files:
        place, artifact = names.file(one.digest, one.unpack), ctx.artifact_of(one.digest)
        if one.unpack:
            await host.unpack(place, artifact)
        else:
            await host.put(place, artifact, mode=0o444)


async def start(host: Host, container: MemberContainer, limit: float, *, restart: bool) -> dict[str, object]:
    """Apply the container's document and wait until it runs. Returns its state. Older images of the member go."""
    data, names, seconds = render_user_data(container), container.names, _seconds_until(limit, host)
    await ask_host(
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
        host, "watch", timeout=seconds + REPLY_SECONDS, unit=names.unit, ports=ports, seconds=seconds
    )
    await ask_host(host, "forget_images", image=names.image, keep=container.profile.image)
    return state


async def stop(host: Host, names: MemberNames) -> None:
    await ask_host(host, "stop", timeout=LONGEST_STOP + REPLY_SECONDS, unit=names.unit, seconds=LONGEST_STOP)


async def remove(host: Host, names: MemberNames, digests: Sequence[str]) -> None:
    """Remove the container, its volumes, network, images, files, unit and folder."""
    await ask_host(
        host,
        "remove",
        timeout=LONGEST_STOP + REPLY_SECONDS,
        name=names.name,
        unit=names.unit,
        unit_path=names.unit_path,
        folder=names.folder,
        image=names.image,
        digests=digests,
        seconds=LONGEST_STOP,
    )


async def remove_rest(host: Host, names: MemberNames) -> None:
    """Remove what is the instance's on the host: the record of its files, and network and volumes that services share."""
    await host.remove_all()
    if names.shared is not None:
        await ask_host(host, "remove_shared", name=names.shared)


def _seconds_until(limit: float, host: Host) -> float:
    left = limit - asyncio.get_running_loop().time()
    if left <= 0:
        raise host_failure(host.address, "container_start_timeout", "the container has not started in time")
    return round(left, 1)


def _numbers(value: object) -> tuple[int, ...]:
    return tuple(int(one) for one in value) if isinstance(value, list) else ()


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, list) else ()
