//! Analysis of formulas: their class, examples, and relations to each other.

use lictor_logic::{
    Analysis, Arena, Ending, Facts, Lasso, Monitor, Span, Spelling, Verdict, Word, evaluate, relate, vacuity,
};

fn analysis(formula: &str) -> Analysis {
    let mut arena = Arena::new();
    let f = arena.parse(formula).unwrap();
    Analysis::new(&arena, f).unwrap()
}

/// Safety, co-safety, monitorable, bound.
fn classify(formula: &str) -> (Option<bool>, Option<bool>, Option<bool>, Option<u32>) {
    let class = analysis(formula).class();
    (class.safety, class.co_safety, class.monitorable, class.bounded)
}

#[test]
fn analysis_classifies_formulas() {
    let (yes, no) = (Some(true), Some(false));
    for (formula, expected) in [
        ("G !a", (yes, no, yes, None)),
        ("F a", (no, yes, yes, None)),
        ("a U b", (no, yes, yes, None)),
        ("a W b", (yes, no, yes, None)),
        ("G(a -> F b)", (no, no, no, None)),
        ("G F a", (no, no, no, None)),
        ("a & X b", (yes, yes, yes, Some(2))),
        ("F[0,3] a", (yes, yes, yes, Some(4))),
        ("G(a -> X b)", (yes, no, yes, None)),
        ("G(a -> O b)", (yes, no, yes, None)),
        ("F a | G b", (no, no, yes, None)),
        ("G a & F b", (no, no, yes, None)),
        ("(F a & G b) | G !c", (no, no, yes, None)),
        ("forall s. G(e(s) -> G !d(s))", (yes, no, yes, None)),
        ("exists x. G p(x)", (yes, no, yes, None)),
    ] {
        assert_eq!(classify(formula), expected, "{formula}");
    }
}

fn shown(lasso: Option<Lasso>) -> String {
    lasso.map_or("none".to_owned(), |lasso| lasso.to_string())
}

#[test]
fn analysis_examples_are_short() {
    for (formula, satisfying, violating) in [
        ("F a & G !a", "none", "({})*"),
        ("F a | G !a", "({})*", "none"),
        ("F a", "{a} ({})*", "({})*"),
        ("G a", "({a})*", "({})*"),
        ("a & X b", "{a} {b} ({})*", "({})*"),
    ] {
        let mut analysis = analysis(formula);
        assert_eq!(shown(analysis.satisfying()), satisfying, "{formula}");
        assert_eq!(shown(analysis.violating()), violating, "{formula}");
    }
}

#[test]
fn shortest_traces_reach_the_verdict() {
    let show = |trace: Option<Vec<Facts>>| match trace {
        None => "none".to_owned(),
        Some(trace) => trace.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "),
    };
    let mut response = analysis("G(a -> F b)");
    assert_eq!(show(response.shortest(Verdict::Satisfied)), "{}");
    assert_eq!(show(response.shortest(Verdict::Violated)), "{a}");
    assert_eq!(show(response.shortest_definite(Verdict::Violated)), "none");
    let mut erased = analysis("forall s. G(e(s) -> G !d(s))");
    assert_eq!(show(erased.shortest_definite(Verdict::Violated)), "{e(\"s\"), d(\"s\")}");
    let mut timed = analysis("G(a -> F[0,30s] b)");
    let trace = timed.shortest_definite(Verdict::Violated).unwrap();
    assert_eq!(trace.len(), 2);
    assert!(trace[1].time.unwrap().since(trace[0].time.unwrap()) > lictor_logic::Span::from_seconds(30));
}

