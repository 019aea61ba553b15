"""Watches a folder and has each change of it applied, until somebody ends it."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from gpuaas_compose.development import Build
from gpuaas_compose.development_run import Development, DevelopmentRun, build_of
from gpuaas_compose.file_watch import FileWatch
from gpuaas_compose.lint import lint_folder, require_faultless
from gpuaas_sdk.commands import CommandError, CommandSession

_MOST_READINGS = 5  # of a folder in which folders appear while it is read


def develop(session: CommandSession, project_id: str, wanted: Development, *, one_allocation: bool) -> None:
    """Run the folder until Ctrl-C, and remove all of it again, also after a failure."""
    with FileWatch() as watch, _ended_by_signals():
        folder = WatchedFolder(watch, wanted, one_allocation)
        run = DevelopmentRun(session, project_id, wanted, folder.read())
        try:
            run.launch()
            session.say(f"Watching {wanted.folder}. Ctrl-C ends it.")
            while True:
                watch.wait()
                _apply(session, run, folder)
        except KeyboardInterrupt:
            session.say(f"Removing the instance. If this is interrupted, run: gpuaas instances decommission {run.slug}")
        finally:
            run.remove()
            run.end_versions()


def _apply(session: CommandSession, run: DevelopmentRun, folder: "WatchedFolder") -> None:
    try:
        build = folder.read()
    except CommandError as error:
        session.say(f"Not applied: {error.message}")
        return
    run.apply(build)


class WatchedFolder:
    """Reads the folder, and watches what that depends on."""

    def __init__(self, watch: FileWatch, wanted: Development, one_allocation: bool) -> None:
        self._watch, self._folder, self._one_allocation = watch, wanted.folder, one_allocation
        self._files: tuple[str, ...] = ()

    def read(self) -> Build:
        """Return what the folder says now. Raises its faults."""
        for _ in range(_MOST_READINGS):
            linted = lint_folder(self._folder, one_allocation=self._one_allocation)
            # A folder with faults may not name all files that it uses: keep watching those of the last reading.
            self._files = tuple(dict.fromkeys((*linted.files, *(self._files if linted.faults else ()))))
            if not self._watch.watch(self._folder, self._files):
                break
        return build_of(self._folder, require_faultless(self._folder, linted))


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end it as Ctrl-C does, so that nothing is left behind."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
