"""What a user does with an app of the catalogue. Each function takes its endpoint, and fails if the app does not work."""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

import httpx
from openai import AuthenticationError, OpenAI

from gpuaas_lab.demo import notebook_kernel

HANG = 90.0  # seconds, after which nobody waits any more


@dataclass(frozen=True)
class Endpoint:
    address: str
    port: int
    token: str = ""

    @property
    def url(self) -> str:
        return f"http://{self.address}:{self.port}"

    def get(self, path: str, token: str | None = None) -> httpx.Response:
        secret = self.token if token is None else token
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        return httpx.get(f"{self.url}{path}", headers=headers, timeout=HANG)


def wait_until_ready(endpoint: Endpoint, path: str, runs: Callable[[], bool] = lambda: True) -> None:
    """Wait until a GET of the path answers 200, as the readiness probe of a manifest does; stop once it no longer runs."""
    deadline = time.monotonic() + HANG
    while (status := _status(endpoint, path)) != "200":
        assert runs(), f"{endpoint.url} has ended"
        assert time.monotonic() < deadline, f"{endpoint.url}{path}: {status}"
        time.sleep(0.2)


def _status(endpoint: Endpoint, path: str) -> str:
    try:
        return str(httpx.get(f"{endpoint.url}{path}", timeout=3.0).status_code)
    except httpx.TransportError as error:
        return str(error)


def execute_in_kernel(endpoint: Endpoint, code: str) -> str:
    """Start a kernel of a notebook server, run the code in it and return its result as text."""
    return notebook_kernel.execute_in_kernel(endpoint.address, endpoint.port, endpoint.token, code)


@dataclass(frozen=True)
class Chat:
    """What the engine said about one conversation."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    pieces: int


def chat(endpoint: Endpoint, model: str, question: str, tokens: int) -> Chat:
    """Ask with the real client of OpenAI, and wait for the whole answer."""
    with OpenAI(base_url=f"{endpoint.url}/v1", api_key=endpoint.token, timeout=HANG, max_retries=0) as client:
        answer = client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": question}], max_tokens=tokens, seed=1
        )
    assert answer.usage is not None
    text = answer.choices[0].message.content or ""
    return Chat(text, answer.usage.prompt_tokens, answer.usage.completion_tokens, 1)


def chat_streaming(endpoint: Endpoint, model: str, question: str, tokens: int) -> Chat:
    """Ask with the real client of OpenAI, and collect the answer piece by piece."""
    text, pieces, usage = "", 0, None
    with OpenAI(base_url=f"{endpoint.url}/v1", api_key=endpoint.token, timeout=HANG, max_retries=0) as client:
        stream = client.chat.completions.create(
            model=model,
            messages=[{"role": "user", "content": question}],
            max_tokens=tokens,
            seed=1,
            stream=True,
            stream_options={"include_usage": True},
        )
        for part in stream:
            usage = part.usage or usage
            for choice in part.choices:
                if choice.delta.content:
                    text, pieces = text + choice.delta.content, pieces + 1
    assert usage is not None
    return Chat(text, usage.prompt_tokens, usage.completion_tokens, pieces)


def is_refused(endpoint: Endpoint, model: str) -> bool:
    """Tell whether the engine refuses this token."""
    try:
        chat(endpoint, model, "hello", 1)
    except AuthenticationError:
        return True
    return False


def routes(endpoint: Endpoint) -> set[tuple[str, str]]:
    """List the methods and paths that a server describes itself, by OpenAPI."""
    answer = endpoint.get("/openapi.json")
    assert answer.status_code == 200, answer.text
    listed: dict[str, dict[str, object]] = answer.json()["paths"]
    return {(method.upper(), path) for path, methods in listed.items() for method in methods}


def status_of(endpoint: Endpoint, method: str, path: str, token: str) -> int:
    """Send an empty request with this token, and return the status of the answer."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return httpx.request(method, f"{endpoint.url}{path}", headers=headers, timeout=HANG).status_code


def counters(endpoint: Endpoint, path: str = "/metrics") -> dict[str, float]:
    """Read the counters of an engine, as Prometheus does; counters with labels are added up."""
    answer = endpoint.get(path)
    assert answer.status_code == 200, answer.text
    found: dict[str, float] = {}
    for line in answer.text.splitlines():
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            plain = name.partition("{")[0]
            found[plain] = found.get(plain, 0.0) + float(value)
    return found


def opens_marimo(endpoint: Endpoint) -> bool:
    """Tell whether the token opens the notebook server in a browser."""
    with httpx.Client(base_url=endpoint.url, timeout=HANG, follow_redirects=True) as client:
        return client.get("/", params={"access_token": endpoint.token}).url.path == "/"


def marimo_files(endpoint: Endpoint) -> list[str]:
    """List the notebooks of the server, as its page does."""
    with httpx.Client(base_url=endpoint.url, timeout=HANG, follow_redirects=True) as client:
        page = client.get("/", params={"access_token": endpoint.token})
        assert (page.status_code, page.url.path) == (200, "/"), page.text
        found = re.search(r'data-token="([^"]+)"', page.text)
        headers = {"Marimo-Server-Token": found.group(1)} if found else {}
        answer = client.post("/api/home/workspace_files", json={"includeMarkdown": False}, headers=headers)
        assert answer.status_code == 200, answer.text
        return [str(file["name"]) for file in answer.json()["files"]]


# Writes event files as a training program does, with TensorBoard's own writer.
WRITE_A_RUN = """
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.event_file_writer import EventFileWriter
writer = EventFileWriter("/data/runs/first")
for step, loss in ((1, 0.5), (2, 0.25)):
    values = [Summary.Value(tag="loss", simple_value=loss)]
    writer.add_event(Event(wall_time=float(step), step=step, summary=Summary(value=values)))
writer.close()
"""


def scalars(endpoint: Endpoint, run: str, tag: str) -> list[tuple[int, float]]:
    """Return steps and values of a run, once TensorBoard has read them."""
    deadline = time.monotonic() + HANG
    while endpoint.get("/data/runs").json() != [run]:
        assert time.monotonic() < deadline, "TensorBoard did not find the run"
        time.sleep(0.5)
    answer = endpoint.get(f"/data/plugin/scalars/scalars?run={run}&tag={tag}")
    assert answer.status_code == 200, answer.text
    return [(int(step), float(value)) for _, step, value in answer.json()]
