"""How a host unpacks archives that are made to harm: they reach nothing outside of their folder, and fill no disk."""

import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from sdk_support.artifact_stores import archive, artifact
from sdk_support.local_installer import ME, LocalInstaller, refused

MARK = ".gpuaas-digest"
# Each link is harmless when it is made, and leads elsewhere once the links that it goes through exist.
LATER = [("l1", "d/.."), ("l2", "e/.."), ("l3", "f/.."), (MARK, "l3/victim"), ("f", "l2"), ("e", "l1"), ("d", ".")]
# The disk has a number of blocks that does not change, so that the program's own count matters.
SMALL_DISK = """
import os, types
os.fstatvfs = lambda _: types.SimpleNamespace(
    f_frsize=4096, f_blocks=10_000, f_bavail={blocks}, f_files={files}, f_favail={files}
)
"""


def header_of(size: int) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=tarfile.PAX_FORMAT) as file:
        info = tarfile.TarInfo("file")
        info.pax_headers = {"comment": "x" * size}
        file.addfile(info)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [archive(("../out", b"x")), archive(("a/../../out", b"x")), archive(("link", "/etc/passwd")),
     archive(("link", ".."), ("link/out", b"x")), archive(("pipe", b""), kind=tarfile.FIFOTYPE),
     archive(("device", b""), kind=tarfile.CHRTYPE), archive(("hard", b""), kind=tarfile.LNKTYPE),
     archive(*LATER), archive(*LATER, ("l3/out", b"x")), archive(("a/b/link", "../../..")),
     archive(("a/b", b""), ("link", "a/../b")), archive(("a/", b""), ("link", "a"), ("link/out", b"x")),
     archive(("a", b""), ("a/b", b"x")), archive(("/".join("a" * 300), b"x")), header_of(2 << 20)],
    ids=["parent", "parent-below", "link", "link-used", "pipe", "device", "hard-link", "later", "later-used", "deep-link",
         "parent-after-name", "through-link", "through-file", "long", "header"],  # the bytes differ: they hold the time
)  # fmt: skip
async def test_an_archive_that_leads_out_or_holds_devices_is_refused_whole(
    here: LocalInstaller, place: Path, store: dict[str, Any], content: bytes
) -> None:
    victims = [folder / "victim" for folder in (place / "in", place, place.parent)]
    (place / "in").mkdir()
    for one in victims:
        one.write_text("as before")
    assert await refused(here.unpack(str(place / "in/tool"), artifact(store, content), owner=ME)) == "archive_unsafe"
    assert [one.read_text() for one in victims] == ["as before"] * 3
    assert os.listdir(place / "in") == ["victim"]


@pytest.mark.parametrize(
    "content",
    [b"no archive", archive(("a", b"1"), ("a", b"2")), archive(("a", "b"), ("a", b"2"))],
    ids=["none", "file-twice", "link-and-file"],
)
async def test_an_archive_that_is_none_or_has_a_name_twice_is_refused_whole(
    here: LocalInstaller, place: Path, store: dict[str, Any], content: bytes
) -> None:
    assert await refused(here.unpack(str(place / "in/tool"), artifact(store, content), owner=ME)) == "archive_invalid"
    assert os.listdir(place / "in") == []


async def test_links_inside_the_folder_work_in_any_order(
    here: LocalInstaller, place: Path, store: dict[str, Any]
) -> None:
    packed = archive(
        ("./model/snapshots/one/weights", "../../blobs/123"), ("./model/latest", "snapshots/one"),
        ("./model/here", "."), ("./model/blobs/123", b"weights"), ("./model/away", "not/there"),
    )  # fmt: skip
    assert await here.unpack(str(place / "tool"), artifact(store, packed), owner=ME, strip_folders=2)
    assert (place / "tool/here/latest/weights").read_bytes() == b"weights"
    assert (place / "tool/snapshots/one/weights").readlink() == Path("../../blobs/123")
    assert (place / "tool/away").is_symlink()


@pytest.mark.parametrize(
    "mark",
    [
        archive((MARK, "victim")),
        archive((MARK, "nowhere")),
        archive((MARK, b"sha256:other")),
        archive((f"{MARK}/a", b"")),
    ],
    ids=["link", "dangling-link", "file", "folder"],
)
async def test_a_mark_of_the_archive_s_own_is_replaced_and_never_written_through(
    here: LocalInstaller, place: Path, store: dict[str, Any], mark: bytes
) -> None:
    packed = artifact(store, mark)
    assert await here.unpack(str(place / "tool"), packed, owner=ME)
    assert not await here.unpack(str(place / "tool"), packed, owner=ME)
    assert os.listdir(place / "tool") == [MARK]
    assert (place / "tool" / MARK).is_file()
    assert not (place / "tool" / MARK).is_symlink()


async def test_a_mark_that_the_folder_s_owner_replaced_is_not_followed_nor_waited_for(
    here: LocalInstaller, place: Path, store: dict[str, Any]
) -> None:
    packed = artifact(store, archive(("file", b"content")))
    await here.unpack(str(place / "tool"), packed, owner=ME)
    mark, elsewhere = place / "tool" / MARK, place / "mark"
    mark.rename(elsewhere)
    mark.symlink_to(elsewhere)
    assert await here.unpack(str(place / "tool"), packed, owner=ME)
    mark.unlink()
    os.mkfifo(mark)
    assert await here.unpack(str(place / "tool"), packed, owner=ME)


@pytest.mark.parametrize(
    ("entries", "blocks", "files"),
    [
        ([("huge", bytes(64 << 20))], 2000, 0),
        ([(f"part-{number}", bytes(4 << 20)) for number in range(8)], 8000, 0),
        ([(f"many/{number}", b"") for number in range(200)], 9000, 100),
        ([(f"{number}", "link") for number in range(200)], 9000, 100),
        ([("/".join(f"{number}{'a' * 5}"), b"") for number in range(40)], 9000, 100),
    ],
    ids=["one-file", "together", "files", "links", "folders"],
)
async def test_an_archive_that_would_fill_the_disk_is_refused_and_leaves_nothing(
    tmp_path: Path, place: Path, store: dict[str, Any], entries: list[tuple[str, bytes | str]], blocks: int, files: int
) -> None:
    small = LocalInstaller(tmp_path / "small-records", first=SMALL_DISK.format(blocks=blocks, files=files))
    packed = archive(*entries)
    assert len(packed) < 1 << 20
    assert await refused(small.unpack(str(place / "in/tool"), artifact(store, packed), owner=ME)) == "disk_full"
    assert os.listdir(place / "in") == []
    fits = artifact(store, archive(("file", b"content"), ("folder/file", b"")))
    assert await small.unpack(str(place / "in/tool"), fits, owner=ME)
