"""Containers whose image is in a registry outside the platform: hosts pull it by digest, with a password that stays nowhere."""

import asyncio
import base64
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from gpuaas_containers.controller import Containers
from gpuaas_lab import Host
from gpuaas_lab.container_image import ContainerImage
from gpuaas_sdk import PullCredentialSet
from gpuaas_sdk.signatures import ANNOTATION, PAYLOAD_TYPE, payload_of, public_pem, signature_manifest
from gpuaas_sdk.testing import free_port
from system_support.container_lab import NOTHING, ContainerLab, container_lab, engine_lists, says, web_image
from system_support.echo_lab import at_work
from system_support.signatures_required import signatures_required
from tests_support.authorities import Authority
from tests_support.cosign import cosign
from tests_support.external_registries import (
    MANIFEST_TYPE,
    PASSWORD,
    USER,
    FaultyRegistry,
    PasswordRegistry,
    SmallImage,
    answer,
    basic,
    digest_of,
    faulty_registry,
    password_registry,
)
from tests_support.parts import part

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
OUTSIDE, FAULTY, SIGNED = "1.0.0", "2.0.0", "3.0.0"


@pytest.fixture(scope="module")
def outside_port() -> int:
    """Where an external registry may be, as the operator's list says."""
    return free_port()


@pytest.fixture(scope="module")
def tls_port() -> int:
    """Where one with TLS may be."""
    return free_port()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Signs the certificates of external registries. The operator has named it; nobody else knows it."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def whole_lab(outside_port: int, tls_port: int, authority: Authority) -> Iterator[ContainerLab]:
    part("docker-registry")
    listed = f"http://{{gateway}}:{outside_port},{{gateway}}:{tls_port}"
    ca_file = str(authority.ca_file)
    with container_lab("outside", hosts=1, external_registries=listed, external_registry_ca_file=ca_file) as made:
        yield made


@pytest.fixture
def lab(whole_lab: ContainerLab) -> Iterator[ContainerLab]:
    yield whole_lab
    whole_lab.clear()


def release_outside(lab: ContainerLab, version: str, image: ContainerImage, reference: str) -> None:
    credential = PullCredentialSet(username=USER, password=PASSWORD)
    intents = lab.sandbox.admin.publish_intents
    lab.promote(intents.refer(lab.project_id, "outside", reference, credential=credential).id)
    lab.release_version(version, image)


def places_of_password(host: Host) -> str:
    """Files and lines of the journal with the password, as it is or as a client sends it."""
    words = ["-e", PASSWORD, "-e", basic().partition(" ")[2]]
    files = host.run(
        ["grep", "-rlF", "-D", "skip", *words, "/etc", "/root", "/run", "/tmp", "/var"], check=False
    ).stdout
    journal = host.run(["journalctl", "--no-pager", "--output=cat"], check=False).stdout
    return files + "".join(line for line in journal.splitlines() if words[1] in line or words[3] in line)


def sign_with_cosign(folder: Path, registry: PasswordRegistry, reference: str, ca_file: Path) -> str:
    """Let the real cosign make a key and sign the image with it. Returns the public key."""
    shown = basic().partition(" ")[2]
    (folder / "config.json").write_text(json.dumps({"auths": {registry.address: {"auth": shown}}}))
    asyncio.run(cosign(folder, "generate-key-pair"))
    arguments = ("sign", "--yes", "--tlog-upload=false", "--key", "cosign.key", reference)
    asyncio.run(cosign(folder, *arguments, ca_file=ca_file))
    return (folder / "cosign.pub").read_text()


def test_a_container_runs_from_an_external_registry_with_tls_and_its_password_stays_nowhere(
    lab: ContainerLab, tls_port: int, authority: Authority, tmp_path: Path
) -> None:
    image, host, gateway = web_image("from outside"), lab.hosts[0], lab.fleet.gateway
    with password_registry(f"{gateway}:{tls_port}", tmp_path, authority.server_files(gateway)) as registry:
        reference = registry.push("team/web", image.blobs, image.manifest)
        public_key = sign_with_cosign(tmp_path, registry, reference, authority.ca_file)
        with signatures_required(lab.sandbox, "cosign", public_key) as trusted, at_work(Containers(), lab.controller()):
            release_outside(lab, OUTSIDE, image, reference)
            instance, deploy = lab.launch("outside", OUTSIDE)
            done = lab.succeeds(deploy)
            assert says(lab) == "from outside"
            assert PASSWORD not in str(done)
            detail = lab.member(instance).adapter_detail or {}
            assert detail["signature"] == {"status": "verified", "key": trusted.fingerprint}
            assert places_of_password(host) == ""
            assert host.run(["ls", "/run"]).stdout.count("gpuaas-pull-") == 0, (
                "the authority's certificate stays nowhere"
            )
            lab.torn_down(instance)
    assert engine_lists(host) == NOTHING


