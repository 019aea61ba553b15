"""A recipe: the folder of an app with `recipe.toml`, its pinned wheels and its own files."""

import hashlib
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpuaas_catalogue.images.errors import BuildFailed

REQUIREMENTS = "requirements.txt"
FILES = "files"
_SHARED_FILES = Path(__file__).with_name(FILES)
UID = 1000  # of the user who runs the app; it owns the recipe's folders, and nothing else
_FIELDS = {"python", "command", "env", "ports", "folders", "working_folder", "title"}


@dataclass(frozen=True)
class Recipe:
    """`folders` belong to the app's user. All else in the image belongs to root and is not writable by others."""

    name: str
    folder: Path
    title: str
    python: str
    command: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    ports: tuple[int, ...]
    folders: tuple[str, ...]
    working_folder: str

    @property
    def requirements(self) -> Path:
        return self.folder / REQUIREMENTS

    def own_files(self) -> Iterator[tuple[str, Path]]:
        """Yield the path in the image and the file of everything that the recipe adds itself, or that all images have."""
        for root in (_SHARED_FILES, self.folder / FILES):
            for file in sorted(root.rglob("*")):
                if file.is_file() and "__pycache__" not in file.parts:
                    yield str(file.relative_to(root)), file

    @property
    def digest(self) -> str:
        """The hash of all that the recipe says."""
        found = hashlib.sha256()
        listed = [("recipe.toml", self.folder / "recipe.toml"), (REQUIREMENTS, self.requirements), *self.own_files()]
        for name, file in listed:
            content = file.read_bytes()
            found.update(f"{name}\n{len(content)}\n".encode() + content)
        return found.hexdigest()


def load_recipe(folder: Path) -> Recipe:
    try:
        said: dict[str, Any] = tomllib.loads((folder / "recipe.toml").read_text())
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BuildFailed(f"The recipe in {folder} cannot be read: {error}.", "Correct recipe.toml.") from error
    unknown = set(said) - _FIELDS
    missing = {"python", "command", "title"} - set(said)
    if unknown or missing:
        wrong = ", ".join(
            [*(f"{name} is unknown" for name in sorted(unknown)), *(f"{name} is missing" for name in sorted(missing))]
        )
        raise BuildFailed(f"The recipe in {folder} is wrong: {wrong}.", "Correct recipe.toml.")
    return Recipe(
        name=folder.name,
        folder=folder,
        title=str(said["title"]),
        python=str(said["python"]),
        command=tuple(map(str, said["command"])),
        env=tuple(sorted((str(name), str(value)) for name, value in said.get("env", {}).items())),
        ports=tuple(map(int, said.get("ports", ()))),
        folders=tuple(map(str, said.get("folders", ()))),
        working_folder=str(said.get("working_folder", "/")),
    )
