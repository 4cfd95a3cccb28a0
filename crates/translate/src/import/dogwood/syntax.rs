//! The syntax tree of a policy.

use super::lexer::PatternPiece;
use super::refusal::Location;

/// `permit` or `forbid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Permit,
    Forbid,
}

/// One `permit` or `forbid` with its conditions, all of which must hold.
#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) at: Location,
    pub(super) effect: Effect,
    /// The id of `@id("…")`.
    pub(super) id: Option<String>,
    pub(super) conditions: Vec<Expression>,
}

/// A macro: `def cedar` or `def temporal`.
#[derive(Clone, Debug)]
pub(super) struct Macro {
    pub(super) name: String,
    pub(super) parameters: Vec<String>,
    pub(super) body: MacroBody,
}

#[derive(Clone, Debug)]
pub(super) enum MacroBody {
    Expression(Expression),
    Condition(Condition),
    Term(Term),
}

/// The entity that an id names, such as `Shop::Action::"Pay"`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Entity {
    /// Its type, with the namespaces: `Shop::Action`.
    pub(super) kind: String,
    pub(super) id: String,
}

/// The part of a request at which a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Root {
    Principal,
    Action,
    Resource,
    Context,
}

/// An expression of Cedar.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) at: Location,
    pub(super) kind: ExpressionKind,
}

#[derive(Clone, Debug)]
pub(super) enum ExpressionKind {
    Bool(bool),
    Long(i64),
    Text(String),
    Entity(Entity),
    Request(Root),
    /// A parameter of a macro.
    Parameter(String),
    /// A macro with its arguments, or a function such as `decimal`.
    Call(String, Vec<Expression>),
    Not(Box<Expression>),
    Minus(Box<Expression>),
    And(Box<Expression>, Box<Expression>),
    Or(Box<Expression>, Box<Expression>),
    If(Box<[Expression; 3]>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    Has(Box<Expression>, Vec<String>),
    Like(Box<Expression>, Vec<PatternPiece>),
    Is(Box<Expression>, String),
    Attribute(Box<Expression>, String),
    Method(Box<Expression>, String, Vec<Expression>),
    Set(Vec<Expression>),
    Record(Vec<(String, Expression)>),
    /// `temporal { … }`.
    Temporal(Box<Condition>),
    /// A temporal condition by its number, once those of a statement are numbered.
    Leaf(usize),
}

/// An operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    Greater,
    AtLeast,
    In,
    Plus,
    Minus,
    Times,
}

/// A condition on the history.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    pub(super) at: Location,
    pub(super) kind: ConditionKind,
}

#[derive(Clone, Debug)]
pub(super) enum ConditionKind {
    And(Vec<Condition>),
    Not(Box<Condition>),
    Formerly(Window, Box<Condition>),
    Previous(Window, Box<Condition>),
    Since(Box<Condition>, Window, Box<Condition>),
    Exists(Binder, Box<Condition>),
    Timepoint(Variable),
    Predicate(Predicate),
    Comparison(Operator, Term, Term),
    Call(Call),
    /// A parameter of a macro for a condition, and fields that are added to it.
    Parameter(String, Vec<Field>),
}

/// How far a condition looks back.
#[derive(Clone, Debug)]
pub(super) enum Window {
    Seconds(i64),
    /// A parameter of a macro.
    Parameter(String),
}

/// A variable: a name, a parameter for one, or a fresh one of a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    Name(String),
    Parameter(String),
    Fresh(String),
}

/// A variable and its type.
#[derive(Clone, Debug)]
pub(super) struct Binder {
    pub(super) variable: Variable,
    pub(super) kind: String,
}

/// An event of a kind, with the values of some of its fields.
#[derive(Clone, Debug)]
pub(super) struct Predicate {
    pub(super) action: Entity,
    pub(super) kind: String,
    pub(super) fields: Vec<Field>,
}

/// A path into an event, and the value that must be there.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) path: Vec<String>,
    pub(super) value: Term,
}

#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) at: Location,
    pub(super) kind: TermKind,
}

#[derive(Clone, Debug)]
pub(super) enum TermKind {
    Bool(bool),
    Long(i64),
    Text(String),
    Decimal(String),
    Entity(Entity),
    Variable(Variable),
    /// A path that begins at the request that is decided.
    Request(Root, Vec<String>),
    Any,
    Aggregation(Box<Aggregation>),
    Computed(Operator, Box<Term>, Box<Term>),
    Call(Call),
}

/// `count` or `sum`: over which values of which variables.
#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    /// The summed variable; none for a count.
    pub(super) summed: Option<Variable>,
    pub(super) binders: Vec<Binder>,
    pub(super) body: Condition,
}

/// A macro with its arguments.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Vec<Argument>,
}

#[derive(Clone, Debug)]
pub(super) enum Argument {
    Window(i64),
    Condition(Condition),
    Term(Term),
}
