"""Runs the snippets of docs/grammar.md with their engines, which then judge outputs without a model."""

import json
import os
import re
import runpy
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import backchat
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/grammar.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)
TOOLS = re.findall(r"(?ms)^```json tools.json\n(.*?)^```$", PAGE)[0]
CALL = '<tool_call>\n{"name": "get_weather", "arguments": %s}\n</tool_call>'
#: Outputs, and whether the tools of the page allow them.
OUTPUTS = {
    CALL % '{"city": "Rome"}': True,
    CALL % '{"city": "Rome", "days": 3}': True,
    CALL % '{"city": "Rome", "days": 12}': False,
    CALL % '{"town": "Rome"}': False,
    CALL.replace("get_weather", "get_time") % '{"city": "Rome"}': False,
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the snippets for every engine and those for this one, next to a model; returns the names that they define."""
    (tmp_path / "models/mine").mkdir(parents=True)
    shutil.copy(ROOT / "chat_templates/hermes.jinja", tmp_path / "models/mine/chat_template.jinja")
    (tmp_path / "tools.json").write_text(TOOLS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))

    def run(engine=None, **names):
        common, *others = SNIPPETS
        found = [snippet for snippet in others if engine and re.search(rf"(?m)^(import|from) {engine}\b", snippet)]
        assert len(found) == (engine is not None)
        Path("snippets.py").write_text("".join([common, *found]), encoding="utf-8")
        return runpy.run_path("snippets.py", init_globals=names)

    return run


def test_the_page_names_the_versions_that_are_tested():
    pins = dict(
        re.findall(
            r"(vllm|sglang|xgrammar)==([\d.]+)", (ROOT / "tests/reference/tested.txt").read_text(encoding="utf-8")
        )
    )
    for name, package in (("vLLM", "vllm"), ("SGLang", "sglang"), ("xgrammar", "xgrammar")):
        assert f"{name} {pins[package]}" in PAGE


def test_the_fields_for_llama_cpp(run):
    fields = run()["fields"]()
    assert fields["grammar"].startswith("root ::= ") and fields["grammar_lazy"]
    # The numbers of llama.cpp's `common_grammar_trigger_type`.
    assert fields["grammar_triggers"] == [{"type": 1, "value": "<tool_call>"}]
    assert "<tool_call>" in fields["preserved_tokens"]


#: The tokens of two markers in the model below.
END, CALLS = 257, 258


def write_model(path):
    """A model of llama.cpp with random weights, whose tokens are bytes and the markers of the chat template."""
    gguf, numpy = pytest.importorskip("gguf"), pytest.importorskip("numpy")
    visible = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    tokens = [chr(byte) if byte in visible else chr(256 + hidden.index(byte)) for byte in range(256)] + ["th"]
    markers = ["<|im_end|>", "<tool_call>", "</tool_call>", "<|im_start|>"]
    kinds = [gguf.TokenType.NORMAL] * len(tokens) + [gguf.TokenType.CONTROL] * len(markers)
    width, size = 32, len(kinds)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(4096)
    writer.add_embedding_length(width)
    writer.add_feed_forward_length(width)
    writer.add_block_count(1)
    writer.add_head_count(4)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(tokens + markers)
    writer.add_token_types([int(kind) for kind in kinds])
    writer.add_token_merges(["t h"])
    writer.add_eos_token_id(END)
    writer.add_add_bos_token(False)
    writer.add_chat_template((ROOT / "chat_templates/hermes.jinja").read_text(encoding="utf-8"))
    random = numpy.random.default_rng(0)
    squares = [
        f"blk.0.{name}.weight"
        for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    ]
    shapes = {name: (width, width) for name in squares}
    shapes |= {"token_embd.weight": (size, width), "output.weight": (size, width)}
    for name, shape in shapes.items():
        writer.add_tensor(name, random.normal(0, 0.05, shape).astype("float32"))
    for name in ("output_norm.weight", "blk.0.attn_norm.weight", "blk.0.ffn_norm.weight"):
        writer.add_tensor(name, numpy.ones(width, "float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


@pytest.fixture
def llama_server(tmp_path):
    """The address of llama.cpp's server, if it is on the PATH."""
    program = shutil.which("llama-server")
    if program is None:
        pytest.skip("llama-server is not on the PATH")
    write_model(tmp_path / "model.gguf")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        program,
        "-m",
        tmp_path / "model.gguf",
        "--port",
        str(port),
        "-c",
        "4096",
        "-np",
        "1",
        "-t",
        "1",
        "--no-warmup",
    ]
    with (tmp_path / "server.log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            for _ in range(600):
                assert server.poll() is None, (tmp_path / "server.log").read_text(errors="replace")
                try:
                    urlopen(f"http://127.0.0.1:{port}/health").close()
                    break
                except URLError:
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def test_the_server_of_llama_cpp(run, llama_server):
    # The page samples once; here every output must parse back, however unlikely it is.
    names = run("urllib", server=llama_server)
    template = json.loads((ROOT / "derived/hermes.json").read_text(encoding="utf-8"))
    for choice in ("auto", "required"):
        fields = names["fields"]("--prefix", "prompt.txt", "--tool-choice", choice)
        assert fields["grammar_lazy"] == (choice == "auto")
        # Bytes that end texts or begin calls are made likelier than others.
        body = {
            "prompt": names["prompt"],
            "n_predict": 400,
            "logit_bias": [[ord('"'), 4], [END, 4], [CALLS, 3]],
            **fields,
        }
        ended = [
            answer
            for seed in range(6)
            if (answer := names["post"]("/completion", {**body, "seed": seed}))["stop_type"] == "eos"
        ]
        assert ended
        for answer in ended:
            message = backchat.parse_response(
                answer["content"], template, prefix=names["prompt"], tools=json.loads(TOOLS)
            )
            calls = message.get("tool_calls", [])
            assert calls or choice == "auto", answer["content"]
            for call in calls:
                assert call["function"]["name"] == "get_weather"
                assert {"city"} <= call["function"]["arguments"].keys() <= {"city", "days"}


def test_xgrammar(run):
    xgrammar = pytest.importorskip("xgrammar")
    info = xgrammar.TokenizerInfo([bytes([byte]) for byte in range(256)] + ["<end>"], stop_token_ids=[256])
    names = run("xgrammar", tokenizer_info=info)
    for compiled in (names["compiler"].compile_grammar(names["backchat"]("--format", "ebnf")), names["compiled"]):
        for output, is_right in OUTPUTS.items():
            matcher = xgrammar.GrammarMatcher(compiled)
            assert (matcher.accept_string(output) and matcher.accept_token(256)) == is_right, output


def test_llguidance(run):
    llguidance = pytest.importorskip("llguidance")
    tokenizer = llguidance.LLTokenizer("byte")
    matcher = run("llguidance", tokenizer=tokenizer)["matcher"]
    assert not matcher.is_error(), matcher.get_error()
    for output, is_right in OUTPUTS.items():
        matcher.reset()
        tokens = tokenizer.tokenize_str(output)
        assert (matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting()) == is_right, output


def test_vllm(run):
    pytest.importorskip("vllm")
    assert json.loads(run("vllm")["params"].structural_tag)["type"] == "structural_tag"
