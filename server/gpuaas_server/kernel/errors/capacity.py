"""Codes of requests for capacity: GPUs, SKUs, quotas, allocations."""

from gpuaas_server.kernel.errors.foundation import ErrorKind

CAPACITY = [
    ErrorKind(
        "no_capacity",
        409,
        "There is not enough free capacity",
        "Try again later, request fewer GPUs, or choose another SKU.",
        True,
    ),
    ErrorKind(
        "capacity_fragmented",
        409,
        "The free GPUs are not on one node",
        "Request fewer GPUs per allocation; a slice never spans nodes.",
        True,
    ),
    ErrorKind(
        "capacity_blocked",
        409,
        "The capacity is not proven clean",
        "Ask an operator to clean the blocked slots (cleanup_blocked).",
        True,
    ),
    ErrorKind(
        "capacity_below_grade",
        409,
        "The free hosts cannot prove the required wipe grade",
        "Choose another SKU. Or have a platform administrator upgrade the agents or lower the SKU's wipe"
        " grade, or a tenant administrator lower the tenant's (docs/howto/offer-a-sku.md).",
        True,
    ),
    ErrorKind(
        "capacity_drives_not_erased",
        409,
        "The free nodes do not erase drives",
        "Choose another SKU. Or have a platform administrator let the nodes erase their drives (gpuaas nodes"
        " erase-drives), or let the SKU accept it (accept_not_examined: drives).",
        True,
    ),
    ErrorKind(
        "sku_not_offered",
        422,
        "This SKU or GPU count is not offered",
        "List the SKUs, and choose an offered SKU and GPU count.",
    ),
    ErrorKind(
        "wipe_grade_not_available",
        422,
        "This wipe grade is not available",
        "Request a lower grade: `inspected`, or `rebooted` for a whole host.",
    ),
    ErrorKind(
        "quota_exceeded",
        409,
        "The quota is exceeded",
        "Release something, or ask an administrator for a larger quota.",
    ),
    ErrorKind(
        "quota_beyond_tenant",
        409,
        "A project's limit cannot exceed its tenant's",
        "Choose a smaller limit, or ask a platform administrator for a larger quota of the tenant.",
    ),
    ErrorKind(
        "unproven_releases",
        409,
        "Too many released GPUs are not proven clean",
        "Retry the failed releases (allocations in release_failed), wait for lost hosts, or ask an operator for help.",
        True,
    ),
    ErrorKind(
        "not_active", 409, "The allocation is not active", "Wait until the allocation is active, or create another."
    ),
    ErrorKind(
        "ssh_key_refused",
        422,
        "The SSH public key is not acceptable",
        "Send one line with an Ed25519, ECDSA (NIST) or RSA (3072 bits or more) public key.",
    ),
    ErrorKind(
        "source_addresses_needed",
        422,
        "The addresses from which the certificate will be used are not known",
        "Name the addresses that you will connect from in source_addresses, as the hosts see them.",
    ),
    ErrorKind(
        "too_many_terminals",
        409,
        "Too many terminals are open",
        "Close one that you do not need, then open this one again.",
    ),
    ErrorKind(
        "too_many_host_reports",
        409,
        "The tenant has too many open reports of broken hosts",
        "Release or replace the allocation. Operators clear reports after examining the hosts.",
    ),
    ErrorKind("evidence_required", 422, "Evidence is required", "Describe what was checked on the host, and by whom."),
]
