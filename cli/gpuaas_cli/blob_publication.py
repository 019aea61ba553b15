"""Publishes a file: finds what an interrupted attempt has sent already, sends the rest, and waits for the check."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_cli.artifact_views import require_registered
from gpuaas_cli.progress import Progress
from gpuaas_cli.session import Session

_BAR = 24  # characters
_PLAIN_STEP = 10  # percent between two lines where there is no terminal
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


@dataclass(frozen=True, slots=True)
class BlobToPublish:
    file: Path
    name: str
    digest: str
    media_type: str | None = None


def publish_blob(session: Session, progress: Progress, project: str, blob: BlobToPublish, deadline: float) -> str:
    """Return the id of the artifact. Repeating it after any interruption continues."""
    intents = session.client.publish_intents
    intent = intents.begin(project, blob.name, blob.file, blob.digest, media_type=blob.media_type)
    if intent.state == "open":
        intents.upload(intent, blob.file, TransferBar(progress, blob.file.name).show)
        progress.finish("uploaded")
        intents.complete(project, intent.id, blob.digest)
    progress.update("the platform checks the bytes")
    return require_registered(intents.wait_until_checked(project, intent.id, deadline))


@dataclass(slots=True)
class TransferBar:
    """Shows how much of a file was sent: a bar on a terminal, else a line now and then."""

    progress: Progress
    name: str
    _begun: float = field(default_factory=time.monotonic)
    _first: int | None = None
    _shown: int = -1

    def show(self, sent: int, total: int) -> None:
        percent = 100 * sent // max(total, 1)
        if self._first is None:
            self._first = sent
        if self.progress.console.is_terminal:
            self.progress.update(self._bar(sent, total, percent))
        elif percent // _PLAIN_STEP > self._shown:
            self._shown = percent // _PLAIN_STEP
            self.progress.update(f"{percent}% of {self.name}")

    def _bar(self, sent: int, total: int, percent: int) -> str:
        full = _BAR * percent // 100
        seconds = max(time.monotonic() - self._begun, 0.001)
        rate = format_bytes(int((sent - (self._first or 0)) / seconds))
        bar = "█" * full + "░" * (_BAR - full)
        return f"{bar} {percent}%  {format_bytes(sent)} of {format_bytes(total)}  {rate}/s  {self.name}"


def format_bytes(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} {_UNITS[-1]}"
