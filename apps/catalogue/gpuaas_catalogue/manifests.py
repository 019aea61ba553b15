"""The apps of this catalogue, and their manifests with the digests of what was built and published.

A manifest in this package says `@image` where the digest of the image stands, and `@weights` for a model's weights:
digests follow from what is built, so that they are filled in when a version is published.

A variant of an app is listed as `<app>-<variant>`. Its folder `variants/<variant>` contains only what differs: see
`gpuaas_catalogue.merge_patch`.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from gpuaas_catalogue.images.recipes import RECIPE, Recipe, load_recipe
from gpuaas_catalogue.merge_patch import merge

APPS = Path(__file__).with_name("apps")
_MANIFEST = "manifest.yaml"
_PLACE = re.compile(r"@([a-z]+)")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def app_names() -> list[str]:
    return sorted(_folders())


def recipe_of(app: str) -> Recipe | None:
    """Return the recipe of the app's image; None if this package does not build its image."""
    folders = _folders()[app]
    return load_recipe(app, *folders) if (folders[0] / RECIPE).is_file() else None


def required_recipe(app: str) -> Recipe:
    recipe = recipe_of(app)
    if recipe is None:
        raise ValueError(f"{app} has no recipe")
    return recipe


def places_of(app: str) -> list[str]:
    """Name the digests that the app's manifest needs."""
    return sorted(set(_places(_document(app))))


def manifest_of(app: str, digests: Mapping[str, str]) -> str:
    """Return the manifest with its digests. Raises ValueError if one is missing or is no digest.

    The version gets a mark of the digests: the same app on newer packages is another build, and a version never changes.
    """
    document = _document(app)
    places = places_of(app)
    for name in places:
        if _DIGEST.fullmatch(digests.get(name, "")) is None:
            raise ValueError(f"The manifest of {app} needs a digest for {name}.")
    mark = hashlib.sha256(" ".join(digests[name] for name in places).encode()).hexdigest()[:12]
    document["version"] = f"{document['version']}+build.{mark}"
    return yaml.safe_dump(_filled(document, digests), sort_keys=False, allow_unicode=True, width=1000)


def _folders() -> dict[str, tuple[Path, ...]]:
    """Return the folders of every app by its name: its own, and for a variant that of the variant after it."""
    found: dict[str, tuple[Path, ...]] = {}
    for file in APPS.glob(f"*/{_MANIFEST}"):
        app = file.parent
        found[app.name] = (app,)
        found |= {f"{app.name}-{one.parent.name}": (app, one.parent) for one in app.glob(f"variants/*/{_MANIFEST}")}
    return found


def _document(app: str) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for folder in _folders()[app]:
        document = merge(document, yaml.safe_load((folder / _MANIFEST).read_text()))
    return document


def _places(value: object) -> Iterator[str]:
    if isinstance(value, str) and (found := _PLACE.fullmatch(value)):
        yield found.group(1)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _places(part)
    elif isinstance(value, list):
        for part in value:
            yield from _places(part)


def _filled(value: object, digests: Mapping[str, str]) -> object:
    """Return the value with digests in their places."""
    if isinstance(value, str):
        found = _PLACE.fullmatch(value)
        return digests[found.group(1)] if found else value
    if isinstance(value, Mapping):
        return {name: _filled(part, digests) for name, part in value.items()}
    return [_filled(part, digests) for part in value] if isinstance(value, list) else value
