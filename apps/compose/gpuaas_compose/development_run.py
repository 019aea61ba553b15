"""`gpuaas compose dev`: runs the app of a folder, applies every change of its files, and removes all of it in the end."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_compose.development import (
    Build,
    changed_services,
    development_slug,
    development_version,
    is_changed,
    is_same_place,
    with_images,
)
from gpuaas_compose.image_publication import (
    archive_of,
    find_image,
    image_name,
    push_image,
    read_archive,
    sign_artifact,
)
from gpuaas_compose.lint import Lint
from gpuaas_compose.service_logs import ServiceLogs
from gpuaas_compose.trial import follow, placements_of, say_members, sentence_of
from gpuaas_sdk import GpuaasError, InstanceSummary, NewInstance, Operation, Placement
from gpuaas_sdk.commands import CommandError, CommandSession

_NOTICE = "This version was for development only."


@dataclass(frozen=True, slots=True)
class Development:
    """Says where and how the folder runs. `allocations_by_name` are allocations (ids or names) by their name in app.yaml."""

    folder: Path
    allocations_by_name: Mapping[str, str]
    inputs: Mapping[str, object]
    secrets: Mapping[str, object] | None = field(default=None, repr=False)
    key: Path | None = None
    deadline: float = 900


@dataclass(slots=True)
class DevelopmentRun:
    """One instance of the development app. It is found by its name, so a run that was killed is taken over by the next."""

    session: CommandSession
    project_id: str
    wanted: Development
    build: Build  # what was applied last, or is about to be
    began: int = field(default_factory=lambda: int(time.time()))
    number: int = 0
    applied: bool = False  # whether `build` runs; if not, every next change is applied
    owned: bool = False  # whether the instance is this developer's; no other instance is ever removed
    logs: ServiceLogs = field(init=False)

    def __post_init__(self) -> None:
        self.logs = ServiceLogs(self.session, self.project_id)

    @property
    def slug(self) -> str:
        return development_slug(self.build.app.slug, self.project_id)

    def launch(self) -> None:
        """Bring the folder up, in the instance of an earlier run if there is one that fits."""
        placement = placements_of(self.session, self.project_id, self.build.layout, self.wanted.allocations_by_name)
        there = self._find()
        if there is not None:
            self._take_over(there)
        self.owned = True
        start = time.monotonic()
        version = self._publish(self.build)
        ended = self._bring_up(version, placement)
        self._say_outcome(ended, "launched", start)

    def apply(self, build: Build) -> None:
        """Apply a change of the folder. If that is not possible, say why and leave the instance running."""
        if self.applied and not is_changed(self.build, build):
            self.session.say("Nothing that runs is changed.")
            return
        if build.app.slug != self.build.app.slug:
            self.session.say("Not applied: the slug changed. End this run and begin another.")
            return
        start, names = time.monotonic(), changed_services(self.build, build)
        what = f"{', '.join(names)} changed" if names else "no container changed"
        try:
            if not is_same_place(self.build, build):
                what = "the services changed, so it is launched again"
                self.remove()
            self.build, self.applied = build, False
            version = self._publish(build)
            placement = placements_of(self.session, self.project_id, build.layout, self.wanted.allocations_by_name)
            self._say_outcome(self._bring_up(version, placement), what, start)
        except (GpuaasError, CommandError) as error:
            detail = error.message if isinstance(error, CommandError) else error.detail
            self.session.say(f"Not applied: {detail} {error.next_step}".rstrip())

    def remove(self) -> None:
        """Remove the instance with all that it has on hosts. Nothing, if there is none."""
        self.logs.end()
        there = self._find() if self.owned else None
        if there is None:
            return
        if there.operation_id is not None:
            self._end_operation(there.operation_id)
        removed = self.session.client.instances.decommission(self.project_id, there.id, reason="development has ended")
        ended = follow(self.session, self.project_id, removed.operation, self.wanted.deadline)
        if ended.status != "succeeded":
            next_step = f"Look at `gpuaas instances show {there.name}`, and decommission it again."
            raise CommandError("not_removed", sentence_of(ended), next_step)
        receipts = list(self.session.client.receipts.list(self.project_id, operation_id=ended.id))
        listed = ", ".join(f"{one.id} {one.status}" for one in receipts)
        self.session.say(f"Nothing of it is left on its hosts (receipts: {listed}).")

    def end_versions(self) -> None:
        """Retire the versions of this run: drafts, which nothing runs any more. Earlier releases activated them."""
        versions = self.session.client.app_versions
        for app in self.session.client.apps.list(self.project_id) if self.owned else ():
            for one in versions.list(self.project_id, app.id) if app.slug == self.slug else ():
                if one.status == "active":
                    versions.deprecate(self.project_id, app.id, one.id, _NOTICE)
                elif one.status in ("draft", "deprecated"):
                    self._retire(app.id, one.id)

    def _retire(self, app_id: str, version_id: str) -> None:
        try:
            self.session.client.app_versions.retire(self.project_id, app_id, version_id, _NOTICE)
        except GpuaasError as error:
            if error.code not in ("conflict", "version_in_use"):  # too early: a later run does it
                raise

    def _find(self) -> InstanceSummary | None:
        listed = self.session.client.instances.list(self.project_id, app=self.slug)
        return next((one for one in listed if one.decommissioned_at is None), None)

    def _take_over(self, there: InstanceSummary) -> None:
        if there.created_by != self.session.client.me.show().id:
            sentence = f"Somebody else develops this app in the project: {there.name} ({there.id})."
            raise CommandError("already_exists", sentence, "Use another slug in app.yaml, or another project.")
        self.session.say(f"{there.name} exists from an earlier run; this run takes it over.")
        if there.operation_id is not None:
            self._end_operation(there.operation_id)

    def _end_operation(self, operation_id: str) -> None:
        """Cancel an operation that somebody interrupted, and wait for its end."""
        try:
            operation = self.session.client.operations.cancel(self.project_id, operation_id, reason="interrupted")
        except GpuaasError as error:
            if error.status != 409:  # it has ended, or cannot be cancelled any more
                raise
            operation = self.session.client.operations.show(self.project_id, operation_id)
        follow(self.session, self.project_id, operation, self.wanted.deadline)

    def _publish(self, build: Build) -> str:
        """Push the images that the project lacks, and put a new version on trial. Returns its name."""
        owners = {service.digest: service.name for service in reversed(build.services)}
        for digest, service in owners.items():
            image = find_image(self.session, self.project_id, digest)
            if image is None:
                path = archive_of(build.app, self.wanted.folder, digest, service)
                name = image_name(build.app.slug, service)
                image = push_image(self.session, self.project_id, name, path, self.wanted.deadline)
                self.session.say(f"{service}: pushed {digest}")
            if self.wanted.key is not None:
                sign_artifact(self.session, self.project_id, image, self.wanted.key, self.wanted.deadline)
        self.number += 1
        version = development_version(build.app.version, self.began, self.number)
        versions = self.session.client.app_versions
        made = versions.register(self.project_id, json.dumps(build.manifest(self.slug, version)))
        return versions.trial(self.project_id, made.app_id, made.id).version

    def _bring_up(self, version: str, placement: Sequence[Placement]) -> Operation:
        """Upgrade the instance to the version, or launch one where there is none that can be upgraded."""
        client, there = self.session.client, self._find()
        if there is not None and not self._fits(there.id, placement):
            self.remove()
            there = None
        if there is not None:
            started = client.instances.upgrade(self.project_id, there.id, version, reason="a change of the folder")
        else:
            new = NewInstance(
                app=self.slug,
                name=self.slug,
                version=version,
                placement_intent=placement,
                inputs=dict(self.wanted.inputs),
                secrets=self.wanted.secrets,
                when_no_controller="queue",  # a new app is served some seconds after its first version
            )
            started = client.instances.create(self.project_id, new)
        self.logs.follow(started.instance.id)
        return follow(self.session, self.project_id, started.operation, self.wanted.deadline)

    def _fits(self, instance_id: str, placement: Sequence[Placement]) -> bool:
        """Tell whether the instance can be upgraded: it was deployed, and each service is where it shall be."""
        shown = self.session.client.instances.show(self.project_id, instance_id)
        is_there = {(one.component_key, one.allocation_id) for one in shown.placement_intent}
        wanted = {(one.component_key, one.allocation_id) for one in placement}
        return shown.deployed_at is not None and is_there == wanted and dict(shown.inputs) == dict(self.wanted.inputs)

    def _say_outcome(self, ended: Operation, what: str, start: float) -> None:
        self.applied = ended.status == "succeeded"
        seconds = time.monotonic() - start
        if not self.applied:
            next_step = ended.failure.next_step if ended.failure is not None else ""
            self.session.say(f"Not applied after {seconds:.1f} s ({what}). {sentence_of(ended)} {next_step}".rstrip())
            return
        self.session.say(f"Applied in {seconds:.1f} s: {what}.")
        if self.number == 1:
            self._say_access()

    def _say_access(self) -> None:
        there = self._find()
        if there is None:
            return
        say_members(self.session, self.project_id, there.id)
        bundle = self.session.client.instances.show(self.project_id, there.id).access_bundle or {}
        for key, url in bundle.items():
            self.session.say(f"{key}: {url}")


def build_of(folder: Path, linted: Lint) -> Build:
    """Return what a folder without faults runs: the images of its archives, whatever digests the compose file names."""
    if linted.app is None or linted.manifest is None:
        raise ValueError("only a folder without faults runs")
    archived = {
        service.name: read_archive(folder, name)[1]
        for service in linted.services
        if (name := linted.app.images.get(service.name)) is not None and os.path.lexists(folder / name)
    }
    return with_images(linted.app, linted.services, archived)
