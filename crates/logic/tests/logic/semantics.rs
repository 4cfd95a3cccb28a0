//! The definition against truth tables worked out by hand.
//!
//! A word is written as its positions between semicolons: `p; p q; ` has three. `*` stands before the first position
//! that is repeated, `...` after a word whose future is open, `every 5s` after one whose rounds are so long. The
//! expected values are those at each position from the first on: `t`, `f`, or `?` for not determined.

use lictor_logic::{
    Arena, Atom, Comparison, Ending, Facts, Formula, Node, Quantifier, Span, Spelling, Term, Time, Unary, Value, Word,
    evaluate,
};

use crate::support::notation::read_entry;
use crate::support::random::Random;
use crate::support::trace::Entry;

fn read(text: &str) -> (Vec<Facts>, Ending) {
    let (body, period) = match text.split_once("every") {
        Some((body, period)) => (body, position(&format!("@{}", period.trim())).time.unwrap_or_default()),
        None => (text, Time::default()),
    };
    let (body, is_open) = match body.trim_end().strip_suffix("...") {
        Some(body) => (body, true),
        None => (body, false),
    };
    let mut ending = if is_open { Ending::Open } else { Ending::Stops };
    let mut positions = Vec::new();
    for (index, piece) in body.split(';').enumerate().filter(|_| !body.trim().is_empty()) {
        if piece.contains('*') {
            ending = Ending::Repeats { from: index, period: Span(period.0.unsigned_abs()) };
        }
        positions.push(position(&piece.replace('*', "")));
    }
    (positions, ending)
}

fn position(text: &str) -> Facts {
    match read_entry(text) {
        Entry::Position(facts) => facts,
        Entry::Tick(_) => panic!("`{text}` is no position"),
    }
}

fn parse(arena: &mut Arena, formula: &str) -> Formula {
    arena.parse(formula).unwrap_or_else(|errors| panic!("{formula}: {errors}"))
}

/// The formula has these values at the positions of the word.
fn check(formula: &str, word: &str, expected: &str) {
    let mut arena = Arena::new();
    let mut f = parse(&mut arena, formula);
    let (positions, ending) = read(word);
    let mut values = String::new();
    for _ in 0..expected.len() {
        let value = evaluate(&arena, f, &Word { positions: &positions, ending });
        values.push(value.map_or('?', |value| if value { 't' } else { 'f' }));
        // At a position that exists, one `next` more looks one position further.
        f = arena.unary(Unary::Next, f);
    }
    assert_eq!(values, expected, "{formula} on {word}");
}

/// Both formulas have the same values on every word of a small collection.
fn check_equal(left: &str, right: &str) {
    let letters = ["", "p", "q", "p q"];
    for number in 0..256 {
        let facts = [0, 2, 4, 6].map(|shift| letters[number >> shift & 3]).map(position);
        for ending in [Ending::Stops, Ending::Open, repeats(0), repeats(1), repeats(3)] {
            let mut arena = Arena::new();
            let (f, g) = (parse(&mut arena, left), parse(&mut arena, right));
            let word = Word { positions: &facts, ending };
            assert_eq!(evaluate(&arena, f, &word), evaluate(&arena, g, &word), "{left} and {right} on {word:?}");
        }
    }
}

fn repeats(from: usize) -> Ending {
    Ending::Repeats { from, period: Span(0) }
}

#[test]
fn fact_holds_where_present() {
    check("p", "p; ; p q; q", "tftf");
    check("!p", "p; ; p q; q", "ftft");
    check("p & q", "p; ; p q; q", "fftf");
    check("p | q", "p; ; p q; q", "tftt");
    check("p -> q", "p; ; p q; q", "fttt");
    check("p <-> q", "p; ; p q; q", "fttf");
    check("true", "p; ", "tt");
    check("false", "p; ", "ff");
}

#[test]
fn next_fails_at_end_of_finite_word() {
    check("X p", "; p; p", "ttf");
    check("N p", "; p; p", "ttt");
    check("N p", "; ; ", "fft");
    check("X true", "; ; ", "ttf");
    check("N false", "; ; ", "fft");
    check("!X p", "; p; p", "fft");
    check("X X true", "; ; ", "tff");
}

