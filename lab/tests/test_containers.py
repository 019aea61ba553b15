"""Containers inside a lab host: podman with runc, images by digest from a real registry over the bridge."""

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.error import HTTPError, URLError
from urllib.parse import urljoin

import pytest

from gpuaas_lab import CONTAINER_ENGINE, Fleet, Host, leftovers
from gpuaas_lab.container_image import MANIFEST_TYPE, ContainerImage, build_image, digest_of
from tests_support.parts import part

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
HANG = 60.0  # seconds, after which nobody waits any more
STORAGE = "/var/lib/containers"
_ALLOCATE_64_MIB = "x=$(dd if=/dev/zero bs=1M count=64 2>/dev/null | tr '\\0' a); echo ${#x}"


@dataclass(frozen=True)
class Registry:
    address: str

    def push(self, repository: str, image: ContainerImage) -> str:
        """Push the image and return its reference by digest."""
        for blob in image.blobs:
            url = self._send("POST", f"/v2/{repository}/blobs/uploads/", b"")
            self._send("PUT", f"{url}{'&' if '?' in url else '?'}digest={digest_of(blob)}", blob)
        self._send("PUT", f"/v2/{repository}/manifests/1", image.manifest, MANIFEST_TYPE)
        return f"{self.address}/{repository}@{image.digest}"

    def answers(self) -> bool:
        try:
            self._send("GET", "/v2/", None)
        except HTTPError:
            raise
        except (URLError, OSError):
            return False
        return True

    def _send(self, method: str, path: str, content: bytes | None, kind: str = "application/octet-stream") -> str:
        url = urljoin(f"http://{self.address}", path)
        request = urllib.request.Request(url, content, {"Content-Type": kind}, method=method)  # noqa: S310
        with urllib.request.urlopen(request, timeout=HANG) as answer:  # noqa: S310
            return str(answer.headers.get("Location", ""))


@pytest.fixture(scope="module")
def container_fleet() -> Iterator[Fleet]:
    with Fleet(name=f"containers-{os.getpid()}", hosts=1, layer=CONTAINER_ENGINE) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def host(container_fleet: Fleet) -> Host:
    return container_fleet.hosts[0]


@pytest.fixture(scope="module")
def registry(container_fleet: Fleet, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    program = part("docker-registry")
    folder = tmp_path_factory.mktemp("registry")
    address = f"{container_fleet.gateway}:5000"  # no other fleet has this address
    storage = {"filesystem": {"rootdirectory": str(folder / "data")}}
    settings = {"version": 0.1, "log": {"level": "error"}, "storage": storage, "http": {"addr": address}}
    (folder / "settings.json").write_text(json.dumps(settings))
    with subprocess.Popen([program, "serve", str(folder / "settings.json")]) as process:
        running = Registry(address)
        deadline = time.monotonic() + HANG
        while not running.answers():
            assert process.poll() is None, "the registry ended"
            assert time.monotonic() < deadline, "the registry did not start"
            time.sleep(0.05)
        yield running
        process.terminate()


@pytest.fixture(scope="module")
def image(registry: Registry) -> str:
    """Return the reference of an image that serves its own files on port 8080."""
    program = (CONTAINER_ENGINE.path / "usr/bin/busybox").read_bytes()
    tools = {f"bin/{name}": "busybox" for name in ("sh", "dd", "tr", "sleep", "httpd")}
    command = ["/bin/busybox", "httpd", "-f", "-p", "8080", "-h", "/"]
    return registry.push("lab/web", build_image({"bin/busybox": program, "greeting": b"hello"}, command, tools))


def _podman(host: Host, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return host.run(["podman", *words], check=check)


def _records(host: Host, kind: str) -> object:
    """Return what the engine's storage lists, read from outside the host."""
    file = host.plain_folder(STORAGE) / "storage" / f"overlay-{kind}" / f"{kind}.json"
    return json.loads(file.read_text()) if file.exists() else []


def _fetch(address: str) -> bytes:
    deadline = time.monotonic() + HANG
    while True:
        try:
            with urllib.request.urlopen(f"http://{address}/greeting", timeout=HANG) as answer:
                return bytes(answer.read())
        except OSError:
            assert time.monotonic() < deadline, f"nothing answers at {address}"
            time.sleep(0.05)


def test_a_container_of_a_pulled_image_answers_and_leaves_nothing_on_the_host(host: Host, image: str) -> None:
    before = host.run(["ss", "-Hltn"]).stdout
    _podman(host, "pull", "--quiet", "--tls-verify=false", image)
    _podman(host, "run", "--detach", "--name=web", "--publish=8080:8080", "--read-only", image)
    assert _fetch(f"{host.address}:8080") == b"hello"
    assert ":8080" in host.run(["ss", "-Hltn"]).stdout
    _podman(host, "rm", "--force", "--time=0", "web")
    _podman(host, "rmi", image)
    assert (_records(host, "containers"), _records(host, "images")) == ([], [])
    assert host.run(["ss", "-Hltn"]).stdout == before
    assert host.run(["pgrep", "--list-full", "conmon|httpd"], check=False).stdout == ""
    assert STORAGE + "/" not in host.read_file("/proc/self/mounts")


def test_a_container_over_its_memory_limit_is_killed_and_one_within_it_is_not(host: Host, image: str) -> None:
    _podman(host, "pull", "--quiet", "--tls-verify=false", image)
    run = ["run", "--rm", "--network=none"]
    within = _podman(host, *run, "--memory=256m", image, "sh", "-c", _ALLOCATE_64_MIB)
    over = _podman(host, *run, "--memory=32m", "--memory-swap=32m", image, "sh", "-c", _ALLOCATE_64_MIB, check=False)
    assert within.stdout.strip() == str(64 << 20)
    assert (over.returncode, over.stdout) == (137, "")


def test_a_digest_that_the_registry_does_not_have_is_not_pulled(host: Host, image: str) -> None:
    repository = image.partition("@")[0]
    refused = _podman(host, "pull", "--quiet", "--tls-verify=false", f"{repository}@sha256:{'0' * 64}", check=False)
    assert refused.returncode != 0
    assert "manifest unknown" in refused.stderr


def test_a_fleet_that_ends_with_a_running_container_leaves_nothing_on_the_machine() -> None:
    with Fleet(name=f"ending-{os.getpid()}", hosts=1, layer=CONTAINER_ENGINE) as fleet:
        [host], number = fleet.hosts, fleet.number
        storage = host.plain_folder(STORAGE)
        host.run(["sh", "-ec", "tar --dereference -C / -c bin/busybox | podman import --quiet - web"])
        _podman(host, "run", "--detach", "--network=none", "localhost/web", "/bin/busybox", "sleep", "3600")
        assert _podman(host, "ps", "--quiet").stdout
        assert storage.is_dir()
    assert leftovers(number) == []
    assert not storage.exists()
