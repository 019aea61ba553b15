"""`gpuaas compose init|lint|dev|test|publish`: the commands of this package, which `gpuaas` finds by an entry point."""

import base64
import json
import shutil
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
import yaml

from gpuaas_compose.compose_file import EXAMPLE_DIGEST
from gpuaas_compose.development_loop import develop
from gpuaas_compose.development_run import Development
from gpuaas_compose.image_archive import ArchiveRefused, open_archive
from gpuaas_compose.lint import lint_folder, require_faultless
from gpuaas_compose.placement import ONE_ALLOCATION
from gpuaas_compose.publication import Publication, publish
from gpuaas_compose.trial import Trial, only_allocation, run_trial
from gpuaas_sdk.commands import CommandError, CommandSession, CommandSet

FolderArgument = Annotated[
    Path, typer.Argument(exists=True, file_okay=False, help="The folder with app.yaml and the compose file.")
]
ProjectOption = Annotated[
    str | None,
    typer.Option("--project", "-p", help="Project: id, slug or tenant/slug. Default: the configured project."),
]
_PLACE_HELP = "NAME=ALLOCATION, for each allocation of app.yaml."
PlaceOption = Annotated[list[str] | None, typer.Option("--place", help=_PLACE_HELP)]
InputOption = Annotated[list[str] | None, typer.Option("--set", help="An input, as NAME=VALUE (YAML).")]
SecretOption = Annotated[
    list[str] | None, typer.Option("--secret-file", help="A secret that is given at launch, as NAME=FILE.")
]
KeyOption = Annotated[
    Path | None, typer.Option("--key", exists=True, dir_okay=False, help="Sign with this ECDSA private key (PEM).")
]


def init(
    session: CommandSession,
    folder: Annotated[Path, typer.Argument(file_okay=False, help="Folder to write; its name becomes the slug.")],
    image: Annotated[
        Path | None,
        typer.Option("--image", exists=True, dir_okay=False, help="OCI archive of an image that has busybox."),
    ] = None,
) -> None:
    """Write a small app: app.yaml and a compose file of two services. With --image it runs as it is."""
    slug = folder.resolve().name.lower().replace("_", "-")
    digest = EXAMPLE_DIGEST if image is None else _digest_of(image)
    texts = {path.name: path.read_text() for path in files("gpuaas_compose").joinpath("example").iterdir()}
    texts["app.yaml"] = texts["app.yaml"].replace("my-app", slug)
    texts["compose.yaml"] = texts["compose.yaml"].replace(EXAMPLE_DIGEST, digest)
    if image is None:
        texts["app.yaml"] = texts["app.yaml"][: texts["app.yaml"].index("images:")]
    taken = [name for name in (*texts, "image.tar") if (folder / name).exists()]
    if taken:
        raise CommandError("already_exists", f"{folder / taken[0]} exists.", "Choose another folder.", usage=True)
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    if image is not None:
        shutil.copyfile(image, folder / "image.tar")
    session.say(f"{folder} has {', '.join(sorted(texts))}. Next: gpuaas compose lint {folder}")


def lint(session: CommandSession, folder: FolderArgument) -> None:
    """List every fault of the two files, as FILE:LINE:COLUMN. With --output json, print the faults and the manifest."""
    linted = lint_folder(folder)
    if session.as_json:
        faults = [
            {"file": one.file, "line": one.line, "column": one.column, "path": one.path, "message": one.message}
            for one in linted.faults
        ]
        print(json.dumps({"faults": faults, "manifest": linted.manifest}, indent=2))
        if linted.faults:
            raise typer.Exit(2)
        return
    require_faultless(folder, linted)
    services, allocations = len(linted.services), len(linted.app.allocations) or 1 if linted.app is not None else 1
    session.say(f"No faults: {services} services on {allocations} allocation{'s' if allocations > 1 else ''}.")