#[test]
fn next_equals_weak_next_on_infinite_word() {
    check("X p", "p; * ; p", "ftftf");
    check("N p", "p; * ; p", "ftftf");
    check("X true", "* ", "ttt");
}

#[test]
fn eventually_and_always_on_finite_words() {
    check("F p", "; p; ", "ttf");
    check("G p", "p; ; p", "fft");
    check("G p", "p; p; p", "ttt");
    check("F p", "; ; ", "fff");
    check("G F p", "; p; ", "fff");
    check("G F p", "; ; p", "ttt");
    check("F G p", "; ; p", "ttt");
}

#[test]
fn eventually_and_always_on_lassos() {
    check("F p", "p; ; * ", "tfff");
    check("F p", "; * ; p", "tttt");
    check("G p", "; p; * p", "fttt");
    check("G F p", "; * p; ", "tttt");
    check("F G p", "; * p; ", "ffff");
    check("F G p", "; ; * p", "tttt");
    check("G F p", "p; p; * ", "fff");
}

#[test]
fn until_requires_its_goal() {
    check("p U q", "p; p; q; ", "tttf");
    check("p U q", "p; p; p", "fff");
    check("p U q", "p; ; q", "fft");
    check("p U q", "q; ", "tf");
    check("p U q", "* p", "ff");
    check("p U q", "* p; p; q", "tttt");
    check("p U q", "p; * ; q", "fftft");
    check("(p U q) U r", "p; q; q; r", "tttt");
    check("p U (q U r)", "p; q; q; r", "tttt");
    check("(p U q) U r", "p; r", "ft");
}

#[test]
fn weak_until_holds_without_its_goal() {
    check("p W q", "p; p; p", "ttt");
    check("p W q", "p; ; q", "fft");
    check("p W q", "p; q; ", "ttf");
    check("p W q", "* p", "tt");
    check("p W q", "p; * p; ", "fff");
}

#[test]
fn release_includes_releasing_position() {
    check("p R q", "q; q; p q; ", "tttf");
    check("p R q", "q; q; p; ", "ffff");
    check("p R q", "q; q; q", "ttt");
    check("p R q", "* q", "tt");
    check("p R q", "q; * ", "ff");
}

#[test]
fn strong_release_requires_releasing_position() {
    check("p M q", "q; q; p q; ", "tttf");
    check("p M q", "q; q; q", "fff");
    check("p M q", "* q", "ff");
    check("p M q", "* q; p q", "tttt");
    check("p M q", "p q; ", "tf");
}

#[test]
fn previous_fails_at_first_position() {
    check("Y p", "p; ; p", "ftf");
    check("Z p", "p; ; p", "ttf");
    check("Y true", "; ; ", "ftt");
    check("Z false", "; ; ", "tff");
    check("Y Y p", "p; ; p; ", "fftf");
    check("Z Z p", "; ; p; ", "ttff");
}

#[test]
fn once_and_historically_look_back() {
    check("O p", "; p; ; ", "fttt");
    check("H p", "p; p; ; p", "ttff");
    check("O(p & Y q)", "q; p; ", "ftt");
    check("H(p -> O q)", "q; p; ; p", "tttt");
    check("H(p -> Y O q)", "p q; p", "ff");
}

#[test]
fn since_holds_from_goal_until_broken() {
    check("p S q", "; q; p; p; ; p", "ftttff");
    check("p S q", "q; q; ", "ttf");
    check("p S q", "p; p", "ff");
    check("(p S q) S r", "r; q; p; ", "tttf");
}

#[test]
fn trigger_stays_broken_until_triggered() {
    check("p T q", "q; q; q", "ttt");
    check("p T q", "; q; p q; q", "fftt");
    check("p T q", "p q; q; ; q", "ttff");
    check("p T q", "p; q", "ff");
}

#[test]
fn lasso_past_includes_stem_and_rounds() {
    check("O p", "p; * q", "ttttt");
    check("O p", "; * ; p", "fftttt");
    check("H p", "p; * p; ", "ttfff");
    check("Y p", "p; * ; ", "ftfff");
    check("Y p", "; * p; ", "fftft");
    check("G O p", "p; * ", "ttt");
    check("G F(q & Y p)", "* q; p", "tttt");
    check("G F(q & Y p)", "p; * q; ", "ffff");
    check("p S q", "q; * p", "tttt");
    check("p S q", "q; * p; ", "ttffff");
    check("F(p & Y Y Y q)", "q; ; * p", "ttttf");
}

