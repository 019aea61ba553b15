"""The error of a build, with what to do next."""


class BuildFailed(Exception):
    """An image was not built. Nothing of it is left in the cache, so that the build can be repeated."""

    def __init__(self, message: str, next_step: str) -> None:
        super().__init__(f"{message} {next_step}")
