//! Formulas to precise English.
//!
//! "The first step" is where a formula is judged; below a temporal operator, "that step" is the step the innermost
//! operator around the words speaks of. Every part that is more than a fact or a comparison is in parentheses if its
//! end could be mistaken, so that the sentence has one reading only.

use std::fmt;

use crate::arena::{Arena, Node};
use crate::comparison::Comparison;
use crate::formula::{Binary, Formula, Quantifier, Unary};
use crate::interval::{Interval, Span};
use crate::measure::{Aggregate, AggregateKind, Measure};
use crate::printer::FormulaText;
use crate::term::{Atom, Term};

impl Arena {
    /// Returns a formula in precise English.
    ///
    /// ```
    /// use lictor_logic::Arena;
    /// let mut arena = Arena::new();
    /// let f = arena.parse("G(tool_call -> F verified)")?;
    /// assert_eq!(
    ///     arena.english(f),
    ///     "at every step, if tool_call holds then, at that step or a later one, verified holds"
    /// );
    /// # Ok::<(), lictor_logic::ParseErrors>(())
    /// ```
    pub fn english(&self, f: Formula) -> String {
        self.write_english(f, |span| span.to_string())
    }

    /// Returns a formula in English like [`english`](Arena::english), with [rounded](Span::to_rounded) lengths of time:
    /// for bounds of which a part has passed.
    pub fn rounded_english(&self, f: Formula) -> String {
        self.write_english(f, Span::to_rounded)
    }

    fn write_english(&self, f: Formula, write_span: fn(Span) -> String) -> String {
        let mut text = String::new();
        let mut pieces = vec![EnglishPart::Clause(f, StepReference::First)];
        while let Some(piece) = pieces.pop() {
            match piece {
                EnglishPart::Text(words) => text.push_str(&words),
                EnglishPart::Clause(f, step) => {
                    let start = pieces.len();
                    SentenceWriter { arena: self, pieces: &mut pieces, step, write_span }.write_clause(f);
                    pieces[start..].reverse();
                }
            }
        }
        text
    }
}

/// A part that is still to be written.
enum EnglishPart {
    Text(String),
    Clause(Formula, StepReference),
}

/// The step that a clause is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StepReference {
    First,
    That,
}

impl fmt::Display for StepReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StepReference::First => "the first step",
            StepReference::That => "that step",
        })
    }
}

/// The direction of a temporal operator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TimeDirection {
    Later,
    Earlier,
}

struct SentenceWriter<'a> {
    arena: &'a Arena,
    /// The pieces of the clause, in reading order.
    pieces: &'a mut Vec<EnglishPart>,
    step: StepReference,
    write_span: fn(Span) -> String,
}