#[test]
fn step_bounds_count_positions() {
    check("F[1,2] p", "p; ; ; p", "fttf");
    check("F[0,0] p", "p; ", "tf");
    check("G[1,2] p", "; p; p; ", "tfft");
    check("F[2,inf] p", "; p; ; p", "ttff");
    check("G[2,inf] p", "; ; p; p", "tttt");
    check("G[2,inf] p", "; ; p; ", "fftt");
    check("p U[1,2] q", "q p; p; ; q", "ffff");
    check("p U[1,2] q", "p; p; q", "ttf");
    check("p U[1,2] q", "q; ; q", "fff");
    check("O[1,2] p", "p; ; ; ", "fttf");
    check("H[1,2] p", "; p; p; ; ", "tfftf");
    check("H[1,2] p", "p; p; ; ; ", "tttff");
    check("p S[1,2] q", "q; p; p; p", "fttf");
    check("p S[2,inf] q", "q; p; p; p; ", "ffttf");
}

#[test]
fn step_bounds_wrap_around_lassos() {
    check("F[1,2] p", "* p; ; ; ", "fftt");
    check("F[3,4] p", "* p; ; ", "tftt");
    check("G[0,2] p", "p; * p; p", "ttt");
    check("F[7,7] p", "; * p; ; ", "tfftff");
    check("G F[0,1] p", "* p; ", "ttt");
    check("G F[0,1] p", "* p; ; ", "fff");
    check("G(p -> O[2,3] p)", "* p; ", "ft");
    check("F(p & O[3,3] q)", "q; ; ; * p", "tttt");
    check("G F O[4,5] q", "q; * p", "ff");
}

#[test]
fn bounded_weak_until_lasts_until_its_bound() {
    check("p W[0,2] q", "p; p; p; ", "tfff");
    check("p W[0,1] q", "p; p; ; ", "tfff");
    check("p W[1,2] q", "p q; ; ", "fff");
    check("p W[1,2] q", "p; q; ", "tff");
    check("p R[0,1] q", "q; q; ; ", "tfff");
    check("p R[0,1] q", "p q; ; ", "tff");
    check("p R[1,1] q", "; q; ", "tft");
    check("p R[1,1] q", "p; ; ", "tft");
    check("p M[0,2] q", "q; q; p q; q", "tttf");
}

#[test]
fn time_bounds_measure_event_time() {
    check("F[0,5s] p", "@0s; @5s p; @6s; @20s", "ttff");
    check("F[0,5s] p", "@0s; @6s p", "ft");
    check("G[0,5s] p", "@0s p; @5s p; @6s", "tff");
    check("F[3s,5s] p", "@0s; @2s p; @6s p; @10s", "ftff");
    check("p U[0,5s] q", "@0s p; @4s p; @6s q", "ftt");
    check("O[0,5s] p", "@0s p; @5s; @6s", "ttf");
    check("O[2s,5s] p", "@0s p; @1s; @2s; @5s; @6s", "ffttf");
    check("H[0,5s] p", "@0s; @3s p; @6s p; @9s p", "fftt");
    check("p S[0,5s] q", "@0s q; @5s p; @6s p", "ttf");
    check("p S[0,5s] q", "@0s q; @1s; @2s p", "tff");
    check("F[2s,inf] p", "@0s; @1s p; @3s p; @4s", "ttff");
}

#[test]
fn positions_at_equal_times_are_distinct() {
    check("F[0,0s] p", "@1s; @1s p; @2s p", "ttt");
    check("O[0,0s] p", "@1s p; @1s; @2s", "ttf");
    check("F[1ms,1s] p", "@1s; @1s p; @2s p", "ttf");
}

#[test]
fn position_without_time_inherits_previous_time() {
    check("F[0,2s] p", "@5s; ; @8s p", "fft");
    check("F[0,3s] p", "@5s; ; @8s p", "ttt");
    check("F[0,2s] p", "; @2s p", "tt");
    check("F[0,2s] p", "; @3s; @6s p", "fft");
}

