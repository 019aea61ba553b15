"""The identity of this host: its key, which never leaves the host; the platform's CA, pinned by digest; and the node id
that the platform assigned at enrolment.
"""

from __future__ import annotations

import base64
import contextlib
import ipaddress
import json
import ssl
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_agent import __version__, anchors, durable, signatures, wire
from gpuaas_agent.anchors import Anchors

BUNDLE_PREFIX = "gpuaas-enrol.v1."


class EnrolmentFailed(Exception):
    """This host cannot enrol with its bundle."""


@dataclass(frozen=True)
class Bundle:
    urls: list[str]
    ca_sha256: str
    token: str


@dataclass(frozen=True)
class HostFacts:
    hostname: str
    address: str
    ssh_host_public_key: str
    slice_addresses: tuple[str, ...] = ()


@dataclass
class Trust:
    """The keys that the agent trusts; every heartbeat renews them."""

    task_keys: dict[str, bytes]
    user_ca_keys: list[str]
    host_ca_keys: list[str]

    @staticmethod
    def from_answer(answer: dict[str, object]) -> Trust:
        keys = answer.get("task_keys")
        return Trust(
            task_keys={
                str(entry["kid"]): signatures.decode_base64(str(entry["public_key"]))
                for entry in (keys if isinstance(keys, list) else [])
            },
            user_ca_keys=_lines(answer.get("user_ca_keys")),
            host_ca_keys=_lines(answer.get("host_ca_keys")),
        )


@dataclass(frozen=True)
class Identity:
    key: Ed25519PrivateKey
    node_id: str
    urls: list[str]
    anchors: Anchors
    trust: Trust
    poll_wait_seconds: int

    def open_wire(self) -> wire.Wire:
        signer = wire.Signer(self.key, self.node_id)
        return wire.Wire(self.urls, tls_context(self.anchors.bundle), wire.Clock(), signer)


def parse_bundle(text: str) -> Bundle:
    text = text.strip()
    if not text.startswith(BUNDLE_PREFIX):
        raise EnrolmentFailed("the enrolment bundle has an unknown format")
    try:
        raw = json.loads(signatures.decode_base64(text[len(BUNDLE_PREFIX) :]))
        bundle = Bundle([str(url) for url in raw["urls"]], str(raw.get("ca_sha256") or ""), raw["token"])
    except (ValueError, KeyError, TypeError) as problem:
        raise EnrolmentFailed("the enrolment bundle cannot be read") from problem
    if not bundle.urls or not isinstance(bundle.token, str):
        raise EnrolmentFailed("the enrolment bundle names no server or no token")
    for url in bundle.urls:
        _require_safe_url(url, bundle.ca_sha256)
    return bundle


def _require_safe_url(url: str, ca_sha256: str) -> None:
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https":
        if not ca_sha256:
            raise EnrolmentFailed("an https URL needs ca_sha256 in the bundle")
        return
    if parts.scheme == "http" and _is_loopback(parts.hostname or ""):
        return
    raise EnrolmentFailed(f"{parts.scheme}://{parts.hostname} is not https and not on loopback")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False


def load_or_make_key(state_dir: Path, name: str = "agent.key") -> Ed25519PrivateKey:
    """Return the agent's key; a new key is synced to disk before it is used."""
    path = durable.make_private_folder(state_dir) / name
    with contextlib.suppress(FileNotFoundError):
        loaded = serialization.load_pem_private_key(path.read_bytes(), password=None)
        if not isinstance(loaded, Ed25519PrivateKey):
            raise EnrolmentFailed(f"{path} is not an Ed25519 key")
        return loaded
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    durable.write_bytes(path, pem, 0o600)
    return key


