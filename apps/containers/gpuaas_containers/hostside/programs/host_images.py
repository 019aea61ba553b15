"""Pulls an image by its digest with a secret that is never on a disk or in a process list, and names it for the member."""

import base64
import contextlib
import fcntl
import json
import os
import re
import shutil

from host_commands import ENGINE, Failed, last_line, run, run_or_fail

# The engine says what went wrong in words only.
REASONS = (
    ("disk_full", r"no space left|disk quota exceeded"),
    ("image_digest_mismatch", r"digest did not match|does not match.*digest|digest.*does not match|mismatch"),
    ("image_denied", r"unauthorized|denied|authentication required|invalid username|status 40[13]|forbidden"),
)


def pull(request):
    """{"name", "digest", "reference", "registry", "username", "password", "tls", "trust", "seconds"}"""
    digest, reference = request["digest"], request["reference"]
    if find(digest, reference) is None:
        download(request)
    image = find(digest, reference)
    if image is None:
        raise Failed("image_digest_mismatch", f"the host has no image with the digest {digest} after the pull")
    run_or_fail([ENGINE, "tag", image["Id"], tag_of(request["name"], digest)], "image_pull_failed")
    return {"image_id": image["Id"]}


def tag_of(name, digest):
    return f"{name}:{digest.partition(':')[2][:32]}"


@contextlib.contextmanager
def images_locked():
    """Members of an instance work on one host at the same time. The engine fails to list images while another process
    removes one, and of two members with the same image each would leave it to the other. A folder that is always there is
    the lock, so that no file is left.
    """
    folder = os.open("/run", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def images():
    """The engine lists an image once for each of its names. Caller must hold the lock of the images."""
    found = run_or_fail([ENGINE, "images", "--all", "--format=json", "--no-trunc", "--digests"], "image_pull_failed")
    return list({one["Id"]: one for one in json.loads(found or "[]") or []}.values())


def find(digest, reference):
    """The image that the engine knows by this reference and whose manifest has this digest."""
    with images_locked():
        named = [one for one in images() if reference in (one.get("RepoDigests") or ())]
    return next((one for one in named if digest in digests_of(one)), None)


def digests_of(image):
    return {image.get("Digest")} | {one.rpartition("@")[2] for one in image.get("RepoDigests") or ()}


def download(request):
    """The secret is in memory, under a file descriptor of this process and the engine's."""
    secret = base64.b64encode(f"{request['username']}:{request['password']}".encode()).decode()
    auth = os.memfd_create("gpuaas-pull", 0)
    folder = trust_folder(request["name"])
    shutil.rmtree(folder, ignore_errors=True)  # of an attempt that was killed
    os.mkdir(folder, 0o700)
    try:
        os.write(auth, json.dumps({"auths": {request["registry"]: {"auth": secret}}}).encode())
        if request["trust"]:
            with open(os.path.join(folder, "platform.crt"), "w") as file:
                file.write("".join(request["trust"]))
        command = [ENGINE, "pull", "--quiet", f"--authfile=/proc/self/fd/{auth}", f"--cert-dir={folder}"]
        command += [f"--tls-verify={'true' if request['tls'] else 'false'}", request["reference"]]
        done = run(command, request["seconds"], pass_fds=[auth])
    finally:
        os.close(auth)
        shutil.rmtree(folder, ignore_errors=True)
    if done.returncode != 0:
        raise pull_failed(done.stderr, request["password"])


def trust_folder(name):
    """Where the registry's authorities are while an image is pulled; they are no secret."""
    return f"/run/gpuaas-pull-{name.rpartition('/')[2]}"


def pull_failed(said, password):
    text = said.replace(password, "")
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
        if run([ENGINE, "rmi", image["Id"]]).returncode == 0:
            removed.append(image["Id"])
    return removed
