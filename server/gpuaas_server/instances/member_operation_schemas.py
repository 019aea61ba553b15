"""The wire type of a request for member operations."""

from typing import Annotated, Literal

from pydantic import Field

from gpuaas_server.instances.documents import Document
from gpuaas_server.instances.schemas import OPTIONS, ComponentKey, DeadlineSeconds
from gpuaas_server.kernel.http.schemas import Body, Reason, examples
from gpuaas_server.kernel.ids import AllocationId, MemberId
from gpuaas_server.operations.service import MemberKind


class ReplaceTarget(Body):
    member_id: MemberId = Field(description="The member to replace.")
    allocation_id: AllocationId = Field(description="The allocation of the new member.")


class MemberOperationCreate(Body):
    """A member operation of any kind, on one member or several.

    `add` takes `component_key` and `allocation_ids`; `replace` takes `replacements`; the others take `targets`.
    """

    model_config = examples(
        {"kind": "add", "component_key": "relay", "allocation_ids": ["alc_01jd2m8k4t7w9x3c5v6b1n2q0c"]},
        {"kind": "drain", "targets": ["mem_01jd2m8k4t7w9x3c5v6b1n2q0d"], "reason": "new firmware"},
        {
            "kind": "replace",
            "replacements": [
                {"member_id": "mem_01jd2m8k4t7w9x3c5v6b1n2q0d", "allocation_id": "alc_01jd2m8k4t7w9x3c5v6b1n2q0e"}
            ],
        },
    )
    kind: MemberKind
    component_key: ComponentKey | None = Field(default=None, description="For `add`: the component of the new members.")
    allocation_ids: Annotated[list[AllocationId], Field(max_length=256)] | None = Field(
        default=None, description="For `add`: one new member is added on each."
    )
    targets: Annotated[list[MemberId], Field(max_length=256)] | None = Field(
        default=None, description="For `drain`, `remove` and `recover`: the members."
    )
    replacements: Annotated[list[ReplaceTarget], Field(max_length=256)] | None = Field(
        default=None, description="For `replace`: each member, and the allocation of its replacement."
    )
    on_failure: Literal["continue", "stop"] = Field(
        default="continue",
        description="For several members. continue: work on all of them. stop: work on one after the other, and stop after"
        " the first failure.",
    )
    force: bool = Field(
        default=False,
        description="For `drain`, `remove` and `replace`: do it even if the app's `min` or `depends_on` forbids it. Needs a"
        " reason.",
    )
    options: Document = Field(default={}, description=OPTIONS)
    reason: Reason | None = None
    deadline_seconds: DeadlineSeconds | None = None
