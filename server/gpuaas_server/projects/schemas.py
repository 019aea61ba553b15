"""Wire types of tenants and projects."""

from datetime import datetime

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import AllowedActions, Body, Generation, Name, Slug


class TenantCreate(Body):
    slug: Slug = Field(description="Unique on the platform, and for good.")
    name: Name


class TenantUpdate(Body):
    name: Name | None = None
    disabled: bool | None = Field(
        default=None, description="True: its people may read and end what runs, and change nothing else."
    )


class Tenant(BaseModel):
    id: str
    slug: str
    name: str
    disabled: bool
    created_at: datetime
    generation: Generation
    allowed_actions: AllowedActions


class ProjectCreate(Body):
    slug: Slug = Field(description="Unique in the tenant, and for good.")
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
    created_at: datetime
    generation: Generation
    allowed_actions: AllowedActions
