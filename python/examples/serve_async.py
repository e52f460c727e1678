"""Serve a recorded generation on the loopback as an OpenAI-style stream of `chat.completion.chunk`s, with asyncio.

Usage: python serve_async.py MODEL prompt.txt recording.jsonl [PORT]
       curl -N http://127.0.0.1:8080/v1/chat/completions -d '{"stream": true}'

Whatever is asked, the answer is the recording: lines of {"after_ms": 25, "text": "Hel"}. In a server of your own, the
pieces come from the engine.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import backchat

#: The longest request that is read.
LONGEST = 1 << 20


async def generate(recording: Path) -> AsyncGenerator[str, None]:
    for line in recording.read_text(encoding="utf-8").splitlines():
        piece = json.loads(line)
        await asyncio.sleep(piece.get("after_ms", 0) / 1000)
        yield piece["text"]


async def read(reader: asyncio.StreamReader) -> None:
    head = await reader.readuntil(b"\r\n\r\n")
    for line in head.decode("latin-1").split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            await reader.readexactly(min(int(value), LONGEST))


async def serve(template: backchat.Template, prompt: str, recording: Path, port: int) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def send(data: object) -> None:
            text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
            writer.write(f"data: {text}\n\n".encode())
            await writer.drain()

        try:
            await asyncio.wait_for(read(reader), 5)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
            # A client that leaves ends the generation.
            async with aclosing(generate(recording)) as pieces:
                events = backchat.astream(pieces, template, prefix=prompt)
                async for chunk in backchat.aopenai_chunks(events, model="recorded"):
                    await send(chunk)
            await send("[DONE]")
        except backchat.ParseError as error:
            await send({"error": {"message": str(error)}})
        except (ConnectionError, EOFError, ValueError, asyncio.TimeoutError, asyncio.LimitOverrunError) as error:
            print(f"error: {error!r}", file=sys.stderr)
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
