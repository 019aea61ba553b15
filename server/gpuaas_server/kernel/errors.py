"""One family of errors, free of transport. Every code is in CATALOGUE, which is committed as contract/error-codes.json.

`detail` is the sentence for the caller; what only an operator may know goes to the log, never into a Problem.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ErrorKind:
    code: str
    status: int
    title: str
    next_step: str
    retryable: bool = False


_KINDS = [
    # Requests
    ErrorKind(
        "invalid_request", 422, "The request is not valid", "Correct the fields named in details and send it again."
    ),
    ErrorKind(
        "malformed_body", 400, "The body is not JSON", "Send one JSON object with Content-Type application/json."
    ),
    ErrorKind("body_too_large", 413, "The body is too large", "Send a smaller request."),
    ErrorKind("unsupported_media_type", 415, "The body is not JSON", "Set Content-Type to application/json."),
    ErrorKind(
        "not_found", 404, "There is no such thing here", "Check the id, and that you have access to its project."
    ),
    ErrorKind(
        "method_not_allowed", 405, "This method is not offered here", "Use one of the methods in the Allow header."
    ),
    ErrorKind(
        "precondition_failed",
        412,
        "It has changed since you read it",
        "Read it again and repeat the change with the new ETag.",
    ),
    ErrorKind("invalid_cursor", 422, "The cursor is not one of ours", "Start again without a cursor."),
    ErrorKind("conflict", 409, "The current state does not allow this", "Read the resource and its allowed_actions."),
    ErrorKind(
        "already_exists", 409, "Something with this name exists", "Choose another name, or use the existing one."
    ),
    ErrorKind(
        "reason_required", 422, "A reason is required", "Send a reason that a colleague will understand in a year."
    ),
    # Idempotency
    ErrorKind(
        "idempotency_mismatch",
        422,
        "This Idempotency-Key was used for another request",
        "Use a new key for a new request.",
    ),
    ErrorKind(
        "idempotency_in_progress",
        409,
        "The first request with this key is still running",
        "Wait a moment and send it again.",
        True,
    ),
    # Identity
    ErrorKind(
        "unauthenticated",
        401,
        "You are not signed in",
        "Get a token from POST /api/v1/auth/token and send it as a bearer token.",
    ),
    ErrorKind("token_expired", 401, "The token has expired", "Get a new token."),
    ErrorKind("token_invalid", 401, "The token is not valid", "Get a new token."),
    ErrorKind("session_ended", 401, "The session has ended", "Sign in again."),
    ErrorKind(
        "bad_credentials",
        401,
        "The credentials are not right",
        "Check them; after repeated failures the account is locked for a while.",
    ),
    ErrorKind(
        "account_locked",
        423,
        "The account is locked after repeated failures",
        "Wait until the lock ends, or ask an administrator to unlock it.",
        True,
    ),
    ErrorKind("account_disabled", 403, "The account is disabled", "Ask an administrator to enable it."),
    ErrorKind("rate_limited", 429, "Too many attempts", "Wait for the time in Retry-After.", True),
    ErrorKind(
        "forbidden",
        403,
        "Your role does not allow this",
        "Ask an administrator of the project for the role named in details.",
    ),
    ErrorKind(
        "weak_password", 422, "The password is too weak", "Use at least 12 characters that are not a common phrase."
    ),
    ErrorKind("last_admin", 409, "This would leave nobody in charge", "Give the role to somebody else first."),
    # Nodes and agents
    ErrorKind(
        "enrolment_token_invalid",
        401,
        "The enrolment token is not valid",
        "Ask an administrator for a new enrolment bundle.",
    ),
    ErrorKind(
        "enrolment_token_used",
        409,
        "The enrolment token was used by another key",
        "Ask an administrator for a new enrolment bundle.",
    ),
    ErrorKind(
        "agent_signature_invalid",
        401,
        "The agent's signature is not valid",
        "Check that the node is enrolled and its key is unchanged.",
    ),
    ErrorKind(
        "agent_clock_skew",
        401,
        "The agent's clock is off by more than a minute",
        "Correct the clock, or sign with the offset to server_time_ms.",
        True,
    ),
    ErrorKind("agent_replay", 401, "This agent message was seen before", "Sign each message afresh with a new nonce."),
    ErrorKind("node_retired", 403, "The node is retired", "Enrol the host again as a new node."),
    ErrorKind("task_not_found", 404, "This node has no such task", "Drop the task."),
    ErrorKind(
        "task_already_reported",
        409,
        "Another result was reported for this task",
        "Drop the result; the first one stands.",
    ),
    ErrorKind("stale_generation", 409, "A newer generation replaced this one", "Drop the work and poll for tasks."),
    ErrorKind(
        "inventory_invalid", 422, "The inventory contradicts itself", "Correct what details names and report again."
    ),
    ErrorKind("node_busy", 409, "The node has live claims", "Release or drain its allocations first."),
    ErrorKind(
        "slot_not_approvable", 409, "The slot cannot be approved in its state", "Read the slot's status and reason."
    ),
    # Capacity
    ErrorKind(
        "no_capacity",
        409,
        "There is not enough free capacity",
        "Try again later, ask for fewer GPUs, or choose another SKU.",
        True,
    ),
    ErrorKind(
        "capacity_fragmented",
        409,
        "There are enough free GPUs, but not on one node",
        "Ask for fewer GPUs per allocation; a slice never spans nodes.",
        True,
    ),
    ErrorKind(
        "capacity_blocked",
        409,
        "The capacity exists but its clean-up is not proven",
        "An operator must clean the blocked slots (cleanup_blocked).",
        True,
    ),
    ErrorKind(
        "sku_not_offered", 422, "This SKU or GPU count is not offered", "List the SKUs and choose an offered GPU count."
    ),
    ErrorKind(
        "quota_exceeded",
        409,
        "The quota does not allow this",
        "Release something, or ask an administrator for a larger quota.",
    ),
    ErrorKind("not_active", 409, "The allocation is not active", "Wait until it is active, or create another."),
    ErrorKind(
        "ssh_key_refused",
        422,
        "The SSH public key is not acceptable",
        "Send one line with an Ed25519, ECDSA (NIST) or RSA (3072 bits or more) public key.",
    ),
    ErrorKind("evidence_required", 422, "Evidence is required", "Describe what was checked on the host and by whom."),
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
    # Operations on app instances and members
    ErrorKind(
        "operation_in_progress",
        409,
        "Another operation is working on this",
        "Wait for the operation named in details to end, or cancel it.",
        True,
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
    # Failures that happen later, on resources rather than in responses
    ErrorKind("deadline_exceeded", 504, "It did not end in time", "Retry; when it repeats, look at the node.", True),
    ErrorKind(
        "node_lost", 503, "The node stopped answering", "Wait for the node to come back, or allocate elsewhere.", True
    ),
    ErrorKind(
        "host_task_failed",
        502,
        "A step on the host failed",
        "Read the failing phase in the timeline; retry when it says so.",
        True,
    ),
    ErrorKind(
        "wipe_not_proven",
        502,
        "The wipe could not be proven",
        "Retry the release, or clean by hand and force the clean-up with evidence.",
    ),
    # Platform
    ErrorKind("unavailable", 503, "The service cannot answer now", "Try again in a moment.", True),
    ErrorKind(
        "internal",
        500,
        "Something went wrong on our side",
        "Try again; if it repeats, report the correlation id.",
        True,
    ),
]

CATALOGUE: dict[str, ErrorKind] = {kind.code: kind for kind in _KINDS}


@dataclass(slots=True)
class Problem(Exception):
    """An error with a stable code. Raise it anywhere; the HTTP edge turns it into a problem document."""

    code: str
    detail: str = ""
    details: dict[str, object] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    # The id that was asked for, where the verb knows it better than the path. For the audit trail, not for the answer.
    target: str = ""

    @property
    def kind(self) -> ErrorKind:
        return CATALOGUE[self.code]

    def __str__(self) -> str:
        return f"{self.code}: {self.detail or self.kind.title}"


def not_found(noun: str, identifier: str) -> Problem:
    """The same answer for 'absent' and 'not yours': existence across the tenant boundary is not disclosed."""
    return Problem("not_found", f"There is no {noun} {identifier} that you can see.", target=identifier)
