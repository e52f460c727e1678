"""Parse folders of Parquet files with Polars, on all cores. A job that was killed resumes at the first missing file.

Usage: python polars_map.py MODEL outputs/ messages/
"""

import sys
from functools import partial
from pathlib import Path

import backchat
import polars as pl


def parse(rows: pl.Series, template: backchat.Template) -> pl.Series:
    texts, prompts = rows.struct["text"], rows.struct["prompt"]
    return pl.Series(backchat.parse_batch(texts, template, prefix=prompts, output="json"), dtype=pl.String)


def main(model: str, source: str, target: str) -> None:
    template = backchat.Template.open(model)
    message = pl.struct("text", "prompt").map_batches(partial(parse, template=template), return_dtype=pl.String)
    Path(target).mkdir(exist_ok=True)
    for part in sorted(Path(source).glob("*.parquet")):
        done = Path(target, part.name)
        if not done.exists():
            # A file gets its final name when it is complete.
            unfinished = done.with_suffix(".unfinished")
            pl.scan_parquet(part).with_columns(message=message).sink_parquet(unfinished)
            unfinished.rename(done)


if __name__ == "__main__":
    main(*sys.argv[1:])
