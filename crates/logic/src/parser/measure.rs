//! Numbers in comparisons: arithmetic and what is gathered from the past.
//!
//! `sum[0,24h](a: transfer(p,a)) + 5 > 2 * limit`. The body of an aggregate is a formula; it is read by a parser of its
//! own, and how deep they nest is bounded.

use std::sync::Arc;

use super::{Operand, Parser};
use crate::formula::Node;
use crate::lexer::Kind;
use crate::measure::{Aggregate, AggregateKind, Arithmetic, Measure};
use crate::term::Comparison;

/// How deep aggregates may stand in each other.
const MOST_NESTED: u32 = 8;

impl Parser<'_> {
    /// Does a measure begin here: an aggregate, or a term that is computed with?
    pub(super) fn begins_measure(&self) -> bool {
        match self.kind(0) {
            Kind::Name { name, quoted: false } if AggregateKind::named(name).is_some() => {
                matches!(self.kind(1), Kind::Open | Kind::OpenBracket)
                    || (matches!(self.kind(1), Kind::Compare(Comparison::AtMost | Comparison::AtLeast))
                        && self.has_body_behind_bound())
            }
            Kind::Name { .. } | Kind::Number { .. } => matches!(self.kind(1), Kind::Arithmetic(_)),
            Kind::Open => self.opens_measure(),
            _ => false,
        }
    }

    /// `(a + b) * 2 > c`: is what the parenthesis closes computed with, or compared?
    fn opens_measure(&self) -> bool {
        // What is computed is short, and not every group should be searched to its end.
        const MOST_TOKENS: usize = 64;
        let mut open = 0usize;
        for ahead in 0..MOST_TOKENS {
            match self.kind(ahead) {
                Kind::Open => open += 1,
                Kind::Close if open == 1 => {
                    return matches!(self.kind(ahead + 1), Kind::Arithmetic(_) | Kind::Compare(_));
                }
                Kind::Close => open -= 1,
                Kind::End => return false,
                _ => {}
            }
        }
        false
    }

    /// `count <= 5s (…)`: a bound and not a comparison.
    fn has_body_behind_bound(&self) -> bool {
        matches!(self.kind(2), Kind::Number { .. }) && *self.kind(3) == Kind::Open
    }

    /// A comparison of measures.
    pub(super) fn measured_comparison(&mut self) -> Operand {
        let start = self.span();
        let left = self.sum(0);
        let Kind::Compare(comparison) = self.kind(0) else {
            let message = format!("expected a comparison, found {}", self.found());
            self.complain(message, "compare the number with another: `count(p) >= 3`");
            return self.placeholder();
        };
        self.advance();
        let right = self.sum(0);
        self.compared(*comparison, left, right, start)
    }

    pub(super) fn compared(
        &mut self,
        comparison: Comparison,
        left: Option<Measure>,
        right: Option<Measure>,
        span: std::ops::Range<usize>,
    ) -> Operand {
        match (left, right) {
            (Some(Measure::Term(left)), Some(Measure::Term(right))) => {
                self.leaf(Node::Compare(comparison, left, right))
            }
            (Some(left), Some(right)) => {
                let operands: Vec<Operand> = left
                    .operands()
                    .into_iter()
                    .chain(right.operands())
                    .map(|formula| Operand {
                        formula,
                        depth: self.arena.depth(formula),
                        size: self.arena.size(formula).try_into().unwrap_or(u32::MAX),
                    })
                    .collect();
                self.made(Node::Measure(comparison, left, right), &operands, span)
            }
            _ => self.placeholder(),
        }
    }

    /// `+` and `-`, from left to right.
    pub(super) fn sum(&mut self, depth: u32) -> Option<Measure> {
        let mut left = self.product(depth)?;
        while let Kind::Arithmetic(sign @ (Arithmetic::Plus | Arithmetic::Minus)) = self.kind(0) {
            self.advance();
            let right = self.product(depth)?;
            left = Measure::Computed(*sign, Box::new(left), Box::new(right));
        }
        Some(left)
    }

    fn product(&mut self, depth: u32) -> Option<Measure> {
        let mut left = self.factor(depth)?;
        while let Kind::Arithmetic(sign @ (Arithmetic::Times | Arithmetic::Over)) = self.kind(0) {
            self.advance();
            let right = self.factor(depth)?;
            left = Measure::Computed(*sign, Box::new(left), Box::new(right));
        }
        Some(left)
    }

    fn factor(&mut self, depth: u32) -> Option<Measure> {
        if *self.kind(0) == Kind::Open {
            if depth >= MOST_NESTED {
                self.complain(format!("more than {MOST_NESTED} parentheses in each other"), "compute it in parts");
                return None;
            }
            let open = self.advance();
            let inner = self.sum(depth + 1);
            if *self.kind(0) == Kind::Close {
                self.advance();
            } else {
                self.unclosed(open);
            }
            return inner;
        }
        match self.kind(0) {
            Kind::Name { name, quoted: false } if AggregateKind::named(name).is_some() && self.begins_measure() => {
                self.aggregate(AggregateKind::named(name).unwrap_or(AggregateKind::Count)).map(Measure::Aggregate)
            }
            _ => self.side().map(Measure::Term),
        }
    }

    fn aggregate(&mut self, kind: AggregateKind) -> Option<Aggregate> {
        let span = self.advance();
        let interval = self.bound();
        if *self.kind(0) != Kind::Open {
            let message = format!("expected `(` after `{}`, found {}", kind.name(), self.found());
            self.complain(message, format!("write `{}`", example(kind)));
            return None;
        }
        let open = self.advance();
        let end = self.closing()?;
        let variables = self.gathered_variables(end);
        if variables.is_empty() && kind != AggregateKind::Count {
            let message = format!("`{}` needs to know of what", kind.name());
            self.faults.add(span, message, format!("name the variable before a colon: `{}`", example(kind)));
        }
        if self.nested >= MOST_NESTED {
            self.faults.add(
                open,
                format!("more than {MOST_NESTED} aggregates in each other"),
                "use several properties",
            );
            self.at = end + 1;
            return None;
        }
        for name in &variables {
            *self.variables.entry(Arc::clone(name)).or_default() += 1;
        }
        let tokens = self.tokens.get(..end).unwrap_or(self.tokens);
        let mut inner = Parser::new(self.arena, self.text, tokens, self.given);
        (inner.at, inner.nested, inner.quiet) = (self.at, self.nested + 1, self.quiet);
        inner.variables = std::mem::take(&mut self.variables);
        let (body, faults, variables_again) = inner.parse_inside();
        self.variables = variables_again;
        self.faults = std::mem::take(&mut self.faults).join(faults);
        for name in &variables {
            self.variables.entry(Arc::clone(name)).and_modify(|count| *count -= 1);
        }
        self.at = end + 1;
        Some(Aggregate { kind, interval, variables: variables.into(), body: body.formula })
    }

    /// The variables of an aggregate and the colon behind them, if there are any.
    fn gathered_variables(&mut self, end: usize) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut at = self.at;
        while at < end {
            let Some(Kind::Name { name, .. }) = self.tokens.get(at).map(|token| &token.kind) else { return Vec::new() };
            names.push(Arc::from(&**name));
            match self.tokens.get(at + 1).map(|token| &token.kind) {
                Some(Kind::Comma) => at += 2,
                Some(Kind::Colon | Kind::Dot) => {
                    self.at = at + 2;
                    return names;
                }
                _ => return Vec::new(),
            }
        }
        Vec::new()
    }

    /// The place of the parenthesis that closes the one just opened.
    fn closing(&mut self) -> Option<usize> {
        let mut open = 1usize;
        for (place, token) in self.tokens.iter().enumerate().skip(self.at) {
            match token.kind {
                Kind::Open => open += 1,
                Kind::Close => open -= 1,
                _ => {}
            }
            if open == 0 {
                return Some(place);
            }
        }
        let span = self.tokens.get(self.at.saturating_sub(1)).map_or(0..0, |token| token.span.clone());
        self.unclosed(span);
        self.at = self.tokens.len();
        None
    }
}

fn example(kind: AggregateKind) -> &'static str {
    match kind {
        AggregateKind::Count => "count[0,5m](c: failed(c)) >= 3",
        AggregateKind::Distinct => "distinct[0,1d](who: approves(who)) >= 2",
        AggregateKind::Sum => "sum[0,24h](a: pays(a)) > 10000",
        AggregateKind::Min => "min(a: pays(a)) < 0",
        AggregateKind::Max => "max[0,24h](a: pays(a)) > 10000",
        AggregateKind::Average => "avg[0,30d](a: pays(a)) > 100",
        AggregateKind::Latest => "latest(s: status(s)) = \"open\"",
    }
}
