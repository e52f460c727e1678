"""What Jinja2 takes to compile and render each chat template, in microseconds: `cargo bench --bench jinja2` runs this.

Standard input has a JSON list of contexts, the argument is the folder of templates. Jinja2 is set up as transformers does
it. Each line of the output is the name of a template and the figures: compiling, and a render of each context, or `null`
where the template refuses it. Every figure is the best of several rounds.
"""

import datetime
import json
import sys
import time
from pathlib import Path

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.nodes import CallBlock
from jinja2.sandbox import ImmutableSandboxedEnvironment

ROUNDS, SECONDS = 7, 0.02


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    extensions = [Generation, loopcontrols]
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=extensions)
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return made


def best(work):
    """The least microseconds that one run took, of several rounds."""

    def timed(times):
        start = time.perf_counter()
        for _ in range(times):
            work()
        return time.perf_counter() - start

    times = 1
    while timed(times) < SECONDS:
        times *= 2
    return min(timed(times) for _ in range(ROUNDS)) / times * 1e6


def figures(source, contexts):
    made = environment()
    template = made.from_string(source)
    yield best(lambda: environment().from_string(source))
    for context in contexts:
        try:
            template.render(**context)
        except jinja2.exceptions.TemplateError:
            yield None
        else:
            yield best(lambda: template.render(**context))


def main():
    contexts = json.load(sys.stdin)
    for path in sorted(Path(sys.argv[1]).glob("*.jinja")):
        print(json.dumps([path.stem, *figures(path.read_text(encoding="utf-8"), contexts)]), flush=True)


main()
