"""A project that registers images of a registry outside the platform."""

import asyncio
from dataclasses import dataclass

from gpuaas_server.kernel.database import PLATFORM
from tests_support.artifacts import Json, Workshop
from tests_support.external_registries import PASSWORD, USER, PasswordRegistry, SmallImage, small_image
from tests_support.select import select

CREDENTIAL = {"username": USER, "password": PASSWORD}
REPOSITORY = "team/trainer"


@dataclass
class Outside:
    shop: Workshop
    registry: PasswordRegistry

    async def push(self, image: SmallImage) -> str:
        return await asyncio.to_thread(self.registry.push, REPOSITORY, image.blobs, image.manifest)

    async def register(self, reference: str, credential: Json | None = CREDENTIAL) -> Json:
        """Register the image and let the worker look at it once; the intent."""
        return await register_external(self.shop, reference, credential)

    async def artifact(self) -> Json:
        intent = await self.register(await self.push(small_image()))
        assert intent["state"] == "registered", intent
        return await self.shop.artifact(intent["artifact_id"])

    async def count(self, condition: str) -> int:
        return await count_secrets(self.shop, condition)


async def register_external(shop: Workshop, reference: str, credential: Json | None = CREDENTIAL) -> Json:
    body = {"name": "trainer", "reference": reference, "credential": credential}
    intent = await shop.admin.post(f"{shop.path}/external-images", body)
    await shop.work()
    return await shop.intent(intent)


async def count_secrets(shop: Workshop, condition: str) -> int:
    async with shop.platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, f"SELECT count(*) AS n FROM secrets WHERE {condition}")
        return int((await cursor.fetchall())[0]["n"])
