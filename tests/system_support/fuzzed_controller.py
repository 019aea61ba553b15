"""A controller for schemathesis: it always has work in hand, so that what it sends gets past the lease."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from schemathesis import Case

from gpuaas_sdk import Client, GpuaasError, NewAllocation, ServiceAccountCredentials
from system_support.fuzzing import PREY
from system_support.little_app import LittleApp
from system_support.world import World

# What only an app's controller may ask; everybody else is turned away before the server looks at more than the path.
ASKED_BY_CONTROLLERS = [
    "controller_work",
    "instance_health_report",
    "operation_claim",
    "operation_complete",
    "operation_fail",
    "operation_give_back",
    "operation_machine_access",
    "operation_report",
    "runtime_secret_create",
]


class FuzzedController:
    def __init__(self, world: World) -> None:
        self._admin = world.admin
        self._project = world.project_id
        # Others may have fuzzed the trust policy before: the little app is not signed.
        world.admin.trust.set_policy(world.tenant_id, require_signature=False, reason="the app is not signed")
        self.app = LittleApp.publish(world.admin, world.project_id)
        account = world.admin.service_accounts.create(
            self._project, "fuzzed", ["apps:control"], app_slugs=[self.app.slug]
        )
        assert account.key is not None
        credentials = ServiceAccountCredentials(account.id, account.key.secret or "")
        token = Client(world.server.url).sign_in(credentials)
        self.bearer = token.access_token
        self.app.controller = Client(world.server.url, token=token)
        [allocation] = world.admin.allocations.create(self._project, NewAllocation(sku="h100-slice", gpu_count=1))
        list(world.admin.allocations.follow(self._project, [allocation.id], 60.0))
        self._instance, deploy = self.app.launch(allocation.id)
        self.app.say_done(deploy)
        [self._member] = [one.id for one in world.admin.instances.members(self._project, self._instance)]
        self._operation = deploy
        self._lease = ""

    @contextmanager
    def at_work(self, case: Case[Any]) -> Iterator[None]:
        """With an operation that is free to be claimed, or claimed by us; the case is about it, most of the time."""
        self._ready(claimed=case.operation.definition.raw["operationId"] != "operation_claim")
        before = dict(PREY)
        PREY.update(operation_id=self._operation, instance_id=self._instance, member_id=self._member)
        try:
            yield
        finally:
            PREY.clear()
            PREY.update(before)

    def _ready(self, claimed: bool) -> None:
        operation = self._admin.operations.show(self._project, self._operation)
        if operation.live and not (operation.status == "pending" or (claimed and self._holds())):
            operation = self._admin.operations.force(self._project, self._operation, "claimed under a made-up name")
        if not operation.live:
            self._operation = self.app.ask(self._instance, "reconcile")
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

    def adapt(self, case: Case[Any]) -> None:
        """A well-formed lease becomes the real one, and well-formed members and generations those that are there."""
        body: Any = case.body
        if not isinstance(body, dict):
            return
        changed = dict(body)
        token = body.get("lease_token")
        if isinstance(token, str) and len(token) == len(self._lease) and token.startswith("lease_"):
            changed["lease_token"] = self._lease
        for group in ("members", "steps", "reasons"):
            if isinstance(body.get(group), list):
                changed[group] = [self._about_us(one) for one in body[group]]
        case.body = changed

    def _about_us(self, told: object) -> object:
        known = isinstance(told, dict) and str(told.get("member_id", "")).startswith("mem_")
        return {**told, "member_id": self._member} if known and isinstance(told, dict) else told
