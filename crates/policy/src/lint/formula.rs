//! Lints of formulas: alone, against their response, and together.

use lictor_logic::{Analysis, Arena, Facts, Formula, Lasso, Node, Span, Verdict, relate};

use super::{Linter, ParsedProperty};
use crate::Response;
use crate::fingerprint::write_settings;

/// How many properties are checked together for a contradiction.
const MAX_PROPERTIES_TOGETHER: usize = 8;

impl Linter<'_> {
    /// Reports a formula that can never hold or never fail.
    pub(super) fn check_formula(&mut self, parsed: &ParsedProperty<'_>) {
        let Ok(mut analysis) = Analysis::new(&parsed.arena, parsed.formula) else { return };
        let class = analysis.class();
        let id = &parsed.property.id;
        if !class.satisfiable {
            let message = format!("no session can comply with `{id}`: its formula contradicts itself");
            let problem = self.problem_at_property(parsed.property, "lint.unsatisfiable", message);
            self.problems
                .add(problem.with_hint("every session would be a finding; say what must hold, not what must not"));
        } else if class.valid {
            let message = format!("nothing can break `{id}`: its formula is true of every session");
            let problem = self.problem_at_property(parsed.property, "lint.valid", message).into_warning();
            self.problems.add(problem.with_hint("leave it out, or say more"));
        }
    }

    /// Warns of a response that can never be applied.
    pub(super) fn check_response(&mut self, parsed: &ParsedProperty<'_>) {
        let property = parsed.property;
        let stops = matches!(property.respond, Response::Block | Response::Ask | Response::Redact);
        if stops && can_event_break(parsed) == Some(false) {
            let word = property.respond.name();
            let message = format!(
                "`respond: {word}` has no effect: only a deadline or the end of the session breaks `{}`",
                property.id
            );
            let problem = self.problem_at_property(property, "lint.respond", message).into_warning();
            let problem = match shortest_violation(parsed) {
                Some(example) => problem
                    .with_note(format!("a session that ends after {example} breaks it, and no event is to blame")),
                None => problem,
            };
            self.problems
                .add(problem.with_hint("write `respond: warn`, or forbid the step that must not come too early"));
            return;
        }
        if property.respond == Response::Redact && !parsed.atoms.iter().any(|atom| self.concerns_content(&atom.name)) {
            let message =
                format!("`respond: redact` has nothing to take out: `{}` does not ask for personal data", property.id);
            let problem = self.problem_at_property(property, "lint.respond", message).into_warning();
            self.problems.add(problem.with_hint("ask for `carries(c)` or `discloses(s)`, or write `respond: block`"));
        }
    }
}

impl Linter<'_> {
    /// Whether a fact is about the content of an event; the policy's own facts may be.
    fn concerns_content(&self, name: &str) -> bool {
        matches!(name, "carries" | "carries_secret" | "necessary" | "special" | "discloses" | "argument")
            || self.policy.facts.iter().any(|fact| fact.name == name)
    }
}

/// Whether an event can violate it, not only a deadline or the end; `None` if the automaton is too large.
fn can_event_break(parsed: &ParsedProperty<'_>) -> Option<bool> {
    let automaton = Analysis::new(&parsed.arena, parsed.formula).ok()?.automaton()?;
    let breaks = |state: usize| automaton.states.get(state).is_some_and(|state| state.verdict == Verdict::Violated);
    Some(automaton.edges.iter().any(|edge| !edge.deadline && breaks(edge.to) && !breaks(edge.from)))
}

/// Returns the shortest session that violates it by its end.
fn shortest_violation(parsed: &ParsedProperty<'_>) -> Option<String> {
    let trace = Analysis::new(&parsed.arena, parsed.formula).ok()?.shortest(Verdict::Violated)?;
    Some(format_trace(&trace))
}

/// Reports properties that no session can satisfy together, and events that two properties forbid only together.
pub(super) fn check_conflicts(linter: &mut Linter<'_>, parsed: &[ParsedProperty<'_>]) {
    let sound = |it: &ParsedProperty<'_>| {
        let class = Analysis::new(&it.arena, it.formula).map(|mut analysis| analysis.class());
        class.is_ok_and(|class| class.satisfiable && !class.valid)
    };
    let parsed: Vec<&ParsedProperty<'_>> = parsed.iter().filter(|it| sound(it)).collect();
    let mut found = false;
    for (place, first) in parsed.iter().enumerate() {
        for second in parsed.iter().skip(place + 1) {
            // Packs are checked when they are made; what is of interest here is what was added to them.
            if (first.is_own() || second.is_own()) && share_facts(first, second) {
                found |= check_pair(linter, first, second);
            }
        }
    }
    let own: Vec<&ParsedProperty<'_>> = parsed.into_iter().filter(|it| it.is_own()).collect();
    if !found && (3..=MAX_PROPERTIES_TOGETHER).contains(&own.len()) {
        check_together(linter, own);
    }
}

