"""Prometheus metrics of one process. Every noun declares its metrics here, so that the names stay consistent."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

registry = CollectorRegistry(auto_describe=True)

requests = Counter("gpuaas_http_requests_total", "Answered requests.", ["route", "method", "status"], registry=registry)
request_seconds = Histogram(
    "gpuaas_http_request_seconds",
    "Time to answer, long polls left out.",
    ["route"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
    registry=registry,
)
problems = Counter("gpuaas_problems_total", "Problem documents sent.", ["code"], registry=registry)
auth_refusals = Counter("gpuaas_auth_refusals_total", "Tokens and sign-ins refused.", ["reason"], registry=registry)
password_queue = Gauge("gpuaas_password_queue", "Passwords that wait for argon2, or are in it.", registry=registry)
sign_in_locks = Counter(
    "gpuaas_sign_in_locks_total",
    "Locks after wrong passwords: of an account for one network, or of an account for all networks it does not know.",
    ["extent"],
    registry=registry,
)
denials = Counter(
    "gpuaas_denials_total", "Refusals of the audit trail, those left out of it included.", ["why"], registry=registry
)
connections = Gauge(
    "gpuaas_connections",
    "Open connections: unauthenticated until a first authenticated request came.",
    ["state"],
    registry=registry,
)
connection_limit = Gauge("gpuaas_connection_limit", "Connections that this process serves at once.", registry=registry)
connections_refused = Counter(
    "gpuaas_connections_refused_total",
    "Connections refused or closed before authentication, or for what they sent.",
    ["reason"],
    registry=registry,
)
streams = Gauge(
    "gpuaas_streams", "Answers that go on for long: watches, long polls, terminals.", ["kind"], registry=registry
)
streams_refused = Counter(
    "gpuaas_streams_refused_total", "Streams refused, by the limit that was reached.", ["limit"], registry=registry
)
changes_paced = Counter(
    "gpuaas_changes_paced_total",
    "Changes that came faster than their tenant's pace: those that waited, and those that were refused.",
    ["outcome"],
    registry=registry,
)
agent_polls = Gauge("gpuaas_agent_polls", "Node agents waiting in a long poll.", registry=registry)
terminals = Gauge("gpuaas_terminals", "Terminals that this process carries.", registry=registry)
certificate_expiry = Gauge(
    "gpuaas_certificate_expiry_timestamp_seconds",
    "When a TLS certificate of ours ends.",
    ["listener"],
    registry=registry,
)
certificate_failures = Counter(
    "gpuaas_certificate_renewal_failures_total", "Renewals that did not succeed.", ["listener"], registry=registry
)
node_keys = Gauge(
    "gpuaas_node_keys", "Keys of node agents that have ended, or are late to be renewed.", ["state"], registry=registry
)
deletions_stuck = Gauge(
    "gpuaas_deletions_stuck",
    "Deletions of tenants and projects that have not got on for ten minutes, by what they wait for.",
    ["stage"],
    registry=registry,
)
work_done = Counter("gpuaas_work_total", "Work rows handled.", ["kind", "outcome"], registry=registry)
work_lag = Histogram(
    "gpuaas_work_lag_seconds",
    "From due to leased.",
    ["kind"],
    buckets=(0.005, 0.02, 0.1, 0.5, 2, 10, 60),
    registry=registry,
)
work_running = Gauge("gpuaas_work_running", "Work rows that this process runs.", ["lane"], registry=registry)
work_waiting = Gauge(
    "gpuaas_work_waiting", "Work rows that are due and wait for a slot, counted to 1,000.", ["lane"], registry=registry
)
work_oldest_seconds = Gauge(
    "gpuaas_work_oldest_seconds", "For how long the oldest of them has been due.", ["lane"], registry=registry
)
allocations_ended = Counter(
    "gpuaas_allocation_transitions_total", "Allocations entering a state.", ["state"], registry=registry
)
