"""Translates kernel source into LLVM's language.

Kernels are written in a small part of Python, in which every name has one machine type. That needs no inference and no
objects, so that a kernel takes a tenth of the time that a compiler for all of Python takes for it.

1. Statements: assignments, if, while, for over a range, break, return, calls. Expressions: see scalars.py.
2. A name that is assigned once is the value itself; others have a place on the stack, of the type that they are first
   given (LLVM makes registers of them).
3. Functions of the library (runtime.py, calendar.py) are written out where they are called; their source is read, never
   run. None of them calls itself.
4. What is not in this language is an error: nothing is guessed.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from llvmlite import ir

from headway.kernels.native import scalars
from headway.kernels.native.operations import F32, F64, I1, I64, OPERATIONS

LIBRARY = ("runtime.py", "calendar.py")
_CASTS = {"i64": I64, "f64": F64, "f32": F32}
_REALS = {"nan": float("nan"), "inf": float("inf")}
_SELDOM = (1, 4096)
"""How often a test holds that is said to hold seldom, and how often not."""
_ROUNDINGS = ("floor", "ceil", "rint", "sqrt")


@dataclass(frozen=True)
class _Function:
    """`once` are the names that are assigned once. `ends` is not None iff that is all that the function returns."""

    node: ast.FunctionDef
    once: frozenset[str]
    ends: ast.expr | None


@dataclass(frozen=True)
class _Library:
    functions: dict[str, _Function]
    constants: dict[str, int]


@cache
def _library() -> _Library:
    functions, constants = {}, {}
    for name in LIBRARY:
        for node in ast.parse(Path(__file__).with_name(name).read_text()).body:
            if isinstance(node, ast.FunctionDef):
                functions[node.name] = _function(node)
            elif isinstance(node, ast.Assign) and not isinstance(node.value, ast.Attribute):
                constants.update(_constants(node))
    return _Library(functions, constants)


def _constants(node: ast.Assign) -> dict[str, int]:
    (target,) = node.targets
    if isinstance(target, ast.Tuple):
        names = [ast.unparse(name) for name in target.elts]
        return dict(zip(names, ast.literal_eval(node.value), strict=True))
    return {ast.unparse(target): ast.literal_eval(node.value)}


def _function(node: ast.FunctionDef) -> _Function:
    counts = Counter(argument.arg for argument in node.args.args)
    returns = []
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            counts[part.id] += 1
        elif isinstance(part, ast.Return):
            returns.append(part)
    ends = returns[0].value if returns == node.body[-1:] else None
    return _Function(node, frozenset(name for name, count in counts.items() if count == 1), ends)


def translate(source: str, prefix: str = "") -> str:
    """The module of LLVM's language with the functions of `source`, their names behind `prefix`."""
    module = ir.Module(name="kernel")
    signature = ir.FunctionType(I64, [I64.as_pointer(), I64.as_pointer(), F64.as_pointer()])
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            function = ir.Function(module, signature, prefix + node.name)
            _Writer(function).kernel(node)
    return str(module)


@dataclass
class _Frame:
    """One function as it is written out: its names, and where its result goes."""

    once: frozenset[str]
    """Names that are assigned once."""
    exit: ir.Block | None
    """What follows the function; None for a kernel itself, and where only the end returns."""
    values: dict[str, Any] = field(default_factory=dict)
    places: dict[str, ir.Value] = field(default_factory=dict)
    result: ir.Value | None = None
    """The place of the result; not None iff a return was written before `exit`."""