/// The definition confirms every example.
#[test]
fn analysis_examples_satisfy_the_definition() {
    for formula in [
        "G(a -> F b)",
        "F(a & X F(b | c)) & G !d",
        "(F a) U (F G a)",
        "G F a & G F b & G(a -> !b)",
        "G(a -> O[0,2] b) & F a",
        "(a U b) R c",
        "G(a -> X(!a W b)) & F(a & F b)",
        "F[2,4] a & G(a -> Y !a)",
    ] {
        let mut arena = Arena::new();
        let f = arena.parse(formula).unwrap();
        let mut analysis = Analysis::new(&arena, f).unwrap();
        for (lasso, value) in [(analysis.satisfying(), true), (analysis.violating(), false)] {
            let Lasso { stem, cycle } = lasso.unwrap();
            let positions: Vec<Facts> = stem.iter().chain(&cycle).cloned().collect();
            let ending = Ending::Repeats { from: stem.len(), period: lictor_logic::Span(0) };
            let found = evaluate(&arena, f, &Word { positions: &positions, ending });
            assert_eq!(found, Some(value), "{formula}: {}", Lasso { stem, cycle });
        }
    }
}

#[test]
fn relate_finds_conflicts_and_implications() {
    for (left, right, expected) in [
        ("G a", "F !a", (true, false, false)),
        ("G a", "F a", (false, true, false)),
        ("a U b", "F b", (false, true, false)),
        ("G(a -> b)", "!F(a & !b)", (false, true, true)),
        ("G a", "G b", (false, false, false)),
        ("G(a -> F b)", "G(a -> F[0,3] b)", (false, false, true)),
    ] {
        let mut arena = Arena::new();
        let (f, g) = (arena.parse(left).unwrap(), arena.parse(right).unwrap());
        let relation = relate(&arena, f, g).unwrap();
        assert_eq!((relation.contradict, relation.implies, relation.implied), expected, "{left} / {right}");
        assert_eq!(relation.both.is_none(), relation.contradict);
        assert_eq!(relation.left_only.is_none(), relation.implies);
        assert_eq!(relation.right_only.is_none(), relation.implied);
    }
}

#[test]
fn vacuity_reports_response_without_request() {
    let mut arena = Arena::new();
    let f = arena.parse("G(a -> F b)").unwrap();
    let show = |trace: &[Facts]| -> Vec<String> {
        vacuity(&arena, f, trace).into_iter().map(|atom| arena.show(atom, Spelling::Ascii).to_string()).collect()
    };
    assert_eq!(show(&[Facts::from_names(["c"]).unwrap(), Facts::from_names(["c"]).unwrap()]), ["b"]);
    assert!(show(&[Facts::from_names(["a"]).unwrap(), Facts::from_names(["b"]).unwrap()]).is_empty());
    assert!(show(&[Facts::from_names(["a"]).unwrap()]).is_empty());
}

#[test]
fn automaton_of_response_has_two_states() {
    let automaton = analysis("G(a -> F b)").automaton().unwrap();
    let states: Vec<String> = automaton.states.iter().map(|state| state.residual.to_string()).collect();
    assert_eq!(states, ["G(a -> F b)", "F b & G(a -> F b)"]);
    let mut edges: Vec<String> =
        automaton.edges.iter().map(|edge| format!("{}->{}: {}", edge.from, edge.to, edge.guard)).collect();
    edges.sort();
    assert_eq!(edges, ["0->0: !a | b", "0->1: a & !b", "1->0: b", "1->1: !b"]);
}

#[test]
fn unseen_numbers_count_in_analysis() {
    for (text, satisfiable, valid) in [
        ("exists x. x > 3", true, true),
        ("forall x. x > 3", false, false),
        ("exists x. x > 3 & x < 3", false, false),
        ("exists x. (x > 3 & F p(x))", true, false),
        ("forall x. G(p(x) -> x > 3)", true, false),
    ] {
        let mut arena = Arena::new();
        let formula = arena.parse(text).unwrap();
        let mut analysis = Analysis::new(&arena, formula).unwrap();
        let class = analysis.class();
        assert_eq!((class.satisfiable, class.valid), (satisfiable, valid), "{text}");
        // Examples have values that fit.
        for (lasso, value) in [(analysis.satisfying(), true), (analysis.violating(), false)] {
            let Some(lasso) = lasso else { continue };
            let positions: Vec<Facts> = lasso.stem.iter().chain(&lasso.cycle).cloned().collect();
            let ending = Ending::Repeats { from: lasso.stem.len(), period: Span(0) };
            let found = evaluate(&arena, formula, &Word { positions: &positions, ending });
            assert_eq!(found, Some(value), "{text} on {positions:?}");
        }
    }
}

