"""The apps of this catalogue, and their manifests with the digests of what was built and published.

A manifest in this package says `@image` where the digest of the image stands, and `@weights` for a model's weights:
digests follow from what is built, so that they are filled in when a version is published.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

from gpuaas_catalogue.images.recipes import Recipe, load_recipe

APPS = Path(__file__).with_name("apps")
_PLACE = re.compile(r'"@([a-z]+)"')
_VERSION = re.compile(r"^(version: [0-9.]+)$", re.MULTILINE)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def app_names() -> list[str]:
    return sorted(folder.name for folder in APPS.iterdir() if (folder / "manifest.yaml").is_file())


def recipe_of(app: str) -> Recipe | None:
    """Return how the app's image is built; None if it is somebody else's."""
    folder = APPS / app
    return load_recipe(folder) if (folder / "recipe.toml").is_file() else None


def places_of(app: str) -> list[str]:
    """Name the digests that the app's manifest needs."""
    return sorted(set(_PLACE.findall(_text(app))))


def manifest_of(app: str, digests: Mapping[str, str]) -> str:
    """Return the manifest with its digests. Raises ValueError if one is missing or is no digest.

    The version gets a mark of the digests: the same app on newer packages is another build, and a version never changes.
    """
    for name in places_of(app):
        if _DIGEST.fullmatch(digests.get(name, "")) is None:
            raise ValueError(f"The manifest of {app} needs a digest for {name}.")
    mark = hashlib.sha256(" ".join(digests[name] for name in places_of(app)).encode()).hexdigest()[:12]
    marked = _VERSION.sub(rf"\1+build.{mark}", _text(app), count=1)
    return _PLACE.sub(lambda found: f'"{digests[found.group(1)]}"', marked)


def _text(app: str) -> str:
    return (APPS / app / "manifest.yaml").read_text()
