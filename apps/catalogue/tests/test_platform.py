"""Apps of the catalogue as the platform's own: a missing image is built by a command, one that is there is published."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from gpuaas_catalogue.images import roots
from gpuaas_catalogue.images.builder import image_key
from gpuaas_catalogue.images.cache import BuildCache
from gpuaas_catalogue.images.debian import PACKAGES, read_base
from gpuaas_catalogue.images.errors import BuildFailed
from gpuaas_catalogue.images.layers import write_layer
from gpuaas_catalogue.images.layouts import write_layout
from gpuaas_catalogue.manifests import required_recipe
from gpuaas_catalogue.platform import check_image, jupyter
from gpuaas_sdk.platform_apps import AppNotReady


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuildCache:
    monkeypatch.setenv("GPUAAS_CATALOGUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(roots.BASE_VARIABLE, raising=False)
    return BuildCache(tmp_path / "cache")


def _root(folder: Path) -> Path:
    (folder / "var/lib/dpkg").mkdir(parents=True)
    names = [*PACKAGES, "python3.11"]
    stanza = "Package: {0}\nStatus: install ok installed\nArchitecture: amd64\nVersion: 1\n"
    (folder / "var/lib/dpkg/status").write_text("\n".join(stanza.format(name) for name in names))
    return folder


def _image(folder: Path) -> None:
    (folder / "blobs/sha256").mkdir(parents=True)
    (folder / "file").write_text("content")
    layer = write_layer(folder / "layer", folder, [Path("file")])
    (folder / "layer").rename(folder / "blobs/sha256" / layer.digest.removeprefix("sha256:"))
    write_layout(folder, [layer], {})


def test_without_an_image_it_names_the_command_that_builds_it(cache: BuildCache) -> None:
    app = jupyter()
    assert (app.display_name, app.artifact_kind, app.manifest, app.artifact) == ("JupyterLab", "oci", "", None)
    assert [*app.prepare[1:4], app.prepare[4]] == ["-m", "gpuaas_catalogue", "build", "jupyter"]


def test_an_image_in_the_cache_is_what_is_published(
    cache: BuildCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = _root(tmp_path / "root")
    monkeypatch.setenv(roots.BASE_VARIABLE, str(root))
    assert jupyter().prepare
    folder = cache.folder / image_key(required_recipe("jupyter"), read_base(root))
    _image(folder)
    app = jupyter()
    assert (app.slug, app.display_name, app.artifact) == ("jupyter", "JupyterLab", folder)
    assert app.prepare == ()
    assert app.digest() in app.manifest
    assert app.version.startswith("4.")
    assert "parts of the image" in check_image(folder)["lint"]


def test_an_image_that_was_damaged_in_the_cache_is_not_published(tmp_path: Path) -> None:
    _image(tmp_path)
    index = json.loads((tmp_path / "index.json").read_text())
    named = index["manifests"][0]["digest"].removeprefix("sha256:")
    layer = next(
        one for one in (tmp_path / "blobs/sha256").iterdir() if one.name != named and one.read_bytes()[:1] != b"{"
    )
    layer.write_bytes(b"other")
    assert hashlib.sha256(b"other").hexdigest() != layer.name
    with pytest.raises(AppNotReady, match="does not have its digest"):
        check_image(tmp_path)


def test_a_named_root_that_is_not_there_is_said(
    cache: BuildCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(roots.BASE_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(AppNotReady, match="no Debian root file system"):
        jupyter()


def test_a_root_that_is_made_here_has_the_packages_of_the_recipe(
    cache: BuildCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def debootstrap(argv: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        asked.append(next(word for word in argv if word.startswith("--include=")))
        status = Path(argv[-2]) / "var/lib/dpkg/status"
        status.parent.mkdir(parents=True)
        names = asked[-1].removeprefix("--include=").split(",")
        listed = (f"Package: {name}\nStatus: install ok installed\nVersion: 1\nArchitecture: all\n" for name in names)
        status.write_text("\n".join(listed))
        return subprocess.CompletedProcess(argv, 0, "", "")

    monkeypatch.delenv(roots.BASE_VARIABLE, raising=False)
    monkeypatch.setattr(roots, "_archive", lambda: "there")
    monkeypatch.setattr("gpuaas_catalogue.images.roots.os.geteuid", lambda: 0)
    monkeypatch.setattr("gpuaas_catalogue.images.roots.shutil.which", lambda *_, **__: "/usr/sbin/debootstrap")
    monkeypatch.setattr("gpuaas_catalogue.images.roots.subprocess.run", debootstrap)
    vllm = required_recipe("vllm").packages
    assert {"gcc", "libc6-dev", "libpython3.11-dev"} <= set(vllm)
    roots.ensure_base(cache, ())
    roots.ensure_base(cache, required_recipe("vllm-cpu").packages)
    assert [line.endswith(",gcc") or ",gcc," in line for line in asked] == [False]
    assert roots.ready_base(cache, vllm) is None
    roots.ensure_base(cache, vllm).with_packages(vllm)
    assert set(vllm) <= set(asked[1].removeprefix("--include=").split(","))
    assert roots.ready_base(cache, vllm) is not None


def test_where_no_package_archive_is_known_the_build_says_what_to_do(
    cache: BuildCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roots, "_INDEX", ["true"])
    monkeypatch.setattr("gpuaas_catalogue.images.roots.os.geteuid", lambda: 0)
    monkeypatch.setattr("gpuaas_catalogue.images.roots.shutil.which", lambda *_, **__: "/usr/sbin/debootstrap")
    with pytest.raises(BuildFailed, match="No apt source of this machine has Debian"):
        roots.ensure_base(cache, ())
    assert not [one for one in cache.folder.iterdir() if one.is_dir()]