/// Returns a chain of equivalences of so many facts, from the first on or from the last on.
fn chain(length: usize, is_reversed: bool) -> String {
    let mut facts: Vec<String> = (0..length).map(|fact| format!("q{fact}")).collect();
    if is_reversed {
        facts.reverse();
    }
    facts.join(" <-> ")
}

/// A chain of thirty equivalences has half a billion alternatives.
#[test]
fn chains_of_equivalences_are_compared() {
    let (one, other) = (chain(30, false), chain(30, true));
    for (left, right, expected) in [
        (format!("G({one})"), format!("G({other})"), (false, true, true)),
        (format!("G({one})"), format!("F !({other})"), (true, false, false)),
        (format!("G(a -> F ({one}))"), format!("G(a & b -> F ({other}))"), (false, true, false)),
        (format!("G(a -> O ({one}))"), format!("G(a & b -> O ({other}))"), (false, true, false)),
        (format!("G(a -> X ({one}))"), format!("G(a -> X !({other}))"), (false, false, false)),
    ] {
        let mut arena = Arena::new();
        let (f, g) = (arena.parse(&left).unwrap(), arena.parse(&right).unwrap());
        let relation = relate(&arena, f, g).unwrap();
        assert!(!relation.is_partial, "{left} / {right}");
        assert_eq!((relation.contradict, relation.implies, relation.implied), expected, "{left} / {right}");
        for (lasso, formula) in [(relation.both, f), (relation.left_only, f), (relation.right_only, g)] {
            let Some(lasso) = lasso else { continue };
            let positions: Vec<Facts> = lasso.stem.iter().chain(&lasso.cycle).cloned().collect();
            let ending = Ending::Repeats { from: lasso.stem.len(), period: Span(0) };
            assert_eq!(
                evaluate(&arena, formula, &Word { positions: &positions, ending }),
                Some(true),
                "{left} / {right}"
            );
        }
    }
}

#[test]
fn vacuity_of_equivalence_chain_visits_parts_once() {
    let mut arena = Arena::new();
    let f = arena.parse(&format!("G({} -> F b)", chain(60, false))).unwrap();
    let trace = [Facts::from_names(["q0"]).unwrap()];
    assert!(vacuity(&arena, f, &trace).len() <= 61);
}

#[test]
fn equivalence_chain_beside_count_is_refused() {
    let refused = Monitor::parse(&format!("G(count[0,1h](p) <= 3 <-> ({}))", chain(30, false))).unwrap_err();
    assert!(refused.to_string().contains("equivalences"), "{refused}");
    assert!(Monitor::parse(&format!("G(count[0,1h](p) <= 3 <-> ({}))", chain(6, false))).is_ok());
}

#[test]
fn equivalence_chain_in_past_is_followed() {
    for text in
        ["G(a -> O ({}))", "G(a -> (b S ({})))", "G(a -> Y ({}))", "G(a -> O[0,1h] ({}))", "F[0,2] ({})", "X ({})"]
    {
        let text = text.replace("{}", &chain(30, false));
        let monitor = Monitor::parse(&text).unwrap();
        let mut run = monitor.run();
        // With an even number of facts missing, the chain holds.
        run.step(&Facts::default());
        run.step(&Facts::from_names(["q3"]).unwrap());
        run.step(&Facts::from_names(["a", "q3", "q4"]).unwrap());
        assert_ne!(run.end(), Verdict::Inconclusive, "{text}");
    }
}
