"""Codes of the ground that everything stands on: requests, identity, nodes, capacity, and the platform itself."""

from gpuaas_server.kernel.errors.kinds import ErrorKind

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
        "Send well-formed HTTP/1.1; behind a load balancer, check whether it sends PROXY headers.",
    ),
    ErrorKind("target_too_long", 414, "The address is too long", "Send fewer or shorter parameters."),
    ErrorKind("header_too_large", 431, "The request's header is too large", "Send fewer or smaller header fields."),
    ErrorKind(
        "request_timeout",
        408,
        "The request did not arrive in time",
        "Send it again over a faster line; check that nothing on the way holds it back.",
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
        "Too many watches, long polls and terminals at once",
        "Close one that is not needed any more, or watch the project instead of each of its parts.",
        True,
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
        "not_empty",
        409,
        "There is still something in the tenant or project",
        "Release, stop or remove what the answer names, then ask again.",
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
    ErrorKind(
        "client_certificate_required",
        401,
        "This needs a client certificate",
        "Connect with the account's certificate to the address of GPUAAS_CLIENT_CERTIFICATE_BIND; a load balancer in front"
        " must pass TLS through.",
    ),
    ErrorKind(
        "client_certificate_refused",
        401,
        "The client certificate is not a valid one of this account",
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
        "The request does not show that it comes from our own pages",
        "Send the csrf_token of GET /api/v1/auth/session as X-CSRF-Token, or use a bearer token.",
    ),
    ErrorKind(
        "origin_refused",
        403,
        "The request comes from another site",
        "Use the console under its own address; programs send a bearer token, and no cookie.",
    ),
    ErrorKind(
        "bad_credentials",
        401,
        "The credentials are not right",
        "Check them; after repeated failures the account is locked for a while.",
    ),
    ErrorKind(
        "account_locked",
        423,
        "The account is locked here after repeated failures",
        "Wait until the lock ends, sign in from a network where you have signed in before, or ask to be unlocked.",
        True,
    ),
    ErrorKind("account_disabled", 403, "The account is disabled", "Ask an administrator to enable it."),
    ErrorKind(
        "deletion_scheduled",
        403,
        "The tenant or project is to be deleted",
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
    ErrorKind(
        "node_key_expired",
        403,
        "The node's key has expired",
        "An operator approves the key (gpuaas nodes approve-key); the agent then renews it by itself.",
    ),
    ErrorKind(
        "node_key_replaced",
        401,
        "The node has another key by now",
        "Sign with the key that replaced it. If this host never made one, somebody else has its key: look at its events.",
    ),
    ErrorKind(
        "node_key_elsewhere",
        403,
        "The node's key was used from where the node is not",
        "If the host has moved, an administrator changes the node's source networks (gpuaas nodes set-source).",
    ),
    ErrorKind(
        "address_taken",
        409,
        "Another node has this address",
        "Retire the other node, or give one of them another address.",
    ),
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
    ErrorKind(
        "node_key_not_rotated",
        409,
        "The host proved its wipe with a key that the tenant could have copied",
        "Retry the release; if it stays so, update the agent or reinstall the host and enrol it again.",
    ),
    ErrorKind(
        "ssh_target_refused",
        409,
        "The host reported an SSH address, port or user that is not its own",
        "An operator compares the node's addresses (gpuaas nodes show) with the host, and looks at who is on it.",
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
        "capacity_below_grade",
        409,
        "The free hosts can not prove the wipe that is required",
        "A platform administrator upgrades the agents of the hosts, or lowers the SKU's wipe grade; a tenant administrator"
        " may lower the tenant's (docs/howto/offer-a-sku.md). Or choose another SKU.",
        True,
    ),
    ErrorKind(
        "sku_not_offered", 422, "This SKU or GPU count is not offered", "List the SKUs and choose an offered GPU count."
    ),
    ErrorKind(
        "wipe_grade_not_available",
        422,
        "This grade of the wipe can not be reached",
        "Ask for a lower grade: `inspected`, or `rebooted` of a whole host.",
    ),
    ErrorKind(
        "quota_exceeded",
        409,
        "The quota does not allow this",
        "Release something, or ask an administrator for a larger quota.",
    ),
    ErrorKind(
        "quota_beyond_tenant",
        409,
        "A project may have no more than its tenant",
        "Choose a smaller limit, or ask a platform administrator for a larger quota of the tenant.",
    ),
    ErrorKind(
        "unproven_releases",
        409,
        "Too many released GPUs are not proven clean",
        "Retry the failed releases, or ask an operator to clean the hosts (allocations in release_failed).",
        True,
    ),
    ErrorKind("not_active", 409, "The allocation is not active", "Wait until it is active, or create another."),
    ErrorKind(
        "ssh_key_refused",
        422,
        "The SSH public key is not acceptable",
        "Send one line with an Ed25519, ECDSA (NIST) or RSA (3072 bits or more) public key.",
    ),
    ErrorKind(
        "too_many_terminals",
        409,
        "There are too many open terminals",
        "Close one that is not needed any more, and open this one again.",
    ),
    ErrorKind(
        "too_many_host_reports",
        409,
        "The tenant has too many open reports of broken hosts",
        "Release the allocation or replace it; operators clear reports when they have looked at the hosts.",
    ),
    ErrorKind("evidence_required", 422, "Evidence is required", "Describe what was checked on the host and by whom."),
    # Failures that happen later, on resources rather than in responses
    ErrorKind("deadline_exceeded", 504, "It did not end in time", "Retry; when it repeats, look at the node.", True),
    ErrorKind(
        "node_lost", 503, "The node stopped answering", "Wait for the node to come back, or allocate elsewhere.", True
    ),
    ErrorKind(
        "host_lost",
        503,
        "The host of the allocation is lost",
        "There is nothing to do: the platform wipes the host when it is back. Allocate again for other GPUs.",
        True,
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
    ErrorKind(
        "wipe_not_examined",
        502,
        "A check of the wipe did not look",
        "Let the check look (drives: erase_drives), or accept it in the SKU (accept_not_examined); then retry the release.",
    ),
    ErrorKind(
        "wipe_grade_not_reached",
        502,
        "The wipe did not reach the required grade",
        "Retry the release; when it repeats, look at the node, or clean by hand and force the clean-up with evidence.",
    ),
    ErrorKind(
        "wipe_agent_too_old",
        502,
        "The host's agent can not prove the required grade",
        "Upgrade the agent of the node and retry the release, or clean by hand and force the clean-up with evidence.",
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
