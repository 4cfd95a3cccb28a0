//! Parses tokens to formulas.
//!
//! An operator-precedence parser with its own stack: every open construct (a parenthesis, an operator without its right
//! side, a call) is a [`Frame`], so that no text, however nested, can exhaust the machine's stack. Unary operators bind
//! tightest, then `U W R M S T`, then `&`, `|`, `->`, `<->`; a quantifier reaches as far to the right as it can.
//!
//! After an error the parser inserts a placeholder and continues, so that one pass finds every error.

mod atom;
mod bound;
mod call;
mod expand;
mod measure;
mod position;
mod recover;

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::{Arena, Node};
use crate::formula::{Binary, Formula, Quantifier, Unary};
use crate::interval::Interval;
use crate::lexer::{Grammar, Token, TokenKind, lex};
use crate::parse_error::{Faults, ParseErrors};
use crate::parser::call::PatternCall;
use crate::spelling::Sign;

/// The most nodes of a formula with its patterns written out; nested calls can double at every level.
const MAX_PARSED_NODES: u32 = 1 << 20;

impl Arena {
    /// The longest text of a formula, in bytes.
    pub const MAX_LENGTH: usize = 1 << 20;

    /// Parses a formula in any mix of spellings.
    ///
    /// ```
    /// use lictor_logic::Arena;
    /// let mut arena = Arena::new();
    /// let f = arena.parse("always (tool_call implies eventually verified)")?;
    /// assert_eq!(f, arena.parse("G(tool_call -> F verified)")?);
    /// assert_eq!(f, arena.parse("□(tool_call → ◇verified)")?);
    /// assert_eq!(f, arena.parse("response(tool_call, verified)")?);
    /// # Ok::<(), lictor_logic::ParseErrors>(())
    /// ```
    pub fn parse(&mut self, text: &str) -> Result<Formula, ParseErrors> {
        let mut faults = Faults::default();
        if text.len() > Arena::MAX_LENGTH {
            let most = Arena::MAX_LENGTH;
            let message = format!("formula too long: {} bytes, at most {most} are allowed", text.len());
            faults.add(0..0, message, "split it into several formulas");
            return Err(ParseErrors::new(text.lines().next().unwrap_or(""), faults));
        }
        let tokens = lex(text, Grammar::Formula, &mut faults);
        let (operand, found) = Parser::new(self, text, &tokens, &PatternArguments::default()).parse();
        let faults = faults.join(found);
        if faults.is_empty() { Ok(operand.formula) } else { Err(ParseErrors::new(text, faults)) }
    }
}

/// A parsed formula, with its depth and size for the limits.
#[derive(Clone, Copy, Debug)]
struct Operand {
    formula: Formula,
    /// Its nesting depth as written.
    depth: u32,
    /// Its number of nodes if nothing is shared.
    size: u32,
}

/// The arguments of a pattern, for its parameters.
#[derive(Clone, Debug, Default)]
struct PatternArguments {
    operands: Vec<(&'static str, Operand)>,
    bound: Option<Interval>,
}

/// An open construct that waits for an operand.
#[derive(Debug)]
enum Frame<'a> {
    Group { span: Range<usize> },
    Call(PatternCall<'a>),
    Quantified { quantifier: Quantifier, variables: Vec<Arc<str>>, span: Range<usize> },
    Arrow { sign: Sign, left: Operand, span: Range<usize> },
    List { sign: Sign, operands: Vec<Operand>, span: Range<usize> },
    Binary { operator: Binary, interval: Interval, left: Operand, span: Range<usize> },
    Not { span: Range<usize> },
    Unary { operator: Unary, interval: Interval, span: Range<usize> },
}

impl Frame<'_> {
    /// Returns how tightly it binds its operand.
    fn precedence(&self) -> u8 {
        match self {
            Frame::Group { .. } | Frame::Call(_) => 0,
            Frame::Quantified { .. } => 1,
            Frame::Arrow { sign, .. } | Frame::List { sign, .. } => precedence(*sign),
            Frame::Binary { operator, .. } => precedence(Sign::Binary(*operator)),
            Frame::Not { .. } | Frame::Unary { .. } => 7,
        }
    }
}

