"""Why a container does not run: a stable code, a sentence with what the host said, and what to do next."""

import re
from collections.abc import Iterable

from gpuaas_sdk.controller import Failed

NEXT_STEPS = {
    "engine_missing": "Install podman on the host, or place the member on another allocation.",
    "image_pull_failed": "Check that the host reaches the registry, then try again.",
    "image_denied": "Check that the version's artifact is not revoked, and the credential of an external registry. Try again.",
    "image_missing": "Push the image to its registry again, or use another version.",
    "image_digest_mismatch": "Tell the platform's operators: the registry served other bytes than requested.",
    "signature_missing": "Sign the image with a key that your tenant trusts (gpuaas artifacts sign), or use another version.",
    "signature_invalid": "Sign the image with a key that your tenant trusts (gpuaas artifacts sign), or use another version.",
    "signature_unchecked": "Install openssl on the host, or place the member on another allocation.",
    "disk_full": "Free space on the host, or place the member on another allocation.",
    "container_start_timeout": "Raise start_timeout_seconds in the runtime_profile, or use a smaller image.",
    "container_start_failed": "Correct what the message names in the runtime_profile, and publish a new version.",
    "not_ready": "Read its log lines, or give its probe more start_period_seconds; then repair the instance.",
    "crash_loop": "Read its log lines, correct the inputs or the image, then upgrade or repair the instance.",
    "container_ended": "Use a command that keeps running, or restart: always.",
    "port_taken": "Stop what uses the port on the host, or publish a version with another host_port.",
    "gpu_missing": "Report the host, or place the member on another allocation.",
    "secret_refused": "Look at the engine of the host (podman secret ls), then try again.",
    "removal_failed": "Try again; if it stays, remove what the message names on the host.",
    "document_refused": "Tell the operators of the controller.",
    "stop_failed": "Try again; if it stays, restart the host.",
}
RETRYABLE = (
    "secret_refused",
    "image_pull_failed",
    "disk_full",
    "container_start_timeout",
    "not_ready",
    "port_taken",
    "removal_failed",
    "stop_failed",
)
HIDDEN = "[hidden]"
MAX_LOG = 300  # characters; a message has 500
_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])")
_ASSIGNED = re.compile(r"(?i)\b([\w.-]*(?:password|passwd|secret|token|api[_-]?key)[\w.-]*\s*[=:]\s*)(\S+)")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s+[A-Za-z0-9+/=._~-]{8,}")
_IN_URL = re.compile(r"(?<=://)[^/\s@]+@")


def host_failure(address: str, code: str, message: str, lines: Iterable[str] = ()) -> Failed:
    """Return the failure that the host gave, with the last lines of the container's log."""
    log = " / ".join(one for one in (clean_line(line) for line in lines) if one)
    text = f"{address}: {clean_line(message)}."
    if log:
        text += f" Its log ends with: {log[-MAX_LOG:]}"
    return _failed(code, text)


def _failed(code: str, text: str) -> Failed:
    step = NEXT_STEPS.get(code)
    retryable = code in RETRYABLE
    return (
        Failed(code, text, retryable=retryable)
        if step is None
        else Failed(code, text, next_step=step, retryable=retryable)
    )


def hide(failed: Failed, secrets: Iterable[str]) -> Failed:
    """Return the failure without these texts: a container may print what it was given."""
    failure = failed.failure
    message = failure.message
    for secret in sorted((one for one in secrets if len(one) >= 4), key=len, reverse=True):
        message = message.replace(secret, HIDDEN)
    return Failed(failure.code, message, next_step=failure.next_step, retryable=failure.retryable)


def clean_line(text: str) -> str:
    """Return the line without escape sequences, control characters and what looks like a secret."""
    plain = "".join(one if one.isprintable() else " " for one in _ESCAPE.sub("", text))
    plain = _IN_URL.sub(f"{HIDDEN}@", _BEARER.sub(HIDDEN, plain))
    return _ASSIGNED.sub(rf"\1{HIDDEN}", plain).strip().rstrip(".")
