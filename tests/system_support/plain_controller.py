"""A controller for the command's stories: an ordinary program of the SDK that takes work and says that it is done."""

import threading
from collections.abc import Callable, Mapping

from gpuaas_sdk import ClaimedOperation, Client, GpuaasError, ServiceAccountCredentials

Failure = Mapping[str, object]
LOST_DISK: Failure = {
    "code": "bootstrap_failed",
    "message": "The data disk does not mount.",
    "next_step": "Recover the member, or replace it.",
    "retryable": True,
}


class Controller:
    """Runs in a thread. `judge` says which operations fail; without a word, all succeed."""

    def __init__(self, url: str, project_id: str, account_id: str, secret: str) -> None:
        self._client = Client(url, credentials=ServiceAccountCredentials(account_id, secret))
        self._project = project_id
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.judge: Callable[[ClaimedOperation], Failure | None] = lambda claimed: None
        self.faults: list[GpuaasError] = []

    def __enter__(self) -> "Controller":
        self._client.controller.poll(self._project)  # from now on it is there, and its app may be launched
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join(30)
        self._client.close()

    def _run(self) -> None:
        while not self._ending.is_set():
            for item in self._client.controller.poll(self._project, wait=1):
                try:
                    self._work(self._client.controller.claim(self._project, item.id, "the-one"))
                except GpuaasError as fault:
                    self.faults.append(fault)

    def _work(self, claimed: ClaimedOperation) -> None:
        place = (self._project, claimed.operation.id, claimed.lease_token)
        control = self._client.controller
        control.report(*place, steps=[{"name": "prepare", "status": "running"}], progress={"percent": 10})
        failure = self.judge(claimed)
        steps = [{"name": "prepare", "status": "failed" if failure else "succeeded", "message": "as told"}]
        if failure is not None:
            control.fail(*place, failure, steps=steps)
            return
        control.complete(*place, steps=steps, runtime={"version": "1.0"}, access_bundle={"commands": ["nc HOST 7007"]})
