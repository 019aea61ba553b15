"""Checks the signature of an image by the keys of the request, which came sealed with the operation: before a byte of the
image is pulled, and again whenever a container is started. No key of the registry's or of the host's own counts.

A signature is cosign's: a payload that names the image's digest, and the signature over its bytes. Where it comes from does
not matter, so that the one that was good is kept for a time when the registry is unavailable.
"""

import base64
import hashlib
import json
import os
import subprocess

from host_commands import Failed, write_file
from host_registry import Repository

VERIFIER = "/usr/bin/openssl"
SECONDS = 20
MOST_SIGNATURES = 50
PAYLOAD_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json"
SIGNATURE_TYPE = "application/vnd.dev.cosign.artifact.sig.v1+json"
ANNOTATION = "dev.cosignproject.cosign/signature"
KIND = "cosign container image signature"
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def verify(request, deadline):
    """Return a sentence about the signature: it is verified, or not required. Raises Failed otherwise."""
    policy = request["signature_policy"]
    if policy is None:
        return {"status": "not_checked"}
    if not policy["required"]:
        return {"status": "not_required"}
    if not os.access(VERIFIER, os.X_OK):
        raise Failed("signature_unchecked", f"{VERIFIER} is not installed, and the policy requires a signature")
    digest, place, keys = request["digest"], request["signature_file"], policy["keys"]
    signer = signer_of(kept(place), digest, keys)
    if signer is None:
        found = list(found_signatures(Repository(request, deadline), digest))
        good = ((one, signer_of([one], digest, keys)) for one in found)
        signed, signer = next(((one, by) for one, by in good if by is not None), (None, None))
        if signer is None:
            refuse(digest, found, keys)
        keep(place, signed)
    return {"status": "verified", "key": signer}


def refuse(digest, found, keys):
    if not found:
        raise Failed("signature_missing", f"the registry has no signature of {digest}, and the policy requires one")
    counted = f"none of the {len(found)} signatures beside {digest} is by one of the {len(keys)} trust keys"
    raise Failed("signature_invalid", f"{counted} of the tenant")


def signer_of(found, digest, keys):
    """Returns the fingerprint of a key that signed this image. A good signature of another image proves nothing."""
    for payload, signature in found:
        if names_digest(payload, digest):
            for key in keys:
                if is_signed(key, payload, signature):
                    return key["fingerprint"]
    return None


def names_digest(payload, digest):
    try:
        critical = json.loads(payload)["critical"]
        return critical["type"] == KIND and critical["image"]["docker-manifest-digest"] == digest
    except UNREADABLE:
        return False


def is_signed(key, payload, signature):
    """Tells whether the signature is good. Files in memory hold the key, the payload and the signature."""
    files = [in_memory(one) for one in (key["public_key"].encode(), signature, payload)]
    public, signed, content = (f"/proc/self/fd/{one}" for one in files)
    if key["algorithm"] == "ed25519":
        command = ["pkeyutl", "-verify", "-pubin", "-inkey", public, "-rawin", "-in", content, "-sigfile", signed]
    else:  # cosign hashes with SHA-256 whatever the key
        command = ["dgst", "-sha256", "-verify", public, "-signature", signed, content]
    try:
        checked = subprocess.run(
            [VERIFIER, *command], capture_output=True, stdin=subprocess.DEVNULL, pass_fds=files, timeout=SECONDS
        )
    finally:
        for one in files:
            os.close(one)
    return checked.returncode == 0


def in_memory(content):
    made = os.memfd_create("gpuaas-signature", 0)
    with open(made, "wb", closefd=False) as file:
        file.write(content)
    return made


def found_signatures(repository, digest):
    """Yields payload and signature of each layer beside the image: at cosign's tag, and in manifests with it as subject."""
    left = MOST_SIGNATURES
    for manifest in signature_manifests(repository, digest):
        for layer in items(manifest, "layers"):
            signature, payload = signature_in(layer), None
            if signature is not None and left > 0:
                left -= 1
                payload = repository.blob(layer["digest"])
            if payload is not None and digest_of(payload) == layer["digest"]:
                yield payload, signature


def signature_manifests(repository, digest):
    tag = digest.replace(":", "-")
    yield document(repository.manifest(f"{tag}.sig"))
    index = document(repository.referrers(digest, SIGNATURE_TYPE)) or document(repository.manifest(tag))
    for one in items(index, "manifests")[:MOST_SIGNATURES]:
        if one.get("artifactType") == SIGNATURE_TYPE and is_digest(one.get("digest")):
            raw = repository.manifest(one["digest"])
            found = document(raw) if raw is not None and digest_of(raw) == one["digest"] else {}
            subject = found.get("subject")
            if isinstance(subject, dict) and subject.get("digest") == digest:
                yield found


def document(raw):
    """Returns the JSON object, or an empty one: what cannot be read is no signature."""
    try:
        found = json.loads(raw or b"{}")
    except UNREADABLE:
        return {}
    return found if isinstance(found, dict) else {}


def items(manifest, field):
    listed = manifest.get(field)
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def signature_in(layer):
    try:
        if layer["mediaType"] == PAYLOAD_TYPE and is_digest(layer["digest"]):
            return base64.b64decode(layer["annotations"][ANNOTATION], validate=True)
    except UNREADABLE:
        pass
    return None


def is_digest(text):
    return isinstance(text, str) and text.startswith("sha256:") and text[7:].isalnum() and len(text) == 71


def digest_of(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def kept(place):
    """Returns the signature that was good before; it is checked again like every other."""
    try:
        with open(place, "rb") as file:
            found = json.loads(file.read(1 << 20))
        return [(base64.b64decode(found["payload"]), base64.b64decode(found["signature"]))]
    except (OSError, *UNREADABLE):
        return []


def keep(place, signed):
    os.makedirs(os.path.dirname(place), mode=0o755, exist_ok=True)
    payload, signature = (base64.b64encode(one).decode() for one in signed)
    write_file(place, json.dumps({"payload": payload, "signature": signature}).encode(), 0o600)
