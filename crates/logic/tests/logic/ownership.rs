//! Formulas belong to their arena and states of traces to their set; names of facts are plain. A mix-up is an error.

use std::panic::{AssertUnwindSafe, catch_unwind};

use lictor_logic::{
    After, Analysis, Arena, Ending, Facts, Formula, Monitor, MonitorId, MonitorSet, Node, Observation, Prover, Time,
    TraceState, Verdict, Word, evaluate, relate, vacuity,
};

fn facts(text: &str) -> Facts {
    Facts::parse(text).unwrap_or_else(|errors| panic!("{text}\n{errors}"))
}

/// Returns the message of the panic of a function; none if it returns.
fn panic_message<T>(function: impl FnOnce() -> T) -> Option<String> {
    let payload = catch_unwind(AssertUnwindSafe(function)).err()?;
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    Some(text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default())
}

fn parsed(arena: &mut Arena, text: &str) -> Formula {
    arena.parse(text).unwrap_or_else(|errors| panic!("{text}\n{errors}"))
}

// Names of facts.

#[test]
fn from_names_refuses_text_with_values() {
    for text in ["request(\"a\")", "request(a)", "a b", "", "_", "!a", "@5s a", "`a`", "a, b", "a?", "3"] {
        let error = Facts::from_names(["fine", text]).unwrap_err();
        assert_eq!(error.text(), text);
        let message = error.to_string();
        assert!(message.contains(&format!("`{text}`")), "{message}");
        assert!(message.contains("Facts::parse") && message.contains("Fact::new"), "{message}");
    }
    for name in ["a", "tool.call", "next", "_x", "zahlung_erhalten", "prüfung"] {
        assert_eq!(&*Facts::from_names([name]).unwrap().known[0].name, name);
    }
}

// Formulas of other arenas.

#[test]
fn formula_of_another_arena_panics() {
    let (mut one, mut other) = (Arena::new(), Arena::new());
    let own = parsed(&mut one, "G(a -> F b)");
    let foreign = parsed(&mut other, "G(a -> F c)");
    assert!(one.contains(own) && other.contains(foreign));
    assert!(!one.contains(foreign) && !other.contains(own));
    let message = Some("the formula belongs to another arena: copy it with `Arena::copy`".to_owned());
    assert_eq!(panic_message(|| one[foreign].clone()), message);
    assert_eq!(panic_message(|| one.depth(foreign)), message);
    assert_eq!(panic_message(|| one.size(foreign)), message);
    assert_eq!(panic_message(|| vacuity(&one, foreign, &[])), message);
    let empty = Word { positions: &[], ending: Ending::Stops };
    assert_eq!(panic_message(|| evaluate(&one, foreign, &empty)), message);
    assert_eq!(panic_message(|| Arena::new().copy(&one, foreign)), message);
    assert_eq!(panic_message(|| one.clone().insert(Node::Not(foreign))), message);
    assert_eq!(panic_message(|| one.clone().and([own, foreign])), message);
    assert_eq!(panic_message(|| one.clone().implies(own, foreign)), message);
    assert_eq!(one.copy(&other, foreign), parsed(&mut one, "G(a -> F c)"));
}

#[test]
fn formula_of_another_arena_is_compile_error() {
    let (mut one, mut other) = (Arena::new(), Arena::new());
    let own = parsed(&mut one, "G(a -> O b)");
    let foreign = parsed(&mut other, "G(a -> O c)");
    let errors = [
        Monitor::new(&one, foreign).unwrap_err(),
        Monitor::with_after(&one, foreign, After::Each).unwrap_err(),
        Prover::new(&one, foreign).unwrap_err(),
        Prover::with_after(&one, foreign, After::Each).unwrap_err(),
        Analysis::new(&one, foreign).unwrap_err(),
        relate(&one, own, foreign).unwrap_err(),
        relate(&one, foreign, own).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.to_string(), "the formula belongs to another arena\nhint: copy it with `Arena::copy`");
    }
}

