"""Unpacks a tar archive into a new folder as root. Its publisher must reach nothing outside of the folder.

Every entry is made relative to a descriptor of its folder, and no part of its path is followed if it is a link: what a link
leads to never matters here. Links that could lead programs out of the folder later are refused as well.
"""

import os
import shutil
import tarfile

from host_files import CHUNK, Failed
from host_room import bytes_left, files_left

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
BLOCK = 4096  # what a file takes of the disk besides its content
MOST_FOLDERS, MOST_PATH = 200, 2000  # so that what was unpacked can be walked and removed
MOST_HEADER = 1 << 20  # bytes of one header, which is read into memory
HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class Entry(tarfile.TarInfo):
    def _proc_member(self, archive):
        """Called by tarfile for each header, before it reads the rest of it."""
        if self.type in HEADERS and self.size > MOST_HEADER:
            raise Failed("archive_unsafe", f"a header in the archive has {self.size} bytes")
        return super()._proc_member(archive)


class Room:
    """Limits what the archive may take of the disk: by its own count, and by what the disk says, which others fill, too."""

    def __init__(self, folder):
        self._folder = folder
        disk = os.fstatvfs(folder)
        self._bytes, self._files = bytes_left(disk), files_left(disk)

    def take(self, size):
        """Count a file of this size before it is made. Raises Failed if it would not leave enough of the disk free."""
        disk, needed = os.fstatvfs(self._folder), size + BLOCK
        self._bytes -= needed
        if self._bytes < 0 or bytes_left(disk) < needed:
            raise Failed("disk_full", "the archive is too large for the disk of the host when it is unpacked")
        files = files_left(disk)
        if files is not None:
            self._files -= 1
            if self._files < 0 or files < 1:
                raise Failed("disk_full", "the archive has too many files for the disk of the host")


def extract(archive, folder, strip):
    """Extracts plain files, folders and symbolic links that stay inside; keeps no owner and no special mode of the archive."""
    root = os.open(folder, FOLDER)
    try:
        with tarfile.open(archive, tarinfo=Entry) as content:
            room = Room(root)
            for entry in content:
                extract_entry(content, entry, root, strip, room)
                content.members.clear()  # tarfile would keep all of them in memory
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise Failed("archive_invalid", f"The artifact is not a tar archive: {type(error).__name__}") from None
    finally:
        os.close(root)


def extract_entry(content, entry, root, strip, room):
    parts = entry.name.strip("/").split("/")[strip:]
    if ".." in parts or len(parts) > MOST_FOLDERS or len(os.fsencode("/".join(parts))) > MOST_PATH:
        raise Failed("archive_unsafe", f"{shown(entry)} leads out of the folder, or is too long")
    parts = [one for one in parts if one not in ("", ".")]
    if not parts:
        return
    if not (entry.isfile() or entry.isdir() or entry.issym()):
        raise Failed("archive_unsafe", f"{shown(entry)} is not a file, a folder or a symbolic link")
    if entry.issym():
        refuse_leading_out(entry, len(parts) - 1)
    place = open_folder(root, parts if entry.isdir() else parts[:-1], entry, room)
    try:
        if not entry.isdir():
            make(content, entry, place, parts[-1], room)
    except FileExistsError:
        raise Failed("archive_invalid", f"The archive has {shown(entry)} twice") from None
    finally:
        os.close(place)


def make(content, entry, place, name, room):
    if entry.issym():
        room.take(0)
        os.symlink(entry.linkname, name, dir_fd=place)
        return
    room.take(entry.size)
    with content.extractfile(entry) as source, os.fdopen(os.open(name, NEW_FILE, 0o600, dir_fd=place), "wb") as target:
        shutil.copyfileobj(source, target, CHUNK)
        os.fchmod(target.fileno(), 0o755 if entry.mode & 0o111 else 0o644)


def refuse_leading_out(entry, depth):
    """Refuse a link that could lead out, whatever the other entries are. `depth` is how far below the folder the link is.

    Each `..` must come before all names: the folder of the link is known, and a name may be a link that leads elsewhere.
    """
    parts = [one for one in entry.linkname.split("/") if one not in ("", ".")]
    up = next((number for number, one in enumerate(parts) if one != ".."), len(parts))
    if entry.linkname.startswith("/") or up > depth or ".." in parts[up:]:
        raise Failed("archive_unsafe", f"the link {shown(entry)} leads out of the folder, or could")


def open_folder(root, parts, entry, room):
    """Return a descriptor of a folder below the root. Folders that are missing are made."""
    place = os.dup(root)
    try:
        for part in parts:
            below = open_or_make(place, part, room)
            os.close(place)
            place = below
    except BaseException as error:
        os.close(place)
        if isinstance(error, NotADirectoryError):  # also for a link
            raise Failed("archive_unsafe", f"{shown(entry)} goes through a link or a file of the archive") from None
        raise
    return place


def open_or_make(place, name, room):
    try:
        return os.open(name, FOLDER, dir_fd=place)
    except FileNotFoundError:
        room.take(0)
        os.mkdir(name, 0o755, dir_fd=place)
        return os.open(name, FOLDER, dir_fd=place)


def shown(entry):
    """Returns the name as text that can be sent: it may have any bytes."""
    return entry.name[:200].encode(errors="replace").decode()
