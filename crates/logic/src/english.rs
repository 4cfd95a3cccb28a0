//! Formulas to precise English.
//!
//! "The first step" is where a formula is judged; below a temporal operator, "that step" is the step the innermost
//! operator around the words speaks of. Every part that is more than a fact or a comparison stands in parentheses
//! where its end could be mistaken, so that the sentence can be read in one way only.

use std::fmt;

use crate::formula::{Arena, Binary, Formula, Node, Quantifier, Unary};
use crate::interval::{Interval, Span};
use crate::measure::{Aggregate, AggregateKind, Measure};
use crate::printer::Written;
use crate::term::{Atom, Comparison, Term};

impl Arena {
    /// A formula in English that says exactly the same.
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
        let mut text = String::new();
        let mut pieces = vec![Piece::Clause(f, Step::First)];
        while let Some(piece) = pieces.pop() {
            match piece {
                Piece::Text(words) => text.push_str(&words),
                Piece::Clause(f, step) => {
                    let start = pieces.len();
                    Sentence { arena: self, pieces: &mut pieces, step }.clause(f);
                    pieces[start..].reverse();
                }
            }
        }
        text
    }
}

/// What is still to be said.
enum Piece {
    Text(String),
    Clause(Formula, Step),
}

/// The step a clause speaks of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    First,
    That,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Step::First => "the first step",
            Step::That => "that step",
        })
    }
}

/// Which way an operator looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Later,
    Earlier,
}

struct Sentence<'a> {
    arena: &'a Arena,
    /// The pieces of the clause, in reading order.
    pieces: &'a mut Vec<Piece>,
    step: Step,
}

