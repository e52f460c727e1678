"""Run by test_servers.py: SGLang's constraint for a request of docs/grammar.md, with a tool parser that has its own tag."""

import json
import sys
from pathlib import Path

import package

package.load(
    Path(sys.argv[1]),
    (
        "sglang.srt.parser",
        "sglang.srt.function_call",
        "sglang.srt.entrypoints.openai.protocol",
        "sglang.srt.environ",
    ),
    ("torch", "orjson", "fastapi", "transformers", "triton"),
)
from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest
from sglang.srt.function_call.function_call_parser import FunctionCallParser

asked = ChatCompletionRequest(**json.loads(Path(sys.argv[2]).read_bytes()))
parser = FunctionCallParser(asked.tools, "qwen3_coder")
constraint = parser.get_structure_constraint(asked.tool_choice, parallel_tool_calls=asked.parallel_tool_calls)
assert constraint is None, f"SGLang has a constraint of its own: {constraint}"
print(json.dumps(asked.response_format.model_dump(by_alias=True)))
