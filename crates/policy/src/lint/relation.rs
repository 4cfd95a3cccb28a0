//! Lints of properties together: contradictions, repetitions, implications, and events that two forbid only together.
//!
//! Pairs that share no fact cannot be related. Of the others, [samples](super::sample) decide most. The engine compares
//! the rest in the order of likelihood, within a budget of its own steps, so that the same policy gives the same
//! warnings on every machine. The pairs that are left are counted.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use lictor_logic::{After, Analysis, Arena, Atom, Formula, Monitor, Node, Spelling, Verdict, is_weaker};

use super::formula::format_lasso;
use super::sample::{Profile, Samples};
use super::together::check_together;
use super::{Linter, ParsedProperty, Place, Problem};
use crate::Property;
use crate::fingerprint::write_settings;

/// The most work of comparing pairs, in steps of the engine.
pub(super) const MAX_PAIR_WORK: u64 = 12_000_000;

/// The most pairs that wait to be compared; less likely ones are left out.
const MAX_WAITING_PAIRS: usize = 200_000;

/// How many undecided samples it counts for if two properties ask for the same facts.
const MAX_COMMON_WEIGHT: u32 = 16;

/// How many properties are named that another one follows from.
const MAX_NAMED_PROPERTIES: usize = 12;

/// Two properties that samples do not tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// How many samples could have told them apart and did not, and how much they have in common.
    likelihood: Reverse<u32>,
    first: usize,
    second: usize,
}

/// Compares the properties of a policy.
struct PairCheck<'l, 'p, 'q> {
    linter: &'l mut Linter<'p>,
    parsed: Vec<&'q ParsedProperty<'q>>,
    profiles: Vec<Profile>,
    /// The work that is left.
    left: u64,
    /// For each property that others imply, those.
    implied: BTreeMap<usize, Vec<usize>>,
    has_contradiction: bool,
    /// Whether a search about the present pair ended before it knew.
    is_partial: bool,
    /// How many pairs share facts, and how many of them were not compared to the end.
    pairs: u64,
    unknown: u64,
}

/// Reports properties that no session can satisfy together, that say the same or imply each other, and events that two
/// properties forbid only together, as far as so much work goes. The properties are neither contradictory in themselves
/// nor always true.
pub(super) fn check_relations(linter: &mut Linter<'_>, parsed: Vec<&ParsedProperty<'_>>, left: u64) {
    if parsed.len() < 2 {
        return;
    }
    let samples = Samples::new(&parsed);
    let profiles = parsed.iter().map(|it| samples.profile(it)).collect();
    let mut check = PairCheck {
        linter,
        parsed,
        profiles,
        left,
        implied: BTreeMap::new(),
        has_contradiction: false,
        is_partial: false,
        pairs: 0,
        unknown: 0,
    };
    for candidate in check.find_candidates() {
        check.is_partial = false;
        check.compare(candidate);
        check.unknown += u64::from(check.is_partial);
    }
    check.report_implied();
    check.report_unknown();
    let PairCheck { linter, parsed, has_contradiction, .. } = check;
    if !has_contradiction {
        check_together(linter, parsed.into_iter().filter(|it| it.is_own()).collect());
    }
}

