//! Parses numbers in comparisons: arithmetic and aggregates of the past.
//!
//! `sum[0,24h](a: transfer(p,a)) + 5 > 2 * limit`. The body of an aggregate is a formula with a parser of its own;
//! their nesting is bounded.

use std::sync::Arc;

use super::{Operand, Parser};
use crate::arena::Node;
use crate::comparison::Comparison;
use crate::lexer::TokenKind;
use crate::measure::{Aggregate, AggregateKind, Arithmetic, Measure};

/// The deepest nesting of aggregates, and of parentheses in arithmetic.
const MAX_NESTED_AGGREGATES: u32 = 8;

impl Parser<'_> {
    /// Whether a measure begins here: an aggregate, or a term of arithmetic.
    pub(super) fn begins_measure(&self) -> bool {
        match self.kind(0) {
            TokenKind::Name { name, quoted: false } if AggregateKind::named(name).is_some() => {
                matches!(self.kind(1), TokenKind::Open | TokenKind::OpenBracket)
                    || (matches!(self.kind(1), TokenKind::Compare(Comparison::AtMost | Comparison::AtLeast))
                        && self.has_body_after_bound())
            }
            TokenKind::Name { .. } | TokenKind::Number { .. } => matches!(self.kind(1), TokenKind::Arithmetic(_)),
            TokenKind::Open => self.opens_measure(),
            _ => false,
        }
    }

    /// Whether a parenthesis opens arithmetic, as in `(a + b) * 2 > c`.
    fn opens_measure(&self) -> bool {
        // Arithmetic is short, and not every group should be searched to its end.
        const MAX_LOOKAHEAD_TOKENS: usize = 64;
        let mut open = 0usize;
        for ahead in 0..MAX_LOOKAHEAD_TOKENS {
            match self.kind(ahead) {
                TokenKind::Open => open += 1,
                TokenKind::Close if open == 1 => {
                    return matches!(self.kind(ahead + 1), TokenKind::Arithmetic(_) | TokenKind::Compare(_));
                }
                TokenKind::Close => open -= 1,
                TokenKind::End => return false,
                _ => {}
            }
        }
        false
    }

    /// Whether a comparison sign begins a bound, as in `count <= 5s (…)`.
    fn has_body_after_bound(&self) -> bool {
        matches!(self.kind(2), TokenKind::Number { .. }) && *self.kind(3) == TokenKind::Open
    }

    /// Reads a comparison of measures.
    pub(super) fn read_measure_comparison(&mut self) -> Operand {
        let start = self.span();
        let left = self.read_sum(0);
        let TokenKind::Compare(comparison) = self.kind(0) else {
            let message = format!("expected a comparison, found {}", self.describe_token());
            self.report(message, "compare the number with another: `count(p) >= 3`");
            return self.build_placeholder();
        };
        self.advance();
        let right = self.read_sum(0);
        self.build_comparison(*comparison, left, right, start)
    }

    pub(super) fn build_comparison(
        &mut self,
        comparison: Comparison,
        left: Option<Measure>,
        right: Option<Measure>,
        span: std::ops::Range<usize>,
    ) -> Operand {
        match (left, right) {
            (Some(Measure::Term(left)), Some(Measure::Term(right))) => {
                self.build_leaf(Node::Compare(comparison, left, right))
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
                self.build_node(Node::Measure(comparison, left, right), &operands, span)
            }
            _ => self.build_placeholder(),
        }
    }

    /// Reads `+` and `-`, from left to right.
    pub(super) fn read_sum(&mut self, depth: u32) -> Option<Measure> {
        let mut left = self.read_product(depth)?;
        while let TokenKind::Arithmetic(sign @ (Arithmetic::Plus | Arithmetic::Minus)) = self.kind(0) {
            self.advance();
            let right = self.read_product(depth)?;
            left = Measure::Computed(*sign, Box::new(left), Box::new(right));
        }
        Some(left)
    }

    fn read_product(&mut self, depth: u32) -> Option<Measure> {
        let mut left = self.read_factor(depth)?;
        while let TokenKind::Arithmetic(sign @ (Arithmetic::Times | Arithmetic::Over)) = self.kind(0) {
            self.advance();
            let right = self.read_factor(depth)?;
            left = Measure::Computed(*sign, Box::new(left), Box::new(right));
        }
        Some(left)
    }

    fn read_factor(&mut self, depth: u32) -> Option<Measure> {
        if *self.kind(0) == TokenKind::Open {
            if depth >= MAX_NESTED_AGGREGATES {
                self.report(
                    format!("parentheses nested deeper than {MAX_NESTED_AGGREGATES} levels"),
                    "compute it in parts",
                );
                return None;
            }
            let open = self.advance();
            let inner = self.read_sum(depth + 1);
            if *self.kind(0) == TokenKind::Close {
                self.advance();
            } else {
                self.report_unclosed(open);
            }
            return inner;
        }
        match self.kind(0) {
            TokenKind::Name { name, quoted: false }
                if AggregateKind::named(name).is_some() && self.begins_measure() =>
            {
                self.read_aggregate(AggregateKind::named(name).unwrap_or(AggregateKind::Count)).map(Measure::Aggregate)
            }
            _ => self.read_side().map(Measure::Term),
        }
    }

    fn read_aggregate(&mut self, kind: AggregateKind) -> Option<Aggregate> {
        let span = self.advance();
        let interval = self.read_bound();
        if *self.kind(0) != TokenKind::Open {
            let message = format!("expected `(` after `{}`, found {}", kind.name(), self.describe_token());
            self.report(message, format!("write `{}`", example_text(kind)));
            return None;
        }
        let open = self.advance();
        let end = self.find_closing()?;
        let variables = self.read_aggregate_variables(end);
        if variables.is_empty() && kind != AggregateKind::Count {
            let message = format!("`{}` has no variable", kind.name());
            self.faults.add(span, message, format!("name the variable before a colon: `{}`", example_text(kind)));
        }
        if self.nested >= MAX_NESTED_AGGREGATES {
            self.faults.add(
                open,
                format!("aggregates nested deeper than {MAX_NESTED_AGGREGATES} levels"),
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

    /// Reads the variables of an aggregate and the colon after them, if there are any.
    fn read_aggregate_variables(&mut self, end: usize) -> Vec<Arc<str>> {
        let mut names: Vec<Arc<str>> = Vec::new();
        let mut at = self.at;
        while at < end {
            let Some(TokenKind::Name { name, .. }) = self.tokens.get(at).map(|token| &token.kind) else {
                return Vec::new();
            };
            names.push(Arc::from(&**name));
            match self.tokens.get(at + 1).map(|token| &token.kind) {
                Some(TokenKind::Comma) => at += 2,
                Some(TokenKind::Colon | TokenKind::Dot) => {
                    self.at = at + 2;
                    return names;
                }
                _ => return Vec::new(),
            }
        }
        Vec::new()
    }

    /// Returns the token that closes the parenthesis just opened.
    fn find_closing(&mut self) -> Option<usize> {
        let mut open = 1usize;
        for (place, token) in self.tokens.iter().enumerate().skip(self.at) {
            match token.kind {
                TokenKind::Open => open += 1,
                TokenKind::Close => open -= 1,
                _ => {}
            }
            if open == 0 {
                return Some(place);
            }
        }
        let span = self.tokens.get(self.at.saturating_sub(1)).map_or(0..0, |token| token.span.clone());
        self.report_unclosed(span);
        self.at = self.tokens.len();
        None
    }
}

fn example_text(kind: AggregateKind) -> &'static str {
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
