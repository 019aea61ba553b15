"""Puts Slurm's packages into one tar file with an index for apt. The same packages make the same bytes.

    gpuaas-slurm-bundle --host-status status --manifest slurm.yaml slurm.tar

Packages that hosts already have are left out: pass the dpkg status of a host without any app. Run it on the hosts' Debian
release; the packages come from this machine's apt sources, which check their signatures.
"""

import argparse
import hashlib
import io
import subprocess
import sys
import tarfile
import tempfile
from importlib.resources import files
from pathlib import Path

from gpuaas_slurm.packages import ACCOUNTING, CONTROLLER


def missing(host_status: Path) -> list[str]:
    """Returns the packages that apt would install on such a host, as NAME=VERSION."""
    options = ["-o", f"Dir::State::status={host_status}"]
    names = [*CONTROLLER, *ACCOUNTING]
    shown = _output(["apt-get", *options, "-s", "-q", "-y", "--no-install-recommends", "install", *names])
    planned = [line.split() for line in shown.splitlines() if line.startswith("Inst ")]
    replaced = [words[1] for words in planned if words[2].startswith("[")]
    if replaced:
        raise SystemExit(f"the host would have to replace {', '.join(replaced)}: update the host first")
    return sorted(f"{words[1]}={words[2].lstrip('(')}" for words in planned)


def build(host_status: Path, target: Path) -> str:
    """Writes the file and returns its digest."""
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f"{target.name}.new")  # what is at the target is whole, also after a kill
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # the account _apt writes here
        subprocess.run(["apt-get", "-q", "download", *missing(host_status)], cwd=folder, check=True, stdout=sys.stderr)
        packages = sorted(Path(folder).glob("*.deb"))
        index = "\n".join(_entry(one) for one in packages)
        with tarfile.open(new, "w", format=tarfile.PAX_FORMAT) as archive:
            _add(archive, "Packages", index.encode())
            for one in packages:
                _add(archive, one.name, one.read_bytes())
    new.replace(target)
    return f"sha256:{hashlib.sha256(target.read_bytes()).hexdigest()}"


def manifest(digest: str) -> str:
    """Returns the app's manifest with the digest of the artifact."""
    return files("gpuaas_slurm").joinpath("manifest.yaml").read_text().replace("{digest}", digest)


def _entry(package: Path) -> str:
    content = package.read_bytes()
    fields = _output(["dpkg-deb", "--field", str(package)]).rstrip("\n")
    digest = hashlib.sha256(content).hexdigest()
    return f"{fields}\nFilename: ./{package.name}\nSize: {len(content)}\nSHA256: {digest}\n"


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """Adds a file without owner and time, so that the bytes are reproducible."""
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o644
    archive.addfile(entry, io.BytesIO(content))


def _output(argv: list[str]) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{argv[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description="Build one artifact from Slurm's packages.")
    parser.add_argument(
        "--host-status", type=Path, required=True, help="The dpkg status file of a host without the packages."
    )
    parser.add_argument("--manifest", type=Path, help="Where to write the manifest with the artifact's digest.")
    parser.add_argument("target", type=Path)
    given = parser.parse_args()
    digest = build(given.host_status, given.target)
    if given.manifest is not None:
        given.manifest.write_text(manifest(digest))
    sys.stdout.write(f"{digest}\n")


if __name__ == "__main__":
    main()
