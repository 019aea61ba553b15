"""The base of request bodies: unknown fields and wrong types are refused, never guessed."""

import re
from datetime import date
from typing import Annotated, Literal

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator
from pydantic.config import JsonDict


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _whole_numbers(cls, data: object) -> object:
        """Accept 8.0 as the integer 8: JSON has one kind of number, as JSON Schema says too."""
        return {name: _whole(value) for name, value in data.items()} if isinstance(data, dict) else data


def _whole(value: object) -> object:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return [_whole(item) for item in value] if isinstance(value, list) else value


# Printable text of a person: no control characters, no surrounding blanks. \x85 (next line) is named, because it is a blank
# to our regular expressions but not to those of every reader of the contract.
ONE_LINE = r"^[^\s\x00-\x1f\x7f\x85]([^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f\x85])?$"
# The same of several lines, which may be empty.
LINES = r"^[^\x00-\x08\x0b-\x1f\x7f]*$"
Name = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=ONE_LINE)]
Slug = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9-]{1,38}[a-z0-9]$")]
Reason = Annotated[
    str,
    StringConstraints(min_length=3, max_length=500, pattern=LINES),
    Field(description="The reason, for the audit trail."),
]


def _spelled_out(value: object) -> object:
    """Refuse a bare number: it would be taken for seconds since 1970, which the contract does not say."""
    if isinstance(value, int | float) or (isinstance(value, str) and not re.match(r"\d{4}-\d{2}-\d{2}", value)):
        raise ValueError("a date begins like 2026-01-31")
    return value


# JSON has no time type: the one place where a string is read as something else. A time without a zone is refused.
Moment = Annotated[AwareDatetime, Field(strict=False), BeforeValidator(_spelled_out)]
Day = Annotated[date, Field(strict=False), BeforeValidator(_spelled_out)]

# What recurs in answers says the same everywhere.
HealthStatus = Literal["unknown", "progressing", "healthy", "degraded", "unhealthy"]
Generation = Annotated[
    int,
    Field(description="Grows with every change. In quotes, it is the value for `If-Match`."),
]
CorrelationId = Annotated[
    str,
    Field(
        description="Shared by everything that one request caused: audit records, events, operations, host tasks and logs."
    ),
]
AllowedActions = Annotated[
    list[str], Field(description="Names of the actions that your roles and the state of the resource allow now.")
]


def examples(*bodies: JsonDict) -> ConfigDict:
    """Return examples for `model_config`: bodies as people write them. The contract shows them; a test checks them."""
    return ConfigDict(json_schema_extra={"examples": [*bodies]})
