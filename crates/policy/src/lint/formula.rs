//! What the logic says about formulas: alone, against their response, and together.

use lictor_logic::{Analysis, Arena, Facts, Formula, Lasso, Node, Span, Verdict, relate};

use super::{Judged, Lints};
use crate::Response;

/// How many formulas are tried together.
const MOST_TOGETHER: usize = 8;

impl Lints<'_> {
    /// Can it hold, and can it fail?
    pub(super) fn formula(&mut self, judged: &Judged<'_>) {
        let Ok(mut analysis) = Analysis::new(&judged.arena, judged.formula) else { return };
        let class = analysis.class();
        let id = &judged.property.id;
        if !class.satisfiable {
            let message = format!("no session can comply with `{id}`: its formula contradicts itself");
            let problem = self.at_property(judged.property, "lint.unsatisfiable", message);
            self.problems.add(problem.help("every session would be a finding; say what must hold, not what must not"));
        } else if class.valid {
            let message = format!("nothing can break `{id}`: its formula is true of every session");
            let problem = self.at_property(judged.property, "lint.valid", message).warning();
            self.problems.add(problem.help("leave it out, or say more"));
        }
    }

    /// Is there anything to which its response can be applied?
    pub(super) fn response(&mut self, judged: &Judged<'_>) {
        let property = judged.property;
        let stops = matches!(property.respond, Response::Block | Response::Ask | Response::Redact);
        if stops && broken_by_event(judged) == Some(false) {
            let word = property.respond.name();
            let message =
                format!("`respond: {word}` comes too late: only a deadline or the end breaks `{}`", property.id);
            let problem = self.at_property(property, "lint.respond", message).warning();
            let problem = match example_of_end(judged) {
                Some(example) => {
                    problem.note(format!("a session that ends after {example} breaks it, and no event is to blame"))
                }
                None => problem,
            };
            self.problems.add(problem.help("write `respond: warn`, or forbid the step that must not come too early"));
            return;
        }
        if property.respond == Response::Redact && !judged.atoms.iter().any(|atom| self.concerns_content(&atom.name)) {
            let message =
                format!("`respond: redact` has nothing to take out: `{}` does not ask for personal data", property.id);
            let problem = self.at_property(property, "lint.respond", message).warning();
            self.problems.add(problem.help("ask for `carries(c)` or `discloses(s)`, or write `respond: block`"));
        }
    }
}

impl Lints<'_> {
    /// Does a fact say what an event contains? One of the policy's own may.
    fn concerns_content(&self, name: &str) -> bool {
        matches!(name, "carries" | "necessary" | "special" | "discloses" | "argument")
            || self.policy.facts.iter().any(|fact| fact.name == name)
    }
}

/// Can an event break it, by what it is? None if that cannot be told.
fn broken_by_event(judged: &Judged<'_>) -> Option<bool> {
    let automaton = Analysis::new(&judged.arena, judged.formula).ok()?.automaton()?;
    let breaks = |state: usize| automaton.states.get(state).is_some_and(|state| state.verdict == Verdict::Violated);
    Some(automaton.edges.iter().any(|edge| !edge.deadline && breaks(edge.to) && !breaks(edge.from)))
}

/// A short session that is broken by its end.
fn example_of_end(judged: &Judged<'_>) -> Option<String> {
    let trace = Analysis::new(&judged.arena, judged.formula).ok()?.shortest(Verdict::Violated)?;
    Some(shown(&trace))
}

/// Properties that no session can satisfy together, and events that no session may have because of two of them.
pub(super) fn conflicts(lints: &mut Lints<'_>, judged: &[Judged<'_>]) {
    let sound = |it: &Judged<'_>| {
        let class = Analysis::new(&it.arena, it.formula).map(|mut analysis| analysis.class());
        class.is_ok_and(|class| class.satisfiable && !class.valid)
    };
    let judged: Vec<&Judged<'_>> = judged.iter().filter(|it| sound(it)).collect();
    let mut found = false;
    for (place, first) in judged.iter().enumerate() {
        for second in judged.iter().skip(place + 1) {
            // Packs are checked when they are made; what is of interest here is what was added to them.
            if (first.is_own() || second.is_own()) && share_facts(first, second) {
                found |= pair(lints, first, second);
            }
        }
    }
    let own: Vec<&Judged<'_>> = judged.into_iter().filter(|it| it.is_own()).collect();
    if !found && (3..=MOST_TOGETHER).contains(&own.len()) {
        together(lints, own);
    }
}

