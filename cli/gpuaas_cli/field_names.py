"""Translates the server's field names into the command's options, so that messages name what a person typed."""

import re
from collections.abc import Mapping

from typer.core import TyperArgument, TyperCommand, TyperOption

# Fields whose option has another name. All other options have the name of their field.
_SET_BY = {
    "actor_id": "--actor",
    "allocation_ids": "ALLOCATION",
    "component_key": "--component",
    "correlation_id": "--correlation",
    "expires_in_seconds": "--minutes",
    "gpu_count": "--gpus",
    "gpu_counts": "--gpus",
    "gpu_limit": "LIMIT",
    "max_uses": "--uses",
    "first_day": "--from",
    "last_day": "--to",
    "placement_intent": "--place",
    "price_per_gpu_hour_minor": "--price",
    "resource_id": "--resource",
    "scopes": "--scope",
    "served_projects": "--serve",
    "ssh_key_ids": "--ssh-key",
    "targets": "MEMBER",
}
_PLACE = re.compile(r"\b(?:body|query|path)\.([a-z_]+)((?:\.\d+)*)")
_FIELD = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")  # no English word has an underscore


class FieldNames:
    """The option names of one command."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = options

    @classmethod
    def of(cls, command: object) -> "FieldNames":
        options: dict[str, str] = {}
        for parameter in command.params if isinstance(command, TyperCommand) else ():
            if isinstance(parameter, TyperArgument):
                words = [(parameter.metavar or parameter.name or "").upper().strip("[]")]
            elif isinstance(parameter, TyperOption):
                words = [word for word in parameter.opts if word.startswith("--")]
            else:
                words = []
            options |= {word.lstrip("-").replace("-", "_").lower(): word for word in words}
        return cls(options)

    def translate(self, text: str) -> str:
        """Replace each field name in the text with the option that sets it."""
        text = _PLACE.sub(lambda found: self._option(found[1]) or found[0], text)
        return _FIELD.sub(lambda found: self._option(found[0]) or found[0], text)

    def _option(self, field: str) -> str | None:
        known = _SET_BY.get(field, field)
        return self._options.get(known.lstrip("-").replace("-", "_").lower())


UNTRANSLATED = FieldNames({})
