"""Runs programs of the host and writes files. Texts of this folder are run by the host's own Python."""

import os
import subprocess

ENGINE = "/usr/bin/podman"
SECONDS = 60
REMOVAL_SECONDS = 600  # an image or a volume can have many gigabytes and files


class Failed(Exception):
    def __init__(self, code, message, lines=()):
        super().__init__(message)
        self.code, self.lines = code, list(lines)


def run(command, seconds=SECONDS, **more):
    """Runs a command and returns the ended process, whatever its status."""
    return subprocess.run(
        command,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        text=True,
        errors="replace",
        timeout=seconds,
        **more,
    )


def has_engine():
    return os.access(ENGINE, os.X_OK)


def run_or_fail(command, code, seconds=SECONDS):
    done = run(command, seconds)
    if done.returncode != 0:
        raise Failed(code, f"{' '.join(command[:3])}: {last_line(done.stderr or done.stdout)}")
    return done.stdout


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][-300:] if lines else "no message"


def write_file(path, content, mode):
    """Writes a file. Readers see old or new content, and nobody can read it before it has its mode: it may hold a secret.
    Returns whether anything changed.
    """
    try:
        with open(path, "rb") as file:
            if file.read() == content and os.fstat(file.fileno()).st_mode & 0o7777 == mode:
                return False
    except FileNotFoundError:
        pass
    temporary = f"{path}.new"
    remove_file(temporary)
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.chmod(temporary, mode)
    os.replace(temporary, path)
    return True


def remove_file(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        return False
    return True
