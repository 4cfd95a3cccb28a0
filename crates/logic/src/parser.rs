//! Tokens to formulas.
//!
//! An operator-precedence parser with its own stack: what is open (a parenthesis, an operator that waits for its right
//! side, a call) is a [`Frame`], so that no text, however nested, can exhaust the machine's stack. Unary operators bind
//! tightest, then `U W R M S T`, then `&`, `|`, `->`, `<->`; a quantifier reaches as far to the right as it can.
//!
//! After an error the parser puts something in place and goes on, so that every error is found in one reading.

mod atom;
mod bound;
mod call;
mod measure;
mod recover;

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::{Faults, ParseErrors};
use crate::formula::{Arena, Binary, Formula, Node, Quantifier, Unary};
use crate::interval::Interval;
use crate::lexer::{Grammar, Kind, Token, lex};
use crate::parser::call::Call;
use crate::spelling::Sign;

/// The most nodes a formula may have once its patterns are written out; calls inside calls can double at every level.
const MAX_SIZE: u32 = 1 << 20;

impl Arena {
    /// The longest text of a formula that is read, in bytes.
    pub const MAX_LENGTH: usize = 1 << 20;

    /// Reads a formula in any mix of spellings.
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
            let message = format!("formula too long: {} bytes, at most {most} are read", text.len());
            faults.add(0..0, message, "split it into several formulas");
            return Err(ParseErrors::new(text.lines().next().unwrap_or(""), faults));
        }
        let tokens = lex(text, Grammar::Formula, &mut faults);
        let (operand, found) = Parser::new(self, text, &tokens, &Given::default()).parse();
        let faults = faults.join(found);
        if faults.is_empty() { Ok(operand.formula) } else { Err(ParseErrors::new(text, faults)) }
    }
}

/// A formula that has been read, with what the limits need to know of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operand {
    pub(crate) formula: Formula,
    /// How deep it is nested as written.
    depth: u32,
    /// How many nodes it has when nothing is shared.
    size: u32,
}

/// What the parameters of a pattern stand for while its formula is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) operands: Vec<(&'static str, Operand)>,
    pub(crate) bound: Option<Interval>,
}

/// Something that was begun and waits for an operand.
#[derive(Debug)]
enum Frame<'a> {
    Group { span: Range<usize> },
    Call(Call<'a>),
    Quantified { quantifier: Quantifier, variables: Vec<Arc<str>>, span: Range<usize> },
    Arrow { sign: Sign, left: Operand, span: Range<usize> },
    List { sign: Sign, operands: Vec<Operand>, span: Range<usize> },
    Binary { operator: Binary, interval: Interval, left: Operand, span: Range<usize> },
    Not { span: Range<usize> },
    Unary { operator: Unary, interval: Interval, span: Range<usize> },
}

impl Frame<'_> {
    /// How tightly it holds its operand.
    fn level(&self) -> u8 {
        match self {
            Frame::Group { .. } | Frame::Call(_) => 0,
            Frame::Quantified { .. } => 1,
            Frame::Arrow { sign, .. } | Frame::List { sign, .. } => level(*sign),
            Frame::Binary { operator, .. } => level(Sign::Binary(*operator)),
            Frame::Not { .. } | Frame::Unary { .. } => 7,
        }
    }
}

fn level(sign: Sign) -> u8 {
    match sign {
        Sign::Iff => 2,
        Sign::Implies => 3,
        Sign::Or => 4,
        Sign::And => 5,
        _ => 6,
    }
}

/// What comes after an operand.
enum Then {
    /// Another operand.
    Operand,
    /// Nothing yet: the operand has grown by what was closed behind it.
    Grown(Operand),
    /// The end of the text.
    End(Operand),
}