impl Sentence<'_> {
    fn say(&mut self, words: impl Into<String>) {
        self.pieces.push(Piece::Text(words.into()));
    }

    /// A part that reaches to the end of the clause.
    fn rest(&mut self, f: Formula, step: Step) {
        self.pieces.push(Piece::Clause(f, step));
    }

    /// A part whose end must be seen.
    fn part(&mut self, f: Formula, step: Step) {
        let is_plain = match &self.arena[f] {
            Node::Not(g) => matches!(self.arena[*g], Node::Fact(_) | Node::Compare(..)),
            node => matches!(node, Node::True | Node::False | Node::Fact(_) | Node::Compare(..)),
        };
        if is_plain {
            self.rest(f, step);
        } else {
            self.say("(");
            self.rest(f, step);
            self.say(")");
        }
    }

    fn clause(&mut self, f: Formula) {
        let step = self.step;
        match &self.arena[f] {
            Node::True => self.say("true holds"),
            Node::False => self.say("false holds"),
            Node::Fact(atom) => self.fact(atom, "holds"),
            Node::Compare(comparison, left, right) => self.compare(*comparison, left, right, true),
            Node::Measure(comparison, left, right) => {
                self.measure(left);
                self.say(format!(" {} ", relation(*comparison, true)));
                self.measure(right);
            }
            Node::Not(g) => match &self.arena[*g] {
                Node::Fact(atom) => self.fact(atom, "does not hold"),
                Node::Compare(comparison, left, right) => self.compare(*comparison, left, right, false),
                _ => {
                    self.say("it is not the case that (");
                    self.rest(*g, step);
                    self.say(")");
                }
            },
            Node::And(list) => self.list(list, ["both ", " and ", ""], "all of "),
            Node::Or(list) => self.list(list, ["either ", " or ", ", or both"], "at least one of "),
            Node::Implies(g, h) => {
                self.say("if ");
                match &self.arena[*g] {
                    Node::And(_) | Node::Or(_) => self.rest(*g, step),
                    _ => self.part(*g, step),
                }
                self.say(if self.begins_with_a_place(*h) { " then, " } else { " then " });
                match &self.arena[*h] {
                    Node::Implies(..) | Node::Iff(..) => self.part(*h, step),
                    _ => self.rest(*h, step),
                }
            }
            Node::Iff(g, h) => {
                self.part(*g, step);
                self.say(" if and only if ");
                self.part(*h, step);
            }
            Node::Unary(operator, interval, g) => self.unary(*operator, *interval, *g),
            Node::Binary(operator, interval, g, h) => self.binary(*operator, *interval, *g, *h),
            Node::Quantified(quantifier, variables, g) => {
                let each = if *quantifier == Quantifier::Forall { "every" } else { "some" };
                let names = variables.iter().map(|name| Written(&Term::Var(name.clone())).to_string()).collect();
                self.say(format!("for {each} value of {}, ", enumerate(names)));
                self.rest(*g, step);
            }
        }
    }

    /// Does the clause of a formula begin with words such as "at that step"? A comma stands before them.
    fn begins_with_a_place(&self, f: Formula) -> bool {
        match &self.arena[f] {
            Node::Unary(operator, _, g) => {
                !matches!(operator, Unary::Next | Unary::WeakNext | Unary::Previous | Unary::WeakPrevious)
                    || self.strictly(*operator, *g).is_some()
            }
            node => matches!(node, Node::Binary(..) | Node::Quantified(..)),
        }
    }

    fn fact(&mut self, atom: &Atom, verb: &str) {
        let place = if self.step == Step::First { " at the first step" } else { "" };
        self.say(format!("{} {verb}{place}", Written(atom)));
    }

    fn compare(&mut self, comparison: Comparison, left: &Term, right: &Term, truth: bool) {
        self.say(format!("{} {} {}", Written(left), relation(comparison, truth), Written(right)));
    }

    fn measure(&mut self, measure: &Measure) {
        match measure {
            Measure::Term(term) => self.say(Written(term).to_string()),
            Measure::Computed(sign, left, right) => {
                self.say("(");
                self.measure(left);
                self.say(format!(" {} ", sign.symbol()));
                self.measure(right);
                self.say(")");
            }
            Measure::Aggregate(Aggregate { kind, interval, variables, body }) => {
                let of: Vec<String> = variables.iter().map(|name| format!("`{name}`")).collect();
                let of = match (kind, of.first()) {
                    (AggregateKind::Count, None) => "the number of steps".to_owned(),
                    (AggregateKind::Count, Some(_)) => format!("the number of {}", enumerate(of)),
                    (AggregateKind::Distinct, first) => {
                        format!("the number of different {}", first.map_or("", |name| name))
                    }
                    (AggregateKind::Sum, first) => format!("the sum of {}", first.map_or("", |name| name)),
                    (AggregateKind::Min, first) => format!("the least {}", first.map_or("", |name| name)),
                    (AggregateKind::Max, first) => format!("the greatest {}", first.map_or("", |name| name)),
                    (AggregateKind::Average, first) => format!("the mean of {}", first.map_or("", |name| name)),
                    (AggregateKind::Latest, first) => format!("the latest {}", first.map_or("", |name| name)),
                };
                self.say(format!("{of}, {}, for which (", every(self.step, Way::Earlier, *interval)));
                self.rest(*body, Step::That);
                self.say(")");
            }
        }
    }

    fn list(&mut self, list: &[Formula], [before, between, after]: [&str; 3], many: &str) {
        let step = self.step;
        if let [f, g] = list {
            self.say(before);
            self.part(*f, step);
            self.say(between);
            self.part(*g, step);
            self.say(after);
            return;
        }
        self.say(many);
        for (index, f) in list.iter().enumerate() {
            match index {
                0 => self.say("("),
                _ if index + 1 == list.len() => self.say(") and ("),
                _ => self.say("), ("),
            }
            self.rest(*f, step);
        }
        self.say(")");
    }

    fn unary(&mut self, operator: Unary, interval: Interval, f: Formula) {
        let step = self.step;
        if let Some((words, g)) = self.strictly(operator, f) {
            self.say(format!("{words} {step}, "));
            return self.rest(g, Step::That);
        }
        self.say(match operator {
            Unary::Next => format!("there is a step right after {step} and, at it, "),
            Unary::WeakNext => format!("if there is a step right after {step} then, at it, "),
            Unary::Previous => format!("there is a step right before {step} and, at it, "),
            Unary::WeakPrevious => format!("if there is a step right before {step} then, at it, "),
            Unary::Eventually => format!("{}, ", some(step, Way::Later, interval)),
            Unary::Always => format!("{}, ", every(step, Way::Later, interval)),
            Unary::Once => format!("{}, ", some(step, Way::Earlier, interval)),
            Unary::Historically => format!("{}, ", every(step, Way::Earlier, interval)),
        });
        self.rest(f, Step::That);
    }

    /// A strictly later or earlier step, as in `X F g`, is said in one.
    fn strictly(&self, operator: Unary, f: Formula) -> Option<(&'static str, Formula)> {
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

    fn binary(&mut self, operator: Binary, interval: Interval, f: Formula, g: Formula) {
        let step = self.step;
        let whole = from_zero(interval);
        let parts = |sentence: &mut Self, before: &str, one: Formula, between: &str, other: Formula, after: &str| {
            sentence.say(before);
            sentence.part(one, Step::That);
            sentence.say(between);
            sentence.part(other, Step::That);
            sentence.say(after);
        };
        match operator {
            Binary::Until => {
                let when = format!("{}, ", some(step, Way::Later, interval));
                parts(self, &when, g, ", and until then ", f, "");
            }
            Binary::Since => {
                let when = format!("{}, ", some(step, Way::Earlier, interval));
                parts(self, &when, g, ", and since then ", f, "");
            }
            Binary::WeakUntil if interval.is_unbounded() => {
                parts(self, &format!("from {step} on, "), f, " until ", g, ", or for ever");
            }
            Binary::WeakUntil if whole == interval => {
                let when = format!("{}, ", every(step, Way::Later, interval));
                let unless = format!(" unless, at it or at an earlier one not before {step}, ");
                parts(self, &when, f, &unless, g, "");
            }
            Binary::WeakUntil => {
                let when = format!("either ({}, ", some(step, Way::Later, interval));
                parts(self, &when, g, ", and until then ", f, ") or (");
                self.say(format!("{}, ", every(step, Way::Later, whole)));
                self.part(f, Step::That);
                self.say("), or both");
            }
            Binary::Release if interval.is_unbounded() => {
                let between = " up to and including the first step at which ";
                parts(self, &format!("from {step} on, "), g, between, f, ", or for ever");
            }
            Binary::Release => {
                let when = format!("{}, ", every(step, Way::Later, interval));
                parts(self, &when, g, &format!(" unless, at an earlier one not before {step}, "), f, "");
            }
            Binary::StrongRelease if whole == interval => {
                let when = format!("{}, ", some(step, Way::Later, interval));
                parts(self, &when, f, ", and up to and including then ", g, "");
            }
            Binary::StrongRelease => {
                let when = format!("both ({}, ", every(step, Way::Later, interval));
                parts(self, &when, g, &format!(" unless, at an earlier one not before {step}, "), f, ") and (");
                self.say(format!("{}, ", some(step, Way::Later, whole)));
                self.part(f, Step::That);
                self.say(")");
            }
            Binary::Trigger if interval.is_unbounded() => {
                let between = " ever since and including the last step at which ";
                parts(self, &format!("up to {step}, "), g, between, f, ", or from the beginning");
            }
            Binary::Trigger => {
                let when = format!("{}, ", every(step, Way::Earlier, interval));
                parts(self, &when, g, &format!(" unless, at a later one not after {step}, "), f, "");
            }
        }
    }
}

