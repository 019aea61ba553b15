"""Compares two contracts: what would make a correct client of the old one fail with the new one?

Something that the client uses was removed or demands more, or a response is not what the old contract promised.
The schema of the manifest and the codes of errors belong to the contract: manifests are sent, and clients match codes.
"""

from typing import Any

from gpuaas_server.schema_compatibility import Direction, Schema, SchemaComparison, resolve

Document = dict[str, Any]
Way = dict[str, frozenset[str]]  # to authenticate: scheme → scopes
_METHODS = ("get", "put", "post", "patch", "delete", "head", "options", "trace")
_PARAMETER_FORM = ("style", "explode", "allowReserved")


def breaking_changes(old: Document, new: Document) -> list[str]:
    comparison = _ContractComparison(old, new)
    found: list[str] = []
    for path, methods in old["paths"].items():
        for method in methods.keys() & set(_METHODS):
            name = f"{method.upper()} {path}"
            current = new["paths"].get(path, {})
            if method not in current:
                found.append(f"{name} was removed")
            else:
                found += comparison.operation_breaks(name, _operation(methods, method), _operation(current, method))
    return sorted(dict.fromkeys(found))


def manifest_breaks(old: Document, new: Document) -> list[str]:
    """List what the schema of the manifest would refuse of a manifest that the old one accepts."""
    return SchemaComparison(sender=old, receiver=new, direction="request").complaints(old, new, "manifest")


def error_code_breaks(old: Document, new: Document) -> list[str]:
    return [f"error code {code} was removed" for code in sorted(old.keys() - new.keys())]


def _operation(methods: Document, method: str) -> Document:
    """Return an operation with the parameters that its path gives to all methods."""
    parameters = [*methods.get("parameters", []), *methods[method].get("parameters", [])]
    return {**methods[method], "parameters": parameters}


class _ContractComparison:
    def __init__(self, old: Document, new: Document) -> None:
        self._old, self._new = old, new
        self._requests = SchemaComparison(sender=old, receiver=new, direction="request")
        self._responses = SchemaComparison(sender=new, receiver=old, direction="response")

    def operation_breaks(self, name: str, old: Document, new: Document) -> list[str]:
        return [
            *_name_breaks(name, old, new),
            *self._security_breaks(name, old, new),
            *self._parameter_breaks(name, old, new),
            *self._body_breaks(name, old, new),
            *self._response_breaks(name, old, new),
        ]

    def _security_breaks(self, name: str, old: Document, new: Document) -> list[str]:
        """List breaks: every way to authenticate that was enough must still be enough."""
        enough = _security(self._new, new)
        return [
            f"{name}: {_way_text(way)} is no longer enough"
            for way in _security(self._old, old)
            if not any(_is_enough(needed, way) for needed in enough)
        ]

    def _parameter_breaks(self, name: str, old: Document, new: Document) -> list[str]:
        before, after = _parameters(self._old, old), _parameters(self._new, new)
        found = [f"{name}: parameter {key} was removed" for key in before.keys() - after.keys()]
        for key, parameter in after.items():
            if parameter.get("required") and not before.get(key, {}).get("required"):
                kind = "is required now" if key in before else "is new and required"
                found.append(f"{name}: parameter {key} {kind}")
        for key in before.keys() & after.keys():
            where = f"{name}: parameter {key}"
            found += [
                f"{where}: {form} changed" for form in _PARAMETER_FORM if before[key].get(form) != after[key].get(form)
            ]
            found += self._requests.complaints(before[key].get("schema", {}), after[key].get("schema", {}), where)
            found += self._content_breaks("request", where, before[key], after[key])
        return found

    def _body_breaks(self, name: str, old: Document, new: Document) -> list[str]:
        if "requestBody" not in old:
            return [f"{name}: a body is required now"] if _body(self._new, new).get("required") else []
        if "requestBody" not in new:
            return [f"{name}: its body was removed"]
        before, after = _body(self._old, old), _body(self._new, new)
        needed = after.get("required") and not before.get("required")
        found = [f"{name}: a body is required now"] if needed else []
        return found + self._content_breaks("request", f"{name}: body", before, after)

    def _response_breaks(self, name: str, old: Document, new: Document) -> list[str]:
        before, after = old.get("responses", {}), new.get("responses", {})
        gone, added = before.keys() - after.keys(), after.keys() - before.keys()
        found = [f"{name}: response {status} was removed" for status in gone if _is_promised(status)]
        found += [f"{name}: response {status} is new" for status in added if _is_promised(status)]
        for status in before.keys() & after.keys():
            where = f"{name}: response {status}"
            responses = resolve(self._old, before[status]), resolve(self._new, after[status])
            found += self._header_breaks(where, *responses)
            found += self._content_breaks("response", where, *responses)
        return found

    def _header_breaks(self, where: str, old: Document, new: Document) -> list[str]:
        before, after = old.get("headers", {}), new.get("headers", {})
        found = [f"{where}: header {header} was removed" for header in before.keys() - after.keys()]
        for header in before.keys() & after.keys():
            place = f"{where}: header {header}"
            one, other = resolve(self._old, before[header]), resolve(self._new, after[header])
            if one.get("required") and not other.get("required"):
                found.append(f"{place}: it may be missing now")
            found += self._responses.complaints(other.get("schema", {}), one.get("schema", {}), place)
            found += self._content_breaks("response", place, one, other)
        return found

    def _content_breaks(self, direction: Direction, where: str, old: Document, new: Document) -> list[str]:
        before, after = old.get("content", {}), new.get("content", {})
        found = [f"{where}: {media} was removed" for media in before.keys() - after.keys()]
        for media in before.keys() & after.keys():
            schemas: list[Schema] = [one[media].get("schema", {}) for one in (before, after)]
            if direction == "request":
                found += self._requests.complaints(schemas[0], schemas[1], where)
            else:
                found += self._responses.complaints(schemas[1], schemas[0], where)
        return found


def _name_breaks(name: str, old: Document, new: Document) -> list[str]:
    found = []
    if old.get("operationId") != new.get("operationId"):
        found.append(f"{name}: operationId changed to {new.get('operationId')}")
    if "x-call" in old and old["x-call"] != new.get("x-call"):
        found.append(f"{name}: clients would call it {new.get('x-call')}")
    return found


def _security(document: Document, operation: Document) -> list[Way]:
    """Return the ways to authenticate, each as the schemes that it needs together, with their scopes."""
    ways = operation["security"] if "security" in operation else document.get("security", [])
    return [{scheme: frozenset(scopes) for scheme, scopes in way.items()} for way in ways] or [{}]


def _is_enough(needed: Way, given: Way) -> bool:
    return all(scheme in given and scopes <= given[scheme] for scheme, scopes in needed.items())


def _way_text(way: Way) -> str:
    schemes = (f"{scheme} ({', '.join(sorted(way[scheme]))})" if way[scheme] else scheme for scheme in sorted(way))
    return " and ".join(schemes) or "no credential"


def _parameters(document: Document, operation: Document) -> dict[str, Document]:
    """Return the parameters by place and name."""
    resolved = [resolve(document, parameter) for parameter in operation["parameters"]]
    return {f"{parameter['in']}/{parameter['name']}": parameter for parameter in resolved}


def _body(document: Document, operation: Document) -> Document:
    return resolve(document, operation.get("requestBody", {}))


def _is_promised(status: str) -> bool:
    """Tell whether a response is one that clients count on: a success or a redirect."""
    return status.startswith(("2", "3"))