fn precedence(sign: Sign) -> u8 {
    match sign {
        Sign::Iff => 2,
        Sign::Implies => 3,
        Sign::Or => 4,
        Sign::And => 5,
        _ => 6,
    }
}

/// What follows an operand.
enum Continuation {
    /// Another operand.
    Operand,
    /// The operand became part of a larger one.
    Grown(Operand),
    /// The end of the text.
    End(Operand),
}

#[derive(Debug)]
struct Parser<'a> {
    arena: &'a mut Arena,
    text: &'a str,
    tokens: &'a [Token<'a>],
    at: usize,
    stack: Vec<Frame<'a>>,
    /// For each name, how many enclosing quantifiers bind it.
    variables: FxHashMap<Arc<str>, usize>,
    /// Operators that were written as variables of a quantifier.
    misnamed: FxHashSet<&'a str>,
    given: &'a PatternArguments,
    grammar: Grammar,
    faults: Faults,
    /// Errors before this token follow from a reported one.
    quiet: usize,
    is_too_large: bool,
    /// How many aggregates enclose it.
    nested: u32,
}

impl<'a> Parser<'a> {
    fn new(arena: &'a mut Arena, text: &'a str, tokens: &'a [Token<'a>], given: &'a PatternArguments) -> Parser<'a> {
        Parser {
            arena,
            text,
            tokens,
            at: 0,
            stack: Vec::new(),
            variables: FxHashMap::default(),
            misnamed: FxHashSet::default(),
            given,
            grammar: Grammar::Formula,
            faults: Faults::default(),
            quiet: 0,
            is_too_large: false,
            nested: 0,
        }
    }

    /// Parses the body of an aggregate; also returns the variables in scope.
    fn parse_inside(mut self) -> (Operand, Faults, FxHashMap<Arc<str>, usize>) {
        let operand = self.read();
        (operand, self.faults, self.variables)
    }

    fn parse(mut self) -> (Operand, Faults) {
        let operand = self.read();
        (operand, self.faults)
    }

    fn read(&mut self) -> Operand {
        loop {
            let mut operand = self.read_operand();
            loop {
                match self.read_after_operand(operand) {
                    Continuation::Operand => break,
                    Continuation::Grown(grown) => operand = grown,
                    Continuation::End(operand) => return operand,
                }
            }
        }
    }

    fn kind(&self, ahead: usize) -> &'a TokenKind<'a> {
        self.tokens.get(self.at + ahead).map_or(&TokenKind::End, |token| &token.kind)
    }

