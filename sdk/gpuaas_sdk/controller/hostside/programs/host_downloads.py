"""Downloads a published artifact to the host: as a file, or unpacked into a folder. The digest is checked before it is used."""

import contextlib
import os
import shutil
import tarfile

from host_files import CHUNK, Failed, ids_of, is_same_file, move_in, remove_path, temporary_beside
from host_record import claim_path
from host_streams import download

MARK = ".gpuaas-digest"  # in an unpacked folder: which artifact it came from


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
    """The folder appears whole: it is unpacked beside its place and moved in. What it held before is gone."""
    path, owner = request["path"], ids_of(request["owner"])
    claim_path(record, path)
    if read_mark(path) == request["digest"]:
        return {"changed": False}
    archive, folder = temporary_beside(path), temporary_beside(f"{path}.folder")
    try:
        download(request, archive)
        os.mkdir(folder, 0o755)
        extract(archive, folder, request["strip"])
        give_to(folder, owner)
        with open(os.path.join(folder, MARK), "w") as file:
            file.write(request["digest"])
        remove_path(path)
        os.rename(folder, path)
    finally:
        for one in (archive, folder):
            remove_path(one)
    return {"changed": True}


def read_mark(path):
    with contextlib.suppress(OSError), open(os.path.join(path, MARK)) as file:
        return file.read()
    return None


def extract(archive, folder, strip):
    """Only plain files, folders and links that stay inside; no owner and no special mode of the archive is kept."""
    try:
        with tarfile.open(archive) as content:
            for entry in content:
                inner = "/".join(entry.name.strip("/").split("/")[strip:])
                if inner in ("", "."):
                    continue
                place = os.path.join(folder, inner)
                if ".." in inner.split("/") or not is_inside(folder, os.path.dirname(place)):
                    raise Failed("archive_unsafe", f"{entry.name} leads out of the folder")
                extract_entry(content, entry, place, folder)
    except (tarfile.TarError, EOFError) as error:
        raise Failed("archive_invalid", f"The artifact is not a tar archive: {type(error).__name__}") from None


def extract_entry(content, entry, place, folder):
    os.makedirs(os.path.dirname(place), exist_ok=True)
    if entry.isdir():
        os.makedirs(place, exist_ok=True)
    elif entry.issym():
        if os.path.isabs(entry.linkname) or not is_inside(folder, os.path.join(os.path.dirname(place), entry.linkname)):
            raise Failed("archive_unsafe", f"the link {entry.name} leads out of the folder")
        os.symlink(entry.linkname, place)
    elif entry.isfile():
        with content.extractfile(entry) as source, open(place, "xb") as target:
            shutil.copyfileobj(source, target, CHUNK)
        os.chmod(place, 0o755 if entry.mode & 0o111 else 0o644)
    else:
        raise Failed("archive_unsafe", f"{entry.name} is not a file, a folder or a link")


def is_inside(folder, place):
    root = os.path.realpath(folder)
    return os.path.commonpath([root, os.path.realpath(place)]) == root


def give_to(folder, owner):
    for place, folders, files in os.walk(folder):
        for name in (".", *folders, *files):
            os.chown(os.path.join(place, name), *owner, follow_symlinks=False)
