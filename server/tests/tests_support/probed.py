"""A site whose members have probes: what its host says of them."""

from typing import Any, Self

from gpuaas_server.kernel.clock import utc_now
from tests_support.agents import Json
from tests_support.apps import AppSite


class ProbedSite(AppSite):
    """A site whose host answers for the probes that the platform has it run."""

    @classmethod
    def of(cls, site: AppSite) -> Self:
        return cls(**{name: getattr(site, name) for name in AppSite.__dataclass_fields__})

    async def probe_tasks(self) -> dict[str, Json]:
        """Take the tasks as the host's agent does: each is acknowledged. The newest of each member."""
        taken: dict[str, Json] = {}
        for task in await self.host.poll():
            assert (await self.host.report(task)).status_code == 200
            if task["kind"] == "probe":
                taken[task["resource_id"]] = task
        return taken

    async def say(self, task: Json, status: str, answer: str = "HTTP 200", **more: Any) -> Json:
        state = {"key": "answers", "status": status, "since": utc_now().isoformat(), "answer": answer}
        member = {"member_id": task["resource_id"], "generation": task["generation"], "probes": [state], **more}
        answered = await self.host.call("POST", "/probes", {"members": [member]})
        assert answered.status_code == 200, answered.text
        await self.settle(answering=False)
        found: Json = answered.json()
        return found

    async def completed(self, operation_id: str, **body: object) -> dict[str, Json]:
        await self.controller.carry_out(operation_id, **body)
        return await self.probe_tasks()

    async def probed(self) -> tuple[str, dict[str, Json]]:
        """A running instance, and the probe tasks of its nodes."""
        instance_id, operation_id = await self.created()
        tasks = await self.completed(operation_id)
        for task in tasks.values():
            await self.say(task, "passing")
        return instance_id, tasks
