"""The grammars that Backchat writes, in the engines' code: each compiles, and takes what `grammar --check` takes."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from .. import ours
from ..report import Difference, Result
from ..suite.drafts import FIXTURES, Recorded, recorded
from . import ROOT, Options

sys.path.append(str(ROOT / "python" / "tests" / "served"))
import package

# xgrammar imports torch, and works without it.
package.load(ROOT, ("no_server",), ("torch", "triton"))

import llguidance
import xgrammar

#: Says whether a grammar takes an output.
Takes = Callable[[str], bool]
#: How many outputs of a format are tried, each as it is and once damaged.
OUTPUTS = 2


def of_xgrammar(method: str) -> Callable[[str], Takes]:
    info = xgrammar.TokenizerInfo([bytes([byte]) for byte in range(256)] + ["<end>"], stop_token_ids=[256])
    compiler = xgrammar.GrammarCompiler(info)

    def ready(grammar: str) -> Takes:
        compiled = getattr(compiler, method)(grammar)

        def takes(output: str) -> bool:
            matcher = xgrammar.GrammarMatcher(compiled)
            return bool(matcher.accept_string(output) and matcher.accept_token(256))

        return takes

    return ready


def of_llguidance(grammar: str) -> Takes:
    tokenizer = llguidance.LLTokenizer("byte")
    matcher = llguidance.LLMatcher(tokenizer, llguidance.LLMatcher.grammar_from_lark(grammar))
    if matcher.is_error():
        raise ValueError(matcher.get_error())

    def takes(output: str) -> bool:
        matcher.reset()
        tokens = tokenizer.tokenize_str(output)
        return bool(matcher.try_consume_tokens(tokens) == len(tokens) and matcher.is_accepting())

    return takes


ENGINES = {
    "structural-tag": of_xgrammar("compile_structural_tag"),
    "ebnf": of_xgrammar("compile_grammar"),
    "lark": of_llguidance,
}


class Request:
    """A request for a required call, as `backchat grammar` takes it."""

    def __init__(self, options: Options, format: Recorded, folder: Path):
        self.binary, self.output = options.binary, folder / "output.txt"
        prompt, tools = folder / "prompt.txt", folder / "tools.json"
        prompt.write_text(format.prompt, encoding="utf-8")
        tools.write_text(json.dumps(format.tools), encoding="utf-8")
        self.arguments = [str(format.chat_template), "--tools", str(tools), "--prefix", str(prompt)]
        self.arguments += ["--tool-choice", "required", "--special-tokens", "none"]

    def written(self, format: str) -> str:
        run = ours.run(self.binary, "grammar", *self.arguments, "--format", format)
        if run.returncode != 0:
            raise ValueError(run.stderr.strip())
        return run.stdout

    def takes(self, output: str) -> bool:
        """What our own recognizer says."""
        self.output.write_text(output, encoding="utf-8")
        return ours.run(self.binary, "grammar", *self.arguments, "--check", str(self.output)).returncode == 0


def outputs(r: Random, format: Recorded) -> list[str]:
    """Outputs with and without calls, each also with a character less."""
    found = []
    for output in r.sample(format.outputs, min(OUTPUTS, len(format.outputs))):
        text = output.rstrip().removesuffix(format.stop.rstrip())
        at = r.randrange(len(text)) if text else 0
        found += [text, text[:at] + text[at + 1 :]]
    return found


def differences(request: Request, name: str, judged: dict[str, bool]) -> list[Difference]:
    """Where an engine refuses a grammar, or judges an output in another way than we do."""
    found = []
    for format, engine in ENGINES.items():
        where = f"{format} of {name}"
        try:
            takes = engine(request.written(format))
        except Exception as error:  # noqa: BLE001
            found.append(Difference(where, "does not compile", theirs=f"{type(error).__name__}: {error}"))
            continue
        for text, expected in judged.items():
            if takes(text) != expected:
                verdicts = {True: "takes it", False: "refuses it"}
                found.append(
                    Difference(where, "judges an output differently", text, verdicts[not expected], verdicts[expected])
                )
    return found


def run(options: Options) -> Result:
    result, asked, taken = Result(""), 0, 0
    for path in sorted(FIXTURES.glob("*.fixture")):
        format = recorded(path)
        if not format.tools or not format.outputs or format.chat_template is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            request = Request(options, format, Path(folder))
            texts = outputs(Random(f"{options.seed} grammar {path.stem}"), format)
            judged = {text: request.takes(text) for text in texts}
            asked, taken = asked + len(judged), taken + sum(judged.values())
            result.differences += differences(request, path.stem, judged)
    result.asked = f"{asked} outputs of the formats in tests/fixtures, {taken} of them valid, as {', '.join(ENGINES)}."
    return result
