"""A user's values, checked against the schema of the app's `inputs` or `options`.

Values are never repeated in a fault: one may be a secret.
"""

from typing import Any

import jsonschema_rs

from gpuaas_server.catalog.manifest_schema import shortened, validator
from gpuaas_server.catalog.yaml_text import spell
from gpuaas_server.kernel.errors import Problem

_MOST_FAULTS = 50


def check_inputs(
    schema: dict[str, Any], values: dict[str, Any], code: str = "inputs_invalid", what: str = "input"
) -> None:
    """Raise the problem that names every fault. The schema is a registered one, so it compiles."""
    judge = validator(schema, mask="the value")
    faults = [_fault(error, what) for _, error in zip(range(_MOST_FAULTS), judge.iter_errors(values), strict=False)]
    if faults:
        first = faults[0]
        raise Problem(code, f"{first['path'] or f'{what}s'}: {first['message']}.", {"faults": faults})


def _fault(error: jsonschema_rs.ValidationError, what: str) -> dict[str, str]:
    unexpected = getattr(error.kind, "unexpected", None)
    if unexpected:
        message = f"There is no {what} {', '.join(name[:60] for name in unexpected[:5])}"
    else:
        message = shortened(error.message)
    return {"path": spell(tuple(error.instance_path)), "message": message}
