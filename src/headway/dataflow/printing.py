"""Relations and expressions as text, for people and for tests."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import types as T

from headway.dataflow.expr import Call, Column, Expr, Literal, Variable
from headway.dataflow.graph import (
    AggCall,
    Aggregate,
    Deduplicate,
    DeduplicateWithin,
    Ending,
    Expand,
    Filter,
    Generate,
    Limit,
    Observe,
    Project,
    Relation,
    Sort,
    Source,
    StaticJoin,
    StreamJoin,
    Union,
    Watermark,
)
from headway.dataflow.types import Schema
from headway.dataflow.user_code import (
    EvalPython,
    GroupsWithState,
    MapBatches,
    StatefulCode,
    TransformWithState,
    UserFunction,
)

Note = Callable[[Relation], str | None]
_SECRET = re.compile(r"password|secret|token|jaas|credential|\.key$|\.key\.pem$", re.IGNORECASE)
_REDACTED = "…"
_UNITS = ((3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"), (1, "us"))


def tree(root: Relation, note: Note = lambda _: None) -> str:
    """The dataflow below `root`, a line per relation, inputs indented below it; `note` may add to a line.

    A relation that several others read has a number, and is shown once.
    """
    uses: Counter[int] = Counter()
    _count(root, uses)
    numbers = {relation: i for i, relation in enumerate((r for r, n in uses.items() if n > 1), start=1)}
    return "\n".join(_lines(root, note, numbers, set(), "", ""))


def _count(relation: Relation, uses: Counter[int]) -> None:
    uses[id(relation)] += 1
    if uses[id(relation)] == 1:
        for below in relation.inputs:
            _count(below, uses)


def _lines(
    relation: Relation, note: Note, numbers: dict[int, int], shown: set[int], first: str, rest: str
) -> Iterator[str]:
    number = numbers.get(id(relation))
    label = f"[{number}] " if number else ""
    if id(relation) in shown:
        yield f"{first}{label}as above"
        return
    shown.add(id(relation))
    remark = note(relation)
    yield f"{first}{label}{describe(relation)}{f'  <- {remark}' if remark else ''}"
    for i, below in enumerate(relation.inputs):
        last = i == len(relation.inputs) - 1
        yield from _lines(
            below, note, numbers, shown, rest + ("+- " if last else ":- "), rest + ("   " if last else ":  ")
        )


def describe(relation: Relation) -> str:
    """One line on `relation` itself."""
    return f"{type(relation).__name__} {_DESCRIBE[type(relation)](relation)}".rstrip()


def expression(expr: Expr, schema: Schema) -> str:
    """`expr` over rows of `schema`."""
    if isinstance(expr, Column):
        return _column(expr.index, schema)
    if isinstance(expr, Literal):
        return _literal(expr)
    if isinstance(expr, Variable):
        return str(expr)
    assert isinstance(expr, Call)
    args = [expression(arg, schema) for arg in expr.args]
    if expr.function == "GetStructField":
        struct = expr.args[0].type
        assert isinstance(struct, T.StructType)
        return f"{args[0]}.{struct.names[expr.option('ordinal')]}"
    if expr.function == "TimeWindow":
        args += _window(expr)
    if expr.function == "Cast":
        args[0] += f" as {expr.type.simpleString()}"
    return f"{expr.function}({', '.join(args)})"


def _column(index: int, schema: Schema) -> str:
    name = schema[index].name
    alone = sum(f.name == name for f in schema) == 1
    return name if alone else f"{name}#{index}"


def _literal(literal: Literal) -> str:
    if literal.value is None:
        return "null"
    if isinstance(literal.type, T.StringType | T.BinaryType | T.NumericType | T.BooleanType):
        return str(literal.value) if isinstance(literal.type, T.DecimalType) else repr(literal.value)
    return f"{literal.type.simpleString()} {literal.value}"


def _window(window: Call) -> list[str]:
    options: dict[str, Any] = dict(window.options)
    text = [duration(options["duration"])]
    if options["slide"] != options["duration"]:
        text.append(f"every {duration(options['slide'])}, {options['index']} back")
    if options["offset"]:
        text.append(f"from {duration(options['offset'])}")
    return text


def duration(us: int) -> str:
    """Microseconds in the largest unit that divides them.

    >>> duration(90_000_000)
    '90 s'
    """
    size, unit = next((size, unit) for size, unit in _UNITS if us % size == 0)
    return f"{us // size} {unit}"


def _named(expr: Expr, name: str, schema: Schema) -> str:
    text = expression(expr, schema)
    return text if text == name else f"{text} AS {name}"


def _source(source: Source) -> str:
    fields = ", ".join(f"{f.name}: {f.type.simpleString()}" for f in source.schema)
    options = ", ".join(f"{key}={_REDACTED if _SECRET.search(key) else value}" for key, value in source.options)
    return f"{source.format} [{fields}]{f' {{{options}}}' if options else ''}"


def _filter(relation: Filter) -> str:
    return expression(relation.condition, relation.input.schema)


def _project(relation: Project) -> str:
    pairs = zip(relation.exprs, relation.schema, strict=True)
    return f"[{', '.join(_named(expr, f.name, relation.input.schema) for expr, f in pairs)}]"


def _expand(relation: Expand) -> str:
    below = relation.input.schema
    rows = [
        f"[{', '.join(_named(expr, f.name, below) for expr, f in zip(row, relation.schema, strict=True))}]"
        for row in relation.projections
    ]
    return ", ".join(rows)


def _generate(relation: Generate) -> str:
    kept = len(relation.kept)
    outer = "outer " if relation.outer else ""
    made = ", ".join(f.name for f in relation.schema[kept:])
    return f"{outer}{expression(relation.rows, relation.input.schema)} AS [{made}]"


def _watermark(relation: Watermark) -> str:
    return f"{_column(relation.column, relation.schema)}, {duration(relation.delay_us)} behind"


def _static_join(relation: StaticJoin) -> str:
    stream = relation.input.schema
    table = relation.schema[len(stream) :]
    keys = ", ".join(
        f"{expression(left, stream)} = {expression(right, table)}"
        for left, right in zip(relation.stream_keys, relation.table_keys, strict=True)
    )
    condition = f", {expression(relation.condition, relation.schema)}" if relation.condition else ""
    return f"{relation.how} on {keys}{condition}, {relation.table.table.num_rows} rows"


def _stream_join(relation: StreamJoin) -> str:
    left, right = (stream.schema for stream in relation.streams)
    pairs = zip(*relation.keys, strict=True)
    parts = [", ".join(f"{_column(mine, left)} = {_column(theirs, right)}" for mine, theirs in pairs)]
    conditions = [(side.condition, schema) for side, schema in zip(relation.sides, (left, right), strict=True)]
    for condition, schema in [*conditions, (relation.condition, left + right)]:
        parts += [expression(condition, schema)] if condition is not None else []
    for name, side, schema in zip(("left", "right"), relation.sides, (left, right), strict=True):
        parts += [f"{name} ends by {_ending(side.ends, schema)}"] if side.ends is not None else []
    return f"{relation.how} on {', '.join(parts)}"


def _ending(ending: Ending, schema: Schema) -> str:
    shifts = [f" {'+' if shift < 0 else '-'} {duration(abs(shift))}" for shift, _ in ending.shifts if shift]
    return f"{_column(ending.column, schema)}{' or'.join(shifts)}"


def _union(_: Union) -> str:
    return ""


def _aggregate(relation: Aggregate) -> str:
    below, width = relation.input.schema, len(relation.keys)
    keys = [_named(key, f.name, below) for key, f in zip(relation.keys, relation.schema, strict=False)]
    calls = [
        f"{_call(call, below)} AS {f.name}" for call, f in zip(relation.aggs, relation.schema[width:], strict=True)
    ]
    event = f", ends by {relation.schema[relation.event_key].name}" if relation.event_key is not None else ""
    sessions = f", in sessions {relation.schema[width - 1].name}" if relation.session else ""
    return f"by [{', '.join(keys)}] [{', '.join(calls)}]{sessions}{event}"


def _deduplicate(relation: Deduplicate) -> str:
    schema = relation.streams[0].schema
    keys = ", ".join(_column(key, schema) for key in relation.keys[0])
    ends = f", ends by {_column(relation.ends, schema)}" if relation.ends is not None else ""
    return f"by [{keys}]{ends}"


def _deduplicate_within(relation: DeduplicateWithin) -> str:
    return f"{_deduplicate(relation)}, for {duration(relation.delay_us)}"


def _call(call: AggCall, schema: Schema) -> str:
    text = f"{call.function}({', '.join(expression(arg, schema) for arg in call.args) or '*'})"
    return f"{text} where {expression(call.filter, schema)}" if call.filter else text


def _eval_python(relation: EvalPython) -> str:
    below = relation.input.schema
    made = zip(relation.functions, relation.schema[len(below) :], strict=True)
    return f"[{', '.join(f'{_user_call(function, below)} AS {f.name}' for function, f in made)}]"


def _map_batches(relation: MapBatches) -> str:
    fields = ", ".join(f"{f.name}: {f.type.simpleString()}" for f in relation.schema)
    return f"{relation.function.name} [{fields}]"


def _stateful(relation: StatefulCode) -> str:
    schema = relation.streams[0].schema
    keys = ", ".join(_column(key, schema) for key in relation.keys[0])
    return f"by [{keys}], {relation.time_mode} time"


def _with_state(relation: GroupsWithState) -> str:
    return f"{_stateful(relation)}, state {relation.state_type.simpleString()}"


def _user_call(function: UserFunction, schema: Schema) -> str:
    args = zip(function.keywords, function.args, strict=True)
    text = ", ".join(f"{key}={expression(arg, schema)}" if key else expression(arg, schema) for key, arg in args)
    return f"{function.name}({text})"


def _sort(relation: Sort) -> str:
    return "by " + ", ".join(
        f"{expression(order.by, relation.schema)}{' descending' if order.descending else ''}"
        for order in relation.orders
    )


def _limit(relation: Limit) -> str:
    return f"{relation.count} rows"


def _observe(relation: Observe) -> str:
    return f"{relation.name} [{', '.join(f.name for f in relation.metrics.schema)}]"


_DESCRIBE: dict[type[Relation], Callable[[Any], str]] = {
    Source: _source,
    Filter: _filter,
    Project: _project,
    Expand: _expand,
    Generate: _generate,
    Watermark: _watermark,
    StaticJoin: _static_join,
    Union: _union,
    Aggregate: _aggregate,
    Deduplicate: _deduplicate,
    DeduplicateWithin: _deduplicate_within,
    EvalPython: _eval_python,
    MapBatches: _map_batches,
    StreamJoin: _stream_join,
    Sort: _sort,
    Limit: _limit,
    Observe: _observe,
    GroupsWithState: _with_state,
    TransformWithState: _stateful,
}
