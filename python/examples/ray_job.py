"""Parse a column of outputs with Ray Data, on a machine or a cluster:

    python ray_job.py MODEL outputs/ messages/
"""

import sys

import backchat.arrow
import ray


def main(model, source, target):
    options = {"template": backchat.Template.open(model), "prefix_column": "prompt", "errors_into": "error"}
    dataset = ray.data.read_parquet(source)
    dataset = dataset.map_batches(backchat.arrow.parse_table, fn_kwargs=options, batch_format="pyarrow")
    dataset.write_parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
