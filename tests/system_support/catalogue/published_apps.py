"""Publishes an app of the catalogue on the platform of a lab, as `gpuaas-catalogue publish` does."""

import time
from pathlib import Path

from gpuaas_catalogue.publication import Publication
from gpuaas_sdk import AppVersion, GpuaasError
from gpuaas_sdk.image_layouts import ImageLayout
from system_support.lab_site import LabApp


def publish_app(lab: LabApp, app: str, image: ImageLayout, folder: Path, **files: Path) -> AppVersion:
    """The registry starts beside the API and may need a moment longer; a publication can be repeated."""
    ca_file = folder / "ca.pem"
    keys = lab.sandbox.admin.platform_keys.list()
    ca_file.write_text("".join(key.certificate or "" for key in keys if key.kind == "tls_ca"))
    publication = Publication(lab.sandbox.admin, lab.project_id, "ran on a lab host", str(ca_file))
    deadline = time.monotonic() + 60
    while True:
        try:
            return publication.publish(app, image, files)
        except GpuaasError as error:
            if not error.problem.retryable or time.monotonic() > deadline:
                raise
            time.sleep(0.5)