def dev(
    session: CommandSession,
    folder: FolderArgument,
    allocation: Annotated[
        str | None,
        typer.Option(
            "--allocation", help="Run all services on this allocation. Default: the project's only active one."
        ),
    ] = None,
    place: PlaceOption = None,
    set_: InputOption = None,
    secret_files: SecretOption = None,
    key: KeyOption = None,
    deadline: Annotated[int, typer.Option("--deadline", min=1, help="Time limit of each operation, in seconds.")] = 900,
    project: ProjectOption = None,
) -> None:
    """Run the folder as a private development version, apply every change of its files, and show the services' logs.

    Ctrl-C ends it and removes all of it from the hosts.
    """
    if allocation is not None and place:
        raise CommandError("wrong_option", "--allocation and --place exclude each other.", "Leave one out.", usage=True)
    where = session.find_project(project)
    allocations_by_name = _pairs("--place", place or [])
    if not allocations_by_name:
        allocations_by_name = {ONE_ALLOCATION: allocation or only_allocation(session, where)}
    wanted = Development(folder, allocations_by_name, _inputs(set_), _secrets(secret_files), key, deadline)
    develop(session, where, wanted, one_allocation=not place)


def try_out(
    session: CommandSession,
    folder: FolderArgument,
    place: Annotated[list[str], typer.Option("--place", help=_PLACE_HELP)],
    set_: InputOption = None,
    secret_files: SecretOption = None,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the instance running.")] = False,
    deadline: Annotated[int, typer.Option("--deadline", min=1, help="Time limit of each operation, in seconds.")] = 900,
    project: ProjectOption = None,
) -> None:
    """Launch the published version, wait until its probes pass, and remove it again. Fails if any of that fails."""
    linted = require_faultless(folder, lint_folder(folder))
    trial = Trial(_pairs("--place", place), _inputs(set_), _secrets(secret_files), keep, deadline)
    run_trial(session, session.find_project(project), linted, trial)


def publish_(
    session: CommandSession,
    folder: FolderArgument,
    reason: Annotated[str, typer.Option("--reason", help="Why, for the audit trail.")],
    smoke: Annotated[
        str | None, typer.Option("--smoke", help="Smoke test, run in FOLDER. Without it the version stays a draft.")
    ] = None,
    key: KeyOption = None,
    deadline: Annotated[int, typer.Option("--deadline", min=1, help="Time limit of the checks, in seconds.")] = 3600,
    project: ProjectOption = None,
) -> None:
    """Publish the version: lint, register, push the images, sign, add evidence, promote and activate. Safe to repeat."""
    linted = require_faultless(folder, lint_folder(folder))
    wanted = Publication(folder, reason, smoke, key, deadline)
    version = publish(session, session.find_project(project), linted, wanted)
    if session.as_json:
        made = {"id": version.id, "slug": version.slug, "version": version.version, "status": version.status}
        print(json.dumps(made, indent=2))


def _inputs(given: list[str] | None) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in _pairs("--set", given or []).items():
        try:
            found[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise CommandError("wrong_option", f"--set {name} is not YAML.", "Quote the value.", usage=True) from None
    return found


def _secrets(given: list[str] | None) -> dict[str, object] | None:
    """Read values from files: other users see a process's arguments. An editor's line end is no part of a value."""
    found: dict[str, object] = {}
    for name, file in _pairs("--secret-file", given or []).items():
        try:
            value = Path(file).read_bytes().removesuffix(b"\n").removesuffix(b"\r")
        except OSError as error:
            sentence = f"--secret-file {name}: {file} cannot be read: {error.strerror}."
            raise CommandError("wrong_option", sentence, "Name a file with the value.", usage=True) from None
        found[name] = {"value": base64.b64encode(value).decode(), "encoding": "base64"}
    return found or None


def _pairs(option: str, given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not equals or not name:
            raise CommandError("wrong_option", f"{option} {one} is not NAME=VALUE.", "Correct it.", usage=True)
        found[name] = value
    return found


def _digest_of(image: Path) -> str:
    try:
        with open_archive(image) as archive:
            return archive.digest
    except ArchiveRefused as refused:
        raise CommandError("image_refused", f"{image}: {refused}", "Save the image again.", usage=True) from None


COMMANDS = CommandSet(
    "Compose: make an app of the catalogue out of a compose file.",
    {"init": init, "lint": lint, "dev": dev, "test": try_out, "publish": publish_},
)
