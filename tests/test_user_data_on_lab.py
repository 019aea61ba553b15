"""The document of a container as cloud-init takes it: valid by its own schema, and a fresh machine boots with it."""

import base64
import hashlib
import io
import json
import os
import tarfile
import time
import urllib.request
from collections.abc import Iterator

import pytest

from gpuaas_containers.engine_arguments import GpuDevices
from gpuaas_containers.names import MemberNames
from gpuaas_containers.profile import read_profile
from gpuaas_containers.user_data import MemberContainer, render_user_data
from gpuaas_lab import CONTAINER_ENGINE, Fleet, Host
from gpuaas_lab.container_image import MANIFEST_TYPE, ContainerImage
from system_support.container_lab import PORT, web_image

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
HANG = 120.0
NAMES = MemberNames.of("ins_01m7f81xage15rhw01dexynkp5", "web", "mem_01m7f81xage15rhw01dexyabcd")
SEED = "/var/lib/cloud/seed/nocloud"
# What the lab's hosts have already: their names, keys and network.
SETTINGS = {
    "datasource_list": ["NoCloud", "None"],
    "locale": "C.UTF-8",
    "ssh_deletekeys": False,
    "preserve_hostname": True,
    "network": {"config": "disabled"},
}


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with Fleet(name=f"seed-{os.getpid()}", hosts=1, layer=CONTAINER_ENGINE) as fleet:
        yield fleet.hosts[0]


def document(image: ContainerImage, **inputs: object) -> str:
    profile = {
        "image": image.digest,
        "ports": [{"container_port": 80, "host_port": PORT}],
        "gpus": 2,
        "env": {"ANSWER": {"input": "/answer"}},
    }
    schema = {"properties": {"answer": {"type": "string"}}}
    wanted = read_profile({"runtime_profile": profile, "inputs": schema}, inputs)
    reference = f"localhost/web@{image.digest}"
    return render_user_data(MemberContainer(NAMES, wanted, reference, GpuDevices((0, 1)), "ins_1", "talk")).text


@pytest.mark.parametrize(
    "answer", ["plain", "%n $HOME \"quoted\" 'too'", "{{ 1 }} #cloud-config\n- [a]", "grüße \u2028 🦀"]
)
def test_cloud_init_accepts_the_document(host: Host, answer: str) -> None:
    host.write_file("/tmp/user-data", document(web_image("hello"), answer=answer))
    checked = host.run(["cloud-init", "schema", "--config-file", "/tmp/user-data"], check=False)
    assert (checked.returncode, "Valid cloud-config" in checked.stdout) == (0, True), checked.stderr


@pytest.mark.slow
def test_a_fresh_machine_boots_with_the_document_and_answers(host: Host) -> None:
    image = web_image("booted")
    unpack = "mkdir -p /var/tmp/image; base64 -d | tar -x -C /var/tmp/image"
    host.run(["sh", "-ec", unpack], input=base64.b64encode(_layout(image)).decode())
    host.run(["sh", "-ec", "podman tag $(podman pull --quiet oci:/var/tmp/image) localhost/web:1"])
    host.write_file(f"{SEED}/user-data", document(image, answer="yes"))
    host.write_file(f"{SEED}/meta-data", "instance-id: one\n")
    host.write_file("/etc/cloud/cloud.cfg.d/99-lab.cfg", json.dumps(SETTINGS))
    host.run(["systemctl", "enable", "cloud-init-local", "cloud-init", "cloud-config", "cloud-final"])
    host.power_cut()
    host.power_on()
    host.wait_ssh()
    assert _fetch(f"http://{host.address}:{PORT}/greeting") == b"booted"


def _layout(image: ContainerImage) -> bytes:
    """The image as a folder of the OCI layout."""
    entry = {"mediaType": MANIFEST_TYPE, "digest": image.digest, "size": len(image.manifest)}
    files = {"oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [entry]}).encode()
    files |= {f"blobs/sha256/{hashlib.sha256(one).hexdigest()}": one for one in (*image.blobs, image.manifest)}
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for path, content in files.items():
            entry_of_file = tarfile.TarInfo(path)
            entry_of_file.size = len(content)
            archive.addfile(entry_of_file, io.BytesIO(content))
    return stream.getvalue()


def _fetch(url: str) -> bytes:
    deadline = time.monotonic() + HANG
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310
                return bytes(answer.read())
        except OSError:
            assert time.monotonic() < deadline, f"nothing answers at {url}"
            time.sleep(0.1)
