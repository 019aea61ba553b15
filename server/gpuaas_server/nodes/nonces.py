"""The nonces of agents' requests that this process has seen."""

from datetime import datetime

from gpuaas_server.nodes.signatures import MAX_SKEW_MS, AgentSignature

SPAN_MS = 15_000
MOST_NONCES = 500_000


class NonceMemory:
    """Remembers each nonce for as long as its signature can be valid, and no longer: it lives in the span of time in which
    it was signed, and spans are forgotten whole.

    A nonce is kept as its hash, which takes half the room. Two that share one by chance would cost an agent a refusal, and
    never let a replay through.
    """

    def __init__(self) -> None:
        self._spans: dict[int, set[int]] = {}
        self._remembered = 0

    def first_time(self, signature: AgentSignature, now: datetime) -> bool:
        mark = hash(signature.node_id + signature.nonce)
        if any(mark in marks for marks in self._spans.values()):
            return False
        span = signature.ts_ms // SPAN_MS
        if span not in self._spans:
            self._forget_invalid(int(now.timestamp() * 1000))
            self._spans[span] = set()
        self._spans[span].add(mark)
        self._remembered += 1
        if self._remembered > MOST_NONCES:  # only agents with good signatures come here: these are too many of them
            self._forget(min(self._spans))
        return True

    def _forget_invalid(self, now_ms: int) -> None:
        for span in [span for span in self._spans if (span + 1) * SPAN_MS + MAX_SKEW_MS < now_ms]:
            self._forget(span)

    def _forget(self, span: int) -> None:
        self._remembered -= len(self._spans.pop(span))
