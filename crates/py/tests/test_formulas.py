"""The algebra of formulas: canonical, printable, parsable, comparable."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given, settings

from lictor import F, Formula, FormulaError, G, U, X, and_, atom, evaluate, false_, implies, not_, or_, true_

from drawn import formulas, traces

a, b = atom("a"), atom("b")


def test_constructors_simplify() -> None:
    assert and_(a, b, a) == and_(b, a)
    assert not_(not_(a)) == a
    assert and_(a, not_(a)) == false_()
    assert or_(a, not_(a)) == true_()
    assert and_() == true_() and or_() == false_()
    assert and_(a, true_()) == a and and_(a, false_()) == false_()
    assert implies(true_(), a) == a and implies(a, false_()) == not_(a)
    assert G(G(a)) == G(a) and F(F(a)) == F(a)
    assert X(X(a)) != X(a)
    assert U(true_(), a) == F(a)


def test_simplifying_keeps_demand_for_a_position() -> None:
    # `F true` and `X true` ask for a position, so they are false at the end of a trace; `true` is not.
    assert F(true_()) != true_() and X(true_()) != true_() and G(false_()) != false_()


def test_operators_of_python() -> None:
    assert (a & b) == and_(a, b) and (a | b) == or_(a, b)
    assert ~a == not_(a) and (a >> b) == implies(a, b)
    assert ("a" & b) == (a & "b") and ("a" >> b) == (a >> b) and ("a" | b) == (a | b)
    assert len({a & b, b & a}) == 1


def test_python_boolean_operators_are_refused() -> None:
    with pytest.raises(TypeError, match="a & b"):
        G(a and b)
    with pytest.raises(TypeError, match="a & b"):
        F(a or b)
    with pytest.raises(TypeError, match="a & b"):
        bool(not a)


def test_texts_are_formulas_too() -> None:
    assert G("a -> F b") == G(implies(a, F(b)))


def test_spellings() -> None:
    f = G(implies(a, F(b)))
    assert f.show("words") == "always (a implies eventually b)"
    assert f.show("unicode") == "□(a → ◇b)"
    assert f.show("letters") == "G(a → F b)"
    with pytest.raises(ValueError, match="no spelling"):
        f.show("latin")


def test_strange_names_and_values() -> None:
    odd = atom("always", "it's \"so\"", 3, 2.5, True, ...)
    assert Formula.parse(str(odd)) == odd
    with pytest.raises(FormulaError):
        atom("")
    with pytest.raises(FormulaError):
        atom("a", object())


def test_parse_errors_match_the_command_line() -> None:
    with pytest.raises(FormulaError) as error:
        Formula.parse("alwyas (a -> b)")
    assert "hint: did you mean `always`?" in str(error.value)
    with pytest.raises(FormulaError):
        Formula.parse("X " * 10_000 + "a")


def test_nesting_has_a_bound() -> None:
    f = a
    with pytest.raises(FormulaError, match="nested"):
        for _ in range(400):
            f = X(f)


def test_meaning_is_compared() -> None:
    assert Formula.parse("!F a").equivalent("G !a") and Formula.parse("!F a") != Formula.parse("G !a")
    assert G(a).entails(F(a)) and not F(a).entails(G(a))
    assert not Formula.parse("G a & F !a").is_satisfiable
    assert Formula.parse("F a | G !a").is_valid


@settings(max_examples=300, deadline=None)
@given(formulas())
def test_printed_formula_parses_to_itself(f: Formula) -> None:
    for spelling in ("ascii", "unicode", "words", "letters"):
        assert Formula.parse(f.show(spelling)) == f
    assert pickle.loads(pickle.dumps(f)) == f
    assert hash(Formula.parse(str(f))) == hash(f)


@settings(max_examples=200, deadline=None)
@given(formulas(), traces())
def test_simplifying_changes_no_verdict(f: Formula, trace: list[set[str]]) -> None:
    # `evaluate` gets this text unsimplified.
    doubled = f"!(!({f.show('words')}) | false) & true"
    assert evaluate(doubled, trace).verdict == evaluate(f, trace).verdict
