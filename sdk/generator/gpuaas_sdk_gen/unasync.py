"""Turns async code into blocking code by replacing words.

The layer in gpuaas_sdk/aio uses only constructs that can be replaced this way, so only one version is written and reviewed.
"""

import re

REPLACEMENTS = (
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\basyncio\.to_thread\(([\w.]+), ", r"\1("),
    (r"\bAwaitable\[((?:[^\[\]]|\[[^\[\]]*\])*)\]", r"\1"),
    (r"\bAsyncIterator\b", "Iterator"),
    (r"\bAsyncGenerator\[(\w+), None\]", r"Generator[\1, None, None]"),
    (r"\bAsyncGenerator\b", "Generator"),
    (r"\baclosing\b", "closing"),
    (r"\bAsyncClient\b", "Client"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\b__a(iter|enter|exit)__\b", r"__\1__"),
    (r"\baiter_(raw|bytes)\b", r"iter_\1"),
    (r"\baread\b", "read"),
    (r"\baclose\b", "close"),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"\basyncio\.Lock\b", "threading.Lock"),
    (r"\bimport asyncio\b", "import threading\nimport time"),
    (r"\bgpuaas_sdk\.aio\b", "gpuaas_sdk.sync"),
    (r"\bgpuaas_sdk\.generated\.aio\b", "gpuaas_sdk.generated.sync"),
)


def remove_await(source: str) -> str:
    for pattern, replacement in REPLACEMENTS:
        source = re.sub(pattern, replacement, source)
    return source


def add_header(source: str, name: str) -> str:
    """Adds a comment that names the file to change instead."""
    return f"# Derived from gpuaas_sdk/aio/{name} by tools/sdk-client; change that file instead.\n{source}"
