"""Runtime profiles that people complete at launch (`from_inputs`): their own image, command, ports and variables. Pure.

An instance keeps the completed manifest. So the compatibility check, the pull, the teardown and
the controller all see the image that runs.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gpuaas_server.catalog.footprints import answers_at
from gpuaas_server.catalog.manifest_document import ManifestDocument
from gpuaas_server.catalog.profile_rules import FROM_INPUTS, PLACE, is_reserved_variable
from gpuaas_server.kernel.errors import Problem

MOST_WORDS, MOST_VARIABLES, MOST_TEXT = 128, 64, 4096
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")

Json = dict[str, Any]
Fault = tuple[str, str]


def chosen_image(manifest: ManifestDocument, inputs: Json) -> str | None:
    """Return the digest of the image that a person chose; None if it is the version's own."""
    found = _answers(manifest, inputs).get("image")
    return found if isinstance(found, str) else None


def check_profile_inputs(manifest: ManifestDocument, inputs: Json) -> None:
    """Refuse what cannot be part of a runtime profile. The inputs have passed the app's own schema; no value is repeated."""
    if not _places(manifest):
        return
    faults = [
        {"path": _places(manifest)[field].lstrip("/"), "message": message}
        for field, message in _faults(manifest, _answers(manifest, inputs))
    ]
    if faults:
        first = faults[0]
        raise Problem("inputs_invalid", f"{first['path']}: {first['message']}.", {"faults": faults[:50]})


def completed(manifest: ManifestDocument, inputs: Json) -> ManifestDocument:
    """Return the manifest with the answers in its runtime profile; a manifest that asks for none is returned as it is."""
    if not _places(manifest):
        return manifest
    answers = _answers(manifest, inputs)
    profile = {name: value for name, value in manifest[PLACE].items() if name != FROM_INPUTS}
    made: ManifestDocument = {**manifest, PLACE: profile}
    if "image" in answers:
        profile["image"] = answers["image"]
        made["artifact"] = {**manifest["artifact"], "digest": answers["image"]}
    for field in ("command", "args"):
        if answers.get(field):
            profile[field] = answers[field]
    if answers.get("env"):
        profile["env"] = {**profile.get("env", {}), **answers["env"]}
    return _with_ports(made, answers["ports"]) if "ports" in answers else made


def _with_ports(manifest: ManifestDocument, wanted: list[int]) -> ManifestDocument:
    """Map the profile's host ports to these container ports, in order. Host ports that are left over are not offered."""
    offered = manifest[PLACE].get("ports", [])
    used = [{**port, "container_port": number} for port, number in zip(offered, wanted, strict=False)]
    closed = {port["host_port"] for port in offered[len(used) :]}
    made: ManifestDocument = {**manifest, PLACE: {**manifest[PLACE], "ports": used}}
    if "probes" in manifest:
        made["probes"] = [one for one in manifest["probes"] if one.get("port") not in closed]
    if "endpoints" in manifest.get("ui", {}):
        shown = [one for one in manifest["ui"]["endpoints"] if one.get("port") not in closed]
        made["ui"] = {**manifest["ui"], "endpoints": shown}
    return made


def _places(manifest: ManifestDocument) -> Mapping[str, str]:
    places: Mapping[str, str] = manifest.get(PLACE, {}).get(FROM_INPUTS, {})
    return places


def _answers(manifest: ManifestDocument, inputs: Json) -> Json:
    """Return what was answered, or has a default, by the field of the profile that it is for."""
    found = {field: answers_at(manifest, inputs, place) for field, place in _places(manifest).items()}
    return {field: values[0] for field, values in found.items() if values}


def _faults(manifest: ManifestDocument, answers: Json) -> Iterator[Fault]:
    image = answers.get("image")
    if image is not None and (not isinstance(image, str) or _DIGEST.fullmatch(image) is None):
        yield "image", "This is not the digest of an image (sha256:…)"
    for field in ("command", "args"):
        words = answers.get(field, [])
        if not isinstance(words, list) or len(words) > MOST_WORDS or not all(map(_is_line, words)):
            yield field, f"This is not a list of at most {MOST_WORDS} lines of text"
    yield from _variable_faults(answers.get("env", {}))
    yield from _port_faults(answers.get("ports", []), len(manifest[PLACE].get("ports", [])))


def _variable_faults(variables: object) -> Iterator[Fault]:
    if not isinstance(variables, dict) or len(variables) > MOST_VARIABLES:
        yield "env", f"These are not at most {MOST_VARIABLES} variables"
        return
    if any(_VARIABLE.fullmatch(name) is None or is_reserved_variable(name) for name in variables):
        yield "env", "A variable has an invalid name, or one that the platform sets"
    if not all(map(_is_line, variables.values())):
        yield "env", "A variable's value is not one line of text"


def _port_faults(ports: object, offered: int) -> Iterator[Fault]:
    if not isinstance(ports, list) or any(type(one) is not int or not 1 <= one <= 65535 for one in ports):
        yield "ports", "These are not ports"
    elif len(ports) > offered or len(set(ports)) < len(ports):
        yield "ports", f"At most {offered} different ports can be named"


def _is_line(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MOST_TEXT and not set(value) & {"\n", "\r", "\0"}
