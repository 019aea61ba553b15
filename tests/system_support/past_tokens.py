"""Issues tokens as the server does, but in the past, for expiries that a test cannot wait for."""

from datetime import UTC, datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.identity.tokens import Claims, sign
from gpuaas_server.kernel.sealer import Sealer, load_or_make_master_key
from gpuaas_server.secrets.envelope import SecretRef, open_sealed
from system_support.ledger import Ledger
from system_support.server import RunningServer


def issue_past_token(server: RunningServer, ledger: Ledger, user_id: str, age: timedelta) -> str:
    """Return a token of the user that the platform's key signed `age` ago; it is valid for 15 minutes."""
    (row,) = ledger.rows(
        "SELECT s.id, p.wrapped_key, p.sealed_value, k.id AS key_id, k.sealed_key FROM signing_keys s"
        " JOIN platform_private_keys p ON p.id = s.id JOIN secret_keys k ON k.id = p.key_id"
        " WHERE s.verifies_until IS NULL"
    )
    key_id, ref = row["id"], SecretRef(row["id"], 1)
    master = Sealer(load_or_make_master_key(server.directory / "var" / "keys" / "master.key"))
    wrapping = Sealer(master.open(bytes(row["sealed_key"]), f"secret-key:{row['key_id']}"))
    data_key = wrapping.open(bytes(row["wrapped_key"]), ref.key_purpose)
    key = Ed25519PrivateKey.from_private_bytes(open_sealed(data_key, ref, bytes(row["sealed_value"])))
    (user,) = ledger.rows("SELECT tenant_id, auth_epoch FROM users WHERE id = %s", user_id)
    made = datetime.now(UTC) - age
    expires = (made + timedelta(minutes=15)).timestamp()
    return sign(key_id, key, Claims(user_id, "user", user["tenant_id"] or "", user["auth_epoch"], expires), made)