/// `at that step or a later one at most 5 steps after it`
fn some(step: Step, way: Way, interval: Interval) -> String {
    let one = if way == Way::Later { "a later one" } else { "an earlier one" };
    match distance(interval) {
        Distance::Any if step == Step::First && way == Way::Later => "at some step".to_owned(),
        Distance::Any => format!("at {step} or {one}"),
        Distance::AtMost(most) => format!("at {step} or {one} {most} {} it", direction(way)),
        Distance::Within(range) => format!("at a step {range} {} {step}", direction(way)),
    }
}

/// `at that step and every later one at most 5 steps after it`
fn every(step: Step, way: Way, interval: Interval) -> String {
    let one = if way == Way::Later { "every later one" } else { "every earlier one" };
    match distance(interval) {
        Distance::Any if step == Step::First && way == Way::Later => "at every step".to_owned(),
        Distance::Any => format!("at {step} and {one}"),
        Distance::AtMost(most) => format!("at {step} and {one} {most} {} it", direction(way)),
        Distance::Within(range) => format!("at every step {range} {} {step}", direction(way)),
    }
}

fn direction(way: Way) -> &'static str {
    if way == Way::Later { "after" } else { "before" }
}

/// How far away a bound allows a step to be, in words.
enum Distance {
    Any,
    AtMost(String),
    Within(String),
}

fn distance(interval: Interval) -> Distance {
    let steps = |count: u32| if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
    match interval {
        Interval::Steps { from: 0, to: None } | Interval::Time { from: Span(0), to: None } => Distance::Any,
        Interval::Steps { from: 0, to: Some(to) } => Distance::AtMost(format!("at most {}", steps(to))),
        Interval::Time { from: Span(0), to: Some(to) } => Distance::AtMost(format!("at most {to}")),
        Interval::Steps { from, to: None } => Distance::Within(format!("at least {}", steps(from))),
        Interval::Time { from, to: None } => Distance::Within(format!("at least {from}")),
        Interval::Steps { from, to: Some(to) } if from == to => Distance::Within(format!("exactly {}", steps(to))),
        Interval::Time { from, to: Some(to) } if from == to => Distance::Within(format!("exactly {to}")),
        Interval::Steps { from, to: Some(to) } => Distance::Within(format!("between {from} and {}", steps(to))),
        Interval::Time { from, to: Some(to) } => Distance::Within(format!("between {from} and {to}")),
    }
}

/// The same bound from here on.
fn from_zero(interval: Interval) -> Interval {
    match interval {
        Interval::Steps { to, .. } => Interval::Steps { from: 0, to },
        Interval::Time { to, .. } => Interval::Time { from: Span(0), to },
    }
}

fn relation(comparison: Comparison, truth: bool) -> &'static str {
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
fn enumerate(mut names: Vec<String>) -> String {
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} and {last}", names.join(", ")) }
}