impl SentenceWriter<'_> {
    fn push_text(&mut self, words: impl Into<String>) {
        self.pieces.push(EnglishPart::Text(words.into()));
    }

    /// Adds a part that reaches to the end of the clause.
    fn push_clause(&mut self, f: Formula, step: StepReference) {
        self.pieces.push(EnglishPart::Clause(f, step));
    }

    /// Adds a part whose end must be visible, in parentheses if needed.
    fn push_part(&mut self, f: Formula, step: StepReference) {
        let is_plain = match &self.arena[f] {
            Node::Not(g) => matches!(self.arena[*g], Node::Fact(_) | Node::Compare(..)),
            node => matches!(node, Node::True | Node::False | Node::Fact(_) | Node::Compare(..)),
        };
        if is_plain {
            self.push_clause(f, step);
        } else {
            self.push_text("(");
            self.push_clause(f, step);
            self.push_text(")");
        }
    }

    fn write_clause(&mut self, f: Formula) {
        let step = self.step;
        match &self.arena[f] {
            Node::True => self.push_text("true holds"),
            Node::False => self.push_text("false holds"),
            Node::Fact(atom) => self.write_fact(atom, "holds"),
            Node::Compare(comparison, left, right) => self.write_comparison(*comparison, left, right, true),
            Node::Measure(comparison, left, right) => {
                self.write_measure(left);
                self.push_text(format!(" {} ", relation_words(*comparison, true)));
                self.write_measure(right);
            }
            Node::Not(g) => match &self.arena[*g] {
                Node::Fact(atom) => self.write_fact(atom, "does not hold"),
                Node::Compare(comparison, left, right) => self.write_comparison(*comparison, left, right, false),
                _ => {
                    self.push_text("it is not the case that (");
                    self.push_clause(*g, step);
                    self.push_text(")");
                }
            },
            Node::And(list) => self.write_list(list, ["both ", " and ", ""], "all of "),
            Node::Or(list) => self.write_list(list, ["either ", " or ", ", or both"], "at least one of "),
            Node::Implies(g, h) => {
                self.push_text("if ");
                match &self.arena[*g] {
                    Node::And(_) | Node::Or(_) => self.push_clause(*g, step),
                    _ => self.push_part(*g, step),
                }
                self.push_text(if self.starts_with_place(*h) { " then, " } else { " then " });
                match &self.arena[*h] {
                    Node::Implies(..) | Node::Iff(..) => self.push_part(*h, step),
                    _ => self.push_clause(*h, step),
                }
            }
            Node::Iff(g, h) => {
                self.push_part(*g, step);
                self.push_text(" if and only if ");
                self.push_part(*h, step);
            }
            Node::Unary(operator, interval, g) => self.write_unary(*operator, *interval, *g),
            Node::Binary(operator, interval, g, h) => self.write_binary(*operator, *interval, *g, *h),
            Node::Quantified(quantifier, variables, g) => {
                let each = if *quantifier == Quantifier::Forall { "every" } else { "some" };
                let names = variables.iter().map(|name| FormulaText(&Term::Var(name.clone())).to_string()).collect();
                self.push_text(format!("for {each} value of {}, ", join_names(names)));
                self.push_clause(*g, step);
            }
        }
    }

    /// Whether the clause of a formula begins with words such as "at that step", which need a comma before them.
    fn starts_with_place(&self, f: Formula) -> bool {
        match &self.arena[f] {
            Node::Unary(operator, _, g) => {
                !matches!(operator, Unary::Next | Unary::WeakNext | Unary::Previous | Unary::WeakPrevious)
                    || self.strict_words(*operator, *g).is_some()
            }
            node => matches!(node, Node::Binary(..) | Node::Quantified(..)),
        }
    }

    fn write_fact(&mut self, atom: &Atom, verb: &str) {
        let place = if self.step == StepReference::First { " at the first step" } else { "" };
        self.push_text(format!("{} {verb}{place}", FormulaText(atom)));
    }

    fn write_comparison(&mut self, comparison: Comparison, left: &Term, right: &Term, truth: bool) {
        self.push_text(format!("{} {} {}", FormulaText(left), relation_words(comparison, truth), FormulaText(right)));
    }

    fn write_measure(&mut self, measure: &Measure) {
        match measure {
            Measure::Term(term) => self.push_text(FormulaText(term).to_string()),
            Measure::Computed(sign, left, right) => {
                self.push_text("(");
                self.write_measure(left);
                self.push_text(format!(" {} ", sign.symbol()));
                self.write_measure(right);
                self.push_text(")");
            }
            Measure::Aggregate(Aggregate { kind, interval, variables, body }) => {
                let of: Vec<String> = variables.iter().map(|name| format!("`{name}`")).collect();
                let of = match (kind, of.first()) {
                    (AggregateKind::Count, None) => "the number of steps".to_owned(),
                    (AggregateKind::Count, Some(_)) => format!("the number of {}", join_names(of)),
                    (AggregateKind::Distinct, first) => {
                        format!("the number of different {}", first.map_or("", |name| name))
                    }
                    (AggregateKind::Sum, first) => format!("the sum of {}", first.map_or("", |name| name)),
                    (AggregateKind::Min, first) => format!("the least {}", first.map_or("", |name| name)),
                    (AggregateKind::Max, first) => format!("the greatest {}", first.map_or("", |name| name)),
                    (AggregateKind::Average, first) => format!("the mean of {}", first.map_or("", |name| name)),
                    (AggregateKind::Latest, first) => format!("the latest {}", first.map_or("", |name| name)),
                };
                self.push_text(format!(
                    "{of}, {}, for which (",
                    self.every_step(self.step, TimeDirection::Earlier, *interval)
                ));
                self.push_clause(*body, StepReference::That);
                self.push_text(")");
            }
        }
    }

    fn write_list(&mut self, list: &[Formula], [before, between, after]: [&str; 3], many: &str) {
        let step = self.step;
        if let [f, g] = list {
            self.push_text(before);
            self.push_part(*f, step);
            self.push_text(between);
            self.push_part(*g, step);
            self.push_text(after);
            return;
        }
        self.push_text(many);
        for (index, f) in list.iter().enumerate() {
            match index {
                0 => self.push_text("("),
                _ if index + 1 == list.len() => self.push_text(") and ("),
                _ => self.push_text("), ("),
            }
            self.push_clause(*f, step);
        }
        self.push_text(")");
    }

    fn write_unary(&mut self, operator: Unary, interval: Interval, f: Formula) {
        let step = self.step;
        if let Some((words, g)) = self.strict_words(operator, f) {
            self.push_text(format!("{words} {step}, "));
            return self.push_clause(g, StepReference::That);
        }
        self.push_text(match operator {
            Unary::Next => format!("there is a step right after {step} and, at it, "),
            Unary::WeakNext => format!("if there is a step right after {step} then, at it, "),
            Unary::Previous => format!("there is a step right before {step} and, at it, "),
            Unary::WeakPrevious => format!("if there is a step right before {step} then, at it, "),
            Unary::Eventually => format!("{}, ", self.some_step(step, TimeDirection::Later, interval)),
            Unary::Always => format!("{}, ", self.every_step(step, TimeDirection::Later, interval)),
            Unary::Once => format!("{}, ", self.some_step(step, TimeDirection::Earlier, interval)),
            Unary::Historically => format!("{}, ", self.every_step(step, TimeDirection::Earlier, interval)),
        });
        self.push_clause(f, StepReference::That);
    }

    /// Returns the words for a strictly later or earlier step, as in `X F g`.
    fn strict_words(&self, operator: Unary, f: Formula) -> Option<(&'static str, Formula)> {
        let Node::Unary(inner, Interval::UNBOUNDED, g) = self.arena[f] else { return None };
        let words = match (operator, inner) {
            (Unary::Next, Unary::Eventually) => "at a step after",
            (Unary::WeakNext, Unary::Always) => "at every step after",
            (Unary::Previous, Unary::Once) => "at a step before",
            (Unary::WeakPrevious, Unary::Historically) => "at every step before",
            _ => return None,
        };
        Some((words, g))
    }

    fn write_binary(&mut self, operator: Binary, interval: Interval, f: Formula, g: Formula) {
        let step = self.step;
        let whole = start_at_zero(interval);
        let parts = |sentence: &mut Self, before: &str, one: Formula, between: &str, other: Formula, after: &str| {
            sentence.push_text(before);
            sentence.push_part(one, StepReference::That);
            sentence.push_text(between);
            sentence.push_part(other, StepReference::That);
            sentence.push_text(after);
        };
        match operator {
            Binary::Until => {
                let when = format!("{}, ", self.some_step(step, TimeDirection::Later, interval));
                parts(self, &when, g, ", and until then ", f, "");
            }
            Binary::Since => {
                let when = format!("{}, ", self.some_step(step, TimeDirection::Earlier, interval));
                parts(self, &when, g, ", and since then ", f, "");
            }
            Binary::WeakUntil if interval.is_unbounded() => {
                parts(self, &format!("from {step} on, "), f, " until ", g, ", or for ever");
            }
            Binary::WeakUntil if whole == interval => {
                let when = format!("{}, ", self.every_step(step, TimeDirection::Later, interval));
                let unless = format!(" unless, at it or at an earlier one not before {step}, ");
                parts(self, &when, f, &unless, g, "");
            }
            Binary::WeakUntil => {
                let when = format!("either ({}, ", self.some_step(step, TimeDirection::Later, interval));
                parts(self, &when, g, ", and until then ", f, ") or (");
                self.push_text(format!("{}, ", self.every_step(step, TimeDirection::Later, whole)));
                self.push_part(f, StepReference::That);
                self.push_text("), or both");
            }
            Binary::Release if interval.is_unbounded() => {
                let between = " up to and including the first step at which ";
                parts(self, &format!("from {step} on, "), g, between, f, ", or for ever");
            }
            Binary::Release => {
                let when = format!("{}, ", self.every_step(step, TimeDirection::Later, interval));
                parts(self, &when, g, &format!(" unless, at an earlier one not before {step}, "), f, "");
            }
            Binary::StrongRelease if whole == interval => {
                let when = format!("{}, ", self.some_step(step, TimeDirection::Later, interval));
                parts(self, &when, f, ", and up to and including then ", g, "");
            }
            Binary::StrongRelease => {
                let when = format!("both ({}, ", self.every_step(step, TimeDirection::Later, interval));
                parts(self, &when, g, &format!(" unless, at an earlier one not before {step}, "), f, ") and (");
                self.push_text(format!("{}, ", self.some_step(step, TimeDirection::Later, whole)));
                self.push_part(f, StepReference::That);
                self.push_text(")");
            }
            Binary::Trigger if interval.is_unbounded() => {
                let between = " ever since and including the last step at which ";
                parts(self, &format!("up to {step}, "), g, between, f, ", or from the beginning");
            }
            Binary::Trigger => {
                let when = format!("{}, ", self.every_step(step, TimeDirection::Earlier, interval));
                parts(self, &when, g, &format!(" unless, at a later one not after {step}, "), f, "");
            }
        }
    }

    /// `at that step or a later one at most 5 steps after it`
    fn some_step(&self, step: StepReference, way: TimeDirection, interval: Interval) -> String {
        let one = if way == TimeDirection::Later { "a later one" } else { "an earlier one" };
        match bound_distance(interval, self.write_span) {
            BoundDistance::Any if step == StepReference::First && way == TimeDirection::Later => {
                "at some step".to_owned()
            }
            BoundDistance::Any => format!("at {step} or {one}"),
            BoundDistance::AtMost(most) => format!("at {step} or {one} {most} {} it", direction_word(way)),
            BoundDistance::Within(range) => format!("at a step {range} {} {step}", direction_word(way)),
        }
    }

    /// `at that step and every later one at most 5 steps after it`
    fn every_step(&self, step: StepReference, way: TimeDirection, interval: Interval) -> String {
        let one = if way == TimeDirection::Later { "every later one" } else { "every earlier one" };
        match bound_distance(interval, self.write_span) {
            BoundDistance::Any if step == StepReference::First && way == TimeDirection::Later => {
                "at every step".to_owned()
            }
            BoundDistance::Any => format!("at {step} and {one}"),
            BoundDistance::AtMost(most) => format!("at {step} and {one} {most} {} it", direction_word(way)),
            BoundDistance::Within(range) => format!("at every step {range} {} {step}", direction_word(way)),
        }
    }
}