fn share_facts(first: &Judged<'_>, second: &Judged<'_>) -> bool {
    first.atoms.iter().any(|atom| second.atoms.iter().any(|other| other.name == atom.name))
}

/// Compares two properties; true if they cannot be satisfied together.
fn pair(lints: &mut Lints<'_>, first: &Judged<'_>, second: &Judged<'_>) -> bool {
    let mut arena = Arena::new();
    let f = arena.copy(&first.arena, first.formula);
    let g = arena.copy(&second.arena, second.formula);
    let Ok(relation) = relate(&arena, f, g) else { return false };
    let (one, other) = (&first.property.id, &second.property.id);
    // The one that the author of the policy can change.
    let changeable = if second.is_own() { second.property } else { first.property };
    if relation.contradict {
        let message = format!("no session can comply with both `{one}` and `{other}`");
        let mut problem = lints.at_property(changeable, "lint.contradiction", message);
        for (id, example) in [(one, &relation.left_only), (other, &relation.right_only)] {
            if let Some(example) = example {
                problem = problem.note(format!("`{id}` alone holds on {}", lasso(example)));
            }
        }
        lints.problems.add(problem.help("change one of them, or turn it off under `change:`"));
        return true;
    }
    if relation.implies && relation.implied && first.is_own() && second.is_own() {
        let message = format!("`{other}` says the same as `{one}`");
        let problem = lints.at_property(changeable, "lint.repeated", message).warning();
        lints.problems.add(problem.help("leave one of them out"));
        return false;
    }
    if let Some(event) = forbidden(&mut arena, f, g) {
        let shown = arena.show(event, lictor_logic::Spelling::Words).to_string();
        let message = format!("`{one}` and `{other}` together forbid `{shown}`, although each alone allows it");
        let mut problem = lints.at_property(changeable, "lint.conflict", message).warning();
        for (id, formula) in [(one, f), (other, g)] {
            if let Some(example) = with_event(&mut arena, formula, event) {
                problem = problem.note(format!("`{id}` alone holds on {}", lasso(&example)));
            }
        }
        lints.problems.add(problem.help(format!("if that is meant, say so: `always !{shown}`")));
    }
    false
}

/// A fact that no trace which satisfies both formulas can have, although each alone allows it.
fn forbidden(arena: &mut Arena, f: Formula, g: Formula) -> Option<Formula> {
    let both = arena.and([f, g]);
    for event in facts_of(arena, both) {
        let happens = arena.eventually(event);
        let with = arena.and([f, happens]);
        let alone = with_event(arena, f, event).is_some() && with_event(arena, g, event).is_some();
        if alone && relate(arena, with, g).is_ok_and(|relation| relation.contradict) {
            return Some(event);
        }
    }
    None
}

/// A trace that satisfies a formula and has the event.
fn with_event(arena: &mut Arena, formula: Formula, event: Formula) -> Option<Lasso> {
    let happens = arena.eventually(event);
    let with = arena.and([formula, happens]);
    Analysis::new(arena, with).ok()?.satisfying()
}

/// The facts of a formula that have no variables.
fn facts_of(arena: &Arena, formula: Formula) -> Vec<Formula> {
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

/// Several properties of which no two contradict each other, but all together do.
fn together(lints: &mut Lints<'_>, mut set: Vec<&Judged<'_>>) {
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
    let problem = lints.at_property(last.property, "lint.contradiction", message);
    lints.problems.add(problem.help("any of them can be left out for the others to make sense"));
}

fn is_impossible(set: &[&Judged<'_>]) -> bool {
    let mut arena = Arena::new();
    let formulas: Vec<Formula> = set.iter().map(|it| arena.copy(&it.arena, it.formula)).collect();
    let all = arena.and(formulas);
    let everything = arena.truth(true);
    relate(&arena, all, everything).is_ok_and(|relation| relation.contradict)
}

/// A trace that goes on for ever: what repeats stands in parentheses.
fn lasso(lasso: &Lasso) -> String {
    let stem = if lasso.stem.is_empty() { String::new() } else { format!("{} ", shown(&lasso.stem)) };
    format!("{stem}({})*", shown(&lasso.cycle))
}

fn shown(trace: &[Facts]) -> String {
    let position = |facts: &Facts| match facts.time {
        Some(time) => format!("{facts}@{}", Span(time.0.unsigned_abs())),
        None => facts.to_string(),
    };
    trace.iter().map(position).collect::<Vec<_>>().join(" ")
}