def test_an_external_registry_that_lies_or_breaks_off_is_told_apart_and_a_retry_works(
    lab: ContainerLab, outside_port: int
) -> None:
    image, other, host = web_image("healed"), web_image("another"), lab.hosts[0]
    layer, processes = f"/v2/team/web/blobs/{digest_of(image.blobs[1])}", list[str]()
    with faulty_registry(lab.fleet.gateway, outside_port) as registry:
        registry.challenge = 'Basic realm="outside"'
        reference = registry.hold("team/web", SmallImage(image.blobs, image.manifest))
        release_outside(lab, FAULTY, image, reference)
        registry.content[layer] = ("application/octet-stream", other.blobs[1])
        with at_work(Containers(), lab.controller()):
            instance, deploy = lab.launch("faulty", FAULTY)
            lab.fails(deploy, "image_digest_mismatch")
            registry.content[layer] = ("application/octet-stream", image.blobs[1])
            registry.break_off = True
            failed = lab.fails(lab.operate(instance, "deploy"), "image_pull_failed")
            assert failed.failure is not None
            assert failed.failure.retryable
            registry.break_off = False

            def look(request: BaseHTTPRequestHandler) -> None:
                processes.append(host.run(["ps", "-eo", "args"]).stdout)
                answer(200, image.blobs[1], "application/octet-stream")(request)

            registry.replies[layer] = look
            lab.succeeds(lab.operate(instance, "deploy"))
            assert says(lab) == "healed"
            assert (lab.member(instance).adapter_detail or {})["signature"] == {"status": "not_required"}
            assert processes
            assert "podman pull" in processes[0]
            assert not any(word in processes[0] for word in (PASSWORD, basic().partition(" ")[2]))
            assert basic() in registry.credentials_seen(layer)
            assert places_of_password(host) == ""
            lab.torn_down(instance)
    assert engine_lists(host) == NOTHING


def hold_signature(registry: FaultyRegistry, digest: str, key: ec.EllipticCurvePrivateKey) -> str:
    """Serve the image's signature by this key, in place of another. Returns the path of its manifest."""
    payload, path = payload_of("team/web", digest), f"/v2/team/web/manifests/{digest.replace(':', '-')}.sig"
    signature = base64.b64encode(key.sign(payload, ec.ECDSA(hashes.SHA256()))).decode()
    layer = {"mediaType": PAYLOAD_TYPE, "size": len(payload), "digest": digest_of(payload)}
    registry.content[path] = (
        MANIFEST_TYPE,
        signature_manifest([{**layer, "annotations": {ANNOTATION: signature}}])[0],
    )
    registry.content[f"/v2/team/web/blobs/{digest_of(payload)}"] = ("application/octet-stream", payload)
    return path


def test_the_host_itself_refuses_an_image_that_no_key_of_the_operation_signed(
    lab: ContainerLab, outside_port: int
) -> None:
    image, host, key = web_image("signed"), lab.hosts[0], ec.generate_private_key(ec.SECP256R1())
    with (
        faulty_registry(lab.fleet.gateway, outside_port) as registry,
        signatures_required(lab.sandbox, "release", public_pem(key)) as trusted,
    ):
        registry.challenge = 'Basic realm="outside"'
        reference = registry.hold("team/web", SmallImage(image.blobs, image.manifest))
        place = hold_signature(registry, image.digest, key)
        release_outside(lab, SIGNED, image, reference)
        with at_work(Containers(), lab.controller()):
            hold_signature(registry, image.digest, ec.generate_private_key(ec.SECP256R1()))
            instance, deploy = lab.launch("signed", SIGNED)
            lab.fails(deploy, "signature_invalid")
            del registry.content[place]
            lab.fails(lab.operate(instance, "deploy"), "signature_missing")
            assert engine_lists(host) == NOTHING, "it was pulled without a signature"
            hold_signature(registry, image.digest, key)
            lab.succeeds(lab.operate(instance, "deploy"))
            detail = lab.member(instance).adapter_detail or {}
            assert detail["signature"] == {"status": "verified", "key": trusted.fingerprint}
            assert says(lab) == "signed"
            assert places_of_password(host) == ""
            lab.torn_down(instance)
        instance, deploy = lab.launch("revoked", SIGNED)
        lab.sandbox.admin.trust.revoke_key(lab.sandbox.tenant_id, trusted.id, "it was lost")
        # By the platform. A controller that claims the operation first learns it from the host, with another code.
        lab.fails(deploy, "artifact_untrusted")
        with at_work(Containers(), lab.controller()):
            assert engine_lists(host) == NOTHING
            lab.torn_down(instance)
