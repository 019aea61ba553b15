"""Downloads a published artifact to the host: as a file, or unpacked into a folder. The digest is checked before it is used."""

import base64
import contextlib
import errno
import hashlib
import os
import shutil
import ssl
import tarfile
import urllib.error
import urllib.request

from host_files import CHUNK, Failed, ids_of, is_same_file, move_in, remove_path, temporary_beside
from host_record import claim_path

SECONDS = 60.0
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


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are followed by `open_source`, so that a bucket gets no secret and is checked as the host checks others."""

    def redirect_request(self, *arguments):
        return None


def download(request, target):
    """Tries the platform's addresses one after the other. The bytes count only with the right digest."""
    pull, problem = request["pull"], "it has no address"
    for origin in pull["origins"]:
        try:
            seen = save(origin.rstrip("/") + pull["url"], pull, target)
        except urllib.error.HTTPError as error:
            raise Failed("artifact_refused", f"the answer for the artifact was {error.code}") from None
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
            problem = f"{origin}: {getattr(error, 'reason', None) or type(error).__name__}"
            continue
        if seen != request["digest"]:
            raise Failed("digest_mismatch", f"the downloaded bytes do not have the digest {request['digest']}")
        return
    raise Failed("artifact_unreachable", f"the host cannot reach the platform for the artifact: {problem}")


def save(url, pull, target):
    seen, flags = hashlib.sha256(), os.O_WRONLY | os.O_CREAT | os.O_EXCL
    remove_path(target)
    with open_source(url, pull) as source, os.fdopen(os.open(target, flags, 0o600), "wb") as file:
        while chunk := source.read(CHUNK):
            seen.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    return f"sha256:{seen.hexdigest()}"


def open_source(url, pull):
    """Asks the platform with the secret, trusting its own authority alone; then the bucket that it names, if it does."""
    secret = base64.b64encode(f"{pull['username']}:{pull['password']}".encode()).decode()
    try:
        return open_url(url, {"Authorization": f"Basic {secret}"}, "".join(pull["trust"]))
    except urllib.error.HTTPError as error:
        bucket = error.headers.get("Location", "") if error.code in (302, 307) else ""
        if not bucket.startswith(("http://", "https://")):
            raise
        return open_url(bucket, {}, "")


def open_url(url, headers, authorities):
    handlers = [NoRedirect(), urllib.request.ProxyHandler({})]
    if url.startswith("https:"):
        context = ssl.create_default_context(cadata=authorities or None)  # none named: those of the host
        handlers.append(urllib.request.HTTPSHandler(context=context))
    asked = urllib.request.Request(url, headers=headers)  # noqa: S310 - it begins with http
    return urllib.request.build_opener(*handlers).open(asked, timeout=SECONDS)
