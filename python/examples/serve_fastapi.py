"""Serve a recorded generation as OpenAI's chat completions with FastAPI: streamed or not, with usage, errors and tools.

Usage: python serve_fastapi.py MODEL prompt.txt recording.jsonl [PORT]      (pip install fastapi uvicorn)
       curl -N http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' -d '{"stream": true, "messages": []}'

MODEL has a chat template. Whatever is asked, the answer is the recording: lines of {"after_ms": 25, "text": "Hel"}. In a
server of your own, the pieces come from the engine, which also says why it stopped and counts the tokens; it gets the
grammar of the request, so that it keeps `tool_choice`, `parallel_tool_calls` and the schemas.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import backchat
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

EVENT_STREAM = "text/event-stream"


class Asked(BaseModel):
    """The members of a request that this server reads."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] = []
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool = True
    stream: bool = False
    stream_options: dict[str, Any] = {}


class Engine:
    """A stand-in for the engine: it has the output, the reason why it stopped, and the token counts."""

    def __init__(self, recording: Path) -> None:
        self.pieces = [json.loads(line) for line in recording.read_text(encoding="utf-8").splitlines()]

    async def generate(self, grammar: str) -> AsyncGenerator[str, None]:
        # A real engine passes the grammar to its sampler.
        assert grammar
        for piece in self.pieces:
            await asyncio.sleep(piece.get("after_ms", 0) / 1000)
            yield piece["text"]

    def finish_reason(self) -> str | None:
        return self.pieces[-1].get("finish_reason") if self.pieces else None

    def usage(self) -> dict[str, int]:
        written = len(self.pieces)
        return {"prompt_tokens": 0, "completion_tokens": written, "total_tokens": written}


def application(grammar: backchat.Grammar, prompt: str, engine: Engine) -> FastAPI:
    app = FastAPI()

    @app.exception_handler(RequestValidationError)
    @app.exception_handler(backchat.TemplateError)
    async def refuse(_: Request, problem: Exception) -> JSONResponse:
        return JSONResponse({"error": {"message": str(problem), "type": "invalid_request_error"}}, 400)

    @app.post("/v1/chat/completions", response_model=None)
    async def complete(asked: Asked) -> JSONResponse | StreamingResponse:
        # A choice that the tools do not allow is refused before anything is written.
        rules = grammar.for_request(
            asked.tools,
            tool_choice=asked.tool_choice,
            parallel=None if asked.parallel_tool_calls else False,
            prompt=prompt,
            format="ebnf",
        )
        told: dict[str, Any] = {"model": "recorded", "finish_reason": engine.finish_reason, "usage": engine.usage}

        async def events() -> AsyncGenerator[dict[str, Any], None]:
            async with aclosing(engine.generate(rules["grammar"])) as pieces:
                async for event in backchat.astream(pieces, grammar.template, prefix=prompt, tools=asked.tools):
                    yield event

        if not asked.stream:
            return JSONResponse(backchat.openai_completion([event async for event in events()], **told))
        if not asked.stream_options.get("include_usage"):
            told["usage"] = None

        async def lines() -> AsyncIterator[str]:
            # A client that disconnects ends the generation.
            async with aclosing(events()) as source:
                async for chunk in backchat.aopenai_chunks(source, **told):
                    yield f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n"
                yield "data: [DONE]\n\n"

        return StreamingResponse(lines(), media_type=EVENT_STREAM)

    return app


def main(model: str, prompt: str, recording: str, port: str = "8080") -> None:
    app = application(backchat.Grammar(model), Path(prompt).read_text(encoding="utf-8"), Engine(Path(recording)))
    uvicorn.run(app, host="127.0.0.1", port=int(port), log_level="warning")


if __name__ == "__main__":
    main(*sys.argv[1:])