#[test]
fn positions_before_first_known_time_are_at_it() {
    check("F[0,2s] p", "; ; @1000000s p", "ttt");
    check("F[0,2s] p", "; @1000000s; @1000003s p", "fft");
    check("O[0,2s] p", "p; @1000000s; @1000002s; @1000003s", "tttf");
}

#[test]
fn time_never_goes_back() {
    check("O[0,2s] p", "@10s p; @4s; @12s; @13s", "tttf");
    check("F[1s,9s] p", "@10s; @4s p; @11s", "fff");
}

#[test]
fn time_bounds_wrap_around_lassos() {
    check("F[0,5s] p", "* @0s p; @1s every 4s", "ttt");
    check("F[1s,2s] p", "* @0s p; @1s every 4s", "fff");
    check("F[3s,4s] p", "* @0s p; @1s every 4s", "ttt");
    check("F[100s,101s] p", "* @0s p; @1s every 4s", "tft");
    check("G(p -> O[3s,4s] p)", "* @0s p; @1s every 4s", "ft");
    check("X G O[0,4s] p", "* @0s p; @1s every 4s", "tt");
    check("F G O[9s,10s] p", "@0s p; * @1s every 5s", "ff");
    check("G F O[9s,10s] p", "@0s; * @1s p every 5s", "tt");
    check("F[1s,inf] p", "@0s; * p", "fff");
    check("F[1s,inf] p", "@0s; * @1s p every 0s", "tff");
    check("G O[1s,2s] p", "@0s p; * @1s", "ft");
    check("X G O[1s,2s] p", "@0s p; * @1s", "tt");
}

#[test]
fn open_future_leaves_future_operators_undetermined() {
    check("F p", "; ...", "?");
    check("F p", "; p ...", "tt");
    check("G p", "p; p ...", "??");
    check("G p", "p; ...", "ff");
    check("p U q", "p; q ...", "tt");
    check("p U q", "p; ...", "ff");
    check("X p", "p; p ...", "t?");
    check("X true", "...", "t");
    check("G true", "...", "t");
    check("F false", "p ...", "f");
    check("F[0,1] p", "; ...", "f?");
    check("G[0,1] p", "p; p; ...", "tff");
    check("p", "...", "?");
    check("p | !p", "...", "?");
}

#[test]
fn open_future_has_a_determined_past() {
    check("G O p", "p ...", "t");
    check("G H p", "q ...", "f");
    check("Y p", "...", "f");
    check("Z p", "...", "t");
    check("F Y p", "p ...", "t");
    check("G O[0,2] p", "p ...", "?");
    check("X X O[0,2] p", "p ...", "t");
    check("X X X O[0,2] p", "p ...", "?");
    check("X(p S q)", "q ...", "?");
}

#[test]
fn open_future_leaves_time_undetermined() {
    check("F[0,5s] p", "@0s; @5s ...", "??");
    check("F[0,5s] p", "@0s; @6s ...", "f?");
    check("G[0,5s] p", "@0s p; @6s ...", "tf");
    check("X O[0,5s] p", "@0s p ...", "?");
    check("X O[0,5s] p", "@0s p; @6s ...", "f?");
    check("X O[2s,inf] p", "@0s p; @2s ...", "tt");
    check("F[0,5s] true", "...", "t");
    check("F[2s,5s] true", "...", "?");
}

#[test]
fn unknown_fact_leaves_dependent_formulas_undetermined() {
    check("p", "?p; p; ", "?tf");
    check("p & q", "?p; ?p q", "f?");
    check("p | q", "?p; ?p q", "?t");
    check("F p", "?p; p; ?p; ", "tt?f");
    check("G p", "p; ?p; p", "??t");
    check("O p", "; ?p; ; p; ", "f??tt");
    check("p S q", "q; ?p; p; ", "t??f");
    check("p <-> p", "?p", "?");
}

