"""An OpenAI-compatible endpoint on this machine that can be told to fail in every way that real ones do."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Respond = Callable[[dict[str, Any], int], "Reply"]


@dataclass(frozen=True)
class Reply:
    """What the server sends back."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int = 0
    """So many bytes fewer are sent than announced."""
    delay: float = 0.0


@dataclass
class JudgeServer:
    """A running server: where it is, and what it was asked."""

    url: str
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)


def completion(text: str, logprobs: list[dict[str, Any]] | None = None, tokens: tuple[int, int] = (100, 1)) -> Reply:
    """An ordinary answer."""
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    if logprobs is not None:
        choice["logprobs"] = {"content": logprobs}
    usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
    return Reply(json.dumps({"object": "chat.completion", "choices": [choice], "usage": usage}).encode())


def token(text: str, probabilities: dict[str, float]) -> dict[str, Any]:
    """One token of an answer with its alternatives."""
    top = [{"token": one, "logprob": math.log(share), "bytes": None} for one, share in probabilities.items()]
    return {"token": text, "logprob": math.log(probabilities.get(text, 1e-9)), "top_logprobs": top}


def echo(answer: Reply, *secrets: str) -> Reply:
    """The answer with secrets in every field and header that a server could put them in, and spread over tokens."""
    found, said = json.loads(answer.body), " ".join(secrets)
    [choice] = found["choices"]
    choice["message"] |= {"reasoning_content": said, "refusal": {secrets[0]: [said]}}
    choice["finish_reason"] = said
    if "logprobs" in choice:
        pieces = [secret[start : start + 3] for secret in secrets for start in range(0, len(secret), 3)]
        entries = [
            {"token": piece, "logprob": -0.1, "bytes": list(piece.encode()), "top_logprobs": []} for piece in pieces
        ]
        choice["logprobs"]["content"] += [*entries, {"token": said, "bytes": list(said.encode())}]
    found |= {"model": said, "system_fingerprint": said, "id": said, "usage": {"prompt_tokens": said, said: said}}
    headers = dict.fromkeys(("X-Request-Id", "Retry-After", "Location", "Set-Cookie"), secrets[0])
    return Reply(json.dumps(found).encode(), answer.status, headers)


def refusal(status: int, message: str, headers: dict[str, str] | None = None) -> Reply:
    """An error as OpenAI words it."""
    return Reply(json.dumps({"error": {"message": message, "type": "error"}}).encode(), status, headers or {})


def asked_reply(body: dict[str, Any]) -> str:
    """The reply that a request asks about."""
    found: str = json.loads(body["messages"][-1]["content"])["reply to judge"]
    return found


@contextmanager
def serving(respond: Respond) -> Iterator[JudgeServer]:
    """A server that answers each request, and its number, as the function says."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(found.requests)
                found.requests.append(body)
                found.headers.append(dict(self.headers))
            reply = respond(body, number)
            if reply.delay:
                stopped.wait(reply.delay)
            self.send_response(reply.status)
            self.send_header("Content-Length", str(len(reply.body)))
            for key, value in reply.headers.items():
                self.send_header(key, value)
            self.end_headers()
            try:
                self.wfile.write(reply.body[: len(reply.body) - reply.cut])
            except OSError:  # the client has had enough
                return
            if reply.cut:
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on standard error."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """Nothing on standard error."""

    stopped = threading.Event()
    server = Server(("127.0.0.1", 0), Handler)
    found = JudgeServer(f"http://127.0.0.1:{server.server_port}/v1")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield found
    finally:
        stopped.set()
        server.shutdown()
        server.server_close()
        thread.join()
