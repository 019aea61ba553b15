"""An app in each place of the policy matrix: published, active, and its tenant entitled to it."""

import json
import secrets

from gpuaas_sdk import AppVersion, Client


def manifest(slug: str, digest: str) -> str:
    return json.dumps(
        {
            "manifest": 1,
            "slug": slug,
            "display_name": "Matrix",
            "version": "1.0.0",
            "runtime_version": "1",
            "artifact": {"kind": "controller", "digest": digest},
            "compatibility": {},
            "components": [{"key": "one", "min": 1, "max": 1}],
            "footprint": {},
        }
    )


def draft(admin: Client, project_id: str, digest: str) -> AppVersion:
    return admin.app_versions.register(project_id, manifest(f"m-{secrets.token_hex(6)}", digest))


def furnish_catalog(admin: Client, tenant_id: str, project_id: str, artifact_id: str) -> dict[str, str]:
    admin.artifacts.wait_until_checked(project_id, artifact_id, 60)  # by then the platform has linted it
    for kind in ("lint", "smoke"):
        admin.artifacts.add_evidence(project_id, artifact_id, kind, True, tool="matrix", summary="passed")
    admin.artifacts.move(project_id, artifact_id, "staged", "matrix")
    admin.artifacts.move(project_id, artifact_id, "canary", "matrix", canary_percent=10)
    digest = admin.artifacts.move(project_id, artifact_id, "active", "matrix").digest
    version = draft(admin, project_id, digest)
    admin.app_versions.activate(project_id, version.app_id, version.id)
    return {
        "app_id": version.app_id,
        "version_id": version.id,
        "slug": version.slug,
        "app_digest": digest,
        "entitlement_id": admin.entitlements.grant(tenant_id, version.slug).id,
    }
