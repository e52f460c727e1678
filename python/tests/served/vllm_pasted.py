"""Run by test_servers.py: vLLM's constraint for a request of docs/grammar.md, with a tool parser that has its own tag."""

import json
import sys
from pathlib import Path

import package

package.load(
    Path(sys.argv[1]),
    (
        "vllm.parser.parser_manager",
        "vllm.parser.response_template",
        "vllm.parser.response_template_grammar",
        "vllm.parser.abstract_parser",
        "vllm.parser.chat_parsing",
        "vllm.parser.utils",
        "vllm.parser.engine",
        "vllm.parser.metrics",
        "vllm.tool_parsers",
        "vllm.reasoning",
        "vllm.entrypoints.openai.chat_completion.protocol",
        "vllm.entrypoints.generate.base.protocol",
        "vllm.entrypoints.serve.engine.protocol",
        "vllm.sampling_params",
        "vllm.exceptions",
        "vllm.envs",
        "vllm.utils.collection_utils",
        "vllm.utils.import_utils",
    ),
    ("torch", "prometheus_client", "transformers", "triton"),
)
from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
from vllm.parser.parser_manager import ParserManager


class Tokenizer:
    """A token is a character."""

    tokenizer = None

    def get_vocab(self):
        return {}


asked = ChatCompletionRequest(**json.loads(Path(sys.argv[2]).read_bytes()))
made = ParserManager.get_parser(tokenizer=Tokenizer(), tool_parser_name="qwen3_xml", enable_auto_tools=True)
# The rest of `adjust_request` is about how the output is read.
asked = made(Tokenizer(), asked.tools)._apply_structural_tag(asked)
print(asked.extract_structured_outputs().structural_tag)
