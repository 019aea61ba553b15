"""The limit of open files, which is the limit of connections: raised at start, and shared out."""

import logging
import resource

# More than this is of no use to one process, and some programs walk through all numbers up to the limit.
MOST_FILES = 1 << 18
# Files, the log, peers, the collector's and the loop's own; connections that are being refused.
RESERVED_FILES = 256
log = logging.getLogger(__name__)


def raise_file_limit() -> None:
    """Let this process, and those that it starts, open as many files as its hard limit allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def connection_limit(wanted: int, pool_size: int) -> int:
    """Return how many connections may be open while database and files keep their share. Log it if it is less than wanted."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    # Of a small limit, connections get half.
    possible = max(16, soft - min(RESERVED_FILES + 2 * pool_size, soft // 2))
    if possible < wanted:
        log.warning("the file limit allows fewer connections", extra={"wanted": wanted, "possible": possible})
    return min(wanted, possible)
