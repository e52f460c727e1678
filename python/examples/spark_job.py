"""Parse a column of outputs with Spark.

Usage: spark-submit spark_job.py MODEL outputs/ messages/
"""

import sys
from functools import partial

import backchat.arrow
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType


def main(model: str, source: str, target: str) -> None:
    template = backchat.Template.open(model)
    parse = partial(backchat.arrow.parse_batches, template=template, prefix_column="prompt", errors_into="error")
    frame = SparkSession.builder.getOrCreate().read.parquet(source)
    schema = StructType(list(frame.schema)).add("message", "string").add("error", "string")
    frame.mapInArrow(parse, schema).write.mode("overwrite").parquet(target)


if __name__ == "__main__":
    main(*sys.argv[1:])