#[derive(Debug)]
pub(crate) struct Parser<'a> {
    arena: &'a mut Arena,
    text: &'a str,
    tokens: &'a [Token<'a>],
    at: usize,
    stack: Vec<Frame<'a>>,
    /// How many quantifiers around the place bind a name.
    variables: FxHashMap<Arc<str>, usize>,
    /// Operators that a quantifier was given as variables.
    misnamed: FxHashSet<&'a str>,
    given: &'a Given,
    grammar: Grammar,
    faults: Faults,
    /// Errors before this token follow from one that is reported already.
    quiet: usize,
    is_too_large: bool,
    /// How many aggregates it is inside of.
    nested: u32,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(arena: &'a mut Arena, text: &'a str, tokens: &'a [Token<'a>], given: &'a Given) -> Parser<'a> {
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

    /// Reads the body of an aggregate; gives back the variables of the surroundings.
    fn parse_inside(mut self) -> (Operand, Faults, FxHashMap<Arc<str>, usize>) {
        let operand = self.read();
        (operand, self.faults, self.variables)
    }

    pub(crate) fn parse(mut self) -> (Operand, Faults) {
        let operand = self.read();
        (operand, self.faults)
    }

    fn read(&mut self) -> Operand {
        loop {
            let mut operand = self.operand();
            loop {
                match self.then(operand) {
                    Then::Operand => break,
                    Then::Grown(grown) => operand = grown,
                    Then::End(operand) => return operand,
                }
            }
        }
    }

    fn kind(&self, ahead: usize) -> &'a Kind<'a> {
        self.tokens.get(self.at + ahead).map_or(&Kind::End, |token| &token.kind)
    }

    fn span(&self) -> Range<usize> {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0..0, |token| token.span.clone())
    }

    fn advance(&mut self) -> Range<usize> {
        let span = self.span();
        self.at += 1;
        span
    }

    /// Reads prefixes and opening parentheses up to the next thing that stands for itself.
    fn operand(&mut self) -> Operand {
        loop {
            if self.begins_measure() {
                return self.measured_comparison();
            }
            match self.kind(0) {
                Kind::Sign(Sign::True | Sign::False) if matches!(self.kind(1), Kind::Compare(_)) => {
                    return self.comparison();
                }
                Kind::Sign(sign @ (Sign::True | Sign::False)) => {
                    self.advance();
                    return self.leaf(if *sign == Sign::True { Node::True } else { Node::False });
                }
                Kind::Sign(Sign::Not) => {
                    let span = self.advance();
                    self.stack.push(Frame::Not { span });
                }
                Kind::Sign(Sign::Unary(operator)) => {
                    let span = self.advance();
                    let interval = self.unary_bound(*operator);
                    self.stack.push(Frame::Unary { operator: *operator, interval, span });
                }
                Kind::Sign(Sign::Quantifier(quantifier)) => self.quantifier(*quantifier),
                Kind::Open => {
                    let span = self.advance();
                    self.stack.push(Frame::Group { span });
                }
                Kind::Name { .. } if *self.kind(1) == Kind::Open => {
                    if let Some(operand) = self.call() {
                        return operand;
                    }
                }
                Kind::Name { .. } | Kind::Text(_) | Kind::Number { .. } | Kind::Any => return self.atom(),
                Kind::Bad => self.skip(),
                Kind::Sign(_) | Kind::Close | Kind::Comma | Kind::End => {
                    self.no_operand();
                    return self.placeholder();
                }
                Kind::Compare(_) | Kind::Arithmetic(_) | Kind::Infinity | Kind::OpenBracket => self.misplaced(),
                Kind::CloseBracket | Kind::Dot | Kind::Colon => self.misplaced(),
            }
        }
    }

    fn quantifier(&mut self, quantifier: Quantifier) {
        let span = self.advance();
        let word = self.text.get(span.clone()).unwrap_or("forall");
        let mut variables: Vec<Arc<str>> = Vec::new();
        let mut seen = FxHashSet::default();
        loop {
            match self.kind(0) {
                Kind::Name { name, .. } => {
                    if seen.insert(&**name) {
                        variables.push(Arc::from(&**name));
                    } else {
                        self.complain(format!("the variable `{name}` is named twice"), "remove one of them");
                    }
                    self.advance();
                }
                Kind::Sign(_) if self.written().starts_with(|c: char| c.is_ascii_alphabetic()) => {
                    let message = format!("{} is an operator, not a variable", self.found());
                    self.complain(message, "choose another name, such as `x`");
                    self.misnamed.insert(self.written());
                    self.advance();
                }
                _ => {
                    let message = format!("expected a variable, found {}", self.found());
                    self.complain(message, format!("write `{word} x. …`"));
                }
            }
            if *self.kind(0) != Kind::Comma {
                break;
            }
            self.advance();
        }
        if matches!(self.kind(0), Kind::Dot | Kind::Colon) {
            self.advance();
        } else {
            let message = format!("expected `.` after the variables, found {}", self.found());
            self.complain(message, format!("write `{word} {}. …`", variables.first().map_or("x", |name| name)));
        }
        for name in &variables {
            *self.variables.entry(Arc::clone(name)).or_default() += 1;
        }
        self.stack.push(Frame::Quantified { quantifier, variables, span });
    }

    /// Decides what the token behind an operand does with it.
    fn then(&mut self, operand: Operand) -> Then {
        match self.kind(0) {
            Kind::Sign(sign) if sign.is_infix() => {
                self.infix(*sign, operand);
                Then::Operand
            }
            Kind::Close => self.close(operand),
            Kind::Comma => self.comma(operand),
            Kind::End => {
                let operand = self.reduce(operand, 0);
                match self.stack.pop() {
                    None => Then::End(operand),
                    Some(Frame::Call(Call { open: span, .. }) | Frame::Group { span }) => {
                        self.unclosed(span);
                        Then::Grown(operand)
                    }
                    Some(_) => Then::Grown(operand),
                }
            }
            Kind::Bad => {
                self.skip();
                Then::Grown(operand)
            }
            Kind::CloseBracket | Kind::Dot | Kind::Colon | Kind::Infinity | Kind::Arithmetic(_) => {
                self.misplaced();
                Then::Grown(operand)
            }
            _ => self.no_operator(operand),
        }
    }

    fn infix(&mut self, sign: Sign, operand: Operand) {
        let span = self.advance();
        match sign {
            Sign::And | Sign::Or => self.list(sign, operand, span),
            Sign::Binary(operator) => {
                let interval = self.bound();
                let left = self.reduce(operand, level(sign));
                self.stack.push(Frame::Binary { operator, interval, left, span });
            }
            _ => {
                let left = self.reduce(operand, level(sign));
                self.stack.push(Frame::Arrow { sign, left, span });
            }
        }
    }

    fn list(&mut self, sign: Sign, operand: Operand, span: Range<usize>) {
        let operand = self.reduce(operand, level(sign));
        match self.stack.last_mut() {
            Some(Frame::List { sign: same, operands, .. }) if *same == sign => operands.push(operand),
            _ => self.stack.push(Frame::List { sign, operands: vec![operand], span }),
        }
    }

    fn close(&mut self, operand: Operand) -> Then {
        let operand = self.reduce(operand, 0);
        match self.stack.pop() {
            Some(Frame::Call(call)) => {
                let operand = self.end_call(call.with(operand));
                self.advance();
                Then::Grown(operand)
            }
            None => {
                self.complain("`)` closes nothing", "remove it, or open a `(` before it");
                self.skip();
                Then::Grown(operand)
            }
            Some(_) => {
                self.advance();
                Then::Grown(operand)
            }
        }
    }

    /// Completes every frame that holds its operand more tightly than `level`.
    fn reduce(&mut self, mut operand: Operand, level: u8) -> Operand {
        while let Some(frame) = self.stack.pop_if(|frame| frame.level() > level) {
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
                // Without a variable there is an error, reported where one was missing.
                self.made(Node::Quantified(quantifier, variables.into(), right.formula), &[right], span)
            }
            Frame::Arrow { sign, left, span } => {
                let (f, g) = (left.formula, right.formula);
                let node = if sign == Sign::Iff { Node::Iff(f, g) } else { Node::Implies(f, g) };
                self.made(node, &[left, right], span)
            }
            Frame::List { sign, mut operands, span } => {
                operands.push(right);
                let formulas: Vec<Formula> = operands.iter().map(|operand| operand.formula).collect();
                let formula = if sign == Sign::And { self.arena.and(formulas) } else { self.arena.or(formulas) };
                self.measured(formula, &operands, span)
            }
            Frame::Binary { operator, interval, left, span } => {
                let node = Node::Binary(operator, interval, left.formula, right.formula);
                self.made(node, &[left, right], span)
            }
            Frame::Not { span } => self.made(Node::Not(right.formula), &[right], span),
            Frame::Unary { operator, interval, span } => {
                self.made(Node::Unary(operator, interval, right.formula), &[right], span)
            }
        }
    }

    fn made(&mut self, node: Node, operands: &[Operand], span: Range<usize>) -> Operand {
        let formula = self.arena.insert(node);
        self.measured(formula, operands, span)
    }

    /// Keeps the limits: what exceeds one is reported once and replaced.
    fn measured(&mut self, formula: Formula, operands: &[Operand], span: Range<usize>) -> Operand {
        let depth = operands.iter().map(|operand| operand.depth).max().unwrap_or(0) + 1;
        let size = operands.iter().fold(1u32, |size, operand| size.saturating_add(operand.size));
        if depth <= Arena::MAX_DEPTH && size <= MAX_SIZE {
            return Operand { formula, depth, size };
        }
        if !std::mem::replace(&mut self.is_too_large, true) {
            if depth > Arena::MAX_DEPTH {
                let message = format!("formula nested deeper than {} levels", Arena::MAX_DEPTH);
                self.faults.add(span, message, "split it into several formulas");
            } else {
                let message =
                    format!("formula too large: more than {MAX_SIZE} operators with its patterns written out");
                self.faults.add(span, message, "nest fewer patterns in each other");
            }
        }
        self.placeholder()
    }

    fn leaf(&mut self, node: Node) -> Operand {
        Operand { formula: self.arena.insert(node), depth: 1, size: 1 }
    }

    /// What stands where an error was found; it never gets out.
    fn placeholder(&mut self) -> Operand {
        self.leaf(Node::True)
    }
}
