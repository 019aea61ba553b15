"""Tasks that a platform of one key has signed for one node, for tests of what an agent believes."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_agent import signatures
from gpuaas_agent.protocol import TASK_SIGNATURE_PREFIX, Envelope, SignedTask

NODE = "nod_1"


@dataclass
class TaskSigner:
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    def sign(
        self,
        kind: str,
        spec: dict[str, object] | None = None,
        *,
        task_id: str = "tsk_1",
        resource_id: str = "alc_1",
        generation: int = 1,
        node_id: str = NODE,
    ) -> SignedTask:
        text = json.dumps(
            {
                "task_id": task_id,
                "node_id": node_id,
                "kind": kind,
                "resource_id": resource_id,
                "generation": generation,
                "deadline": "2100-01-01T00:00:00Z",
                "spec": spec or {},
            }
        )
        signature = self.key.sign(TASK_SIGNATURE_PREFIX + text.encode())
        return SignedTask(text, "k1", base64.b64encode(signature).decode())

    def verify(self, task: SignedTask) -> Envelope:
        return signatures.verify_task(task, {"k1": signatures.raw_public_key(self.key)}, NODE)
