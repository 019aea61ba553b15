"""Maps the contract's types to Python types, and selects the schemas that become classes."""

from gpuaas_sdk_gen.contract import Call, Contract, Operation, Schema, reference

# A create request with more fields than this is passed as one object; with fewer, its fields are arguments.
MAX_ARGUMENTS = 4
PRIMITIVES = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def python_type(schema: Schema, *, sent: bool) -> str:
    """`sent` means that the caller writes the value: it may be any sequence, and a mapping instead of an object."""
    choices = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if choices:
        union = " | ".join(python_type(one, sent=sent) for one in choices)
        return union + (" | None" if len(choices) < len(schema["anyOf"]) else "")
    name = reference(schema)
    if name is not None:
        return class_name(name)
    kind = schema.get("type")
    if kind == "array":
        return f"{'Sequence' if sent else 'list'}[{python_type(schema['items'], sent=sent)}]"
    if kind == "object":
        values = schema.get("additionalProperties", True)
        return f"Mapping[str, {python_type(values, sent=sent) if isinstance(values, dict) and values else 'object'}]"
    if schema.get("format") == "date-time":
        return "datetime"
    return PRIMITIVES.get(str(kind), "object")


def argument_type(schema: Schema) -> str:
    """The type of an argument that becomes a field of a body. An object may be given as a mapping."""
    argument = python_type(schema, sent=True)
    for name in sorted(_references(schema)):
        argument = argument.replace(class_name(name), f"{class_name(name)} | Mapping[str, object]")
    return argument


def class_name(schema_name: str) -> str:
    return f"New{schema_name.removesuffix('Create')}" if schema_name.endswith("Create") else schema_name


def takes_object(contract: Contract, call: Call) -> bool:
    body = call.first.body
    return body is not None and body.endswith("Create") and len(contract.schemas[body]["properties"]) > MAX_ARGUMENTS


def item_of(contract: Contract, operation: Operation) -> str | None:
    """The name of the item schema when the answer is a list."""
    if operation.answer is None:
        return None
    properties = contract.schemas[operation.answer]["properties"]
    if operation.paged or set(properties) == {"items"}:
        return reference(properties["items"]["items"])
    return None


def answered_schemas(contract: Contract, groups: dict[str, list[Call]]) -> set[str]:
    """The schemas of all answers, with those nested in them."""
    roots = {item_of(contract, one) or one.answer for one in _operations(groups)} - {None}
    return _closure(contract, {root for root in roots if root is not None})


def requested_schemas(contract: Contract, groups: dict[str, list[Call]]) -> set[str]:
    """The schemas that callers build: bodies that are one object, and objects nested in bodies."""
    roots: set[str] = set()
    for call in (call for calls in groups.values() for call in calls):
        for body in {one.body for one in call.operations} - {None}:
            whole = takes_object(contract, call)
            roots |= {str(body)} if whole else _references(contract.schemas[str(body)])
    return _closure(contract, roots)


def _operations(groups: dict[str, list[Call]]) -> list[Operation]:
    return [one for calls in groups.values() for call in calls for one in call.operations]


def _closure(contract: Contract, roots: set[str]) -> set[str]:
    found: set[str] = set()
    while roots:
        name = roots.pop()
        found.add(name)
        roots |= _references(contract.schemas[name]) - found
    return found


def _references(schema: Schema) -> set[str]:
    found: set[str] = set()
    for key, value in schema.items():
        if key == "$ref":
            found.add(str(value).rpartition("/")[2])
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                found |= _references(inner)
    return found