#[test]
fn cloned_arena_shares_older_formulas_only() {
    let mut original = Arena::new();
    let before = parsed(&mut original, "G(a -> F b)");
    let mut clone = original.clone();
    assert!(clone.contains(before));
    assert_eq!(parsed(&mut clone, "G(a -> F b)"), before);
    let (of_original, of_clone) = (original.fact("c"), clone.fact("d"));
    assert!(original.contains(of_original) && !clone.contains(of_original));
    assert!(clone.contains(of_clone) && !original.contains(of_clone));
    // A clone of a clone knows both, and an unused clone leaves no trace.
    let mut third = clone.clone().clone();
    assert!(third.contains(before) && third.contains(of_clone) && !third.contains(of_original));
    let of_third = third.fact("e");
    assert!(third.contains(of_third) && !clone.contains(of_third) && !original.contains(of_third));
    assert_eq!(third.fact("a"), original.fact("a"));
    let nothing = Arena::new();
    let (mut left, mut right) = (nothing.clone(), nothing.clone());
    assert!(!left.contains(right.fact("a")) && !right.contains(left.fact("a")));
}

// What follows a definite verdict.

#[test]
fn after_each_is_refused_for_other_shapes() {
    let mut arena = Arena::new();
    for text in ["F a", "G(a -> F b)", "a", "G a & G b"] {
        let formula = parsed(&mut arena, text);
        assert!(Monitor::with_after(&arena, formula, After::Each).is_err(), "{text}");
        assert!(Prover::with_after(&arena, formula, After::Each).is_err(), "{text}");
        assert!(Monitor::with_after(&arena, formula, After::Reset).is_ok(), "{text}");
    }
}

#[test]
fn monitor_keeps_its_behavior_in_set() {
    let mut arena = Arena::new();
    let formula = parsed(&mut arena, "G !a");
    for (after, violations) in [(After::Latch, 1), (After::Reset, 3), (After::Each, 3)] {
        let monitor = Monitor::with_after(&arena, formula, after).unwrap();
        assert_eq!(monitor.after(), after);
        // A run is about the whole trace, whatever follows a verdict in a set.
        let mut run = monitor.run();
        assert_eq!([run.step(&facts("a")), run.step(&facts(""))], [Verdict::Violated; 2]);
        let mut monitors = MonitorSet::new();
        let id = monitors.add(monitor);
        let mut trace_state = monitors.start();
        for _ in 0..3 {
            monitors.step(&mut trace_state, &facts("a"));
        }
        assert_eq!(monitors.counts(&trace_state, id).violated, violations, "{after:?}");
    }
}

#[test]
fn constant_formula_is_reported_at_each_position() {
    let mut arena = Arena::new();
    for (text, violated, satisfied) in [("G false", 3, 0), ("G true", 0, 1), ("G(1 > 2)", 3, 0), ("G(1 < 2)", 0, 1)] {
        let formula = parsed(&mut arena, text);
        let mut monitors = MonitorSet::new();
        let id = monitors.add(Monitor::with_after(&arena, formula, After::Each).unwrap());
        let mut trace_state = monitors.start();
        for _ in 0..3 {
            monitors.step(&mut trace_state, &facts("a"));
        }
        let counts = monitors.counts(&trace_state, id);
        assert_eq!((counts.violated, counts.satisfied), (violated, satisfied), "{text}");
    }
}

// States of other sets.

const FOREIGN_STATE: &str =
    "the trace state belongs to another monitor set: move it with `MonitorSet::snapshot` and `restore`";

fn set(formulas: &[&str]) -> (MonitorSet, MonitorId) {
    let mut monitors = MonitorSet::new();
    let ids: Vec<MonitorId> = formulas.iter().map(|text| monitors.add(Monitor::parse(text).unwrap())).collect();
    (monitors, ids[0])
}

