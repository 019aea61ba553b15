"""Reads the audit trail of the demo, and the reference of the API that the demo used."""

import urllib.request

from gpuaas_lab.demo.context import DemoContext
from gpuaas_lab.errors import LabError


def show_audit_trail(context: DemoContext) -> None:
    with context.report.step("Read the audit trail and the API reference") as step:
        records = list(context.admin.audit.list(project_id=context.project_id).first(200))
        reference = f"{context.platform.url}/docs"
        with urllib.request.urlopen(reference, timeout=10) as page:  # noqa: S310 - our own address
            if page.status != 200:
                raise LabError("the API reference does not answer")
        step.detail = f"{len(records)} audit records of the project; API reference at {reference}"