def fetch_pinned_ca(bundle: Bundle) -> str:
    """Fetch the platform's CA and check its digest against the bundle. Empty for http on loopback."""
    if not bundle.ca_sha256:
        return ""
    blind = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    blind.check_hostname = False
    blind.verify_mode = ssl.CERT_NONE  # the digest below authenticates the CA, not this connection
    answer = wire.Wire(bundle.urls, blind, wire.Clock()).call("GET", "/ca")
    offered = [str(answer.get("ca_pem") or ""), *_lines(answer.get("anchors"))]
    try:
        found = [pem for pem in offered if anchors.digest(pem) == bundle.ca_sha256.lower()]
    except ValueError as problem:
        raise EnrolmentFailed("the server sent no CA certificate") from problem
    if not found:
        raise EnrolmentFailed("the server's CA is not the one that the bundle names")
    return found[0]


def tls_context(ca_pem: str) -> ssl.SSLContext | None:
    if not ca_pem:
        return None
    context = ssl.create_default_context(cadata=ca_pem)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def enrol_request(token: str, key: Ed25519PrivateKey, facts: HostFacts) -> dict[str, object]:
    return {
        "token": token,
        "public_key": base64.b64encode(signatures.raw_public_key(key)).decode(),
        "hostname": facts.hostname,
        "address": facts.address,
        "ssh_host_public_key": facts.ssh_host_public_key,
        "slice_addresses": list(facts.slice_addresses),
        "agent_version": __version__,
    }


def enrol(bundle: Bundle, state_dir: Path, facts: HostFacts) -> Identity:
    key = load_or_make_key(state_dir)
    ca_pem = fetch_pinned_ca(bundle)
    connection = wire.Wire(bundle.urls, tls_context(ca_pem), wire.Clock(), wire.Signer(key, "-"))
    answer = connection.call("POST", "/enrol", enrol_request(bundle.token, key, facts))
    answer.pop("tls_anchors", None)  # heartbeats bring them
    stored = {**answer, "urls": bundle.urls, "ca_pem": ca_pem}
    durable.write_json(state_dir / "node.json", stored)
    return _from_stored(stored, key)


def load(state_dir: Path) -> Identity | None:
    stored = durable.read_json(state_dir / "node.json")
    return _from_stored(stored, load_or_make_key(state_dir)) if stored else None


def _from_stored(stored: dict[str, object], key: Ed25519PrivateKey) -> Identity:
    wait = stored.get("poll_wait_seconds")
    return Identity(
        key=key,
        node_id=str(stored["node_id"]),
        urls=_lines(stored["urls"]),
        anchors=_stored_anchors(stored),
        trust=Trust.from_answer(stored),
        poll_wait_seconds=wait if isinstance(wait, int) and 0 < wait <= 60 else 30,
    )


def stored_form(who: Identity, trust: Trust, known: Anchors) -> dict[str, object]:
    """Return the content that node.json should have for a running agent."""
    return {
        "node_id": who.node_id,
        "urls": who.urls,
        "ca_pem": known.bundle,
        "anchors_issued_at_ms": known.issued_at_ms,
        "task_keys": [
            {"kid": kid, "public_key": base64.b64encode(key).decode()} for kid, key in trust.task_keys.items()
        ],
        "user_ca_keys": trust.user_ca_keys,
        "host_ca_keys": trust.host_ca_keys,
        "poll_wait_seconds": who.poll_wait_seconds,
    }


def store_anchors(state_dir: Path, said: Anchors) -> None:
    """Store anchors before the agent uses them, so that after a restart it still trusts what it confirmed to the platform."""
    stored: dict[str, object] = {"ca_pem": said.bundle, "anchors_issued_at_ms": said.issued_at_ms}
    durable.update_json(state_dir / "node.json", stored)


def _stored_anchors(stored: dict[str, object]) -> Anchors:
    issued = stored.get("anchors_issued_at_ms")
    pems = anchors.split_bundle(str(stored.get("ca_pem") or ""))
    return Anchors(pems, issued if isinstance(issued, int) else 0)


def _lines(value: object) -> list[str]:
    return [str(line) for line in value] if isinstance(value, list) else []
