"""A controller for schemathesis: it always has work in hand, so that what it sends gets past the lease."""

import re
from typing import Any

from schemathesis import Case

from gpuaas_sdk import Client, GpuaasError, NewAllocation, ServiceAccountCredentials
from gpuaas_sdk.testing import Sandbox
from system_support import schemathesis_cases
from system_support.little_app import METERED, LittleApp
from system_support.policy_callers import public_key
from system_support.schemathesis_cases import well_formed

# What only an app's controller may ask; everybody else is turned away before the server looks at more than the path.
ASKED_BY_CONTROLLERS = [
    "app_usage_access",
    "app_usage_report",
    "controller_heartbeat",
    "controller_instance_list",
    "controller_work",
    "instance_health_report",
    "operation_claim",
    "operation_complete",
    "operation_fail",
    "operation_give_back",
    "operation_machine_access",
    "operation_report",
    "operation_secret_read",
    "runtime_secret_create",
]

_LEASE = re.compile("lease_[A-Za-z0-9_-]{43}")
SHORTEST_KEY = 40


class FuzzedController:
    def __init__(self, sandbox: Sandbox) -> None:
        self._admin = sandbox.admin
        self._project = sandbox.project_id
        self.app = LittleApp.publish(sandbox.admin, sandbox.project_id)
        account = sandbox.admin.service_accounts.create(
            self._project, "fuzzed", ["apps:control"], app_slugs=[self.app.slug]
        )
        assert account.key is not None
        credentials = ServiceAccountCredentials(account.id, account.key.secret or "")
        token = Client(sandbox.server.url).sign_in(credentials)
        self.bearer = token.access_token
        self.app.controller = Client(sandbox.server.url, token=token)
        [allocation] = sandbox.admin.allocations.create(self._project, NewAllocation(sku="h100-slice", gpu_count=1))
        list(sandbox.admin.allocations.follow(self._project, [allocation.id], 60.0))
        self._instance, deploy = self.app.launch(allocation.id)
        self.app.say_done(deploy)
        [self._member] = [one.id for one in sandbox.admin.instances.members(self._project, self._instance)]
        self._operation = deploy
        self._lease = ""

    def adapt(self, case: Case[Any]) -> None:
        """Something to work on, free to be claimed or claimed by us, and the case about it. What is wrong stays wrong."""
        schemathesis_cases.adapt(case)
        self._ready(claimed=case.operation.definition.raw["operationId"] != "operation_claim")
        ours = {"project_id": self._project, "operation_id": self._operation, "instance_id": self._instance}
        for name, value in dict(case.path_parameters or {}).items():
            if name in ours and well_formed(value):
                case.path_parameters[name] = ours[name]
        if isinstance(case.body, dict):
            case.body = self._about_us(case.body)

    def _ready(self, claimed: bool) -> None:
        operation = self._admin.operations.show(self._project, self._operation)
        if operation.live and not (operation.status == "pending" or (claimed and self._holds())):
            operation = self._admin.operations.force(self._project, self._operation, "claimed under a made-up name")
        if not operation.live:
            # The one verb that is open in a running instance whatever our made-up reports have closed.
            self._operation = self.app.ask(self._instance, "repair")
            self._lease = ""
        if claimed and not self._holds():
            self._lease = self.app.claim(self._operation)

    def _holds(self) -> bool:
        """Each report renews the lease, an empty one too."""
        if not self._lease:
            return False
        try:
            self.app.controller.controller.report(self._project, self._operation, self._lease)
        except GpuaasError:
            return False
        return True

    def _about_us(self, body: dict[str, Any]) -> dict[str, Any]:
        """A well-formed lease becomes the real one; so do keys, members and generations."""
        changed = dict(body)
        token, key, generation = body.get("lease_token"), body.get("public_key"), body.get("generation")
        if isinstance(token, str) and _LEASE.fullmatch(token):
            changed["lease_token"] = self._lease
        if isinstance(key, str) and len(key) > SHORTEST_KEY:
            changed["public_key"] = public_key()
        if isinstance(generation, int) and 1 <= generation <= 2**53:
            changed["generation"] = self._admin.instances.show(self._project, self._instance).generation
        for group in ("members", "steps", "reasons"):
            if isinstance(body.get(group), list):
                changed[group] = [self._of_member(one) for one in body[group]]
        if isinstance(body.get("records"), list):
            changed["records"] = [self._counted(one) for one in body["records"]]
        return changed

    def _counted(self, told: object) -> object:
        if isinstance(told, dict) and well_formed(told.get("project_id")):
            return {**told, "project_id": self._project, "metric": METERED["key"], "unit": METERED["unit"]}
        return told

    def _of_member(self, told: object) -> object:
        if isinstance(told, dict) and well_formed(told.get("member_id")):
            return {**told, "member_id": self._member}
        return told
