"""The record of what an instance has on a host. A thing is recorded before it is made, so that no crash leaves it unknown."""

import contextlib
import fcntl
import json
import os

from host_files import Failed, remove_path, remove_temporaries, write_file

RECORDS = "/var/lib/gpuaas-apps"


class Record:
    """Keeps what one instance has on this host, in the order in which it was made. One request at a time may change it."""

    def __init__(self, instance):
        self.path = os.path.join(RECORDS, f"{instance}.json")

    def __enter__(self):
        self.lock = lock_folder()
        try:
            with open(self.path) as file:
                content = json.load(file)
        except FileNotFoundError:
            content = {"things": [], "started": {}}
        self.things, self.started = [tuple(one) for one in content["things"]], content["started"]
        return self

    def __exit__(self, *ignored):
        os.close(self.lock)

    def add(self, kind, name):
        if (kind, name) not in self.things:
            self.things.append((kind, name))
            self.save()

    def names(self, kind):
        return [name for one, name in self.things if one == kind]

    def has_path(self, path):
        return any(path == one or path.startswith(f"{one}/") for one in self.names("path"))

    def save(self):
        write_file(self.path, json.dumps({"things": self.things, "started": self.started}).encode(), 0o600, (0, 0))

    def forget(self):
        remove_path(self.path)
        with contextlib.suppress(OSError):  # another instance may have a record here
            os.rmdir(RECORDS)


def lock_folder():
    """Lock the folder of records. The last holder of the lock may have removed the folder; then lock the new one."""
    while True:
        os.makedirs(RECORDS, mode=0o700, exist_ok=True)
        lock = os.open(RECORDS, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(RECORDS), os.fstat(lock)):
                return lock
        os.close(lock)


def claim_path(record, path):
    """Records the path, or its first missing folder. What was there before the instance is never replaced or removed."""
    if os.path.lexists(path) and not record.has_path(path):
        raise Failed("path_taken", f"{path} exists and was not installed by this instance")
    missing = path
    while not os.path.lexists(os.path.dirname(missing)):
        missing = os.path.dirname(missing)
    if not record.has_path(missing):
        record.add("path", missing)
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    remove_temporaries(path)
