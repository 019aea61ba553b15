"""Files and commands of a host. Texts of this folder are run by the host's own Python, with its standard library alone."""

import contextlib
import hashlib
import os
import pwd
import shutil
import subprocess

CHUNK = 1 << 20


class Failed(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def is_same_file(path, digest, mode, owner):
    try:
        found = os.lstat(path)
        if os.path.islink(path) or (found.st_mode & 0o7777, found.st_uid, found.st_gid) != (mode, *owner):
            return False
        return file_digest(path) == digest
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return False


def file_digest(path):
    seen = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK):
            seen.update(chunk)
    return seen.hexdigest()


def temporary_beside(path):
    """Returns a path's temporary name, always the same, so that the next attempt replaces what a crash left."""
    name = hashlib.sha256(path.encode()).hexdigest()[:12]
    return os.path.join(os.path.dirname(path), f".gpuaas-{name}")


def remove_temporaries(path):
    """Removes what a crash left beside the path."""
    for one in (path, f"{path}.folder"):
        remove_path(temporary_beside(one))


def write_file(path, content, mode, owner):
    """Writes a file. Nobody else can read it before it has its mode: the content may be a secret."""
    temporary = temporary_beside(path)
    remove_path(temporary)
    try:
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        move_in(temporary, path, mode, owner)
    except BaseException:
        remove_path(temporary)
        raise


def move_in(temporary, path, mode, owner):
    os.chown(temporary, *owner)
    os.chmod(temporary, mode)
    os.replace(temporary, path)


def remove_path(path):
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


def refuse_mounts(path):
    with open("/proc/self/mounts") as file:
        places = [line.split(" ")[1].replace("\\040", " ") for line in file]
    inside = [one for one in places if one == path or one.startswith(f"{path}/")]
    if inside:
        raise Failed("path_mounted", f"{inside[0]} is mounted: unmount it first")


def ids_of(owner):
    try:
        found = pwd.getpwnam(owner)
        return found.pw_uid, found.pw_gid
    except KeyError:
        raise Failed("user_missing", f"there is no user {owner}") from None


def run(command, code):
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Failed(code, f"{' '.join(command[:2])}: {(done.stderr or done.stdout).strip()[-240:]}")


def output(command):
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout
