"""The real cosign, with a home of its own."""

import asyncio
import os
import subprocess
from pathlib import Path

from tests_support.parts import part


async def cosign(directory: Path, *arguments: str, ca_file: Path | None = None) -> str:
    """Run cosign in the directory, which also has its login. It trusts the authority in the file, if there is one."""
    environment = {**os.environ, "COSIGN_PASSWORD": "", "HOME": str(directory), "DOCKER_CONFIG": str(directory)}
    if ca_file is not None:
        environment["SSL_CERT_FILE"] = str(ca_file)
    done = await asyncio.to_thread(
        subprocess.run,
        [part("cosign"), *arguments],
        env=environment,
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)
