"""With `ordered` the results are the sequence that a serial run gives."""

from pyspark.sql import SparkSession

from headway import Headway
from headway.testing import MemoryStream


def test_rows_leave_in_the_order_they_came(spark: SparkSession, hw: Headway) -> None:
    stream = MemoryStream(spark, "v bigint")
    writer = hw.writeStream(stream.toDF().where("v % 3 <> 0")).format("memory").queryName("ordered_rows").ordered()
    query = writer.start(fallback=False)
    try:
        for first in range(0, 5000, 100):
            stream.addData(*[(value,) for value in range(first, first + 100)])
        query.processAllAvailable()
        rows = [row.v for row in spark.table("ordered_rows").collect()]
        assert rows == [value for value in range(5000) if value % 3]
    finally:
        query.stop()
