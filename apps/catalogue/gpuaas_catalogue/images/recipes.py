"""A recipe: the folder of an app with `recipe.toml`, its pinned wheels and its own files.

A variant of an app has a second folder. Its `recipe.toml` says what differs, its wheels stand in place of the app's, and
its files come besides.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuaas_catalogue.images.errors import BuildFailed
from gpuaas_catalogue.merge_patch import merge

RECIPE = "recipe.toml"
REQUIREMENTS = "requirements.txt"
FILES = "files"
_SHARED_FILES = Path(__file__).with_name(FILES)
UID = 1000  # of the user who runs the app; it owns the recipe's folders, and nothing else
_FIELDS = {"python", "command", "env", "ports", "folders", "working_folder", "title", "packages"}


@dataclass(frozen=True)
class Recipe:
    """`folders` belong to the app's user. All else in the image belongs to root and is not writable by others.

    `sources` are the folders in which the recipe is written; `packages` are Debian packages that the base does not have.
    """

    name: str
    sources: tuple[Path, ...]
    title: str
    python: str
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    ports: tuple[int, ...]
    folders: tuple[str, ...]
    working_folder: str
    packages: tuple[str, ...]

    @property
    def requirements(self) -> Path | None:
        """The pinned wheels; None if the recipe has none, since the base is enough."""
        listed = (folder / REQUIREMENTS for folder in reversed(self.sources))
        return next((file for file in listed if file.is_file()), None)

    @property
    def runtime_version(self) -> str | None:
        """The pinned version of the app's own package, the first of `requirements.in`; None if the recipe has no wheels."""
        if self.requirements is None:
            return None
        asked = self.requirements.with_suffix(".in").read_text()
        package = re.search(r"^[a-z0-9._-]+", asked, re.MULTILINE)
        pinned = package and re.search(
            rf"^{re.escape(package[0])}==([^ ;]+)", self.requirements.read_text(), re.MULTILINE
        )
        return pinned[1] if pinned else None

    def own_files(self) -> Iterator[tuple[str, Path]]:
        """Yield the path in the image and the file of everything that the recipe adds itself, or that all images have."""
        for root in (_SHARED_FILES, *(folder / FILES for folder in self.sources)):
            for file in sorted(root.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    yield str(file.relative_to(root)), file

    @property
    def digest(self) -> str:
        """The hash of all that the recipe says."""
        found = hashlib.sha256()
        wheels = [] if self.requirements is None else [(REQUIREMENTS, self.requirements)]
        said = [(RECIPE, file) for folder in self.sources if (file := folder / RECIPE).is_file()]
        listed = [*said, *wheels, *self.own_files()]
        for name, file in listed:
            content = file.read_bytes()
            found.update(f"{name}\n{len(content)}\n".encode() + content)
        return found.hexdigest()


def load_recipe(name: str, *sources: Path) -> Recipe:
    """Read the recipe of an app; of a variant, from the folder of the app and then its own."""
    said: dict[str, Any] = {}
    for folder in sources:
        said = _merged(said, folder / RECIPE)
    unknown = set(said) - _FIELDS
    missing = {"python", "command", "title"} - set(said)
    if unknown or missing:
        wrong = ", ".join(
            [*(f"{name} is unknown" for name in sorted(unknown)), *(f"{name} is missing" for name in sorted(missing))]
        )
        raise BuildFailed(f"The recipe in {sources[-1]} is wrong: {wrong}.", "Correct recipe.toml.")
    return Recipe(
        name=name,
        sources=sources,
        title=str(said["title"]),
        python=str(said["python"]),
        command=tuple(map(str, said["command"])),
        env=tuple(sorted((str(name), str(value)) for name, value in said.get("env", {}).items())),
        ports=tuple(map(int, said.get("ports", ()))),
        folders=tuple(map(str, said.get("folders", ()))),
        working_folder=str(said.get("working_folder", "/")),
        packages=tuple(map(str, said.get("packages", ()))),
    )


def _merged(said: dict[str, Any], file: Path) -> dict[str, Any]:
    try:
        return merge(said, tomllib.loads(file.read_text()))
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BuildFailed(f"The recipe in {file.parent} cannot be read: {error}.", "Correct recipe.toml.") from error
