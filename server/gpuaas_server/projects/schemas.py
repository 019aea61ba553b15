"""Wire types of tenants and projects."""

from datetime import datetime

from pydantic import BaseModel

from gpuaas_server.kernel.http.schemas import Body, Name, Slug


class TenantCreate(Body):
    slug: Slug
    name: Name


class TenantUpdate(Body):
    name: Name | None = None
    disabled: bool | None = None


class Tenant(BaseModel):
    id: str
    slug: str
    name: str
    disabled: bool
    created_at: datetime
    generation: int
    allowed_actions: list[str]


class ProjectCreate(Body):
    slug: Slug
    name: Name


class ProjectUpdate(Body):
    name: Name | None = None
    disabled: bool | None = None


class Project(BaseModel):
    id: str
    tenant_id: str
    slug: str
    name: str
    disabled: bool
    created_at: datetime
    generation: int
    allowed_actions: list[str]
