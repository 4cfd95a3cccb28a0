//! Formulas: printed and parsed again they are the same, and a monitor agrees with the definition on a short trace.
//!
//! The first line is the formula, each further line the facts of a position.

use lictor_logic::{Arena, Ending, Facts, Formula, Monitor, ParseErrors, Span, Spelling, Verdict, Word, evaluate};

use crate::choices::Choices;

/// The longest formula and trace on which the definition, which is slow, is asked.
const MAX_FORMULA_NODES: u64 = 24;
const MAX_POSITIONS: usize = 5;
const MAX_FACTS: usize = 3;

/// The most variables, since the definition tries all values for each.
const MAX_VARIABLES: usize = 2;

pub(crate) fn run(input: &[u8]) {
    let text = Choices(input).text();
    let mut lines = text.split('\n');
    let written = lines.next().unwrap_or_default();
    let mut arena = Arena::new();
    let formula = match arena.parse(written) {
        Ok(formula) => formula,
        Err(errors) => return check_places(&errors, written),
    };
    for spelling in [Spelling::Words, Spelling::Ascii, Spelling::Unicode, Spelling::Letters] {
        let printed = arena.show(formula, spelling).to_string();
        let parsed = arena.parse(&printed).map_err(|errors| errors.to_string());
        assert_eq!(parsed, Ok(formula), "{written:?} printed as {printed:?}");
    }
    let positions: Vec<Facts> = lines.take(MAX_POSITIONS).map_while(|line| Facts::parse(line).ok()).collect();
    let variables = written.matches(['.']).count();
    let is_small = arena.size(formula) <= MAX_FORMULA_NODES
        && variables <= MAX_VARIABLES
        && positions.iter().all(|facts| facts.known.len() + facts.unknown.len() <= MAX_FACTS);
    if is_small && !has_long_number(written) {
        check_trace(&arena, formula, &positions);
    }
}

/// Every error has its place in the text.
fn check_places(errors: &ParseErrors, text: &str) {
    assert!(!errors.to_string().is_empty());
    for error in errors {
        let span = error.span();
        assert!(span.start <= span.end && span.end <= text.len() + 1, "{span:?} of {} bytes", text.len());
        assert!(text.is_char_boundary(span.start.min(text.len())), "{span:?} begins inside a character");
        assert!(error.line() == 1 && error.column() <= text.chars().count() + 1, "column {}", error.column());
    }
}

/// Whether a bound may be so long that the definition would write out a very long word.
fn has_long_number(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 2)
}

/// The monitor never contradicts the definition, after any position and at the end.
fn check_trace(arena: &Arena, formula: Formula, positions: &[Facts]) {
    let Ok(monitor) = Monitor::new(arena, formula) else { return };
    let is_timed = monitor.is_timed();
    let mut run = monitor.run();
    for length in 0..=positions.len() {
        let seen = &positions[..length];
        let live = match length.checked_sub(1) {
            Some(last) => run.step(&positions[last]),
            None => run.verdict(),
        };
        let value = |ending| evaluate(arena, formula, &Word { positions: seen, ending });
        check_value(live, value(Ending::Open), "an open trace", seen);
        // A trace that repeats its last position is one of its continuations.
        if length > 0 && !is_timed {
            let ending = Ending::Repeats { from: length - 1, period: Span(0) };
            check_value(live, value(ending), "a repeated position", seen);
        }
        let end = run.end();
        if live.is_definite() {
            assert_eq!(end, live, "a definite verdict stays at the end, after {seen:?}");
        } else {
            check_value(end, value(Ending::Stops), "the end", seen);
        }
    }
}

/// A definite verdict is not the opposite of the value.
fn check_value(verdict: Verdict, value: Option<bool>, place: &str, seen: &[Facts]) {
    let expected = Verdict::from_truth(value);
    let agrees = verdict == expected || !verdict.is_definite() || !expected.is_definite();
    assert!(agrees, "{verdict:?}, but the definition says {value:?} of {place}, after {seen:?}");
}