fn direction_word(way: TimeDirection) -> &'static str {
    if way == TimeDirection::Later { "after" } else { "before" }
}

/// The distance that a bound allows, in words.
enum BoundDistance {
    Any,
    AtMost(String),
    Within(String),
}

fn bound_distance(interval: Interval, write: fn(Span) -> String) -> BoundDistance {
    let steps = |count: u32| if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
    match interval {
        Interval::Steps { from: 0, to: None } | Interval::Time { from: Span(0), to: None } => BoundDistance::Any,
        Interval::Steps { from: 0, to: Some(to) } => BoundDistance::AtMost(format!("at most {}", steps(to))),
        Interval::Time { from: Span(0), to: Some(to) } => BoundDistance::AtMost(format!("at most {}", write(to))),
        Interval::Steps { from, to: None } => BoundDistance::Within(format!("at least {}", steps(from))),
        Interval::Time { from, to: None } => BoundDistance::Within(format!("at least {}", write(from))),
        Interval::Steps { from, to: Some(to) } if from == to => BoundDistance::Within(format!("exactly {}", steps(to))),
        Interval::Time { from, to: Some(to) } if from == to => BoundDistance::Within(format!("exactly {}", write(to))),
        Interval::Steps { from, to: Some(to) } => BoundDistance::Within(format!("between {from} and {}", steps(to))),
        Interval::Time { from, to: Some(to) } => {
            BoundDistance::Within(format!("between {} and {}", write(from), write(to)))
        }
    }
}

/// Returns the bound from here to its end.
fn start_at_zero(interval: Interval) -> Interval {
    match interval {
        Interval::Steps { to, .. } => Interval::Steps { from: 0, to },
        Interval::Time { to, .. } => Interval::Time { from: Span(0), to },
    }
}

fn relation_words(comparison: Comparison, truth: bool) -> &'static str {
    match (comparison, truth) {
        (Comparison::Equal, true) => "equals",
        (Comparison::Equal, false) => "does not equal",
        (Comparison::Unequal, true) => "differs from",
        (Comparison::Unequal, false) => "does not differ from",
        (Comparison::Less, true) => "is less than",
        (Comparison::Less, false) => "is not less than",
        (Comparison::AtMost, true) => "is at most",
        (Comparison::AtMost, false) => "is not at most",
        (Comparison::Greater, true) => "is greater than",
        (Comparison::Greater, false) => "is not greater than",
        (Comparison::AtLeast, true) => "is at least",
        (Comparison::AtLeast, false) => "is not at least",
    }
}

/// `x`, `x and y`, `x, y and z`
fn join_names(mut names: Vec<String>) -> String {
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}
