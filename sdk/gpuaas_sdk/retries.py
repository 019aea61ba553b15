"""Decides which calls are retried, and after how long."""

import random
from dataclasses import dataclass

from gpuaas_sdk.errors import GpuaasError, RateLimited, ServerFailed, Unreachable


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    attempts: int = 4
    first_delay: float = 0.25
    max_delay: float = 5.0
    longest_retry_after: float = 30.0

    def delay(self, error: GpuaasError, attempt: int) -> float | None:
        """Returns the seconds to wait before the next attempt, or None when the error should be raised."""
        if attempt >= self.attempts or not self._is_transient(error):
            return None
        if error.retry_after is not None:
            return error.retry_after if error.retry_after <= self.longest_retry_after else None
        ceiling = min(self.max_delay, self.first_delay * 2.0 ** (attempt - 1))
        return ceiling * random.uniform(0.5, 1.0)

    def _is_transient(self, error: GpuaasError) -> bool:
        # no_capacity is retryable too, but the caller decides that: a retry here would hide it.
        transient = isinstance(error, (Unreachable, ServerFailed, RateLimited))
        return error.retryable and (transient or error.status == 504 or error.code == "idempotency_in_progress")


NO_RETRIES = RetryPolicy(attempts=1)
