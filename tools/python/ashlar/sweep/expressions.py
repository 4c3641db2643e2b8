# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Constraints: expressions over parameters, options and names.

    pe.rows * pe.columns <= 8192 and format != "bfp16"
"""

import ast
import operator
from typing import Any

from ..campaign.errors import malformed
from ..campaign.spelling import did_you_mean

BINARY = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
          ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod}
COMPARE = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
           ast.Gt: operator.gt, ast.GtE: operator.ge, ast.In: lambda a, b: a in b,
           ast.NotIn: lambda a, b: a not in b}
FUNCTIONS = {"min": min, "max": max, "abs": abs}
LIMIT = 1000  # characters; a longer expression is a mistake


class Constraint:
    """An expression that a point has to make true."""

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > LIMIT:
            raise malformed(f"constraint '{text[:60]}...': longer than {LIMIT} characters")
        try:
            self.tree = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise malformed(f"constraint '{text}': not an expression such as pe.rows * pe.columns <= 8192") from None

    def holds(self, values: dict[str, Any]) -> bool:
        """Whether the point with these values is wanted."""
        try:
            return bool(self._value(self.tree, values))
        except (TypeError, ZeroDivisionError) as error:
            raise malformed(f"constraint '{self.text}': {error}") from None

    def _name(self, node: ast.AST) -> str:
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute):
            return f"{self._name(node.value)}.{node.attr}"
        raise self._refused(node)

    def _refused(self, node: ast.AST) -> Exception:
        return malformed(f"constraint '{self.text}': '{ast.unparse(node)}' is not allowed; there are names, "
                         "numbers, texts, lists, + - * / // %, comparisons, in, and, or, not, min, max, abs")

    def _value(self, node: ast.AST, values: dict[str, Any]) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, bool, type(None))):
            return node.value
        if isinstance(node, (ast.Name, ast.Attribute)):
            name = self._name(node)
            if name not in values:
                raise malformed(f"constraint '{self.text}': unknown name '{name}'{did_you_mean(name, values)}")
            return values[name]
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self._value(entry, values) for entry in node.elts]
        return self._computed(node, values)

    def _computed(self, node: ast.AST, values: dict[str, Any]) -> Any:
        if isinstance(node, ast.BoolOp):
            every = isinstance(node.op, ast.And)
            return (all if every else any)(self._value(entry, values) for entry in node.values)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
            value = self._value(node.operand, values)
            return not value if isinstance(node.op, ast.Not) else -value
        if isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            left, right = self._value(node.left, values), self._value(node.right, values)
            if isinstance(left, (str, list)) or isinstance(right, (str, list)):
                raise TypeError("texts and lists are compared, not computed with")
            return BINARY[type(node.op)](left, right)
        if isinstance(node, ast.Compare):
            return self._compared(node, values)
        if isinstance(node, ast.Call) and not node.keywords and node.args \
                and isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS:
            return FUNCTIONS[node.func.id](*(self._value(entry, values) for entry in node.args))
        raise self._refused(node)

    def _compared(self, node: ast.Compare, values: dict[str, Any]) -> bool:
        left = self._value(node.left, values)
        for kind, entry in zip(node.ops, node.comparators, strict=True):
            right = self._value(entry, values)
            if type(kind) not in COMPARE:
                raise self._refused(node)
            if not COMPARE[type(kind)](left, right):
                return False
            left = right
        return True
