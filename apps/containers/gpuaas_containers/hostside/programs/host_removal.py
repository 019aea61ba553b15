"""Removes everything of a member from its host: by names that follow from the member, so that no record is needed."""

import contextlib
import os
import shutil

from host_commands import ENGINE, REMOVAL_SECONDS, Failed, has_engine, remove_file, run, run_or_fail
from host_images import remove_images, trust_folder
from host_secrets import remove_secrets
from host_units import stop


def remove(request):
    """{"name", "unit", "unit_paths", "meter", "folder", "image", "digests", "secrets", "counts", "seconds"}: returns what
    was there.
    """
    stop(request)
    run(["systemctl", "stop", f"{request['meter']}.timer", f"{request['meter']}.service"])
    removed = remove_from_engine(request) if has_engine() else []  # without an engine, nothing could have been made
    gone = [remove_file(path) for path in request["unit_paths"]]
    if any(gone):
        run(["systemctl", "daemon-reload"])
        removed.append(f"unit {request['unit']}")
    for path in (*request["unit_paths"], request["counts"]):
        remove_file(f"{path}.new")
    remove_file(request["counts"])
    with contextlib.suppress(OSError):  # of other members or instances, or nobody's
        os.removedirs(os.path.dirname(request["counts"]))
    shutil.rmtree(trust_folder(request["image"]), ignore_errors=True)
    if os.path.isdir(request["folder"]):
        shutil.rmtree(request["folder"])
        removed.append(request["folder"])
    with contextlib.suppress(OSError):  # another member has a folder there, or nobody had one
        os.rmdir(os.path.dirname(request["folder"]))
    return {"removed": removed}


def remove_shared(request):
    """{"name"}: removes what several members had together; none of them is on the host any more."""
    return {"removed": remove_named(request["name"]) if has_engine() else []}


def remove_from_engine(request):
    images = remove_images(request["image"], digests=request["digests"])
    secrets = remove_secrets(request["secrets"])
    return remove_named(request["name"]) + secrets + [f"image {one[:12]}" for one in images]


def remove_named(name):
    """Remove the network of this name and the volumes whose names begin with it and a dot."""
    removed = []
    for volume in listed("volume", "{{.Name}}"):
        if volume.startswith(f"{name}."):
            remove_or_fail(["volume", "rm", "--force", volume], f"volume {volume}", removed)
    if name in listed("network", "{{.Name}}"):
        remove_or_fail(["network", "rm", "--force", name], f"network {name}", removed)
    return removed


def listed(kind, form):
    return run_or_fail([ENGINE, kind, "ls", f"--format={form}"], "removal_failed").split()


def remove_or_fail(words, what, removed):
    done = run([ENGINE, *words], REMOVAL_SECONDS)
    if done.returncode != 0:
        raise Failed("removal_failed", f"{what} cannot be removed: {done.stderr.strip()[-200:]}")
    removed.append(what)
