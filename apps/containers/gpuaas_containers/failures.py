"""Says why a container does not run: a stable code, a sentence with what the host said, and what to do next."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

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
MOST_LINES, MOST_LINE = 12, 500  # of a log, and characters of a line, that are looked at: a host may send megabytes
LONGEST_PIECE = 512  # characters of a hidden text that are looked for as one
SHORTEST, SHORTEST_LINE = 4, 8  # characters of a text, or of one of its lines, that is worth hiding
# Each expression looks at a character a fixed number of times at most: a host's tenant chooses what the lines say.
_ESCAPE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)?|[@-Z\\-_])")
_ASSIGNED = re.compile(r"(?i)((?:password|passwd|secret|token|api[_-]?key)[\w.-]{0,64}[\"']?\s{0,8}[=:]\s{0,8})\S+")
_BEARER = re.compile(r"(?i)\b(bearer|basic)\s{1,8}[A-Za-z0-9+/=._~-]{8,}")
_IN_URL = re.compile(r"(?<=://)[^/\s@]+@")
_CODE = re.compile(r"[a-z][a-z0-9_]{1,62}")


@dataclass(frozen=True, slots=True)
class HostRefusal:
    """Holds what a host said in place of a result: cut, but longer than it is shown, so that hidden texts are found whole."""

    address: str
    code: str
    message: str
    lines: tuple[str, ...] = ()  # the last ones of the container's log

    def sentence(self, pieces: Sequence[str] = ()) -> str:
        """Return what people read, without these pieces of texts."""
        log = " / ".join(one for one in (_shown(line, pieces) for line in self.lines) if one)
        text = f"{self.address}: {_shown(self.message, pieces)}."
        return f"{text} Its log ends with: {log[-MAX_LOG:]}" if log else text


class HostFailed(Failed):
    """The failure that a host gave. It keeps what the host said, because a text may have to be hidden in it."""

    def __init__(self, refusal: HostRefusal, pieces: Sequence[str] = ()) -> None:
        code, text = refusal.code, refusal.sentence(pieces)
        step, retryable = NEXT_STEPS.get(code), code in RETRYABLE
        if step is None:
            super().__init__(code, text, retryable=retryable)
        else:
            super().__init__(code, text, next_step=step, retryable=retryable)
        self.refusal = refusal

    def without_words(self) -> "HostFailed":
        """Return the failure by its code alone, for when it is not known what has to be hidden."""
        return HostFailed(
            replace(self.refusal, message="what the host said may hold secrets and is left out", lines=())
        )


def host_failure(address: str, code: object, message: object, lines: object = ()) -> HostFailed:
    """Return the failure that the host gave, with the last lines of the container's log. The host may have sent anything."""
    last = lines[-MOST_LINES:] if isinstance(lines, (list, tuple)) else ()
    return HostFailed(
        HostRefusal(
            address,
            code if isinstance(code, str) and _CODE.fullmatch(code) else "host_error",
            _cut(message) or "it gave no reason",
            tuple(_cut(line) for line in last),
        )
    )


def _cut(text: object) -> str:
    return text[: MOST_LINE + LONGEST_PIECE] if isinstance(text, str) else ""


def hide(failed: HostFailed, texts: Iterable[str]) -> HostFailed:
    """Return the failure without these texts and without each of their lines: a container may print what it was given."""
    return HostFailed(failed.refusal, sorted(_pieces(texts), key=len, reverse=True))


def _pieces(texts: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for text in texts:
        lines = text.splitlines()
        shortest = SHORTEST if len(lines) <= 1 else SHORTEST_LINE
        for line in map(str.strip, lines):
            if len(line) >= shortest:
                cut = (line[start : start + LONGEST_PIECE] for start in range(0, len(line), LONGEST_PIECE))
                found.update(one for one in cut if len(one) >= shortest)
    return found


def _shown(text: str, pieces: Sequence[str]) -> str:
    """Return the line, cut, without these pieces. What comes after the cut only serves to find a piece that it divides."""
    hidden = bytearray(len(text))
    for piece in pieces:
        at = text.find(piece)
        while at >= 0:
            hidden[at : at + len(piece)] = b"\1" * len(piece)
            at = text.find(piece, at + 1)
    spans = groupby(zip(text[:MOST_LINE], hidden, strict=False), key=lambda one: one[1])
    return clean_line("".join(HIDDEN if mark else "".join(one for one, _ in span) for mark, span in spans))


def clean_line(text: str) -> str:
    """Return the line, cut, without escape sequences, control characters and what looks like a secret."""
    plain = "".join(one if one.isprintable() else " " for one in _ESCAPE.sub("", text[:MOST_LINE]))
    plain = _IN_URL.sub(f"{HIDDEN}@", _BEARER.sub(HIDDEN, plain))
    return _ASSIGNED.sub(rf"\1{HIDDEN}", plain).strip().rstrip(".")
