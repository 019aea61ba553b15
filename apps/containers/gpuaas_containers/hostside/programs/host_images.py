"""Pulls an image by its digest with a secret that is never on a disk or in a process list, and names it for the member."""

import base64
import contextlib
import json
import os
import re
import shutil
import subprocess
import time

from host_commands import ENGINE, REMOVAL_SECONDS, SECONDS, Failed, last_line, remove_file, run, run_or_fail
from host_disks import STORAGE, refuse_filling, refuse_without_room, run_watched
from host_engine import LockTimeout, images_locked, lock_until
from host_signatures import verify

AUTHORITIES = "platform.crt"
# The engine says what went wrong in words only.
REASONS = (
    ("disk_full", r"no space left|disk quota exceeded"),
    ("image_digest_mismatch", r"digest did not match|does not match.*digest|digest.*does not match|mismatch"),
    ("image_denied", r"unauthorized|denied|authentication required|invalid username|status 40[13]|forbidden"),
    ("image_missing", r"manifest unknown|name unknown|blob unknown|status 404"),
)


def pull(request):
    """{"name", "digest", "reference", "registry", "username", "password", "tls", "trust", "size", "folder", "seconds",
    "signature_policy": None or {"required", "keys": [{"fingerprint", "algorithm", "public_key"}]}, "signature_file"}

    All of it together has `seconds`: the controller waits no longer. When the controller is killed, the pull goes on here; its
    next attempt waits for the end of it, and uses what it pulled.
    """
    seconds = int(request["seconds"])
    try:
        return pull_until(time.monotonic() + request["seconds"], request)
    except LockTimeout:
        message = f"an earlier pull for the container, or another program at the images, did not end in {seconds} s"
        raise Failed("container_start_timeout", message) from None
    except subprocess.TimeoutExpired:
        raise Failed("container_start_timeout", f"the image was not checked and pulled in {seconds} s") from None


def pull_until(deadline, request):
    digest, reference, tag = request["digest"], request["reference"], tag_of(request["name"], request["digest"])
    if not reference.endswith(
        f"@{digest}"
    ):  # the engine holds the bytes against the reference, and so we hold the reference
        raise Failed("image_digest_mismatch", f"{reference} is not an image with the digest {digest}")
    signature, there = verify(request, deadline), all_images(deadline)
    if find(there, digest, reference) is None:
        with pull_locked(request, deadline) as folder:
            if find(all_images(deadline), digest, reference) is None:
                download(request, folder, deadline)
    tagged = run([ENGINE, "tag", reference, tag])  # the engine finds this reference by its digest alone
    if tagged.returncode != 0:
        if find(all_images(deadline), digest, reference) is None:
            raise Failed("image_digest_mismatch", f"the host has no image with the digest {digest} after the pull")
        raise Failed("image_pull_failed", f"the image cannot be named: {last_line(tagged.stderr)}")
    own = [one for image in there for one in image.get("Names") or () if one.startswith(f"{request['name']}:")]
    return {"signature": signature, "has_earlier": bool(set(own) - {tag})}


def tag_of(name, digest):
    return f"{name}:{digest.partition(':')[2][:32]}"


def images(seconds=SECONDS):
    """Returns the images, which the engine lists once for each name. Caller must hold the images' lock."""
    command = [ENGINE, "images", "--all", "--format=json", "--no-trunc", "--digests"]
    found = run_or_fail(command, "image_pull_failed", seconds)
    return list({one["Id"]: one for one in json.loads(found or "[]") or []}.values())


def all_images(deadline):
    with images_locked(deadline - time.monotonic()):
        return images(min(SECONDS, max(deadline - time.monotonic(), 1)))


def find(there, digest, reference):
    """Returns the image that the engine knows by this reference and whose manifest has this digest."""
    named = [one for one in there if reference in (one.get("RepoDigests") or ())]
    return next((one for one in named if digest in digests_of(one)), None)


def digests_of(image):
    return {image.get("Digest")} | {one.rpartition("@")[2] for one in image.get("RepoDigests") or ()}


