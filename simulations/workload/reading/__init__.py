"""Files read column by column, here or by tasks of Spark: what a text means, its key, and tuples packed into blocks.

Open dictionary.py first, then on_spark.py.
"""
