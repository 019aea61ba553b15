"""The document of a container as cloud-init takes it: valid by its own schema, and a fresh machine boots with it."""

import base64
import json
import os
from collections.abc import Iterator

import pytest

from gpuaas_lab import CONTAINER_ENGINE, Fleet, Host
from system_support.compose_lab import oci_archive
from system_support.container_lab import PORT, web_image
from system_support.user_data import LOAD_IMAGE, container_document, fetch_patiently

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
HANG = 120.0
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


@pytest.mark.parametrize(
    "answer", ["plain", "%n $HOME \"quoted\" 'too'", "{{ 1 }} #cloud-config\n- [a]", "grüße \u2028 🦀"]
)
def test_cloud_init_accepts_the_document(host: Host, answer: str) -> None:
    host.write_file("/tmp/user-data", container_document(web_image("hello"), answer=answer))
    checked = host.run(["cloud-init", "schema", "--config-file", "/tmp/user-data"], check=False)
    assert (checked.returncode, "Valid cloud-config" in checked.stdout) == (0, True), checked.stderr


@pytest.mark.slow
def test_a_fresh_machine_boots_with_the_document_and_answers(host: Host) -> None:
    image = web_image("booted")
    host.run(["sh", "-ec", f"base64 -d | ({LOAD_IMAGE})"], input=base64.b64encode(oci_archive(image)).decode())
    host.write_file(f"{SEED}/user-data", container_document(image, answer="yes"))
    host.write_file(f"{SEED}/meta-data", "instance-id: one\n")
    host.write_file("/etc/cloud/cloud.cfg.d/99-lab.cfg", json.dumps(SETTINGS))
    host.run(["systemctl", "enable", "cloud-init-local", "cloud-init", "cloud-config", "cloud-final"])
    host.power_cut()
    host.power_on()
    host.wait_ssh()
    assert fetch_patiently(f"http://{host.address}:{PORT}/greeting", HANG) == b"booted"