impl PairCheck<'_, '_, '_> {
    /// Returns the pairs that samples do not decide, the most likely first.
    fn find_candidates(&mut self) -> Vec<Candidate> {
        let asking = AskingProperties::new(&self.parsed);
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut shared: Vec<u32> = vec![0; self.parsed.len()];
        for (first, one) in self.parsed.iter().enumerate() {
            let sharing = asking.find_sharing(first, &mut shared);
            for second in sharing.into_iter().filter(|second| *second > first) {
                let in_common = std::mem::take(&mut shared[second]);
                // Packs are checked when they are made; what is of interest here is what was added to them.
                if !one.is_own() && !self.parsed[second].is_own() {
                    continue;
                }
                self.pairs += 1;
                if let Some(undecided) = self.profiles[first].count_undecided(&self.profiles[second]) {
                    let atoms = one.atoms.len().max(self.parsed[second].atoms.len()).max(1) as u32;
                    let likelihood = Reverse(undecided + MAX_COMMON_WEIGHT * in_common / atoms);
                    candidates.push(Candidate { likelihood, first, second });
                }
            }
            if candidates.len() > 2 * MAX_WAITING_PAIRS {
                self.unknown += keep_likeliest(&mut candidates);
            }
        }
        self.unknown += keep_likeliest(&mut candidates);
        candidates
    }

    /// Compares two properties and reports what they are to each other.
    fn compare(&mut self, Candidate { first, second, .. }: Candidate) {
        let (one, other) = (self.parsed[first], self.parsed[second]);
        let (profile, other_profile) = (&self.profiles[first], &self.profiles[second]);
        let may_contradict = !profile.holds.meets(&other_profile.holds);
        let may_imply = !profile.holds.meets(&other_profile.fails);
        let may_be_implied = !profile.fails.meets(&other_profile.holds);
        let events = profile.find_undecided_events(other_profile);
        let mut arena = Arena::new();
        let f = arena.copy(&one.arena, one.formula);
        let g = arena.copy(&other.arena, other.formula);
        let (not_f, not_g) = (arena.not(f), arena.not(g));
        // Structure is compared before the search, whose work it saves.
        let (implies, is_implied) = (may_imply && is_weaker(&arena, g, f), may_be_implied && is_weaker(&arena, f, g));
        let (may_imply, may_be_implied) = (may_imply && !implies, may_be_implied && !is_implied);
        if may_contradict && !implies && !is_implied && self.exclude(&mut arena, f, g) {
            let alone = [arena.and([f, not_g]), arena.and([g, not_f])];
            self.report_contradiction(one, other, (&arena, alone));
            return;
        }
        let implies = implies || may_imply && self.exclude(&mut arena, f, not_g);
        let is_implied = is_implied || may_be_implied && self.exclude(&mut arena, g, not_f);
        if (implies || is_implied) && decide_alike(one, other) {
            match (implies, is_implied) {
                (true, true) if one.is_own() && other.is_own() => {
                    self.report_repeated(one, other);
                    return;
                }
                (true, false) if other.is_own() => self.implied.entry(second).or_default().push(first),
                (false, true) if one.is_own() => self.implied.entry(first).or_default().push(second),
                _ => {}
            }
        }
        for atom in events {
            let event = arena.insert(Node::Fact(atom));
            if self.is_forbidden_together(&mut arena, (f, g), event) {
                self.report_conflict(one, other, (&mut arena, event));
                return;
            }
        }
    }

    /// Whether no trace satisfies both formulas, as far as the work goes that is left.
    fn exclude(&mut self, arena: &mut Arena, f: Formula, g: Formula) -> bool {
        if self.left == 0 {
            self.is_partial = true;
            return false;
        }
        let both = arena.and([f, g]);
        let Ok(mut analysis) = Analysis::new(arena, both) else { return false };
        let verdict = analysis.initial_verdict();
        self.left = self.left.saturating_sub(analysis.work());
        self.is_partial |= analysis.is_partial();
        verdict == Verdict::Violated
    }

    /// Whether no trace that satisfies both formulas has an event, although each alone allows it.
    fn is_forbidden_together(&mut self, arena: &mut Arena, (f, g): (Formula, Formula), event: Formula) -> bool {
        let happens = arena.eventually(event);
        let with = arena.and([f, happens]);
        self.exclude(arena, with, g) && !self.exclude(arena, f, happens) && !self.exclude(arena, g, happens)
    }

    /// Reports that no trace satisfies both; `alone` are formulas of the traces that satisfy one of them.
    fn report_contradiction(
        &mut self,
        one: &ParsedProperty<'_>,
        other: &ParsedProperty<'_>,
        (arena, alone): (&Arena, [Formula; 2]),
    ) {
        self.has_contradiction = true;
        let (first, second) = (&one.property.id, &other.property.id);
        let message = format!("no session can comply with both `{first}` and `{second}`");
        let changeable = choose_changeable(one, other);
        let mut problem = self.linter.problem_at_property(changeable.property, "lint.contradiction", message);
        for (it, formula) in [one, other].into_iter().zip(alone) {
            if let Some(example) = Analysis::new(arena, formula).ok().and_then(|mut it| it.satisfying()) {
                problem = problem.with_note(format!("`{}` alone holds on {}", it.property.id, format_lasso(&example)));
            }
        }
        self.linter.problems.add(problem.with_hint("change one of them, or turn it off under `change:`"));
    }

    fn report_repeated(&mut self, one: &ParsedProperty<'_>, other: &ParsedProperty<'_>) {
        let message = format!("`{}` says the same as `{}`", other.property.id, one.property.id);
        let changeable = choose_changeable(one, other);
        let problem = self.linter.problem_at_property(changeable.property, "lint.repeated", message).into_warning();
        self.linter.problems.add(problem.with_hint("leave one of them out"));
    }

    fn report_conflict(
        &mut self,
        one: &ParsedProperty<'_>,
        other: &ParsedProperty<'_>,
        (arena, event): (&mut Arena, Formula),
    ) {
        let shown = arena.show(event, Spelling::Words).to_string();
        let (first, second) = (&one.property.id, &other.property.id);
        let message = format!("`{first}` and `{second}` together forbid `{shown}`, although each alone allows it");
        let changeable = choose_changeable(one, other);
        let mut problem = self.linter.problem_at_property(changeable.property, "lint.conflict", message).into_warning();
        for it in [one, other] {
            let formula = arena.copy(&it.arena, it.formula);
            let happens = arena.eventually(event);
            let with = arena.and([formula, happens]);
            if let Some(example) = Analysis::new(arena, with).ok().and_then(|mut it| it.satisfying()) {
                problem = problem.with_note(format!("`{}` alone holds on {}", it.property.id, format_lasso(&example)));
            }
        }
        self.linter.problems.add(problem.with_hint(format!("if that is meant, say so: `always !{shown}`")));
    }

    /// Warns of each property that others imply.
    fn report_implied(&mut self) {
        for (weaker, stronger) in std::mem::take(&mut self.implied) {
            let mut names: Vec<String> =
                stronger.iter().map(|place| format!("`{}`", self.parsed[*place].property.id)).collect();
            if names.len() > MAX_NAMED_PROPERTIES {
                let more = names.len() - MAX_NAMED_PROPERTIES;
                names.truncate(MAX_NAMED_PROPERTIES);
                names.push(format!("{more} more"));
            }
            let property = self.parsed[weaker].property;
            let verb = if stronger.len() == 1 { "implies" } else { "each imply" };
            let message = format!("{} {verb} `{}`, so it adds nothing", join_names(&names), property.id);
            let problem = self.linter.problem_at_property(property, "lint.implied", message).into_warning();
            self.linter.problems.add(problem.with_hint("leave it out, or let it say more"));
        }
    }

    /// Says how many pairs were not compared.
    fn report_unknown(&mut self) {
        if self.unknown == 0 {
            return;
        }
        let (unknown, pairs) = (self.unknown, self.pairs);
        let place = self.parsed.first().map(|it| it.property.place.clone()).unwrap_or_default();
        let place = Place { line: 0, column: 0, ..place };
        let message =
            format!("{unknown} of {pairs} pairs of properties that share facts were not compared, or not to the end");
        let problem = Problem::new(&place, "lint.uncompared", message).into_warning();
        self.linter
            .problems
            .add(problem.with_hint("the most likely ones were; check parts of the policy for the rest"));
    }
}

