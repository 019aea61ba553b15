"""What a user answered, held against the app's `inputs` schema. Values are never repeated in a fault: one may be a secret."""

from typing import Any

import jsonschema_rs

from gpuaas_server.catalog.manifest_schema import shortened, validator
from gpuaas_server.catalog.yaml_text import spell
from gpuaas_server.kernel.errors import Problem

_MOST_FAULTS = 50


def check(schema: dict[str, Any], values: dict[str, Any]) -> None:
    """Raises `inputs_invalid` with every fault. The schema is a registered one, so it compiles."""
    judge = validator(schema, mask="the value")
    faults = [_fault(error) for _, error in zip(range(_MOST_FAULTS), judge.iter_errors(values), strict=False)]
    if faults:
        first = faults[0]
        raise Problem("inputs_invalid", f"{first['path'] or 'inputs'}: {first['message']}.", {"faults": faults})


def _fault(error: jsonschema_rs.ValidationError) -> dict[str, str]:
    unexpected = getattr(error.kind, "unexpected", None)
    if unexpected:
        message = f"There is no input {', '.join(name[:60] for name in unexpected[:5])}"
    else:
        message = shortened(error.message)
    return {"path": spell(tuple(error.instance_path)), "message": message}
