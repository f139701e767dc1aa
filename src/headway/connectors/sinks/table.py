"""toTable: a table of the session's catalog as the target of a file sink, created if it is not there.

1. A new table has the query's schema, the writer's format and partitioning, and option path as its location.
2. An existing table must have the writer's format and partitioning, and the query's columns.
3. Tables that are not files behind the session's own catalog are left to Spark.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pyspark.sql import types as T

from headway.connectors.sinks.base import Options, spark_schema
from headway.connectors.sinks.files import TABLE_OPTION
from headway.dataflow.types import Schema
from headway.errors import InvalidOption, UnsupportedPlan

_FILE_FORMATS = frozenset({"parquet", "json", "csv", "orc", "text"})
_SESSION_CATALOG = "spark_catalog"


def table_sink(
    spark: Any, table_name: str, format: str, partition_by: Sequence[str], options: dict[str, str], schema: Schema
) -> tuple[str, dict[str, str]]:
    """The format and options of the file sink that writes to `table_name`, which exists from now on."""
    _check_catalog(spark, table_name)
    if format.lower() not in _FILE_FORMATS:
        raise UnsupportedPlan(f"table of format {format}")
    if not spark.catalog.tableExists(table_name):
        _create(spark, table_name, format, partition_by, options, schema)
    table = _metadata(spark, table_name)
    _check_table(table, table_name, format, partition_by, schema)
    others = {name: value for name, value in options.items() if name.lower() != "path"}
    return format.lower(), {
        **others,
        "path": table.location().toString(),
        TABLE_OPTION: f"{_quoted(table.database())}.{_quoted(table.identifier().table())}",
    }


def _identifier(spark: Any, table_name: str) -> list[str]:
    parts = spark._jsparkSession.sessionState().sqlParser().parseMultipartIdentifier(table_name)
    return [parts.apply(i) for i in range(parts.size())]


def _check_catalog(spark: Any, table_name: str) -> None:
    parts = _identifier(spark, table_name)
    catalog = parts[0] if len(parts) > 2 else spark.catalog.currentCatalog()
    if catalog != _SESSION_CATALOG or spark.conf.get(f"spark.sql.catalog.{_SESSION_CATALOG}", None) not in (
        None,
        "builtin",
    ):
        raise UnsupportedPlan(f"table of catalog {catalog}")


def _create(
    spark: Any, table_name: str, format: str, partition_by: Sequence[str], options: dict[str, str], schema: Schema
) -> None:
    columns = ", ".join(f"{_quoted(f.name)} {_ddl(f.type)}" for f in schema)
    statement = f"CREATE TABLE {table_name} ({columns}) USING {format}"
    if partition_by:
        statement += f" PARTITIONED BY ({', '.join(map(_quoted, partition_by))})"
    path = Options(options).text("path", default="")
    if path:
        statement += f" LOCATION '{_escaped(path)}'"
    spark.sql(statement)


def _ddl(spark_type: T.DataType) -> str:
    if isinstance(spark_type, T.StructType):
        return f"STRUCT<{', '.join(f'{_quoted(f.name)}: {_ddl(f.dataType)}' for f in spark_type.fields)}>"
    return str(spark_type.simpleString())


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def _metadata(spark: Any, table_name: str) -> Any:
    state = spark._jsparkSession.sessionState()
    if state.catalog().isTempView(state.sqlParser().parseMultipartIdentifier(table_name)):
        raise InvalidOption(f"{table_name} is a temporary view; toTable writes to a table, so use another name")
    table = state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(table_name))
    if table.tableType().name() == "VIEW":
        raise InvalidOption(f"{table_name} is a view; toTable writes to a table, so use another name")
    return table


def _check_table(table: Any, name: str, format: str, partition_by: Sequence[str], schema: Schema) -> None:
    provider = table.provider().get() if table.provider().isDefined() else "hive"
    if provider.lower() != format.lower():
        raise InvalidOption(f"table {name} is {provider}, the writer's format is {format}; call .format({provider!r})")
    columns = table.partitionColumnNames()
    existing = [columns.apply(i) for i in range(columns.size())]
    if [c.lower() for c in existing] != [c.lower() for c in partition_by]:
        wanted = ", ".join(map(repr, existing))
        raise InvalidOption(f"table {name} is partitioned by ({', '.join(existing)}); call .partitionBy({wanted})")
    _check_columns(T.StructType.fromJson(json.loads(table.schema().json())), name, schema)


def _check_columns(existing: T.StructType, table: str, schema: Schema) -> None:
    theirs = {f.name.lower(): f.dataType for f in existing.fields}
    ours = {f.name.lower(): f.dataType for f in spark_schema(schema).fields}
    differences = [
        f"{name} is {_name(theirs.get(name))} in the table and {_name(ours.get(name))} in the query"
        for name in {**theirs, **ours}
        if theirs.get(name) != ours.get(name)
    ]
    if differences:
        raise InvalidOption(f"table {table} has other columns than the query: {'; '.join(differences)}")


def _name(spark_type: T.DataType | None) -> str:
    return "missing" if spark_type is None else str(spark_type.simpleString())
