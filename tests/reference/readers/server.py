"""Whether a server's own code loads the templates: `python -m reference.readers.server vllm|sglang SOURCES`."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[3] / "python" / "tests" / "served"))
import package

#: The modules of each server that are its own, and the function that refuses a template; all others are stand-ins.
SERVERS = {
    "vllm": (
        ("vllm.parser.response_template", "vllm.parser.response_template_grammar", "vllm.parser.chat_parsing"),
        "vllm.parser.response_template",
    ),
    "sglang": (
        ("sglang.srt.parser.response_template", "sglang.srt.parser.chat_parsing"),
        "sglang.srt.parser.response_template",
    ),
}


def main(server: str, sources: str) -> None:
    loaded, module = SERVERS[server]
    absent = ("torch", "orjson", "fastapi", "transformers", "triton", "prometheus_client", "openai", "xgrammar")
    package.load(Path(sources), loaded, absent)
    validate = importlib.import_module(module).validate_response_template_for_serving
    for line in sys.stdin:
        row = json.loads(line)
        try:
            validate(row["template"])
            refused = None
        except Exception as error:  # noqa: BLE001
            refused = str(error)
        print(json.dumps({"id": row["id"], "refused": refused}))


if __name__ == "__main__":
    main(*sys.argv[1:])
