"""What people write over streams with DataFrames: a function of the stream and of a static table each."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

Make = Callable[[DataFrame, DataFrame], DataFrame]
COLUMNS: dict[str, Make] = {
    "withColumn": lambda df, _: df.withColumn("j", F.col("i") + 1).withColumn("i", F.lit(1)),
    "withColumns": lambda df, _: df.withColumns({"a": F.col("i") * 2, "b2": F.upper("k")}),
    "withColumnRenamed": lambda df, _: df.withColumnRenamed("i", "n").withColumnsRenamed({"k": "key", "l": "long"}),
    "drop": lambda df, _: df.drop("js", "arr"),
    "toDF": lambda df, _: df.select("id", "k").toDF("a", "b"),
    "selectExpr": lambda df, _: df.selectExpr("i + 1 as j", "j + 1 as jj", "*"),
    "colRegex": lambda df, _: df.select(df.colRegex("`^(i|k).*`")),
    "alias": lambda df, _: df.alias("e").select("e.i", F.col("e.k")),
    "dropna": lambda df, _: df.dropna(),
    "dropna subset": lambda df, _: df.na.drop(how="all", subset=["i", "l"]).dropna(thresh=3),
    "fillna": lambda df, _: df.fillna(0).fillna("none").na.fill({"d": 1.5, "b": True}),
    "replace": lambda df, _: df.replace({"k0": "zero"}, subset=["k"]).na.replace([1, 2], [10, 20], ["i", "l"]),
    "transform": lambda df, _: df.transform(lambda x: x.where("i > 3")).transform(lambda x: x.select("i")),
    "where": lambda df, _: df.where((F.col("i") > 3) & ~F.col("b") | F.col("k").isin("k0", "k1")),
    "filter by text": lambda df, _: df.filter("i > 3").filter(F.col("s").isNotNull()),
    "when": lambda df, _: df.select(F.when(F.col("i") > 3, "a").when(F.col("i") > 1, "b").otherwise("c")),
    "methods of columns": lambda df, _: df.select(
        *(F.col("s").substr(1, 2), F.col("s").startswith("a"), F.col("i").between(1, 5), F.col("st").getField("x")),
        *(F.col("mp")["a"], F.col("i").cast("string"), F.col("s").contains("a"), F.col("i").eqNullSafe(3)),
        *(F.col("s").like("a%"), F.col("st").withField("z", F.col("i")), F.col("st").dropFields("x")),
    ),
    "from_json": lambda df, _: df.select(F.from_json("js", "a int, b string").alias("p")).select("p.*"),
    "for Kafka": lambda df, _: df.select(
        F.col("k").cast("binary").alias("key"), F.to_json(F.struct("id", "k", "arr", "st")).alias("value")
    ),
    "fields of structs": lambda df, _: df.select("st.x", F.col("st.y").alias("yy")).where("x > 1"),
    "window as a column": lambda df, _: df.withColumn("w", F.window("t", "10 seconds")).select("w.start", "i"),
    "withMetadata": lambda df, _: df.withMetadata("i", {"comment": "x"}),
    "to another schema": lambda df, _: df.select("i", "k").to(df.selectExpr("k", "cast(i as long) as i").schema),
    "Python UDF": lambda df, _: df.select(F.udf(lambda x: None if x is None else x + 1, "int")("i")),
}
ROWS: dict[str, Make] = {
    "unpivot": lambda df, _: df.unpivot("id", ["i", "l"], "name", "value"),
    "melt": lambda df, _: df.melt(["id"], ["i", "l"], "name", "value"),
    "melt the rest": lambda df, _: df.select("id", "i", "l").unpivot("id", None, "name", "value"),
    "unpivot without ids": lambda df, _: df.unpivot([], ["k", "s"], "name", "value"),
    "explode": lambda df, _: df.select("id", F.explode("arr").alias("x")).where("x > 1"),
    "inline": lambda df, _: df.select(F.inline(F.array(F.struct("i", "l")))),
    "union": lambda df, _: df.select("id", "k").union(df.select("l", "s")),
    "unionByName": lambda df, _: df.select("id", "k").unionByName(df.select("k", "id")),
    "unionByName, missing": lambda df, _: df.select("id", "k").unionByName(
        df.select("k", "i"), allowMissingColumns=True
    ),
    "repartition": lambda df, _: df.repartition(4).repartition("k").coalesce(1),
    "repartitionByRange": lambda df, _: df.repartitionByRange(4, "k"),
    "observe": lambda df, _: df.observe("seen", F.count("*").alias("n")),
}
JOINS: dict[str, Make] = {
    "hint": lambda df, names: df.join(names.hint("broadcast"), df.l == names.id),
    "broadcast": lambda df, names: df.join(F.broadcast(names), df.l == names.id, "left"),
    "by name": lambda df, names: df.join(names.withColumnRenamed("id", "l"), "l"),
    "by name, left": lambda df, names: df.join(names.withColumnRenamed("id", "l"), ["l"], "left_outer"),
    "lateralJoin": lambda df, names: df.lateralJoin(names.where(F.col("id") == F.col("l").outer())),
    "scalar subquery": lambda df, names: df.where(F.col("l") < names.select(F.max("id")).scalar()),
    "exists": lambda df, names: df.where(names.where(F.col("id") == F.col("l").outer()).exists()),
    "isin of a DataFrame": lambda df, names: df.where(F.col("l").isin(names.select("id"))),
}
GROUPS: dict[str, Make] = {
    "agg of a dictionary": lambda df, _: df.groupBy("k").agg({"i": "sum", "*": "count"}),
    "count": lambda df, _: df.groupBy("k").count(),
    "rollup": lambda df, _: df.rollup("k", "b").agg(F.sum("i"), F.grouping_id()),
    "cube": lambda df, _: df.cube("k", "b").agg(F.count("*"), F.grouping("k")),
    "groupingSets": lambda df, _: df.groupingSets([["k"], ["b"]], "k", "b").agg(F.sum("i")),
    "window": lambda df, _: df.groupBy(F.window("t", "10 seconds"), "k").agg(F.sum("i")).select("window.*", "k"),
    "having": lambda df, _: df.groupBy(F.window("t", "10 seconds")).count().where("count > 1"),
    "words": lambda df, _: df.select(F.explode(F.split("s", " ")).alias("word")).groupBy("word").count(),
    "prices": lambda df, _: df.groupBy(F.window("t", "10 seconds")).agg(
        F.min_by("d", "t"), F.max("d"), F.min("d"), F.max_by("d", "t")
    ),
    "sum of a condition": lambda df, _: df.groupBy("k").agg(F.sum(F.when(F.col("b"), 1).otherwise(0))),
    "a column per value": lambda df, _: df.groupBy("k").agg(
        *[F.count(F.when(F.col("l") == v, 1)).alias(f"l{v}") for v in range(3)]
    ),
}
KEYED: dict[str, Make] = {
    "session": lambda df, _: df.groupBy(F.session_window("t", "5 seconds"), "k").count(),
    "distinct": lambda df, _: df.select("k").distinct(),
    "dropDuplicates": lambda df, _: df.dropDuplicates(["k", "i"]),
    "dropDuplicatesWithinWatermark": lambda df, _: df.dropDuplicatesWithinWatermark(["id"]),
    "limit": lambda df, _: df.limit(5),
    "first and last": lambda df, _: df.groupBy("k").agg(F.first("i", True), F.last("i", True)),
    "top": lambda df, _: df.groupBy("k").count().orderBy(F.desc("count")).limit(3),
    "input_file_name": lambda df, _: df.select("id", F.input_file_name()),
}
"""Not run here: they need more than kernels, or have no one answer."""
