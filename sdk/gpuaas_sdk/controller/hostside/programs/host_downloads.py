"""Downloads a published artifact to the host: as a file, or unpacked into a folder. The digest is checked before it is used."""

import contextlib
import os

from host_archives import extract
from host_files import ids_of, is_same_file, move_in, remove_path, temporary_beside
from host_record import claim_path
from host_streams import download

MARK = ".gpuaas-digest"  # in an unpacked folder: which artifact it came from
MOST_MARK = 200  # bytes


def put_artifact(record, request):
    path, mode, owner = request["path"], request["mode"], ids_of(request["owner"])
    claim_path(record, path)
    if is_same_file(path, request["digest"].partition(":")[2], mode, owner):
        return {"changed": False}
    temporary = temporary_beside(path)
    try:
        download(request, temporary)
        move_in(temporary, path, mode, owner)
    finally:
        remove_path(temporary)
    return {"changed": True}


def unpack(record, request):
    """Unpacks beside the folder's place and moves the folder in, so that it appears whole. What it held before is gone."""
    path, owner = request["path"], ids_of(request["owner"])
    claim_path(record, path)
    if read_mark(path) == request["digest"]:
        return {"changed": False}
    archive, folder = temporary_beside(path), temporary_beside(f"{path}.folder")
    try:
        download(request, archive)
        os.mkdir(folder, 0o700)  # nobody else comes in before all of it is as it should be
        extract(archive, folder, request["strip"])
        give_to(folder, owner)
        write_mark(folder, request["digest"])
        os.chown(folder, *owner)
        os.chmod(folder, 0o755)  # noqa: S103 - as folders of programs are
        remove_path(path)
        os.rename(folder, path)
    finally:
        for one in (archive, folder):
            remove_path(one)
    return {"changed": True}


def read_mark(path):
    """Reads the mark. The owner of the folder may have put anything in its place."""
    with contextlib.suppress(OSError, ValueError):
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        with os.fdopen(os.open(os.path.join(path, MARK), flags), "rb") as file:
            return (file.read(MOST_MARK) or b"").decode()
    return None


def write_mark(folder, digest):
    """Writes the mark. The archive may have brought something of this name, also a link."""
    mark = os.path.join(folder, MARK)
    remove_path(mark)
    with os.fdopen(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644), "w") as file:
        file.write(digest)


def give_to(folder, owner):
    """Gives away what is in the folder, and not yet the folder itself."""
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(os.path.join(place, name), *owner, follow_symlinks=False)
