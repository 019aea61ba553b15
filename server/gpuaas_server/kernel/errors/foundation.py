"""Codes of the ground that everything stands on: requests, identity, nodes, and the platform itself."""

from gpuaas_server.kernel.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """Holds what a code of the catalogue says about itself."""

    code: str
    status: int
    title: str
    next_step: str
    retryable: bool = False


FOUNDATION = [
    # Requests
    ErrorKind(
        "invalid_request", 422, "The request is not valid", "Correct the fields named in details and send it again."
    ),
    ErrorKind(
        "malformed_body", 400, "The body is not JSON", "Send one JSON object with Content-Type application/json."
    ),
    ErrorKind(
        "malformed_request",
        400,
        "The request is not valid HTTP",
        "Send well-formed HTTP/1.1. Behind a load balancer, check whether it sends PROXY headers.",
    ),
    ErrorKind("target_too_long", 414, "The URL is too long", "Send fewer or shorter parameters."),
    ErrorKind("header_too_large", 431, "The request's header is too large", "Send fewer or smaller header fields."),
    ErrorKind(
        "request_timeout",
        408,
        "The request did not arrive in time",
        "Send the request again over a faster connection, and check the network between you and the server.",
        True,
    ),
    ErrorKind(
        "too_many_connections",
        429,
        "Too many connections from one address",
        "Wait for the time in Retry-After, and use one connection for several requests.",
        True,
    ),
    ErrorKind(
        "too_many_streams",
        429,
        "Too many open watches, long polls and terminals",
        "Close one that you do not need, or watch the project instead of single resources.",
        True,
    ),
    ErrorKind("body_too_large", 413, "The body is too large", "Send a smaller request."),
    ErrorKind("unsupported_media_type", 415, "The body is not JSON", "Set Content-Type to application/json."),
    ErrorKind(
        "not_found", 404, "The resource does not exist", "Check the id, and that you have access to its project."
    ),
    ErrorKind(
        "method_not_allowed", 405, "This method is not allowed here", "Use one of the methods in the Allow header."
    ),
    ErrorKind(
        "precondition_failed",
        412,
        "The resource has changed since you read it",
        "Read the resource again and repeat the change with the new ETag.",
    ),
    ErrorKind("invalid_cursor", 422, "The cursor is not valid", "Start again without a cursor."),
    ErrorKind(
        "conflict",
        409,
        "The current state does not allow this",
        "Read the resource and its allowed_actions, then decide again.",
    ),
    ErrorKind(
        "already_exists", 409, "A resource with this name exists", "Choose another name, or use the existing one."
    ),
    ErrorKind(
        "not_empty",
        409,
        "The tenant or project is not empty",
        "Release, stop or remove what details names, then request the deletion again.",
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
        "Wait a moment and send the request again.",
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
    ErrorKind(
        "client_certificate_required",
        401,
        "A client certificate is required",
        "Connect with the account's certificate to the address of GPUAAS_CLIENT_CERTIFICATE_BIND; a load balancer in front"
        " must pass TLS through.",
    ),
    ErrorKind(
        "client_certificate_refused",
        401,
        "The client certificate is not valid for this account",
        "Use a certificate that is registered for the account and has not expired, or register another one.",
    ),
    ErrorKind(
        "certificate_request_invalid",
        422,
        "The certificate request cannot be signed",
        "Send one PKCS#10 request in PEM, signed by its own key: ECDSA (P-256, P-384), Ed25519, or RSA of 2048 to 4096 bits.",
    ),
    ErrorKind("session_ended", 401, "The session has ended", "Sign in again."),
    ErrorKind(
        "csrf_token_wrong",
        403,
        "The CSRF token is missing or wrong",
        "Send the csrf_token of GET /api/v1/auth/session as X-CSRF-Token, or use a bearer token.",
    ),
    ErrorKind(
        "origin_refused",
        403,
        "The request comes from another site",
        "Use the console under its own address. Programs send a bearer token and no cookie.",
    ),
    ErrorKind(
        "bad_credentials",
        401,
        "The credentials are wrong",
        "Check the credentials. After repeated failures the account is locked for a while.",
    ),
    ErrorKind(
        "account_locked",
        423,
        "The account is locked in this network after repeated failures",
        "Wait until the lock ends, sign in from a network that you have used before, or ask an operator to"
        " unlock the account.",
        True,
    ),
    ErrorKind("account_disabled", 403, "The account is disabled", "Ask an administrator to enable it."),
    ErrorKind(
        "deletion_scheduled",
        403,
        "The tenant or project is scheduled for deletion",
        "Ask an administrator to undo the deletion before its date.",
    ),
    ErrorKind(
        "sign_in_busy",
        503,
        "Too many passwords are being checked",
        "Wait for the time in Retry-After, then sign in again.",
        True,
    ),
    ErrorKind("rate_limited", 429, "Too many attempts", "Wait for the time in Retry-After.", True),
    ErrorKind(
        "forbidden",
        403,
        "Your role does not allow this",
        "Ask an administrator for one of the roles in details.",
    ),
    ErrorKind(
        "weak_password", 422, "The password is too weak", "Use at least 12 characters that are not a common phrase."
    ),
    ErrorKind("last_admin", 409, "This would remove the last administrator", "Give the role to another user first."),
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
        "The agent's clock differs by more than a minute",
        "Correct the clock, or sign with the offset to server_time_ms.",
        True,
    ),
    ErrorKind("agent_replay", 401, "This agent message was received before", "Sign each message with a new nonce."),
    ErrorKind(
        "node_key_expired",
        403,
        "The node's key has expired",
        "Have an operator approve the key (gpuaas nodes approve-key). The agent then renews it.",
    ),
    ErrorKind(
        "node_key_replaced",
        401,
        "The node's key was replaced",
        "Sign with the new key. If this host never made one, somebody else has its key: look at the node's events.",
    ),
    ErrorKind(
        "node_key_wrong_network",
        403,
        "The node's key was used from another network",
        "If the host has moved, have an administrator change the node's source networks (gpuaas nodes set-source).",
    ),
    ErrorKind(
        "address_taken",
        409,
        "Another node has this address",
        "Retire the other node, or give one of them another address.",
    ),
    ErrorKind("node_retired", 403, "The node is retired", "Enrol the host again as a new node."),
    ErrorKind("task_not_found", 404, "This node has no such task", "Discard the task."),
    ErrorKind(
        "task_already_reported",
        409,
        "Another result was reported for this task",
        "Discard the result. The first one counts.",
    ),
    ErrorKind("stale_generation", 409, "A newer generation replaced this one", "Discard the work and poll for tasks."),
    ErrorKind(
        "inventory_invalid",
        422,
        "The inventory contradicts itself",
        "Correct what details names, and report the inventory again.",
    ),
    ErrorKind("node_busy", 409, "The node has live claims", "Release or drain its allocations first."),
    ErrorKind(
        "slot_not_approvable",
        409,
        "The slot cannot be approved in its current status",
        "Read the slot's status and reason.",
    ),
    ErrorKind(
        "node_key_not_rotated",
        409,
        "The host proved its wipe with a key that the tenant could have copied",
        "Retry the release. If it fails again, update the agent, or reinstall the host and enrol it again.",
    ),
    ErrorKind(
        "ssh_target_refused",
        409,
        "The host reported an SSH address, port or user that is not its own",
        "Have an operator compare the node's addresses (gpuaas nodes show) with the host, and check which"
        " tenant is on it.",
    ),
    # Failures that happen later, on resources rather than in responses
    ErrorKind(
        "deadline_exceeded", 504, "The step did not end in time", "Retry. If it fails again, look at the node.", True
    ),
    ErrorKind(
        "node_lost",
        503,
        "The node stopped responding",
        "Wait for the node to come back, or allocate on another node.",
        True,
    ),
    ErrorKind(
        "host_lost",
        503,
        "The host of the allocation is lost",
        "Nothing: the platform wipes the host when it is back. For other GPUs, create another allocation.",
        True,
    ),
    ErrorKind(
        "host_task_failed",
        502,
        "A step on the host failed",
        "Read the failed phase in the timeline. Retry if it is retryable.",
        True,
    ),
    ErrorKind(
        "wipe_not_proven",
        502,
        "The wipe is not proven",
        "Retry the release, or clean the host by hand and force the clean-up with evidence.",
    ),
    ErrorKind(
        "wipe_not_examined",
        502,
        "A check of the wipe did not examine anything",
        "Have the check examine it (drives: erase_drives), or accept it in the SKU (accept_not_examined). Then retry"
        " the release.",
    ),
    ErrorKind(
        "wipe_grade_not_reached",
        502,
        "The wipe did not reach the required grade",
        "Retry the release. If it fails again, look at the node, or clean the host by hand and force the"
        " clean-up with evidence.",
    ),
    ErrorKind(
        "wipe_agent_too_old",
        502,
        "The host's agent cannot prove the required wipe grade",
        "Upgrade the agent of the node and retry the release, or clean the host by hand and force the"
        " clean-up with evidence.",
    ),
    # Platform
    ErrorKind("unavailable", 503, "The service is not available", "Try again in a moment.", True),
    ErrorKind(
        "internal",
        500,
        "An internal error occurred",
        "Try again. If it fails again, report the correlation id.",
        True,
    ),
]
