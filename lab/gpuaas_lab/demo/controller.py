"""Runs the app's controller as its team would: a separate process with an address, a service account and a secret."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab.demo import app
from gpuaas_lab.demo.context import DemoContext
from gpuaas_lab.demo.platform import bound_to_parent, stop
from gpuaas_lab.errors import LabError

STOP_SECONDS = 10.0
ACCOUNT = f"{app.SLUG}-controller"


@dataclass(frozen=True)
class RunningController:
    process: "subprocess.Popen[bytes]"
    log_file: Path

    def require(self) -> None:
        if self.process.poll() is not None:
            raise LabError(f"the controller has ended; the end of its log: {self.log_file.read_text()[-600:]}")


@contextmanager
def running_controller(context: DemoContext) -> Iterator[RunningController]:
    made = context.customer.service_accounts.create(context.project_id, ACCOUNT, ["apps:control"], app_slugs=[app.SLUG])
    folder = context.platform.log_file.parent
    secret_file, log_file = folder / f"{ACCOUNT}.secret", folder / f"{ACCOUNT}.log"
    # A file that only its owner can read passes the secret; the environment and the process list do not show it.
    with open(os.open(secret_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write("" if made.key is None else made.key.secret or "")
    environment = {
        **os.environ,
        "GPUAAS_URL": context.platform.url,
        "GPUAAS_PROJECT": context.project_id,
        "GPUAAS_CLIENT_ID": made.id,
        "GPUAAS_CLIENT_SECRET_FILE": str(secret_file),
    }
    with log_file.open("ab") as log:
        process = subprocess.Popen(
            [app.program(f"gpuaas-{app.SLUG}")],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=bound_to_parent(),
        )
    try:
        yield RunningController(process, log_file)
    finally:
        stop(process, STOP_SECONDS)
        secret_file.unlink(missing_ok=True)