#[test]
fn atom_matches_facts_with_its_arguments() {
    check("paid", "paid(3); paid; ", "ttf");
    check("paid(3)", "paid(3); paid(4); paid; paid(3,\"eur\")", "tfft");
    check("paid(_)", "paid(3); paid; ", "tff");
    check("paid(_,\"eur\")", "paid(3,\"eur\"); paid(3); paid(3,\"usd\")", "tff");
    check("paid(3)", "paid(3.0); paid(\"3\")", "tf");
    check("paid(3)", "?paid(_); ?paid(4); ?paid; ?other(3)", "?f?f");
}

#[test]
fn quantifiers_range_over_seen_and_unseen_values() {
    check("exists x. p(x)", "p(1); ; p; q(1)", "tfff");
    check("forall x. p(x)", "p(1); ", "ff");
    check("forall x. p(x) -> q(x)", "p(1) q(1); p(1) q(2); ", "tft");
    check("exists x. p(x) & F q(x)", "p(1) p(2); q(2)", "tf");
    check("exists x. p(x) & F q(x)", "p(1) p(2); q(3)", "ff");
    check("forall x. G(p(x) -> F q(x))", "p(1); p(2); q(1) q(2)", "ttt");
    check("forall x. G(p(x) -> F q(x))", "p(1); p(2); q(2)", "ftt");
    check("G forall x. (q(x) -> O p(x))", "p(1); q(1); ", "ttt");
    check("G forall x. (q(x) -> O p(x))", "p(1); q(2); ", "fft");
    check("exists x. !p(x)", "p(1); ", "tt");
    check("forall x. exists y. x != y", "", "t");
    check("exists x. forall y. x = y", "p(1)", "f");
}

#[test]
fn comparisons_need_values_of_one_kind() {
    check("exists x. p(x) & x > 3", "p(4); p(3); p(3.5); p(\"4\")", "tftf");
    check("exists x. p(x) & x >= 3", "p(4); p(3); p(2)", "ttf");
    check("exists x. p(x) & x != 3", "p(4); p(3); p(\"3\")", "tft");
    check("exists x. p(x) & x < \"b\"", "p(\"a\"); p(\"b\"); p(1)", "tff");
    check("forall x. p(x) -> x <= 3", "p(3); p(4); ", "tft");
    check("forall x. x = x", "", "t");
    check("exists x. x > 3", "", "t");
    check("exists x. x > 3", "...", "t");
    check("exists x. x > 3 & x < 3", "...", "f");
    check("exists x. x = x", "...", "t");
    check("exists x, y. x = y & x != y", "...", "f");
    check("forall x. x >= x & !(x < x)", "...", "t");
    check("forall x, y. (p(x) & X p(y)) -> x < y", "p(1); p(2); p(2)", "tft");
}

#[test]
fn inner_variable_shadows_outer_variable() {
    check("exists x. p(x) & exists x. q(x)", "p(1) q(2); p(1)", "tf");
    check("forall x. p(x) -> exists x. q(x)", "p(1) q(2); p(1); ", "tft");
}

#[test]
fn unknown_facts_may_carry_any_value() {
    check("exists x. p(x)", "?p(_); ?p(1); ", "??f");
    check("forall x. !p(x)", "?p(_); ; p(1)", "?tf");
    check("p(1)", "?p(_); ?p(2); ?p(1)", "?f?");
    check("exists x. p(x) & q(x)", "p(1) ?q(_); p(1) ?q(2); p(1) ?q(1)", "?f?");
    check("exists x. p(x) & x > 3", "?p(_); ?p(3); ?p(4)", "?f?");
}

#[test]
fn empty_word_satisfies_weak_operators_only() {
    for holds in ["true", "!p", "N p", "N false", "G p", "G false", "p R q", "p W q", "Z p", "H p", "p T q"] {
        check(holds, "", "t");
    }
    for fails in ["false", "p", "X p", "X true", "F p", "F true", "p U q", "p M q", "Y p", "O p", "p S q"] {
        check(fails, "", "f");
    }
    check("p -> F q", "", "t");
    check("!F p", "", "t");
    check("G[0,5s] p & !F[0,3] p", "", "t");
    check("forall x. !p(x)", "", "t");
    check("exists x. p(x)", "", "f");
    check("1 < 2", "", "t");
    check("1 > 2", "", "f");
}