@contextlib.contextmanager
def pull_locked(request, deadline):
    """Waits until no other program pulls for the member. Gives a folder for the registry's authorities, which is gone at the
    end, as is that of the downloads. The folder is the lock as well, so that no file is left.
    """
    path = trust_folder(request["name"])
    folder = lock_folder(path, deadline)
    try:
        remove_file(os.path.join(path, AUTHORITIES))  # of a program that was killed
        yield path
    finally:
        if is_at(folder, path):  # a removal takes it away, and then another pull may have one of its own
            for made in (path, request["folder"]):
                shutil.rmtree(made, ignore_errors=True)
        os.close(folder)


def lock_folder(path, deadline):
    """Make the folder and lock it. The program that had the lock before has removed the folder; then lock a new one."""
    while True:
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)
        try:
            folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            lock_until(folder, deadline)
        except BaseException:
            os.close(folder)
            raise
        if is_at(folder, path):
            return folder
        os.close(folder)


def is_at(folder, path):
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(folder), os.stat(path))
    return False


def download(request, folder, deadline):
    """Downloads the image. The secret is in memory, under a file descriptor of this process and the engine's."""
    auth, downloads = os.memfd_create("gpuaas-pull", 0), request["folder"]
    try:
        shutil.rmtree(downloads, ignore_errors=True)  # of an attempt that was killed
        disks = (STORAGE, downloads)
        refuse_without_room(disks, request["size"])
        os.makedirs(downloads, 0o700)
        os.write(auth, json.dumps({"auths": credentials(request)}).encode())
        if request["trust"]:
            with open(os.path.join(folder, AUTHORITIES), "w") as file:
                file.write("".join(request["trust"]))
        command = [ENGINE, "pull", "--quiet", f"--authfile=/proc/self/fd/{auth}", f"--cert-dir={folder}"]
        command += [f"--tls-verify={'true' if request['tls'] else 'false'}", request["reference"]]
        environment = {**os.environ, "TMPDIR": downloads}
        left = deadline - time.monotonic()
        status, said = run_watched(command, left, lambda: refuse_filling(disks), pass_fds=[auth], env=environment)
    finally:
        os.close(auth)
    if status != 0:
        raise pull_failed(said, request["password"])


def credentials(request):
    """Returns the credentials of the pull. A public image is pulled without a user name."""
    if not request["username"]:
        return {}
    secret = base64.b64encode(f"{request['username']}:{request['password']}".encode()).decode()
    return {request["registry"]: {"auth": secret}}


def trust_folder(name):
    """Returns where the registry's authorities are while an image is pulled. They are no secret."""
    return f"/run/gpuaas-pull-{name.rpartition('/')[2]}"


def pull_failed(said, password):
    text = said.replace(password, "") if password else said
    code = next((code for code, pattern in REASONS if re.search(pattern, text, re.IGNORECASE)), "image_pull_failed")
    return Failed(code, f"the image cannot be pulled: {last_line(text)}")


def forget_images(request):
    """{"image", "keep"}: images of earlier versions go."""
    return {"removed": remove_images(request["image"], keep=request["keep"])}


def remove_images(name, keep=None, digests=()):
    """Take this member's names off its images. An image that no member needs is removed; one in use stays."""
    with images_locked():
        return remove_names(name, keep, digests)


def remove_names(name, keep, digests):
    """Caller must hold the lock of the images."""
    removed = []
    for image in images():
        names = image.get("Names") or []
        own = [one for one in names if one.startswith(f"{name}:")]
        if keep is not None and tag_of(name, keep) in own:
            continue
        if not own and not digests_of(image) & set(digests):
            continue
        others = [one for one in names if one not in own and "@" not in one]
        if own:
            run([ENGINE, "untag", image["Id"], *own])
        if others:  # another member's, or the tenant's own
            continue
        run([ENGINE, "untag", image["Id"]])  # an image with two names cannot be removed by its id
        if run([ENGINE, "rmi", image["Id"]], REMOVAL_SECONDS).returncode == 0:
            removed.append(image["Id"])
    return removed
