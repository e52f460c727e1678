"""Writes what transformers makes of every template in tests/inputs/dialect/*.jsonl next to it.

    python3 tests/reference/dialect.py            # needs transformers and jinja2

A row is {"template": …} and gets "text" (what it renders to), or "raises" (the message of `raise_exception`), or
"fails": true. All rows share one context, context.json. Add a case by adding a row with a template, then run this.
"""

import glob
import json
import os

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
from transformers.utils.chat_template_utils import _compile_jinja_template

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "inputs", "dialect")


def answer(template, context):
    try:
        return {"text": _compile_jinja_template(template).render(**context)}
    except Exception as error:  # noqa: BLE001
        if type(error).__name__ == "TemplateError":
            return {"raises": str(error)}
        return {"fails": True}


def main():
    with open(os.path.join(HERE, "context.json"), encoding="utf-8") as file:
        context = file.read()
    for path in sorted(glob.glob(os.path.join(HERE, "*.jsonl"))):
        with open(path, encoding="utf-8") as file:
            templates = [json.loads(line)["template"] for line in file]
        rows = [{"template": template, **answer(template, json.loads(context))} for template in templates]
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    main()
