"""Builds an image in layers: the Debian base, which all images share, the wheels, and what the recipe adds itself.

Wheels may have gigabytes, and are built and pushed again only when they change. The same recipe on the same packages gives
the same digest. Bytecode is compiled by the image's own Python, in a fixed order and with a fixed hash seed, because a
container with a read-only root file system would compile at every start.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path

from gpuaas_catalogue.images.cache import BuildCache
from gpuaas_catalogue.images.debian import DebianBase
from gpuaas_catalogue.images.errors import BuildFailed
from gpuaas_catalogue.images.layers import Layer, write_layer
from gpuaas_catalogue.images.layouts import write_layout
from gpuaas_catalogue.images.programs import run_isolated
from gpuaas_catalogue.images.recipes import UID, Recipe
from gpuaas_catalogue.images.wheels import VENV_PATH, install_wheels
from gpuaas_sdk.image_layouts import ImageLayout

# Increase this number when the builder makes something else from the same inputs: the image then gets a new cache key.
_BUILDER = 3
_TIMEOUT = 600.0
Progress = Callable[[str], None]
_PATH = "/opt/app/bin:/opt/launch:/usr/local/bin:/usr/bin:/bin"
# Runs in a mount namespace of its own.
_COMPILE = """set -e
root=$1 app=$2 place=$3 python=$4; shift 4
[ -z "$app" ] || mount --bind "$app" "$root/$place"
exec chroot "$root" "/usr/bin/python$python" -I -m compileall -q -f --invalidation-mode unchecked-hash "$@"
"""
_FOLDERS = ("dev", "proc", "sys", "tmp", "run", "root", "var/tmp", "var/lib/dpkg", "home", VENV_PATH)
_ACCOUNTS = {
    "etc/passwd": f"root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/nonexistent:/usr/sbin/nologin\n"
    f"app:x:{UID}:{UID}::/data:/bin/bash\n",
    "etc/group": f"root:x:0:\nnogroup:x:65534:\napp:x:{UID}:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
}


def image_key(recipe: Recipe, base: DebianBase) -> str:
    """Return the name of the image in the cache: what it is made from, as a hash."""
    made_from = [_BUILDER, recipe.digest, base.with_packages(recipe.packages).digest, recipe.runtime_version]
    return f"{recipe.name}-{hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:16]}"


def base_key(base: DebianBase) -> str:
    """Return the name of the base in the cache."""
    return f"base-{_BUILDER}-{base.digest[:16]}"


def find_image(recipe: Recipe, base: DebianBase, cache: BuildCache) -> ImageLayout | None:
    """Return the image if it is in the cache."""
    folder = cache.find(image_key(recipe, base))
    return None if folder is None else ImageLayout(folder)


def ensure_image(
    recipe: Recipe, base: DebianBase, cache: BuildCache, progress: Progress = lambda line: None
) -> ImageLayout:
    """Return the image from the cache; build it first if it is not there. `progress` gets a line for each part."""
    build = partial(_build_image, recipe, base, cache, progress)
    return ImageLayout(cache.ensure(image_key(recipe, base), build))


def _build_image(recipe: Recipe, base: DebianBase, cache: BuildCache, progress: Progress, target: Path) -> None:
    if base.python != recipe.python:
        raise BuildFailed(
            f"{recipe.name} is for Python {recipe.python}, but the base has {base.python}.",
            "Use a base of the release that the recipe is for.",
        )
    progress(f"Building the base from {len(base.packages)} Debian packages.")
    shared = cache.ensure(base_key(base), partial(_build_base, base))
    below = [_stored_layer(shared)]
    if recipe.requirements is not None:
        build = partial(_build_wheels, recipe.requirements, recipe.python, shared / "root", progress)
        below.append(_stored_layer(cache.ensure(_wheels_key(recipe.requirements, base), build)))
    progress("Writing the layer of the recipe's own files.")
    root = target / "root"
    _add_packages(base, base.with_packages(recipe.packages), root)
    for name, file in recipe.own_files():
        _copy(file, root / name)
    for name in recipe.folders:
        (root / name.lstrip("/")).mkdir(parents=True, exist_ok=True)
    blobs = target / "blobs/sha256"
    blobs.mkdir(parents=True)
    above = write_layer(target / "layer", root, _everything_below(root), recipe.folders, UID)
    (target / "layer").rename(blobs / above.digest.removeprefix("sha256:"))
    shutil.rmtree(root)
    for layer, file in below:
        os.link(file, blobs / layer.digest.removeprefix("sha256:"))
    write_layout(target, [*(layer for layer, _ in below), above], _settings(recipe))


def _stored_layer(folder: Path) -> tuple[Layer, Path]:
    """Return a layer that is kept in a folder of the cache, and its file."""
    return Layer(**json.loads((folder / "layer.json").read_text())), folder / "layer"


def _store_layer(folder: Path, root: Path) -> None:
    layer = write_layer(folder / "layer", root, _everything_below(root))
    (folder / "layer.json").write_text(json.dumps(asdict(layer)))


def _wheels_key(requirements: Path, base: DebianBase) -> str:
    made_from = [_BUILDER, hashlib.sha256(requirements.read_bytes()).hexdigest(), base.digest]
    return f"wheels-{hashlib.sha256(json.dumps(made_from).encode()).hexdigest()[:16]}"


def _build_wheels(requirements: Path, python: str, below: Path, progress: Progress, target: Path) -> None:
    root = target / "root"
    root.mkdir()
    progress("Downloading and installing the wheels.")
    install_wheels(requirements, root, python)
    progress("Compiling their bytecode.")
    _compile(below, root / VENV_PATH, python, [f"/{VENV_PATH}/lib"])
    progress("Writing the layer of the wheels.")
    _store_layer(target, root)
    shutil.rmtree(root)


def _build_base(base: DebianBase, target: Path) -> None:
    root = target / "root"
    for name in _FOLDERS:
        (root / name).mkdir(parents=True)
    for path in base.files():
        if (source := base.source(path)) is not None:
            _copy(source, root / path)
    for name in ("tmp", "var/tmp"):
        (root / name).chmod(0o1777)
    for name, text in {**_ACCOUNTS, "var/lib/dpkg/status": base.status()}.items():
        (root / name).write_text(text)
    _compile(root, None, base.python, [f"/usr/lib/python{base.python}"])
    _store_layer(target, root)


def _add_packages(base: DebianBase, wanted: DebianBase, root: Path) -> None:
    """Add the files of the packages that the base does not have, if there are any."""
    if wanted == base:
        return
    for path in sorted(set(wanted.files()) - set(base.files())):
        if (source := wanted.source(path)) is not None:
            _copy(source, root / path)
    listed = root / "var/lib/dpkg/status"
    listed.parent.mkdir(parents=True, exist_ok=True)
    listed.write_text(wanted.status())


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(source.readlink())
    elif source.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    elif source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755 if source.stat().st_mode & 0o111 else 0o644)


def _everything_below(root: Path) -> list[Path]:
    return [path.relative_to(root) for path in root.rglob("*")]


def _compile(root: Path, app: Path | None, python: str, folders: list[str]) -> None:
    words = [str(root), str(app or ""), VENV_PATH, python, *folders]
    environment = {"PATH": _PATH + ":/usr/sbin:/sbin", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
    done = run_isolated(["sh", "-c", _COMPILE, "sh", *words], _TIMEOUT, environment)
    # Some wheels contain templates that look like modules and are none; Python could not load them either.
    if done.returncode != 0 and "SyntaxError" not in done.stdout + done.stderr:
        raise BuildFailed(
            f"The image's own Python did not compile its modules: {(done.stdout + done.stderr).strip()[-600:]}",
            "Build as root, on a base that has all packages.",
        )


def _settings(recipe: Recipe) -> dict[str, object]:
    environment = {"PATH": _PATH, "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1", **dict(recipe.env)}
    return {
        "User": f"{UID}:{UID}",
        "Env": [f"{name}={value}" for name, value in sorted(environment.items())],
        "Entrypoint": list(recipe.command),
        "WorkingDir": recipe.working_folder,
        "ExposedPorts": {f"{port}/tcp": {} for port in recipe.ports},
        "Labels": {"org.opencontainers.image.title": recipe.title, **_version_label(recipe)},
    }


def _version_label(recipe: Recipe) -> dict[str, str]:
    """The label by which hosts know what an image runs."""
    return {} if recipe.runtime_version is None else {"gpuaas.runtime_version": recipe.runtime_version}