/// Whether two properties that say the same would decide alike.
fn decide_alike(one: &ParsedProperty<'_>, other: &ParsedProperty<'_>) -> bool {
    let can_be_each = |it: &ParsedProperty<'_>| Monitor::with_after(&it.arena, it.formula, After::Each).is_ok();
    // Where a formula is not reported at each position, its form says so and not its author.
    let after = match can_be_each(one) && can_be_each(other) {
        true => one.property.after,
        false => other.property.after,
    };
    write_settings(&Property { after, ..one.property.clone() }) == write_settings(other.property)
}

/// Returns the property that the author of the policy can change.
fn choose_changeable<'a>(one: &'a ParsedProperty<'a>, other: &'a ParsedProperty<'a>) -> &'a ParsedProperty<'a> {
    if other.is_own() { other } else { one }
}

/// Leaves out the least likely pairs if there are too many, and returns how many.
fn keep_likeliest(candidates: &mut Vec<Candidate>) -> u64 {
    candidates.sort_unstable();
    let left_out = candidates.len().saturating_sub(MAX_WAITING_PAIRS);
    candidates.truncate(MAX_WAITING_PAIRS);
    left_out as u64
}

fn join_names(names: &[String]) -> String {
    match names {
        [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
        _ => names.join(""),
    }
}

/// Which properties ask for which facts.
struct AskingProperties {
    /// For each property, the numbers of its facts.
    facts: Vec<Vec<usize>>,
    /// For each fact, the properties that ask for one that may be the same.
    properties: Vec<Vec<usize>>,
}

impl AskingProperties {
    fn new(parsed: &[&ParsedProperty<'_>]) -> AskingProperties {
        let mut atoms: Vec<&Atom> = Vec::new();
        let mut numbers: BTreeMap<&Atom, usize> = BTreeMap::new();
        let mut facts: Vec<Vec<usize>> = Vec::new();
        for it in parsed {
            let mut own: Vec<usize> = Vec::new();
            for atom in &it.atoms {
                let number = *numbers.entry(atom).or_insert_with(|| {
                    atoms.push(atom);
                    atoms.len() - 1
                });
                own.push(number);
            }
            own.sort_unstable();
            own.dedup();
            facts.push(own);
        }
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (number, atom) in atoms.iter().enumerate() {
            by_name.entry(&atom.name).or_default().push(number);
        }
        let mut asking: Vec<Vec<usize>> = vec![Vec::new(); atoms.len()];
        for (property, own) in facts.iter().enumerate() {
            own.iter().for_each(|fact| asking[*fact].push(property));
        }
        let properties = atoms.iter().map(|atom| {
            let alike =
                by_name.get(&*atom.name).into_iter().flatten().filter(|other| may_be_same(atom, atoms[**other]));
            let mut properties: Vec<usize> = alike.flat_map(|other| asking[*other].iter().copied()).collect();
            properties.sort_unstable();
            properties.dedup();
            properties
        });
        let properties = properties.collect();
        AskingProperties { facts, properties }
    }

    /// Returns the properties that share a fact with one, and counts for each how many they share.
    fn find_sharing(&self, property: usize, shared: &mut [u32]) -> Vec<usize> {
        let mut sharing = Vec::new();
        for fact in &self.facts[property] {
            for other in self.properties[*fact].iter().filter(|other| **other > property) {
                if shared[*other] == 0 {
                    sharing.push(*other);
                }
                shared[*other] += 1;
            }
        }
        sharing.sort_unstable();
        sharing
    }
}

/// Whether one fact can match both.
fn may_be_same(one: &Atom, other: &Atom) -> bool {
    use lictor_logic::Term::Value;
    one.terms.iter().zip(&other.terms).all(|terms| match terms {
        (Value(one), Value(other)) => one == other,
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FileResolver, Policy, Problems};

    fn relate_within(work: u64) -> Vec<String> {
        let text = "lictor: 1\nname: few\nproperties:\n  - {id: one, formula: 'always !tool_call(\"a\")'}\n  \
                    - {id: other, formula: '!(eventually tool_call(\"a\"))'}\n  - {id: third, formula: 'always !tool_call(\"b\")'}\n";
        let policy = Policy::parse(text, "few.yaml", &FileResolver).unwrap().policy;
        let mut linter = Linter { policy: &policy, problems: Problems::default() };
        let parsed: Vec<ParsedProperty<'_>> =
            policy.properties.iter().filter_map(|property| ParsedProperty::new(property)).collect();
        check_relations(&mut linter, parsed.iter().collect(), work);
        linter.problems.iter().map(|problem| problem.message.clone()).collect()
    }

    #[test]
    fn uncompared_pairs_are_counted() {
        assert_eq!(relate_within(MAX_PAIR_WORK), ["`other` says the same as `one`"]);
        let left_out = "1 of 1 pairs of properties that share facts were not compared, or not to the end";
        assert_eq!(relate_within(0), [left_out]);
    }
}
