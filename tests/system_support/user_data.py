"""The document of a container as machines get it, and how a machine takes the image that it was given."""

import time
import urllib.request

from gpuaas_containers.gpu_devices import GpuDevices
from gpuaas_containers.member_container import MemberContainer
from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import read_profile
from gpuaas_containers.user_data import render_user_data
from gpuaas_lab.container_image import ContainerImage
from system_support.container_lab import PORT

NAMES = MemberNames.of("ins_01m7f81xage15rhw01dexynkp5", "web", "mem_01m7f81xage15rhw01dexyabcd")
# Loads an archive (`compose_lab.oci_archive`) from the standard input. The document names the image by its digest.
LOAD_IMAGE = (
    "mkdir -p /var/tmp/image; tar -x -C /var/tmp/image; podman tag $(podman pull -q oci:/var/tmp/image) localhost/web:1"
)


def container_document(image: ContainerImage, **inputs: object) -> str:
    profile = {
        "image": image.digest,
        "ports": [{"container_port": 80, "host_port": PORT}],
        "gpus": 2,
        "env": {"ANSWER": {"input": "/answer"}},
    }
    schema = {"properties": {"answer": {"type": "string"}}}
    wanted = read_profile({"runtime_profile": profile, "inputs": schema}, inputs)
    reference = f"localhost/web@{image.digest}"
    return render_user_data(
        MemberContainer(NAMES, wanted, reference, GpuDevices((0, 1)), "ins_1", "mem_1", "talk")
    ).text


def fetch_patiently(url: str, seconds: float) -> bytes:
    """Wait until somebody answers there."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310
                return bytes(answer.read())
        except OSError:
            assert time.monotonic() < deadline, f"nothing answers at {url}"
            time.sleep(0.1)
