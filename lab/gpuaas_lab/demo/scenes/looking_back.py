"""What stays: the audit trail, and the reference of the API that all of this was done with."""

import urllib.request

from gpuaas_lab.demo.cast import Cast
from gpuaas_lab.errors import LabError


def looked_back(cast: Cast) -> None:
    with cast.report.step("Read the audit trail and the API reference") as step:
        records = list(cast.admin.audit.list(project_id=cast.project_id).first(200))
        reference = f"{cast.platform.url}/docs"
        with urllib.request.urlopen(reference, timeout=10) as page:  # noqa: S310 - our own address
            if page.status != 200:
                raise LabError("the API reference does not answer")
        step.detail = f"{len(records)} audit records of the project; API reference at {reference}"
