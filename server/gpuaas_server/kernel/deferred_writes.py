"""Rows that a transaction writes but never reads: they travel as one statement, just before the COMMIT.

Five statements cost five rounds of protocol and bookkeeping on both sides, whether or not their answers are awaited.
"""

from collections.abc import Sequence

from gpuaas_server.kernel.json_text import as_json


class DeferredWrites:
    """Collects a transaction's deferred writes. `insert` takes a statement with one parameter, the rows as jsonb: dataclasses
    (`rows.recordset_insert` writes their statement) or dicts. `call` takes a function that refuses by raising. Statements run
    in no particular order; the rows of one statement keep theirs.
    """

    def __init__(self) -> None:
        self._inserts: dict[str, list[object]] = {}
        self._calls: list[tuple[str, Sequence[object]]] = []

    def insert(self, statement: str, rows: Sequence[object]) -> None:
        self._inserts.setdefault(statement, []).extend(rows)

    def call(self, function: str, parameters: Sequence[object]) -> None:
        self._calls.append((function, parameters))

    def take(self) -> tuple[str, list[object]] | None:
        """Return the one statement with its parameters; None when there is nothing to write."""
        inserts, self._inserts = self._inserts, {}
        calls, self._calls = self._calls, []
        if not inserts and not calls:
            return None
        written = ", ".join(f"w{number} AS ({statement})" for number, statement in enumerate(inserts))
        called = ", ".join(function for function, _ in calls) or "1"
        parameters: list[object] = [as_json(rows) for rows in inserts.values()]
        for _, own in calls:
            parameters.extend(own)
        return f"{f'WITH {written} ' if inserts else ''}SELECT {called}", parameters