#[test]
fn operators_are_dual() {
    for (left, right) in [
        ("!X p", "N !p"),
        ("!F p", "G !p"),
        ("!(p U q)", "!p R !q"),
        ("!(p W q)", "!p M !q"),
        ("!Y p", "Z !p"),
        ("F !O p", "F H !p"),
        ("F !(p S q)", "F(!p T !q)"),
        ("!F[1,2] p", "G[1,2] !p"),
        ("!(p U[1,2] q)", "!p R[1,2] !q"),
        ("!(p W[1,2] q)", "!p M[1,2] !q"),
        ("G !(p S[1,2] q)", "G(!p T[1,2] !q)"),
    ] {
        check_equal(left, right);
    }
}

#[test]
fn operators_unfold_one_step() {
    for (left, right) in [
        ("F p", "p | X F p"),
        ("G p", "p & N G p"),
        ("p U q", "q | (p & X(p U q))"),
        ("p W q", "q | (p & N(p W q))"),
        ("p R q", "q & (p | N(p R q))"),
        ("p M q", "q & (p | X(p M q))"),
        ("G O p", "G(p | Y O p)"),
        ("F H p", "F(p & Z H p)"),
        ("G(p S q)", "G(q | (p & Y(p S q)))"),
        ("F(p T q)", "F(q & (p | Z(p T q)))"),
        ("F[0,2] p", "p | X(p | X p)"),
        ("G[1,2] p", "N(p & N p)"),
        ("p U[1,2] q", "p & X(q | (p & X q))"),
        ("G O[0,2] p", "G(p | Y(p | Y p))"),
        ("F H[1,2] p", "F Z(p & Z p)"),
        ("p W q", "(p U q) | G p"),
        ("p M q", "q U (p & q)"),
    ] {
        check_equal(left, right);
    }
}

#[test]
fn unseen_numbers_lie_in_every_gap() {
    for (formula, expected) in [
        ("exists x. x > 3", "t"),
        ("exists x. x < 3", "t"),
        ("exists x. x > 3 & x < 4", "t"),
        ("exists x. x > 3 & x < 3", "f"),
        ("exists x. x >= 3 & x <= 3", "t"),
        ("exists x. x >= 3 & x <= 3 & x != 3", "f"),
        ("forall x. x > 3", "f"),
        ("forall x. x > 3 | x <= 3", "f"),
        ("exists x. x > 3 & !p(x)", "t"),
        ("exists x. x > 3 & p(x)", "f"),
        ("exists x. x > 3 & x > \"a\"", "f"),
        ("exists x, y. x > 3 & y > x & !p(y)", "t"),
        ("exists x. x > 3 & (forall y. p(y) -> x > y)", "t"),
        ("forall x. x > 3 -> (exists y. y > 3 & y < x)", "t"),
        ("exists x. x > 3 & (forall y. y > 3 -> y >= x)", "f"),
    ] {
        check(formula, "p(1) p(3)", expected);
    }
    check("G exists x. p(x) & x > 3", "p(1); p(4)", "ft");
    check("exists x. x > 3 & F p(x)", "p(1) ...", "?");
    check("exists x. x > 3 & x < 3 & F p(x)", "p(1) ...", "f");
    check("exists x. F(p(x) & x + 1 > 3)", "p(1) ...", "?");
}

#[test]
fn unseen_texts_lie_in_every_gap() {
    for (formula, expected) in [
        ("exists x. x > \"b\"", "t"),
        ("exists x. x < \"b\" & x > \"a\"", "t"),
        ("exists x. x < \"\"", "f"),
        ("exists x. x <= \"\"", "t"),
        ("forall x. x >= \"\"", "f"),
        ("exists x. x > \"b\" & x < \"b\\u{0}\"", "f"),
        ("exists x. x < true", "t"),
        ("exists x. x < true & x > false", "f"),
        ("exists x. x < false", "f"),
        ("exists x. x > true", "f"),
        // Texts and truth values are in no order with numbers.
        ("exists x. !(x < 3) & !(x > 3) & x != 3", "t"),
        ("exists x. !(x < 3) & !(x > 3) & x != 3 & !(x < \"a\") & !(x >= \"a\")", "t"),
        ("exists x. !(x <= 3) & !(x > 3) & !(x < \"a\") & !(x >= \"a\") & !(x <= true)", "f"),
    ] {
        check(formula, "p(\"b\")", expected);
    }
}