    fn span(&self) -> Range<usize> {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0..0, |token| token.span.clone())
    }

    fn advance(&mut self) -> Range<usize> {
        let span = self.span();
        self.at += 1;
        span
    }

    /// Reads prefixes and opening parentheses up to the next complete operand.
    fn read_operand(&mut self) -> Operand {
        loop {
            if self.begins_measure() {
                return self.read_measure_comparison();
            }
            match self.kind(0) {
                TokenKind::Sign(Sign::True | Sign::False) if matches!(self.kind(1), TokenKind::Compare(_)) => {
                    return self.read_comparison();
                }
                TokenKind::Sign(sign @ (Sign::True | Sign::False)) => {
                    self.advance();
                    return self.build_leaf(if *sign == Sign::True { Node::True } else { Node::False });
                }
                TokenKind::Sign(Sign::Not) => {
                    let span = self.advance();
                    self.stack.push(Frame::Not { span });
                }
                TokenKind::Sign(Sign::Unary(operator)) => {
                    let span = self.advance();
                    let interval = self.read_unary_bound(*operator);
                    self.stack.push(Frame::Unary { operator: *operator, interval, span });
                }
                TokenKind::Sign(Sign::Quantifier(quantifier)) => self.read_quantifier(*quantifier),
                TokenKind::Open => {
                    let span = self.advance();
                    self.stack.push(Frame::Group { span });
                }
                TokenKind::Name { .. } if *self.kind(1) == TokenKind::Open => {
                    if let Some(operand) = self.read_call() {
                        return operand;
                    }
                }
                TokenKind::Name { .. } | TokenKind::Text(_) | TokenKind::Number { .. } | TokenKind::Any => {
                    return self.read_atom();
                }
                TokenKind::Bad => self.skip(),
                TokenKind::Sign(_) | TokenKind::Close | TokenKind::Comma | TokenKind::End => {
                    self.report_missing_operand();
                    return self.build_placeholder();
                }
                TokenKind::Compare(_) | TokenKind::Arithmetic(_) | TokenKind::Infinity | TokenKind::OpenBracket => {
                    self.report_misplaced();
                }
                TokenKind::CloseBracket | TokenKind::Dot | TokenKind::Colon => self.report_misplaced(),
                // INVARIANT: only the text of a position has these.
                TokenKind::At | TokenKind::Question => self.report_misplaced(),
            }
        }
    }

    fn read_quantifier(&mut self, quantifier: Quantifier) {
        let span = self.advance();
        let word = self.text.get(span.clone()).unwrap_or("forall");
        let mut variables: Vec<Arc<str>> = Vec::new();
        let mut seen = FxHashSet::default();
        loop {
            match self.kind(0) {
                TokenKind::Name { name, .. } => {
                    if seen.insert(&**name) {
                        variables.push(Arc::from(&**name));
                    } else {
                        self.report(format!("the variable `{name}` is named twice"), "remove one of them");
                    }
                    self.advance();
                }
                TokenKind::Sign(_) if self.token_text().starts_with(|c: char| c.is_ascii_alphabetic()) => {
                    let message = format!("{} is an operator, not a variable", self.describe_token());
                    self.report(message, "choose another name, such as `x`");
                    self.misnamed.insert(self.token_text());
                    self.advance();
                }
                _ => {
                    let message = format!("expected a variable, found {}", self.describe_token());
                    self.report(message, format!("write `{word} x. …`"));
                }
            }
            if *self.kind(0) != TokenKind::Comma {
                break;
            }
            self.advance();
        }
        if matches!(self.kind(0), TokenKind::Dot | TokenKind::Colon) {
            self.advance();
        } else {
            let message = format!("expected `.` after the variables, found {}", self.describe_token());
            self.report(message, format!("write `{word} {}. …`", variables.first().map_or("x", |name| name)));
        }
        for name in &variables {
            *self.variables.entry(Arc::clone(name)).or_default() += 1;
        }
        self.stack.push(Frame::Quantified { quantifier, variables, span });
    }

    /// Handles the token after an operand.
    fn read_after_operand(&mut self, operand: Operand) -> Continuation {
        match self.kind(0) {
            TokenKind::Sign(sign) if sign.is_infix() => {
                self.read_infix(*sign, operand);
                Continuation::Operand
            }
            TokenKind::Close => self.close_group(operand),
            TokenKind::Comma => self.read_comma(operand),
            TokenKind::End => {
                let operand = self.reduce(operand, 0);
                match self.stack.pop() {
                    None => Continuation::End(operand),
                    Some(Frame::Call(PatternCall { open: span, .. }) | Frame::Group { span }) => {
                        self.report_unclosed(span);
                        Continuation::Grown(operand)
                    }
                    Some(_) => Continuation::Grown(operand),
                }
            }
            TokenKind::Bad => {
                self.skip();
                Continuation::Grown(operand)
            }
            TokenKind::CloseBracket
            | TokenKind::Dot
            | TokenKind::Colon
            | TokenKind::Infinity
            | TokenKind::Arithmetic(_) => {
                self.report_misplaced();
                Continuation::Grown(operand)
            }
            _ => self.report_missing_operator(operand),
        }
    }

    fn read_infix(&mut self, sign: Sign, operand: Operand) {
        let span = self.advance();
        match sign {
            Sign::And | Sign::Or => self.push_list_operand(sign, operand, span),
            Sign::Binary(operator) => {
                let interval = self.read_bound();
                let left = self.reduce(operand, precedence(sign));
                self.stack.push(Frame::Binary { operator, interval, left, span });
            }
            _ => {
                let left = self.reduce(operand, precedence(sign));
                self.stack.push(Frame::Arrow { sign, left, span });
            }
        }
    }

    fn push_list_operand(&mut self, sign: Sign, operand: Operand, span: Range<usize>) {
        let operand = self.reduce(operand, precedence(sign));
        match self.stack.last_mut() {
            Some(Frame::List { sign: same, operands, .. }) if *same == sign => operands.push(operand),
            _ => self.stack.push(Frame::List { sign, operands: vec![operand], span }),
        }
    }

    fn close_group(&mut self, operand: Operand) -> Continuation {
        let operand = self.reduce(operand, 0);
        match self.stack.pop() {
            Some(Frame::Call(call)) => {
                let operand = self.finish_call(call.with_formula(operand));
                self.advance();
                Continuation::Grown(operand)
            }
            None => {
                self.report("unmatched `)`", "remove it, or open a `(` before it");
                self.skip();
                Continuation::Grown(operand)
            }
            Some(_) => {
                self.advance();
                Continuation::Grown(operand)
            }
        }
    }

    /// Completes every frame that binds its operand more tightly than `level`.
    fn reduce(&mut self, mut operand: Operand, level: u8) -> Operand {
        while let Some(frame) = self.stack.pop_if(|frame| frame.precedence() > level) {
            operand = self.complete(frame, operand);
        }
        operand
    }

    fn complete(&mut self, frame: Frame<'_>, right: Operand) -> Operand {
        match frame {
            Frame::Group { .. } | Frame::Call(_) => right,
            Frame::Quantified { quantifier, variables, span } => {
                for name in &variables {
                    self.variables.entry(Arc::clone(name)).and_modify(|count| *count -= 1);
                }
                // A quantifier without variables was reported before.
                self.build_node(Node::Quantified(quantifier, variables.into(), right.formula), &[right], span)
            }
            Frame::Arrow { sign, left, span } => {
                let (f, g) = (left.formula, right.formula);
                let node = if sign == Sign::Iff { Node::Iff(f, g) } else { Node::Implies(f, g) };
                self.build_node(node, &[left, right], span)
            }
            Frame::List { sign, mut operands, span } => {
                operands.push(right);
                let formulas: Vec<Formula> = operands.iter().map(|operand| operand.formula).collect();
                let formula = if sign == Sign::And { self.arena.and(formulas) } else { self.arena.or(formulas) };
                self.check_limits(formula, &operands, span)
            }
            Frame::Binary { operator, interval, left, span } => {
                let node = Node::Binary(operator, interval, left.formula, right.formula);
                self.build_node(node, &[left, right], span)
            }
            Frame::Not { span } => self.build_node(Node::Not(right.formula), &[right], span),
            Frame::Unary { operator, interval, span } => {
                self.build_node(Node::Unary(operator, interval, right.formula), &[right], span)
            }
        }
    }

    fn build_node(&mut self, node: Node, operands: &[Operand], span: Range<usize>) -> Operand {
        let formula = self.arena.insert(node);
        self.check_limits(formula, operands, span)
    }

    /// Checks the limits: the first formula beyond one is reported, and each is replaced by a placeholder.
    fn check_limits(&mut self, formula: Formula, operands: &[Operand], span: Range<usize>) -> Operand {
        let depth = operands.iter().map(|operand| operand.depth).max().unwrap_or(0) + 1;
        let size = operands.iter().fold(1u32, |size, operand| size.saturating_add(operand.size));
        if depth <= Arena::MAX_DEPTH && size <= MAX_PARSED_NODES {
            return Operand { formula, depth, size };
        }
        if !std::mem::replace(&mut self.is_too_large, true) {
            if depth > Arena::MAX_DEPTH {
                let message = format!("formula nested deeper than {} levels", Arena::MAX_DEPTH);
                self.faults.add(span, message, "split it into several formulas");
            } else {
                let message =
                    format!("formula too large: more than {MAX_PARSED_NODES} operators with its patterns written out");
                self.faults.add(span, message, "nest fewer patterns in each other");
            }
        }
        self.build_placeholder()
    }

    fn build_leaf(&mut self, node: Node) -> Operand {
        Operand { formula: self.arena.insert(node), depth: 1, size: 1 }
    }

    /// Returns a placeholder for a part with an error; it is never returned to the caller.
    fn build_placeholder(&mut self) -> Operand {
        self.build_leaf(Node::True)
    }
}
