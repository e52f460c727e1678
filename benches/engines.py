"""What engines take for our grammars, beside their own: `python benches/engines.py target/release/backchat`.

Needs `pip install xgrammar llguidance`, no model and no GPU. For each chat template of `chat_templates/` whose calls
xgrammar has a built-in structural tag for, one request with four tools and `tool_choice` `required`. Compiling is the best of
ten runs without a cache, a byte that of reading a turn with a call; both sides in one process, after one another. The
vocabulary is the 256 bytes and an end token, so that every byte is a step of the grammar.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import xgrammar
from llguidance import LLMatcher, LLTokenizer
from llguidance._tokenizer import TokenizerWrapper
from xgrammar.builtin_structural_tag import get_model_structural_tag

ROOT = Path(__file__).parent.parent
# Chat templates, and xgrammar's name for how they write calls.
STYLES = {
    "command_r7b": "cohere",
    "deepseek_r1": "deepseek_r1",
    "deepseek_v3_1": "deepseek_v3_1",
    "deepseek_v3_2": "deepseek_v3_2",
    "glm_4_7": "glm_4_7",
    "gpt_oss": "harmony",
    "kimi_k2": "kimi",
    "llama_3_1": "llama",
    "minimax_m2": "minimax",
    "qwen3": "qwen_3",
    "qwen3_coder": "qwen_3_coder",
}
END = 256


def tool(name, required, **properties):
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}


TEXT, COUNT, FLAG = {"type": "string"}, {"type": "integer", "minimum": 1, "maximum": 50}, {"type": "boolean"}
TOOLS = [
    tool("get_weather", ["city"], city=TEXT, days=COUNT),
    tool("find_flights", ["origin", "goal"], origin=TEXT, goal=TEXT, direct=FLAG),
    tool("set_unit", ["unit"], unit={"type": "string", "enum": ["celsius", "fahrenheit"]}),
    tool("list_files", ["paths"], paths={"type": "array", "items": TEXT}, deep=FLAG),
]
USER = {"role": "user", "content": "Which files tell how the weather is?"}
CALL = {"name": "list_files", "arguments": {"paths": ["src/main.rs", "docs", "tests/it/weather.rs"], "deep": True}}
ANSWER = {"role": "assistant", "content": "", "tool_calls": [{"id": "call00000", "type": "function", "function": CALL}]}


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def best(act, runs=10):
    """The shortest run in milliseconds, and what came of it."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        made = act()
        times.append((time.perf_counter() - start) * 1e3)
    return min(times), made


class Bytes:
    """A tokenizer whose tokens are the bytes."""

    tokens = [bytes([byte]) for byte in range(256)] + [b"<|the end|>"]
    eos_token_id, bos_token_id, special_token_ids = END, None, [END]

    def __call__(self, text):
        return list(text if isinstance(text, bytes) else text.encode())


def xgrammar_speed(compile, turn):
    """Milliseconds to compile, and nanoseconds a byte; nothing in the place of the second if the turn is refused."""
    compiling, compiled = best(compile)

    def read():
        matcher = xgrammar.GrammarMatcher(compiled)
        return all(matcher.accept_token(byte) for byte in turn) and matcher.is_completed()

    reading, accepted = best(read)
    return compiling, reading * 1e6 / len(turn) if accepted else None


def llguidance_speed(tokenizer, text, turn):
    compiling, matcher = best(lambda: LLMatcher(tokenizer, LLMatcher.grammar_from_lark(text), log_level=0))
    if matcher.is_error():
        raise ValueError(matcher.get_error())

    def read():
        own = matcher.deep_copy()
        return own.try_consume_tokens(list(turn)) == len(turn) and own.is_accepting()

    reading, accepted = best(read)
    return compiling, reading * 1e6 / len(turn) if accepted else None


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "backchat"
    information = xgrammar.TokenizerInfo(Bytes.tokens, xgrammar.VocabType.RAW, stop_token_ids=[END])
    compiler = xgrammar.GrammarCompiler(information, max_threads=1, cache_enabled=False)
    tokenizer = LLTokenizer(TokenizerWrapper(Bytes()), eos_token=END)
    columns = {
        name: ([], [])
        for name in ("xgrammar, its own tag", "xgrammar, ebnf", "xgrammar, structural-tag", "llguidance, lark")
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        (path / "tools.json").write_text(json.dumps(TOOLS))
        (path / "asked.json").write_text(json.dumps([USER]))
        (path / "answered.json").write_text(json.dumps([USER, ANSWER]))
        for name, style in STYLES.items():
            source = str(ROOT / "chat_templates" / f"{name}.jinja")
            tools = ["--tools", str(path / "tools.json")]
            prompt = run(
                program, "render", source, *tools, "--messages", str(path / "asked.json"), "--add-generation-prompt"
            )
            whole = run(program, "render", source, *tools, "--messages", str(path / "answered.json"))
            (path / "prompt.txt").write_bytes(prompt.encode())
            request = [
                "grammar",
                "-q",
                source,
                *tools,
                "--tool-choice",
                "required",
                "--prefix",
                str(path / "prompt.txt"),
                "--json",
            ]
            made = {
                form: json.loads(run(program, *request, "--format", form))
                for form in ("ebnf", "structural-tag", "lark")
            }
            if not whole.startswith(prompt):
                # The prompt opens a thought, which a turn without one lacks.
                continue
            turn = whole.removeprefix(prompt)
            stops = [turn.find(stop["text"]) for stop in made["ebnf"]["stop"] if stop["text"] in turn]
            turn = turn[: min(stops)] if stops else turn
            own = get_model_structural_tag(style, tools=TOOLS, tool_choice="required", reasoning="disabled")
            tag = json.dumps(made["structural-tag"]["grammar"])
            speeds = [
                xgrammar_speed(partial(compiler.compile_structural_tag, own), turn.encode()),
                xgrammar_speed(partial(compiler.compile_grammar, made["ebnf"]["grammar"]), turn.encode()),
                xgrammar_speed(partial(compiler.compile_structural_tag, tag), turn.encode()),
                llguidance_speed(tokenizer, made["lark"]["grammar"], turn.encode()),
            ]
            print(name, *(f"{compiling:.2f} ms {byte and round(byte)} ns" for compiling, byte in speeds), sep="\t")
            for (compilings, byte_times), (compiling, byte) in zip(columns.values(), speeds):
                compilings.append(compiling)
                byte_times.extend([byte] if byte is not None else [])
    tags = columns["xgrammar, its own tag"][0]
    for name, (compilings, byte_times) in columns.items():
        ratios = [ours / own for ours, own in zip(compilings, tags)]
        byte = (
            f"{statistics.median(byte_times):.0f} ns a byte, {len(byte_times)} turns" if byte_times else "no turn read"
        )
        print(
            f"{name}: compiled in {statistics.median(compilings):.2f} ms at the median, {max(compilings):.2f} at most, {statistics.median(ratios):.2f} and {max(ratios):.2f} times xgrammar's tag; {byte}"
        )


main()