/// A formula without quantifiers, which ranges over explicit values in their place: coarse ones for the outer variable,
/// and for the inner one also values between those.
fn expand(arena: &mut Arena, f: Formula, depth: usize) -> Formula {
    match arena[f].clone() {
        Node::Quantified(quantifier, variables, body) => {
            let Some((variable, rest)) = variables.split_first() else { return expand(arena, body, depth) };
            let inner = match rest {
                [] => body,
                rest => arena.insert(Node::Quantified(quantifier, rest.into(), body)),
            };
            // In quarters: the known numbers are 2 and 3.
            let numbers = (1..20).filter(|quarters| depth > 0 || quarters % 2 == 0);
            let numbers = numbers.filter_map(|quarters| Value::number(f64::from(quarters) / 4.0));
            let texts: &[&str] =
                if depth > 0 { &["", "A", "a", "aa", "b", "bb", "c", "cc"] } else { &["", "a", "b", "c"] };
            let texts = texts.iter().copied().map(Value::text);
            let values: Vec<Value> = numbers.chain(texts).chain([Value::Bool(false), Value::Bool(true)]).collect();
            let mut parts = Vec::new();
            for value in values {
                let part = arena.substitute(inner, variable, &value);
                parts.push(expand(arena, part, depth + 1));
            }
            if quantifier == Quantifier::Exists { arena.or(parts) } else { arena.and(parts) }
        }
        node => match node.map(|operand| expand(arena, operand, depth)) {
            Node::And(list) => arena.and(list),
            Node::Or(list) => arena.or(list),
            node => arena.insert(node),
        },
    }
}

/// A random formula without temporal operators, about facts `p` and comparisons.
fn ordered_formula(arena: &mut Arena, random: &mut Random, size: usize, variables: &[&str]) -> Formula {
    if size > 1 && random.below(4) == 0 {
        let (f, g) =
            (ordered_formula(arena, random, size / 2, variables), ordered_formula(arena, random, size / 2, variables));
        return if random.below(2) == 0 { arena.and([f, g]) } else { arena.or([f, g]) };
    }
    if size > 1 && variables.len() < 2 && random.below(2) == 0 {
        let name = ["x", "y"][variables.len()];
        let body = ordered_formula(arena, random, size - 1, &[variables, &[name]].concat());
        let quantifier = if random.below(2) == 0 { Quantifier::Exists } else { Quantifier::Forall };
        return arena.insert(Node::Quantified(quantifier, [name.into()].into(), body));
    }
    if size > 1 {
        let f = ordered_formula(arena, random, size - 1, variables);
        return if random.below(2) == 0 { arena.not(f) } else { f };
    }
    let constants = [Value::Integer(2), Value::Integer(3), Value::text("b"), Value::Bool(true)];
    let mut term = || match random.below(3) {
        0 => Term::Value(constants[[0, 0, 1, 1, 2, 3][random.below(6)]].clone()),
        _ => variables.get(random.below(2)).map_or(Term::Value(Value::Integer(2)), |name| Term::Var((*name).into())),
    };
    let (left, right) = (term(), term());
    if random.below(4) == 0 {
        return arena.insert(Node::Fact(Atom::new("p", [left])));
    }
    let (comparison, _) = Comparison::ALL[random.below(Comparison::ALL.len())];
    arena.insert(Node::Compare(comparison, left, right))
}

#[test]
fn order_over_all_values_is_that_over_samples() {
    for number in 0..4000 {
        let mut random = Random::new(number);
        let mut arena = Arena::new();
        let size = 2 + random.below(8);
        let f = ordered_formula(&mut arena, &mut random, size, &[]);
        let samples = expand(&mut arena, f, 0);
        let positions = [position("p(2) p(\"b\")")];
        let value = |f| evaluate(&arena, f, &Word { positions: &positions, ending: Ending::Stops });
        assert_eq!(value(f), value(samples), "{number}: {}", arena.show(f, Spelling::Ascii));
    }
}
