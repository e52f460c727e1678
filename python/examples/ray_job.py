"""Parse a column of outputs with Ray Data, on a machine or a cluster.

Usage: python ray_job.py MODEL outputs/ messages/      (pip install "ray[data]" pandas: Ray reads Parquet with pandas)
"""

import sys
from functools import partial

import backchat.arrow
import ray


def main(model: str, source: str, target: str) -> None:
    template = backchat.Template.open(model)
    parse = partial(backchat.arrow.parse_table, template=template, prefix_column="prompt", errors_into="error")
    ray.data.read_parquet(source).map_batches(parse, batch_format="pyarrow").write_parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
