"""Wire types of tenants and projects."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import AllowedActions, Body, Generation, Name, Slug
from gpuaas_server.kernel.wipe_grades import AskedWipeGrade, WipeGrade

DeleteAfter = Annotated[
    datetime | None,
    Field(description="Its deletion was asked for: until then it can be undone, then everything in it is removed."),
]


class TenantCreate(Body):
    slug: Slug = Field(description="Unique on the platform. It does not change; after a deletion it can be used again.")
    name: Name


class TenantUpdate(Body):
    name: Name | None = None
    disabled: bool | None = Field(
        default=None, description="True: its people may read and end what runs, and change nothing else."
    )
    wipe_grade: AskedWipeGrade | None = Field(
        default=None, description="The least that the wipe of its whole hosts has to reach, whatever the SKU asks for."
    )


class Tenant(BaseModel):
    id: str
    slug: str
    name: str
    disabled: bool
    delete_after: DeleteAfter
    wipe_grade: WipeGrade = Field(
        description="The least that the wipe of its whole hosts has to reach; the higher of this and the SKU's counts."
    )
    created_at: datetime
    generation: Generation
    allowed_actions: AllowedActions


class ProjectCreate(Body):
    slug: Slug = Field(description="Unique in the tenant. It does not change; after a deletion it can be used again.")
    name: Name


class ProjectUpdate(Body):
    name: Name | None = None
    disabled: bool | None = Field(
        default=None, description="True: its people may read and end what runs, and change nothing else."
    )


class Project(BaseModel):
    id: str
    tenant_id: str
    slug: str
    name: str
    disabled: bool
    delete_after: DeleteAfter
    created_at: datetime
    generation: Generation
    allowed_actions: AllowedActions
