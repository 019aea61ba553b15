"""Runs an image on a lab host as the manifest's runtime profile says, with plain podman commands and a real registry."""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from gpuaas_catalogue.images.layouts import MANIFEST_TYPE
from gpuaas_lab import Host
from gpuaas_sdk.image_layouts import ImageLayout
from system_support.catalogue.proofs import HANG, Endpoint, wait_until_ready
from tests_support.parts import part

Json = dict[str, Any]


@dataclass(frozen=True)
class LabRegistry:
    address: str

    def push(self, repository: str, image: ImageLayout) -> str:
        """Push the image and return its reference by digest."""
        with httpx.Client(base_url=f"http://{self.address}", timeout=HANG) as client:
            for blob in image.parts():
                place = client.post(f"/v2/{repository}/blobs/uploads/").raise_for_status().headers["Location"]
                client.put(
                    place,
                    params={**httpx.URL(place).params, "digest": f"sha256:{blob.name}"},
                    content=blob.read_bytes(),
                )
            headers = {"Content-Type": MANIFEST_TYPE}
            client.put(f"/v2/{repository}/manifests/1", content=image.manifest, headers=headers).raise_for_status()
        return f"{self.address}/{repository}@{image.digest}"


@contextmanager
def lab_registry(address: str, folder: Path) -> Iterator[LabRegistry]:
    storage = {"filesystem": {"rootdirectory": str(folder / "data")}}
    settings = {"version": 0.1, "log": {"level": "error"}, "storage": storage, "http": {"addr": address}}
    (folder / "settings.json").write_text(json.dumps(settings))
    with subprocess.Popen([part("docker-registry"), "serve", str(folder / "settings.json")]) as process:
        deadline = time.monotonic() + HANG
        while not _answers(address):
            assert process.poll() is None, "the registry ended"
            assert time.monotonic() < deadline, "the registry did not start"
            time.sleep(0.05)
        yield LabRegistry(address)
        process.terminate()


def _answers(address: str) -> bool:
    try:
        return httpx.get(f"http://{address}/v2/", timeout=5.0).is_success
    except httpx.TransportError:
        return False


@dataclass(frozen=True)
class RunningContainer:
    host: Host
    name: str

    def run(self, *argv: str) -> str:
        return self.host.run(["podman", "exec", self.name, *argv]).stdout

    def log(self) -> str:
        done = self.host.run(["podman", "logs", self.name], check=False)
        return done.stdout + done.stderr

    def wait_until_ready(self, port: int, path: str) -> None:
        """Wait as the readiness probe of the manifest does; a container that has ended is not waited for."""
        try:
            wait_until_ready(self.endpoint(port), path, self._is_running)
        except AssertionError as late:
            raise AssertionError(f"{late}; its log:\n{self.log()[-3000:]}") from None

    def _is_running(self) -> bool:
        return self.host.run(["podman", "inspect", "--format={{.State.Running}}", self.name]).stdout.strip() == "true"

    def endpoint(self, port: int, token: str = "") -> Endpoint:
        return Endpoint(self.host.address, port, token)

    def endpoint_with_token(self, port: int) -> Endpoint:
        return self.endpoint(port, self.run("show-token").strip())


@contextmanager
def container(
    host: Host, reference: str, profile: Json, inputs: Json, artifacts: Mapping[str, str] | None = None
) -> Iterator[RunningContainer]:
    """Run the image by its profile. `artifacts` are the host's files of further digests; nothing is left afterwards."""
    name = reference.partition("@")[0].rpartition("/")[2]
    host.run(["podman", "pull", "--quiet", "--tls-verify=false", reference], timeout=300.0)
    argv = ["podman", "run", "--detach", f"--name={name}", *_options(name, profile, inputs, artifacts or {}), reference]
    try:
        host.run([*argv, *_values(profile.get("args", ()), inputs)], timeout=120.0)
        yield RunningContainer(host, name)
    finally:
        host.run(["podman", "rm", "--force", "--time=2", "--volumes", "--ignore", name], timeout=120.0)
        host.run(["podman", "volume", "prune", "--force"])


def _options(name: str, profile: Json, inputs: Json, artifacts: Mapping[str, str]) -> Iterator[str]:
    yield from ("--cap-drop=all", "--security-opt=no-new-privileges")
    if profile.get("read_only_root"):
        yield "--read-only"
    if "user" in profile:
        yield f"--user={profile['user']['uid']}:{profile['user'].get('gid', profile['user']['uid'])}"
    for port in profile.get("ports", ()):
        yield f"--publish={port.get('host_port', port['container_port'])}:{port['container_port']}"
    for volume in profile.get("volumes", ()):
        yield f"--volume={name}-{volume['name']}:{volume['path']}{':ro' if volume.get('read_only') else ''}"
    for artifact in profile.get("artifacts", ()):
        yield f"--volume={artifacts[artifact['digest']]}:{artifact['path']}:ro"
    for variable, value in profile.get("env", {}).items():
        for text in _values([value], inputs):
            yield f"--env={variable}={text}"


def _values(values: Any, inputs: Json) -> Iterator[str]:
    """Yield texts and answers; where the answer is absent, so is the value."""
    for value in values:
        answer = value if isinstance(value, str) else inputs.get(value["input"].lstrip("/"))
        if answer is not None:
            yield str(answer)
