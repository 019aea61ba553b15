"""Archives of images: one image, whole, with the digests that they claim; anything else is refused before a push."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from gpuaas_compose.image_archive import ArchiveRefused, open_archive
from gpuaas_sdk.digests import digest_of

CONFIG, LAYER = b"{}", b"layer"


def manifest(**changes: object) -> bytes:
    parts = {"config": {"digest": digest_of(CONFIG)}, "layers": [{"digest": digest_of(LAYER)}]}
    return json.dumps({"schemaVersion": 2, **parts, **changes}).encode()


def files_of(content: bytes, *blobs: bytes) -> dict[str, bytes]:
    index = {"manifests": [{"digest": digest_of(content)}]}
    named = {f"blobs/sha256/{digest_of(blob).removeprefix('sha256:')}": blob for blob in (content, *blobs)}
    return {"index.json": json.dumps(index).encode(), **named}


def write(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


def test_an_archive_gives_its_manifest_and_its_blobs(tmp_path: Path) -> None:
    with open_archive(write(tmp_path / "image.tar", files_of(manifest(), CONFIG, LAYER))) as archive:
        assert archive.digest == digest_of(manifest())
        with archive.blob(digest_of(LAYER)) as stream:
            assert stream.read() == LAYER


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no index.json"),
        ({"index.json": b"[" * 100_000}, "not a JSON object"),
        ({"index.json": b'{"manifests": [{}, {}]}'}, "of one image"),
        ({"index.json": b'{"manifests": [{"digest": "../../etc/passwd"}]}'}, "without a sha256 digest"),
        (files_of(manifest(), CONFIG), "it lacks"),
        (files_of(manifest(layers=None), CONFIG), "several platforms"),
        (files_of(manifest(layers=[{"digest": "sha256:x"}]), CONFIG), "without a sha256 digest"),
        ({**files_of(manifest(), CONFIG, LAYER), f"blobs/sha256/{digest_of(manifest())[7:]}": b"{}"}, "does not have"),
        ({"index.json": b" " * (5 << 20)}, "larger than"),
    ],
)
def test_a_hostile_archive_is_refused(tmp_path: Path, files: dict[str, bytes], said: str) -> None:
    with pytest.raises(ArchiveRefused, match=said), open_archive(write(tmp_path / "image.tar", files)):
        pass


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_bytes(b"\x1f\x8b not a tar")
    with pytest.raises(ArchiveRefused, match="not a tar"), open_archive(tmp_path / "image.tar"):
        pass
