"""Formulas and traces drawn at random."""

from __future__ import annotations

from typing import Callable, Set

from hypothesis import strategies as st

from lictor import F, Formula, G, H, M, N, O, R, S, T, U, W, X, Y, Z, and_, atom, iff, implies, not_, or_

NAMES = ["a", "b", "c"]
UNARY: "list[Callable[[Formula], Formula]]" = [not_, G, F, X, N, O, H, Y, Z]
BINARY: "list[Callable[[Formula, Formula], Formula]]" = [and_, or_, implies, iff, U, W, R, M, S, T]


def formulas() -> st.SearchStrategy[Formula]:
    """Formulas over three facts, a handful of operators deep."""
    leaves = st.sampled_from(NAMES).map(atom)

    def larger(smaller: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        one = st.tuples(st.sampled_from(UNARY), smaller).map(lambda pair: pair[0](pair[1]))
        two = st.tuples(st.sampled_from(BINARY), smaller, smaller).map(lambda drawn: drawn[0](drawn[1], drawn[2]))
        return one | two

    return st.recursive(leaves, larger, max_leaves=6)


def traces() -> st.SearchStrategy["list[Set[str]]"]:
    """Traces of up to a dozen positions."""
    return st.lists(st.sets(st.sampled_from(NAMES)), min_size=1, max_size=12)
