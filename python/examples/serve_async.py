"""Serve a recorded generation on the loopback as OpenAI's chat completions, streamed or not, with asyncio alone.

Usage: python serve_async.py MODEL prompt.txt recording.jsonl [PORT]
       curl -N http://127.0.0.1:8080/v1/chat/completions -d '{"stream": true}'

Whatever is asked, the answer is the recording: lines of {"after_ms": 25, "text": "Hel"}. In a server of your own, the
pieces come from the engine, and so does `finish_reason`. serve_fastapi.py does more, with a framework.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import backchat

#: The longest request that is read.
LONGEST = 1 << 20


async def generate(recording: Path) -> AsyncGenerator[str, None]:
    for line in recording.read_text(encoding="utf-8").splitlines():
        piece = json.loads(line)
        await asyncio.sleep(piece.get("after_ms", 0) / 1000)
        yield piece["text"]


async def read(reader: asyncio.StreamReader) -> tuple[str, dict[str, Any]]:
    """The method and path of a request, and its body."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    lengths = [line.partition(":")[2] for line in head if line.lower().startswith("content-length:")]
    body = await reader.readexactly(min(int(lengths[0]), LONGEST)) if lengths else b""
    request = json.loads(body or b"{}")
    if not isinstance(request, dict):
        raise ValueError("the request is not an object")  # noqa: TRY004
    return head[0].rpartition(" ")[0], request


def response(status: str, kind: str, body: object = None) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n"
    return f"{head}{'' if body is None else json.dumps(body, ensure_ascii=False)}".encode()


def error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error"}}


async def serve(template: backchat.Template, prompt: str, recording: Path, port: int) -> None:
    async def complete(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        # A client that disconnects ends the generation.
        async with aclosing(generate(recording)) as pieces:
            events = backchat.astream(pieces, template, prefix=prompt)
            if not request.get("stream"):
                answer = backchat.openai_completion([event async for event in events], model="recorded")
                writer.write(response("200 OK", "application/json", answer))
                return
            writer.write(response("200 OK", "text/event-stream"))
            async for chunk in backchat.aopenai_chunks(events, model="recorded"):
                writer.write(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode())
                await writer.drain()
            writer.write(b"data: [DONE]\n\n")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked, request = await asyncio.wait_for(read(reader), 5)
            if asked == "POST /v1/chat/completions":
                await complete(request, writer)
            else:
                writer.write(response("404 Not Found", "application/json", error(f"there is no {asked}")))
            await writer.drain()
        except ValueError as problem:
            writer.write(response("400 Bad Request", "application/json", error(str(problem))))
        except (ConnectionError, EOFError, asyncio.TimeoutError, asyncio.LimitOverrunError) as problem:
            print(f"error: {problem!r}", file=sys.stderr)
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", port)
    print("http://{}:{}/v1/chat/completions".format(*server.sockets[0].getsockname()), flush=True)
    async with server:
        await server.serve_forever()


def main(model: str, prompt: str, recording: str, port: str = "8080") -> None:
    template = backchat.Template.open(model)
    asyncio.run(serve(template, Path(prompt).read_text(encoding="utf-8"), Path(recording), int(port)))


if __name__ == "__main__":
    main(*sys.argv[1:])
