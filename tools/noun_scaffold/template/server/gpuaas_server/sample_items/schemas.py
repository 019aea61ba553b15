"""Wire types of sample items."""

from datetime import datetime
from typing import Literal  # with states

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import AllowedActions, Body, Name, examples

SampleItemState = Literal["requested", "active", "ended"]  # with states


class SampleItemCreate(Body):
    model_config = examples({"name": "first"})
    name: Name = Field(description="Unique in the project.")


class SampleItem(BaseModel):
    id: str
    project_id: str
    name: str
    state: SampleItemState  # with states
    state_since: datetime  # with states
    created_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    allowed_actions: AllowedActions
