"""Codes of the app platform: secrets and credentials, the catalogue, operations and their proofs, artifacts."""

from gpuaas_server.kernel.errors.kinds import ErrorKind

APPS = [
    # Secrets and credentials
    ErrorKind(
        "secret_store_unavailable",
        503,
        "The secret store cannot answer now",
        "Try again in a moment; nothing was changed.",
        True,
    ),
    ErrorKind(
        "secret_unreadable",
        500,
        "A stored secret does not open",
        "Rotate the credential: a new secret takes its place.",
    ),
    ErrorKind(
        "credential_revoked",
        409,
        "The credential is revoked",
        "Create another credential; a revoked one stays revoked.",
    ),
    # Catalogue
    ErrorKind(
        "manifest_invalid",
        422,
        "The manifest is not valid",
        "Correct every fault in details.faults and register it again.",
    ),
    ErrorKind(
        "version_exists",
        409,
        "This version is registered with other content",
        "A version never changes: register the new content under a new version.",
    ),
    ErrorKind(
        "controller_needs_apps",
        422,
        "A controller is bound to the apps whose work it does",
        "Name at least one app in app_slugs, or leave out the scope apps:control.",
    ),
    ErrorKind(
        "app_slug_taken",
        409,
        "The slug belongs to another app",
        "Choose another slug; slugs are unique on the platform.",
    ),
    ErrorKind(
        "version_not_activatable",
        409,
        "The version cannot become active",
        "Settle each of details.reasons, then activate it again.",
    ),
    ErrorKind(
        "version_in_use",
        409,
        "Instances still run this version",
        "Upgrade or decommission the instances first; deprecate the version so that no new ones come.",
    ),
    ErrorKind(
        "not_launchable",
        409,
        "This app cannot be launched here now",
        "Read details.reasons; the catalogue lists what this project may launch.",
    ),
    ErrorKind(
        "placement_refused",
        422,
        "The placement does not fit the app",
        "Correct every refusal in details.refusals, or choose other allocations.",
    ),
    ErrorKind(
        "inputs_invalid",
        422,
        "The inputs do not fit the app",
        "Correct every fault in details.faults and send them again.",
    ),
    ErrorKind(
        "options_invalid",
        422,
        "The options do not fit this operation of the app",
        "Correct every fault in details.faults; the manifest's options say what each operation takes.",
    ),
    ErrorKind(
        "one_project_only",
        409,
        "This app serves one project only",
        "Launch an instance in each project, or upgrade to a version whose manifest has tenant_scope.",
    ),
    ErrorKind(
        "served_project_in_use",
        409,
        "Members still live on that project's allocations",
        "Remove the members in details.members first, or release their allocations; then try again.",
    ),
    # Operations on app instances and members
    ErrorKind(
        "operation_in_progress",
        409,
        "Another operation is working on this",
        "Wait for the operation named in details to end, or cancel it.",
        True,
    ),
    ErrorKind(
        "closed_in_mode",
        409,
        "The app does not take this in the form that the instance has",
        "The detail says what to ask for instead.",
    ),
    ErrorKind(
        "operation_claimed", 409, "The operation is not free to be claimed", "Drop it and ask for other work.", True
    ),
    ErrorKind(
        "lease_lost",
        409,
        "The lease on the operation is not yours any more",
        "Stop working on it and drop the result; whoever holds it goes on.",
    ),
    ErrorKind(
        "not_the_controller",
        403,
        "This service account does not control the app",
        "Bind the app's slug to the service account, or report with the one that claimed the operation.",
    ),
    ErrorKind(
        "document_too_large", 413, "A document of the controller is too large", "Send less detail; keep it elsewhere."
    ),
    ErrorKind(
        "document_invalid",
        422,
        "A free-form document cannot be kept",
        "Send JSON in UTF-8 without NUL characters, at most 32 levels deep.",
    ),
    ErrorKind(
        "usage_invalid",
        422,
        "Usage was reported that cannot be recorded",
        "Correct every fault in details.faults; the manifest's metering says what is counted, and in which unit.",
    ),
    ErrorKind(
        "usage_key_taken",
        409,
        "Something else is recorded under this key",
        "A record never changes: report what is new under a key of its own, and look for why the same key came twice.",
    ),
    ErrorKind("cancelled", 409, "It was cancelled", "Ask for it again when it is wanted."),
    ErrorKind(
        "controller_lost",
        504,
        "The app's controller stopped answering, again and again",
        "Look at the controller's own log; then ask for the operation again.",
        True,
    ),
    ErrorKind(
        "teardown_incomplete",
        502,
        "Something of the app is left on a host",
        "Read the receipt; ask for the operation again, or force it with a reason.",
        True,
    ),
    # Why nobody could look at a host after a teardown
    ErrorKind(
        "host_unreachable",
        504,
        "The host could not be asked",
        "Bring the node back and ask for the operation again, or force it with a reason.",
        True,
    ),
    ErrorKind(
        "agent_too_old",
        409,
        "The host's agent does not know how to look",
        "Update the agent on the node and ask for the operation again, or force it with a reason.",
    ),
    ErrorKind(
        "evidence_mismatch",
        502,
        "The host answered another question",
        "Ask for the operation again; when it repeats, look at the node's agent.",
        True,
    ),
    ErrorKind(
        "baseline_mismatch",
        502,
        "The host compared with another baseline",
        "Release the allocation: its wipe is a proof of its own. Or force it with a reason.",
    ),
    ErrorKind(
        "could_not_look",
        502,
        "The host could not look everywhere",
        "Read the receipt's problems, settle them on the host, and ask for the operation again.",
        True,
    ),
    ErrorKind(
        "inspection_failed",
        502,
        "The look at the host failed",
        "Look at the node's task for details, then ask for the operation again, or force it with a reason.",
        True,
    ),
    ErrorKind(
        "footprint_invalid",
        422,
        "The app's footprint cannot be looked for",
        "Upgrade to a version whose manifest has a sound footprint, or force it with a reason.",
    ),
    ErrorKind(
        "some_failed", 502, "Not all of it succeeded", "Read the children; ask again for those that failed.", True
    ),
    ErrorKind(
        "forced_end", 409, "Somebody ended it by force", "Look at the hosts: nothing about them was verified.", False
    ),
    ErrorKind(
        "allocation_gone",
        409,
        "The allocation below has ended",
        "Remove the member, or replace it with one on another allocation.",
    ),
    # Artifacts
    ErrorKind(
        "digest_mismatch",
        409,
        "The bytes are not those of the digest",
        "Publish again, with the digest of the bytes that you send.",
    ),
    ErrorKind("upload_missing", 409, "The bytes are not there", "Publish again: upload, then complete the intent."),
    ErrorKind(
        "upload_in_progress",
        409,
        "Another upload to this intent is under way",
        "Wait for its end. One whose client is gone ends by itself within a minute.",
        True,
    ),
    ErrorKind(
        "too_many_uploads",
        409,
        "Too many uploads are under way",
        "Wait until one of them has ended, and try again.",
        True,
    ),
    ErrorKind("publish_expired", 409, "The publish intent was not completed in time", "Make a new publish intent."),
    ErrorKind(
        "artifact_invalid",
        422,
        "This is not an artifact that can be checked",
        "Correct what detail names; publish again.",
    ),
    ErrorKind(
        "promotion_refused",
        409,
        "The artifact may not go to this stage",
        "Settle each of the reasons in details.refusals, then move it.",
    ),
    ErrorKind("artifact_in_use", 409, "Something still uses the artifact", "End what uses it first."),
    ErrorKind(
        "artifact_revoked",
        409,
        "The artifact is revoked",
        "Use another version; a revoked artifact does not come back.",
    ),
    ErrorKind(
        "artifact_untrusted",
        409,
        "The artifact is not trusted",
        "Have it signed by a trust key of the tenant, and verify it again.",
    ),
    ErrorKind("artifact_not_active", 409, "The artifact is not active", "Wait until it is, or use another version."),
    ErrorKind("artifact_unknown", 409, "No artifact with this digest is registered", "Publish the artifact first."),
    ErrorKind("not_in_canary", 409, "The canary is not for this project", "Use the active version."),
    ErrorKind(
        "trust_key_refused",
        422,
        "The public key is not acceptable",
        "Send an ECDSA, RSA (2048 bits or more) or Ed25519 public key in PEM, as in cosign.pub.",
    ),
    ErrorKind(
        "registry_not_configured",
        409,
        "This platform has no image registry",
        "Publish a blob, or ask an administrator to set GPUAAS_REGISTRY_BIND or GPUAAS_REGISTRY_URL.",
    ),
    ErrorKind("registry_unavailable", 503, "The image registry does not answer", "Try again in a moment.", True),
    ErrorKind("storage_unavailable", 503, "The blob store does not answer", "Try again in a moment.", True),
]
