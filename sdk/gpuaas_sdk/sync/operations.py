# Derived from gpuaas_sdk/aio/operations.py by tools/sdk-client; change that file instead.
"""Operations and instances: follows an operation to its end, and requests operations by their name."""

from collections.abc import Iterator

from gpuaas_sdk.generated.models import InstanceStarted, Operation
from gpuaas_sdk.generated.sync import InstancesCalls, OperationsCalls
from gpuaas_sdk.sync.operation_watch import OperationWatch
from gpuaas_sdk.sync.transport import Request
from gpuaas_sdk.wire import Document, body_of, path_of


class Operations(OperationsCalls):
    def follow(self, project_id: str, operation_id: str, deadline: float) -> Iterator[Operation]:
        """Yields the operation now and after each change until it has ended. Raises after `deadline` seconds."""

        def read(wait: int, newer_than: int) -> Operation:
            return self.show(project_id, operation_id, wait=wait or None, newer_than=newer_than or None)

        return OperationWatch(operation_id, read).until(deadline)

    def rotation_after(self, project_id: str, operation: Operation) -> Operation | None:
        """Returns the rotation of shared secrets that the platform requested because this operation removed a member.

        It exists as soon as the operation has ended. Follow it too: until it ends, other operations may be refused.
        """
        for one in self.list(project_id, instance_id=operation.instance_id):
            if one.id <= operation.id:
                return None
            if one.parameters.get("rotate_secrets") is True:
                return one
        return None


class Instances(InstancesCalls):
    def operate(
        self,
        project_id: str,
        instance_id: str,
        verb: str,
        *,
        options: Document | None = None,
        reason: str | None = None,
        deadline_seconds: int | None = None,
    ) -> InstanceStarted:
        """Requests an operation on the whole instance by its kind, such as `stop`. For an upgrade use `upgrade`."""
        path = path_of("projects", project_id, "instances", instance_id, verb)
        body = body_of({}, {"options": options or None, "reason": reason, "deadline_seconds": deadline_seconds})
        return self._read(InstanceStarted, Request(method="POST", path=path, body=body))
