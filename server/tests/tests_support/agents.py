"""The whole application over HTTP, an administrator, and hosts whose agents sign their calls as the protocol says."""

import base64
import hashlib
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import httpx
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.app import build_app
from gpuaas_server.identity.service import ensure_first_admin
from gpuaas_server.kernel.clock import Clock, utc_now
from gpuaas_server.kernel.context import Platform

Json = dict[str, Any]
POSSESSION_PREFIX = b"gpuaas-node-key-v1\n"


class MovableClock:
    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.ahead


def ssh_line(key: Ed25519PrivateKey | None = None) -> str:
    public = (key or Ed25519PrivateKey.generate()).public_key()
    return public.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()


@dataclass
class Person:
    client: httpx.AsyncClient
    token: str

    async def call(self, method: str, path: str, body: object = None, *, if_match: int | None = None) -> httpx.Response:
        """`if_match`: only if the resource still has this generation."""
        headers = {"Authorization": f"Bearer {self.token}"}
        if if_match is not None:
            headers["If-Match"] = f'"{if_match}"'
        return await self.client.request(method, path, headers=headers, json=body)

    async def get(self, path: str) -> Json:
        answer = await self.call("GET", path)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    async def post(self, path: str, body: object = None) -> Json:
        answer = await self.call("POST", path, body)
        assert answer.status_code in (200, 201), answer.text
        found: Json = answer.json()
        return found


def _address_of_nobody() -> str:
    """An address belongs to one node: two hosts of a test do not meet in it by chance."""
    return f"2001:db8:{secrets.token_hex(2)}:{secrets.token_hex(2)}::1"


@dataclass
class Host:
    """One host with its own key."""

    client: httpx.AsyncClient
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    node_id: str = "-"
    hostname: str = "host-1"
    address: str = field(default_factory=_address_of_nobody)
    clock: Clock = utc_now
    claims: Json = field(default_factory=dict)  # what its agent says of itself when it enrols

    def sign(self, method: str, target: str, body: bytes, ts_ms: int | None = None, nonce: str = "") -> str:
        stamp, mark = ts_ms or int(self.clock().timestamp() * 1000), nonce or secrets.token_hex(16)
        digest = hashlib.sha256(body).hexdigest()
        text = f"gpuaas-agent-v1\n{method}\n{target}\n{stamp}\n{mark}\n{digest}"
        signature = base64.urlsafe_b64encode(self.key.sign(text.encode())).rstrip(b"=").decode()
        return f"GPUAAS-AGENT node={self.node_id},ts={stamp},nonce={mark},sig={signature}"

    async def call(self, method: str, path: str, document: object = None, **how: Any) -> httpx.Response:
        body = b"" if document is None else json.dumps(document).encode()
        header = self.sign(method, f"/api/v1/agent{path}", body, **how)
        return await self.send(method, path, body, header)

    async def send(self, method: str, path: str, body: bytes, authorization: str) -> httpx.Response:
        headers = {"Authorization": authorization, "Content-Type": "application/json"}
        return await self.client.request(method, f"/agent{path}", content=body, headers=headers)

    async def enrol(self, token: str, **how: Any) -> httpx.Response:
        raw = self.key.public_key().public_bytes_raw()
        body = {
            "token": token,
            "public_key": base64.b64encode(raw).decode(),
            "hostname": self.hostname,
            "address": self.address,
            "ssh_host_public_key": ssh_line(),
            "agent_version": "0.1.0",
            **self.claims,
        }
        node_id, self.node_id = self.node_id, "-"
        answer = await self.call("POST", "/enrol", body, **how)
        self.node_id = answer.json()["node_id"] if answer.status_code == 200 else node_id
        return answer

    async def poll(self, wait: int = 0, have: str = "") -> list[Json]:
        answer = await self.call("GET", f"/tasks?wait={wait}" + (f"&have={have}" if have else ""))
        assert answer.status_code == 200, answer.text
        return [json.loads(task["envelope"]) | {"_signed": task} for task in answer.json()["tasks"]]

    async def rotate_key(self) -> httpx.Response:
        """A new key, brought in by the current one."""
        new = Ed25519PrivateKey.generate()
        body = {
            "public_key": base64.b64encode(new.public_key().public_bytes_raw()).decode(),
            "proof": base64.b64encode(new.sign(POSSESSION_PREFIX + self.node_id.encode())).decode(),
        }
        answer = await self.call("POST", "/key", body)
        if answer.status_code == 200:
            self.key = new
        return answer

    async def report(
        self, task: Json, status: str = "succeeded", *, rotate: bool = True, **more: object
    ) -> httpx.Response:
        """As an agent does it: the wipe of a bare-metal host makes a new key."""
        if rotate and status == "succeeded" and task.get("kind") == "wipe" and task["spec"]["shape"] == "baremetal":
            assert (await self.rotate_key()).status_code == 200
        body = {"generation": task["generation"], "status": status, "phases": [], "result": {}, "evidence": {}}
        return await self.call("POST", f"/tasks/{task['task_id']}/result", body | {"failure": None} | more)


@dataclass
class Site:
    platform: Platform
    client: httpx.AsyncClient
    admin: Person
    hosts: int = 0

    async def token(self, **options: object) -> str:
        made = await self.admin.post("/enrolment-tokens", options)
        return token_of(str(made["bundle"]))

    async def host(self, name: str = "host-1", address: str | None = None, **claims: object) -> Host:
        """The first is 10.0.0.1."""
        self.hosts += 1
        host = Host(self.client, hostname=name, address=address or f"10.0.0.{self.hosts}", claims=claims)
        answer = await host.enrol(await self.token())
        assert answer.status_code == 200, answer.text
        return host


def token_of(bundle: str) -> str:
    packed = bundle.removeprefix("gpuaas-enrol.v1.")
    return str(json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))["token"])


def slot(index: int, **more: object) -> Json:
    return {
        "slot_index": index,
        "gpu_model": "NVIDIA H100 80GB HBM3",
        "gpu_uuid": f"GPU-{index}",
        "memory_mib": 81559,
        "pci_address": f"0000:{index:02x}:00.0",
        "numa_node": 0,
        "nvlink_group": 1,
        "nvme_device": f"nvme{index}n1",
        "iommu_group": 40 + index,
        "vf": None,
        **more,
    }


def inventory(*slots: Json) -> Json:
    numa = [{"node": 0, "cpulist": "0-63"}]
    host = {"cpus": 64, "memory_mib": 1_031_000, "kernel": "6.1.0-13-amd64", "numa_nodes": numa}
    return {"host": host, "slots": list(slots), "warnings": []}


@asynccontextmanager
async def serving(platform: Platform, address: str = "192.0.2.1") -> AsyncIterator[httpx.AsyncClient]:
    """A replica, and a client who comes from this address."""
    app = build_app(platform)
    transport = httpx.ASGITransport(app=app, client=(address, 1))
    async with (
        app.state.agent_gate.running(),
        app.state.gate.running(),
        httpx.AsyncClient(transport=transport, base_url="http://test/api/v1", timeout=60) as client,
    ):
        yield client


@asynccontextmanager
async def opened(platform: Platform) -> AsyncIterator[Site]:
    async with serving(platform) as client:
        first = await ensure_first_admin(platform)
        assert first is not None
        credentials = {"grant_type": "password", "username": first.email, "password": first.password}
        token = (await client.post("/auth/token", json=credentials)).json()["access_token"]
        yield Site(platform, client, Person(client, token))
