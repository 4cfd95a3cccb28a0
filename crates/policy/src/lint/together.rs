//! Lints of several properties that contradict each other only all together.

use lictor_logic::{Analysis, Arena, Formula, Verdict};

use super::{Linter, ParsedProperty};

/// How many properties are checked together for a contradiction.
const MAX_PROPERTIES_TOGETHER: usize = 8;

/// Reports properties that contradict each other only all together.
pub(super) fn check_together(linter: &mut Linter<'_>, mut set: Vec<&ParsedProperty<'_>>) {
    if !(3..=MAX_PROPERTIES_TOGETHER).contains(&set.len()) || !is_impossible(&set) {
        return;
    }
    // Leaving out what is not needed for it gives a smallest set.
    let mut place = 0;
    while place < set.len() {
        let mut smaller = set.clone();
        smaller.remove(place);
        if is_impossible(&smaller) {
            set = smaller;
        } else {
            place += 1;
        }
    }
    let names: Vec<String> = set.iter().map(|it| format!("`{}`", it.property.id)).collect();
    let Some(last) = set.last() else { return };
    let message = format!("no session can comply with {} together", names.join(", "));
    let problem = linter.problem_at_property(last.property, "lint.contradiction", message);
    linter.problems.add(problem.with_hint("any of them can be left out for the others to make sense"));
}

fn is_impossible(set: &[&ParsedProperty<'_>]) -> bool {
    let mut arena = Arena::new();
    let formulas: Vec<Formula> = set.iter().map(|it| arena.copy(&it.arena, it.formula)).collect();
    let all = arena.and(formulas);
    Analysis::new(&arena, all).is_ok_and(|mut analysis| analysis.initial_verdict() == Verdict::Violated)
}
