"""Tokens that the server itself could have signed, for times that a test cannot wait for."""

from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.identity.signing_keys import PURPOSE
from gpuaas_server.identity.tokens import Claims, sign
from gpuaas_server.kernel.sealing import Sealer, load_or_make_master_key
from system_support.ledger import Ledger
from system_support.server import RunningServer


def genuine_token(server: RunningServer, ledger: Ledger, user_id: str, age: timedelta) -> str:
    """A token of the user, signed with the platform's key so long ago; it was good for 15 minutes."""
    rows = ledger.rows("SELECT id, sealed_private_key FROM signing_keys WHERE verifies_until IS NULL")
    key_id, sealed = rows[0]["id"], bytes(rows[0]["sealed_private_key"])
    sealer = Sealer(load_or_make_master_key(server.directory / "var" / "keys" / "master.key"))
    key = Ed25519PrivateKey.from_private_bytes(sealer.open(sealed, f"{PURPOSE}:{key_id}"))
    (user,) = ledger.rows("SELECT tenant_id, auth_epoch FROM users WHERE id = %s", user_id)
    made = datetime.now(UTC) - age
    expires = (made + timedelta(minutes=15)).timestamp()
    return sign(key_id, key, Claims(user_id, "user", user["tenant_id"] or "", user["auth_epoch"], expires), made)
