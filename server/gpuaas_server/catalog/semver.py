"""Semantic versions in an order that the database can sort by: a text whose bytes compare as the versions do."""

_WIDTH = 9  # digits; the manifest's schema allows no more


def precedence(version: str) -> str:
    """Return a text that sorts as the version does: 1.2.3-rc.1 < 1.2.3, and 1.9.0 < 1.10.0. Build metadata (+…) is ignored."""
    core, _, prerelease = version.partition("+")[0].partition("-")
    numbers = ".".join(part.zfill(_WIDTH) for part in core.split("."))
    # A release comes after all of its pre-releases ("~" is the last character that occurs), and of two pre-releases that
    # begin alike the shorter comes first ("!" is before every character that occurs).
    return f"{numbers}~" if not prerelease else f"{numbers}-{'!'.join(map(_identifier, prerelease.split('.')))}"


def _identifier(text: str) -> str:
    return f"0{text.zfill(_WIDTH)}" if text.isdigit() else f"1{text}"
