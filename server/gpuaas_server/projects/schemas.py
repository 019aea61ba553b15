"""Wire types of tenants and projects."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import AllowedActions, Body, Generation, Name, Slug
from gpuaas_server.kernel.wipe_grades import AskedWipeGrade, WipeGrade

DeleteAfter = Annotated[
    datetime | None,
    Field(
        description="Null unless deletion was requested. It can be undone until then; afterwards everything in it is removed."
    ),
]


class TenantCreate(Body):
    slug: Slug = Field(description="Unique on the platform. It does not change; it can be reused after a deletion.")
    name: Name


class TenantUpdate(Body):
    name: Name | None = None
    disabled: bool | None = Field(
        default=None, description="True: people can read, and end what runs, but change nothing else."
    )
    wipe_grade: AskedWipeGrade | None = Field(
        default=None, description="Lowest grade for wipes of whole hosts, even if the SKU requires less."
    )


class Tenant(BaseModel):
    id: str
    slug: str
    name: str
    disabled: bool
    delete_after: DeleteAfter
    wipe_grade: WipeGrade = Field(
        description="Lowest grade for wipes of whole hosts. The higher of this and the SKU's applies."
    )
    created_at: datetime
    generation: Generation
    allowed_actions: AllowedActions


class ProjectCreate(Body):
    slug: Slug = Field(description="Unique in the tenant. It does not change; it can be reused after a deletion.")
    name: Name


class ProjectUpdate(Body):
    name: Name | None = None
    disabled: bool | None = Field(
        default=None, description="True: people can read, and end what runs, but change nothing else."
    )


class Project(BaseModel):
    id: str
    tenant_id: str
    slug: str
    name: str
    disabled: bool
    delete_after: DeleteAfter
    platform: bool = Field(
        default=False, description="Whether this is the platform's own project, which publishes its apps."
    )
    created_at: datetime
    generation: Generation
    allowed_actions: AllowedActions
