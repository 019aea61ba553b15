"""Reads a folder with app.yaml and a compose file, and says everything that is wrong with it at once."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from gpuaas_compose.app_file import AppFile, read_app
from gpuaas_compose.compose_file import read_compose
from gpuaas_compose.consistency import Consistency
from gpuaas_compose.environment import FileRefused, ReadFile
from gpuaas_compose.manifest import Json, manifest_of
from gpuaas_compose.services import Service
from gpuaas_compose.yaml_text import LARGEST_TEXT, Document, Fault, Unreadable, read
from gpuaas_sdk.commands import CommandError

APP_FILE = "app.yaml"
COMPOSE_FILES = ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml")


@dataclass(frozen=True, slots=True)
class Lint:
    """Holds what a folder says: the app with its manifest, or the faults. There is a manifest exactly if there is no fault."""

    faults: tuple[Fault, ...]
    app: AppFile | None = None
    services: tuple[Service, ...] = ()
    manifest: Json | None = None
    files: tuple[str, ...] = ()  # what the answer depends on, by name in the folder, whether it is there or not


def lint_folder(folder: Path, *, one_allocation: bool = False) -> Lint:
    """Read the two files of a folder. Every fault of both is listed. `one_allocation`: all services share one."""
    files = [APP_FILE, *COMPOSE_FILES]
    linted = _lint_folder(folder, files, one_allocation)
    images = linted.app.images.values() if linted.app is not None else ()
    return replace(linted, files=tuple(dict.fromkeys((*files, *images))))


def _lint_folder(folder: Path, files: list[str], one_allocation: bool) -> Lint:
    faults: list[Fault] = []
    app_text = _text(folder, APP_FILE, faults)
    there = [name for name in COMPOSE_FILES if (folder / name).is_file()]
    if len(there) > 1:
        faults.append(Fault(there[1], 1, 1, "", f"There is {there[0]} too; keep one of them."))
    compose_name = there[0] if there else COMPOSE_FILES[0]
    compose_text = _text(folder, compose_name, faults)
    if app_text is None or compose_text is None:
        return Lint(tuple(faults))

    def read_file(name: str) -> str:
        files.append(name)
        return read_inside(folder, name)

    linted = lint_texts(app_text, compose_text, compose_name, read_file, one_allocation=one_allocation)
    return Lint((*faults, *linted.faults)) if faults else linted


def require_faultless(folder: Path, linted: Lint) -> Lint:
    """Return the lint, or raise all its faults as one error."""
    if linted.faults:
        lines = "\n".join(f"{folder}/{fault}" for fault in linted.faults)
        count = f"{len(linted.faults)} fault{'s' if len(linted.faults) > 1 else ''}"
        next_step = "Correct them. What each key means: docs/reference/compose-keys.md."
        raise CommandError("compose_faults", f"{count}:\n{lines}", next_step, usage=True)
    return linted


def lint_texts(
    app_text: str, compose_text: str, compose_name: str, read_file: ReadFile, *, one_allocation: bool = False
) -> Lint:
    """Read the two texts. Neither hides the faults of the other; they are compared when both can be read."""
    faults: list[Fault] = []
    app_document = _document(app_text, APP_FILE, faults)
    compose_document = _document(compose_text, compose_name, faults)
    app = None if app_document is None else read_app(app_document)
    if app is not None and one_allocation:
        app = replace(app, allocations={})
    if compose_document is None:
        return Lint((*faults, *(app.faults if app is not None else ())))
    compose = read_compose(compose_document, None if app is None else app.input_names, read_file)
    faults += [*(app.faults if app is not None else ()), *compose.faults]
    if app is None or app_document is None:
        return Lint(tuple(faults))
    faults += Consistency(app, compose.services, (app_document, compose_document)).faults()
    if faults:
        return Lint(tuple(sorted(set(faults))))
    return Lint((), app, compose.services, manifest_of(app, compose.services))


def read_inside(folder: Path, name: str) -> str:
    """Return the text of a file that the compose file names. It must be inside the folder, also behind its links."""
    path = inside(folder, name)
    try:
        if path.stat().st_size > LARGEST_TEXT:
            raise FileRefused(f"it has more than {LARGEST_TEXT} bytes.")
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise FileRefused(f"it cannot be read: {(error.strerror or 'unknown').lower()}.") from None
    except UnicodeDecodeError:
        raise FileRefused("it is not UTF-8 text.") from None


def inside(folder: Path, name: str) -> Path:
    """Return the regular file of this name inside the folder, or raise `FileRefused`."""
    if name.startswith(("/", "~")) or "\\" in name or ".." in name.split("/"):
        raise FileRefused("only files inside the app's folder are read.")
    real = Path(os.path.realpath(folder / name))
    if not real.is_relative_to(os.path.realpath(folder)):
        raise FileRefused("it is a link to a file outside of the app's folder.")
    if not real.is_file():
        raise FileRefused("there is no such file.")
    return real


def _text(folder: Path, name: str, faults: list[Fault]) -> str | None:
    try:
        return read_inside(folder, name)
    except FileRefused as refused:
        faults.append(Fault(name, 1, 1, "", f"{name}: {refused}"))
        return None


def _document(text: str, file: str, faults: list[Fault]) -> Document | None:
    try:
        return read(text, file)
    except Unreadable as unreadable:
        faults.extend(unreadable.faults)
        return None
