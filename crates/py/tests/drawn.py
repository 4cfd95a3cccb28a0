"""Formulas and traces drawn at random."""

from __future__ import annotations

from typing import Callable, Set

from hypothesis import strategies as st

from lictor import F, Formula, G, H, M, N, O, R, S, T, U, W, X, Y, Z, and_, atom, iff, implies, not_, or_

NAMES = ["a", "b", "c"]
UNARY: "list[Callable[[Formula], Formula]]" = [not_, G, F, X, N]
BINARY: "list[Callable[[Formula, Formula], Formula]]" = [and_, or_, implies, iff, U, W, R, M]
BACK: "list[Callable[[Formula], Formula]]" = [not_, O, H, Y, Z]
BACK_BINARY: "list[Callable[[Formula, Formula], Formula]]" = [and_, or_, S, T]


def formulas() -> st.SearchStrategy[Formula]:
    """Returns formulas over three facts, a few operators deep. No past operator contains a future operator."""
    leaves = st.sampled_from(NAMES).map(atom)
    back = st.recursive(leaves, lambda smaller: larger(smaller, BACK, BACK_BINARY), max_leaves=3)
    return st.recursive(back, lambda smaller: larger(smaller, UNARY, BINARY), max_leaves=5)


def larger(
    smaller: st.SearchStrategy[Formula],
    unary: "list[Callable[[Formula], Formula]]",
    binary: "list[Callable[[Formula, Formula], Formula]]",
) -> st.SearchStrategy[Formula]:
    one = st.tuples(st.sampled_from(unary), smaller).map(lambda drawn: drawn[0](drawn[1]))
    two = st.tuples(st.sampled_from(binary), smaller, smaller).map(lambda drawn: drawn[0](drawn[1], drawn[2]))
    return one | two


def traces() -> st.SearchStrategy["list[Set[str]]"]:
    """Returns traces of up to a dozen positions."""
    return st.lists(st.sets(st.sampled_from(NAMES)), min_size=1, max_size=12)