class _Writer(ast.NodeVisitor):
    """Writes one kernel. Visiting a statement writes it; visiting an expression writes it and gives its value."""

    def __init__(self, function: ir.Function) -> None:
        self._function = function
        self._builder = ir.IRBuilder(function.append_basic_block("entry"))
        self._frame = _Frame(frozenset(), None)
        self._loops: list[ir.Block] = []
        """What follows each loop that is being written."""

    def kernel(self, node: ast.FunctionDef) -> None:
        names = [argument.arg for argument in node.args.args]
        self._frame = _Frame(_function(node).once, None, dict(zip(names, self._function.args, strict=True)))
        # Places are made in this block, which ends where the rest begins.
        begin = self._function.append_basic_block("begin")
        self._builder.branch(begin)
        self._builder.position_at_end(begin)
        self._statements(node.body)
        if not self._ended:
            self._builder.unreachable()

    def generic_visit(self, node: ast.AST) -> Any:
        raise NotImplementedError(f"{type(node).__name__} in kernel source: {ast.unparse(node)}")

    @property
    def _ended(self) -> bool:
        return bool(self._builder.block.is_terminated)

    def _statements(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if self._ended:
                return
            self.visit(statement)

    def _block(self, name: str) -> ir.Block:
        return self._function.append_basic_block(name)

    def _go_to(self, block: ir.Block) -> None:
        if not self._ended:
            self._builder.branch(block)

    # Names

    def _place(self, kind: ir.Type) -> ir.Value:
        with self._builder.goto_entry_block():
            place = self._builder.alloca(kind)
            self._builder.store(ir.Constant(kind, 0), place)
        return place

    def _assign(self, target: ast.expr, value: Any) -> None:
        frame = self._frame
        if isinstance(target, ast.Tuple):
            for part, item in zip(target.elts, value, strict=True):
                self._assign(part, item)
        elif isinstance(target, ast.Subscript):
            pointer = self._builder.gep(self.visit(target.value), [self.visit(target.slice)])
            self._builder.store(scalars.cast(self._builder, value, pointer.type.pointee), pointer)
        elif not isinstance(target, ast.Name):
            self.generic_visit(target)
        elif target.id in frame.once:
            frame.values[target.id] = value
        else:
            self._keep(target.id, value)

    def _keep(self, name: str, value: ir.Value) -> None:
        places = self._frame.places
        if name not in places:
            places[name] = self._place(value.type)
        self._builder.store(self._as(value, places[name].type.pointee), places[name])

    def _as(self, value: ir.Value, kind: ir.Type) -> ir.Value:
        """The value as a wider type."""
        if scalars.joined(value.type, kind) != kind:
            raise NotImplementedError(f"a {value.type} where a {kind} was before")
        return scalars.cast(self._builder, value, kind)

    def visit_Name(self, node: ast.Name) -> Any:
        frame = self._frame
        if node.id in frame.values:
            return frame.values[node.id]
        if node.id in frame.places:
            return self._builder.load(frame.places[node.id])
        if node.id in _library().constants:
            return ir.Constant(I64, _library().constants[node.id])
        raise NotImplementedError(f"{node.id} in kernel source is not known")

    # Statements

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # else a text about a function
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        value = self.visit(node.value)
        for target in node.targets:
            self._assign(target, value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        assert isinstance(node.target, ast.Name)
        before = self._builder.load(self._frame.places[node.target.id])
        self._assign(node.target, scalars.binary(self._builder, node.op, before, self.visit(node.value)))

    def visit_Pass(self, node: ast.Pass) -> None:
        pass

    def visit_If(self, node: ast.If) -> None:
        then, after = self._block("then"), self._block("after")
        other = self._block("else") if node.orelse else after
        self._branch(node.test, then, other)
        self._builder.position_at_end(then)
        self._statements(node.body)
        self._go_to(after)
        if node.orelse:
            self._builder.position_at_end(other)
            self._statements(node.orelse)
            self._go_to(after)
        self._builder.position_at_end(after)

    def _branch(self, test: ast.expr, then: ir.Block, other: ir.Block) -> None:
        """To `then` where the test holds, which may say that it seldom does."""
        branch = self._builder.cbranch(self._condition(test), then, other)
        if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "seldom":
            branch.set_weights(_SELDOM)

    def visit_While(self, node: ast.While) -> None:
        test, body, after = self._block("while"), self._block("body"), self._block("after")
        self._builder.branch(test)
        self._builder.position_at_end(test)
        self._builder.cbranch(self._condition(node.test), body, after)
        self._loop(node.body, body, after)
        self._go_to(test)
        self._builder.position_at_end(after)

    def visit_For(self, node: ast.For) -> None:
        assert isinstance(node.iter, ast.Call)
        bounds = [self.visit(argument) for argument in node.iter.args]
        first, last = bounds[:2] if len(bounds) > 1 else (ir.Constant(I64, 0), bounds[0])
        step = bounds[2] if len(bounds) > 2 else ir.Constant(I64, 1)
        test, body, after = self._block("for"), self._block("body"), self._block("after")
        counter = self._place(I64)
        self._builder.store(first, counter)
        self._builder.branch(test)
        self._builder.position_at_end(test)
        self._builder.cbranch(self._builder.icmp_signed("<", self._builder.load(counter), last), body, after)
        self._builder.position_at_end(body)
        self._assign(node.target, self._builder.load(counter))
        self._loop(node.body, body, after)
        if not self._ended:
            following = self._builder.add(self._builder.load(counter), step, flags=("nsw",))
            self._builder.store(following, counter)
            self._builder.branch(test)
        self._builder.position_at_end(after)

    def _loop(self, statements: Sequence[ast.stmt], body: ir.Block, after: ir.Block) -> None:
        self._builder.position_at_end(body)
        self._loops.append(after)
        self._statements(statements)
        self._loops.pop()

    def visit_Break(self, node: ast.Break) -> None:
        self._builder.branch(self._loops[-1])

    def visit_Return(self, node: ast.Return) -> None:
        assert node.value is not None
        value, frame = self.visit(node.value), self._frame
        if frame.exit is None:
            self._builder.ret(scalars.cast(self._builder, value, I64))
            return
        if frame.result is None:
            frame.result = self._place(value.type)
        self._builder.store(self._as(value, frame.result.type.pointee), frame.result)
        self._builder.branch(frame.exit)

    # Expressions

    def _condition(self, node: ast.expr) -> ir.Value:
        return scalars.truth(self._builder, self.visit(node))

    def visit_Constant(self, node: ast.Constant) -> ir.Value:
        kind = {bool: I1, int: I64, float: F64}[type(node.value)]
        return ir.Constant(kind, node.value)

    def visit_Attribute(self, node: ast.Attribute) -> ir.Value:
        return ir.Constant(F64, _REALS[node.attr])

    def visit_Tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.visit(part) for part in node.elts)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        value = self.visit(node.value)
        if isinstance(value, tuple):
            return value[ast.literal_eval(node.slice)]
        return self._builder.load(self._builder.gep(value, [self.visit(node.slice)]))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ir.Value:
        value = self.visit(node.operand)
        match node.op:
            case ast.Not():
                return self._builder.not_(scalars.truth(self._builder, value))
            case ast.Invert():
                return self._builder.not_(value)
            case ast.USub():
                return scalars.negative(self._builder, value)
        return self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> ir.Value:
        return scalars.binary(self._builder, node.op, self.visit(node.left), self.visit(node.right))

    def visit_Compare(self, node: ast.Compare) -> ir.Value:
        (operator,), (right,) = node.ops, node.comparators
        return scalars.compare(self._builder, operator, self.visit(node.left), self.visit(right))

    def visit_BoolOp(self, node: ast.BoolOp) -> ir.Value:
        """What follows is computed only where it decides."""
        after, decided = self._block("decided"), isinstance(node.op, ast.Or)
        known: list[tuple[ir.Value, ir.Block]] = []
        for part in node.values[:-1]:
            value, more = self._condition(part), self._block("more")
            known.append((ir.Constant(I1, decided), self._builder.block))
            self._builder.cbranch(value, *((after, more) if decided else (more, after)))
            self._builder.position_at_end(more)
        known.append((self._condition(node.values[-1]), self._builder.block))
        self._builder.branch(after)
        return self._met(after, I1, known)

    def visit_IfExp(self, node: ast.IfExp) -> ir.Value:
        then, other, after = self._block("then"), self._block("else"), self._block("after")
        self._builder.cbranch(self._condition(node.test), then, other)
        found = []
        for block, part in ((then, node.body), (other, node.orelse)):
            self._builder.position_at_end(block)
            found.append((self.visit(part), self._builder.block))
        kind = scalars.joined(found[0][0].type, found[1][0].type)
        known = []
        for value, block in found:
            self._builder.position_at_end(block)
            known.append((scalars.cast(self._builder, value, kind), block))
            self._builder.branch(after)
        return self._met(after, kind, known)

    def _met(self, block: ir.Block, kind: ir.Type, known: Sequence[tuple[ir.Value, ir.Block]]) -> ir.Value:
        self._builder.position_at_end(block)
        phi = self._builder.phi(kind)
        for value, origin in known:
            phi.add_incoming(value, origin)
        return phi

    # Calls

    def visit_Call(self, node: ast.Call) -> Any:
        builder, arguments = self._builder, [self.visit(argument) for argument in node.args]
        match node.func:
            case ast.Call(func=ast.Name(id="type"), args=[like]):
                return scalars.cast(builder, arguments[0], self.visit(like).type)
            case ast.Attribute(attr=name) if name in _ROUNDINGS:
                return scalars.intrinsic(builder, name, arguments[0])
            case ast.Name(id="min"):
                return scalars.least(builder, *arguments)
            case ast.Name(id="max"):
                return scalars.greatest(builder, *arguments)
            case ast.Name(id="abs"):
                return scalars.absolute(builder, *arguments)
            case ast.Name(id=name) if name in _CASTS:
                return scalars.cast(builder, arguments[0], _CASTS[name])
            case ast.Name(id=name) if name in OPERATIONS:
                operation = OPERATIONS[name]
                kinds = zip(arguments, operation.arguments, strict=True)
                return operation.write(builder, [scalars.cast(builder, given, kind) for given, kind in kinds])
            case ast.Name(id=name) if name in _library().functions:
                return self._written_out(_library().functions[name], arguments)
        return self.generic_visit(node)

    def _written_out(self, function: _Function, arguments: Sequence[Any]) -> Any:
        caller, loops = self._frame, self._loops
        self._frame, self._loops = _Frame(function.once, None if function.ends else self._block("returned")), []
        for argument, value in zip(function.node.args.args, arguments, strict=True):
            self._assign(ast.Name(argument.arg, ast.Store()), value)
        if function.ends:
            self._statements(function.node.body[:-1])
            result = self.visit(function.ends)
        else:
            self._statements(function.node.body)
            self._go_to(self._frame.exit)
            self._builder.position_at_end(self._frame.exit)
            result = None if self._frame.result is None else self._builder.load(self._frame.result)
        self._frame, self._loops = caller, loops
        return result