type Use = (&'static str, fn(&mut MonitorSet, &mut TraceState, MonitorId));

/// Every method that is given the state of a trace.
const USES: [Use; 15] = [
    ("step", |monitors, trace_state, _| {
        monitors.step(trace_state, &facts("a"));
    }),
    ("observe", |monitors, trace_state, _| {
        monitors.observe(trace_state, &Observation::new());
    }),
    ("observe_all", |monitors, trace_state, _| monitors.observe_all(trace_state, &[], |_, _| {})),
    ("tick", |monitors, trace_state, _| {
        monitors.tick(trace_state, Time::from_seconds(1));
    }),
    ("miss", |monitors, trace_state, _| {
        monitors.miss(trace_state, 1);
    }),
    ("verdict", |monitors, trace_state, id| {
        monitors.verdict(trace_state, id);
    }),
    ("end", |monitors, trace_state, id| {
        monitors.end(trace_state, id);
    }),
    ("residual", |monitors, trace_state, id| {
        monitors.residual(trace_state, id);
    }),
    ("counts", |monitors, trace_state, id| {
        monitors.counts(trace_state, id);
    }),
    ("bindings", |monitors, trace_state, id| {
        monitors.bindings(trace_state, id);
    }),
    ("deadline", |monitors, trace_state, _| {
        monitors.deadline(trace_state);
    }),
    ("is_full", |monitors, trace_state, id| {
        monitors.is_full(trace_state, id);
    }),
    ("is_undetermined", |monitors, trace_state, id| {
        monitors.is_undetermined(trace_state, id);
    }),
    ("may_break", |monitors, trace_state, id| {
        monitors.may_break(trace_state, id, &facts("a"));
    }),
    ("snapshot", |monitors, trace_state, _| {
        monitors.snapshot(trace_state);
    }),
];

#[test]
fn state_of_another_set_panics_everywhere() {
    let (mut one, id) = set(&["G(a -> F b)"]);
    let (mut other, _) = set(&["G(a -> F c)"]);
    let own = one.start();
    let mut read = other.start();
    other.step(&mut read, &facts("a"));
    for (name, use_state) in USES {
        use_state(&mut one, &mut own.clone(), id);
        for foreign in [other.start(), read.clone()] {
            let message = panic_message(|| use_state(&mut one, &mut foreign.clone(), id));
            assert_eq!(message.as_deref(), Some(FOREIGN_STATE), "{name}");
        }
        // A state that no set has read is the start of a trace in any set.
        use_state(&mut one, &mut TraceState::default(), id);
    }
}

#[test]
fn cloned_set_continues_older_states_only() {
    let (mut original, id) = set(&["G(a -> X X X b)"]);
    let mut before = original.start();
    original.step(&mut before, &facts("a"));
    let mut clone = original.clone();
    for (name, use_state) in USES {
        use_state(&mut original, &mut before.clone(), id);
        use_state(&mut clone, &mut before.clone(), id);
        use_state(&mut clone.clone(), &mut before.clone(), id);
        // Both learn other states by the same numbers, so that neither reads the new states of the other.
        let (mut of_original, mut of_clone) = (before.clone(), before.clone());
        original.step(&mut of_original, &facts("a"));
        clone.step(&mut of_clone, &facts("b"));
        for (monitors, foreign) in [(&mut original, &of_clone), (&mut clone, &of_original)] {
            let message = panic_message(|| use_state(monitors, &mut foreign.clone(), id));
            assert_eq!(message.as_deref(), Some(FOREIGN_STATE), "{name}");
        }
        use_state(&mut original, &mut of_original, id);
        use_state(&mut clone, &mut of_clone, id);
    }
}

#[test]
fn state_survives_added_and_removed_monitors() {
    let (mut monitors, id) = set(&["G(a -> F b)"]);
    let mut trace_state = monitors.start();
    monitors.step(&mut trace_state, &facts("a"));
    let mut idle = trace_state.clone();
    let late = monitors.add(Monitor::parse("G !c").unwrap());
    monitors.step(&mut trace_state, &facts("c"));
    assert_eq!(monitors.verdict(&mut trace_state, late), Verdict::Violated);
    monitors.remove(late);
    assert_eq!(monitors.end(&mut trace_state, id), Verdict::Violated);
    assert_eq!(monitors.end(&mut idle, id), Verdict::Violated);
    // A snapshot moves a trace to another set.
    let snapshot = monitors.snapshot(&idle);
    let (mut other, id) = set(&["G(a -> F b)"]);
    let mut moved = other.migrate(&snapshot).unwrap().0;
    assert_eq!(other.end(&mut moved, id), Verdict::Violated);
}

#[test]
fn migrate_tells_same_formulas_by_their_after() {
    let mut arena = Arena::new();
    let formula = arena.parse("G !c").unwrap();
    let all = [After::Latch, After::Reset, After::Each];
    let monitor = |after| Monitor::with_after(&arena, formula, after).unwrap();
    for order in [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0]] {
        let mut monitors = MonitorSet::new();
        for place in order {
            monitors.add(monitor(all[place]));
        }
        let mut trace_state = monitors.start();
        monitors.step(&mut trace_state, &facts("c"));
        let snapshot = monitors.snapshot(&trace_state);
        let snapshot: lictor_logic::Snapshot =
            serde_json::from_str(&serde_json::to_string(&snapshot).unwrap()).unwrap();
        for after in all {
            let mut other = MonitorSet::new();
            let id = other.add(monitor(after));
            let mut moved = other.migrate(&snapshot).unwrap().0;
            let expected = if after == After::Latch { Verdict::Violated } else { Verdict::Inconclusive };
            assert_eq!(other.verdict(&mut moved, id), expected, "{after:?} of {order:?}");
        }
    }
}
