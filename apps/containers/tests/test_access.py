"""The addresses that people get: one for each member and endpoint, none of a member that has left."""

from gpuaas_containers.access import ReachableMember, access_bundle

MANIFEST: dict[str, object] = {
    "ui": {
        "endpoints": [
            {"key": "page", "component": "web", "port": 7007, "path": "/lab"},
            {"key": "db", "component": "db", "port": 5432, "protocol": "tcp"},
        ]
    }
}


def test_the_first_member_has_the_plain_key_and_the_others_their_ordinals() -> None:
    members = [
        ReachableMember("web", 5, "10.0.0.5"),
        ReachableMember("web", 2, "10.0.0.2"),
        ReachableMember("db", 3, "10.0.0.3"),
    ]
    assert access_bundle(MANIFEST, members) == {
        "page": "http://10.0.0.2:7007/lab",
        "page_5": "http://10.0.0.5:7007/lab",
        "db": "tcp://10.0.0.3:5432",
    }


def test_a_manifest_without_endpoints_gives_no_address() -> None:
    assert access_bundle({}, [ReachableMember("web", 1, "10.0.0.1")]) == {}