fn share_facts(first: &ParsedProperty<'_>, second: &ParsedProperty<'_>) -> bool {
    first.atoms.iter().any(|atom| second.atoms.iter().any(|other| other.name == atom.name))
}

/// Reports conflicts of two properties; true if they cannot be satisfied together.
fn check_pair(linter: &mut Linter<'_>, first: &ParsedProperty<'_>, second: &ParsedProperty<'_>) -> bool {
    let mut arena = Arena::new();
    let f = arena.copy(&first.arena, first.formula);
    let g = arena.copy(&second.arena, second.formula);
    let Ok(relation) = relate(&arena, f, g) else { return false };
    let (one, other) = (&first.property.id, &second.property.id);
    // The one that the author of the policy can change.
    let changeable = if second.is_own() { second.property } else { first.property };
    if relation.contradict {
        let message = format!("no session can comply with both `{one}` and `{other}`");
        let mut problem = linter.problem_at_property(changeable, "lint.contradiction", message);
        for (id, example) in [(one, &relation.left_only), (other, &relation.right_only)] {
            if let Some(example) = example {
                problem = problem.with_note(format!("`{id}` alone holds on {}", format_lasso(example)));
            }
        }
        linter.problems.add(problem.with_hint("change one of them, or turn it off under `change:`"));
        return true;
    }
    let are_equal =
        relation.implies && relation.implied && write_settings(first.property) == write_settings(second.property);
    if are_equal && first.is_own() && second.is_own() {
        let message = format!("`{other}` says the same as `{one}`");
        let problem = linter.problem_at_property(changeable, "lint.repeated", message).into_warning();
        linter.problems.add(problem.with_hint("leave one of them out"));
        return false;
    }
    if let Some(event) = find_forbidden_event(&mut arena, f, g) {
        let shown = arena.show(event, lictor_logic::Spelling::Words).to_string();
        let message = format!("`{one}` and `{other}` together forbid `{shown}`, although each alone allows it");
        let mut problem = linter.problem_at_property(changeable, "lint.conflict", message).into_warning();
        for (id, formula) in [(one, f), (other, g)] {
            if let Some(example) = find_trace_with_event(&mut arena, formula, event) {
                problem = problem.with_note(format!("`{id}` alone holds on {}", format_lasso(&example)));
            }
        }
        linter.problems.add(problem.with_hint(format!("if that is meant, say so: `always !{shown}`")));
    }
    false
}

/// Returns a fact that no trace which satisfies both formulas can have, although each alone allows it.
fn find_forbidden_event(arena: &mut Arena, f: Formula, g: Formula) -> Option<Formula> {
    let both = arena.and([f, g]);
    for event in collect_ground_facts(arena, both) {
        let happens = arena.eventually(event);
        let with = arena.and([f, happens]);
        let alone =
            find_trace_with_event(arena, f, event).is_some() && find_trace_with_event(arena, g, event).is_some();
        if alone && relate(arena, with, g).is_ok_and(|relation| relation.contradict) {
            return Some(event);
        }
    }
    None
}

/// Returns a trace that satisfies a formula and has the event.
fn find_trace_with_event(arena: &mut Arena, formula: Formula, event: Formula) -> Option<Lasso> {
    let happens = arena.eventually(event);
    let with = arena.and([formula, happens]);
    Analysis::new(arena, with).ok()?.satisfying()
}

/// Returns the facts of a formula that have no variables.
fn collect_ground_facts(arena: &Arena, formula: Formula) -> Vec<Formula> {
    let mut found = Vec::new();
    let mut open = vec![formula];
    while let Some(f) = open.pop() {
        let closed =
            |atom: &lictor_logic::Atom| atom.terms.iter().all(|term| !matches!(term, lictor_logic::Term::Var(_)));
        if matches!(&arena[f], Node::Fact(atom) if closed(atom)) && !found.contains(&f) {
            found.push(f);
        }
        open.extend(arena[f].operands());
    }
    found
}

/// Reports properties that contradict each other only all together.
fn check_together(linter: &mut Linter<'_>, mut set: Vec<&ParsedProperty<'_>>) {
    if !is_impossible(&set) {
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
    let everything = arena.truth(true);
    relate(&arena, all, everything).is_ok_and(|relation| relation.contradict)
}

/// Formats an infinite trace as text, with the repeated part in parentheses.
fn format_lasso(lasso: &Lasso) -> String {
    let stem = if lasso.stem.is_empty() { String::new() } else { format!("{} ", format_trace(&lasso.stem)) };
    format!("{stem}({})*", format_trace(&lasso.cycle))
}

fn format_trace(trace: &[Facts]) -> String {
    let position = |facts: &Facts| match facts.time {
        Some(time) => format!("{facts}@{}", Span(time.0.unsigned_abs())),
        None => facts.to_string(),
    };
    trace.iter().map(position).collect::<Vec<_>>().join(" ")
}
