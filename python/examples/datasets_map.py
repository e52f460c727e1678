"""Parse a column of outputs with Hugging Face datasets, in two processes.

Usage: python datasets_map.py MODEL outputs.parquet messages.parquet
"""

import sys

import backchat
from datasets import Dataset


def parse(rows: dict[str, list[str]], template: backchat.Template) -> dict[str, list[str | None]]:
    messages = backchat.parse_batch(rows["text"], template, prefix=rows["prompt"], output="json", threads=1)
    errors = [str(messages.errors[row]) if row in messages.errors else None for row in range(len(messages))]
    return {"message": messages, "error": errors}


def main(model: str, source: str, target: str) -> None:
    template = backchat.Template.open(model)
    dataset = Dataset.from_parquet(source)
    dataset.map(parse, batched=True, num_proc=2, fn_kwargs={"template": template}).to_parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
