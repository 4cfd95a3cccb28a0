//! Compiles the syntax tree: looks up names, computes constants, compiles patterns, and refuses expressions that could
//! only fail.

mod call;
mod comprehension;

use std::sync::Arc;

use cel::common::ast::{CallExpr, EntryExpr, Expr, IdedExpr, LiteralValue, MapExpr, SelectExpr, SourceInfo, operators};

use super::error::{ExpressionError, ExpressionErrors, nearest};
use super::node::ExprNode;
use super::operator::{Operator, Order};
use super::root::{FieldPath, PathStep, Root};
use super::tables::{Constant, Tables};
use super::value::{CelValue, ValueType};
use lictor_json::{Json, Number, Object, Text};

/// How many keys of a table are suggested for a missing one.
const MAX_SUGGESTED_KEYS: usize = 30;

/// Compiles a syntax tree; also returns the set of roots that it reads.
pub(super) fn lower(
    tree: &IdedExpr,
    places: &SourceInfo,
    tables: &Tables,
) -> Result<(ExprNode, u32), ExpressionErrors> {
    let mut lowering = Lowering { places, tables, locals: Vec::new(), reads: 0, errors: Vec::new() };
    let node = lowering.lower_node(tree);
    let Lowering { reads, mut errors, .. } = lowering;
    if errors.is_empty() {
        return Ok((node, reads));
    }
    errors.sort_by_key(|error| error.offset);
    Err(ExpressionErrors { errors })
}

pub(super) struct Lowering<'t> {
    places: &'t SourceInfo,
    tables: &'t Tables,
    /// The variables of the loops around, the innermost last.
    locals: Vec<LoopVariable<'t>>,
    reads: u32,
    errors: Vec<ExpressionError>,
}

/// The variable of a loop.
pub(super) struct LoopVariable<'t> {
    name: &'t str,
    /// What the loop iterates over, if it is known: a table or a literal list.
    range: Option<Arc<Constant>>,
}

impl LoopVariable<'_> {
    /// Returns the texts among its values, as far as they are known.
    fn known_texts(&self) -> impl Iterator<Item = &str> {
        let items = self.range.as_ref().and_then(|range| range.json.as_array());
        items.into_iter().flatten().filter_map(Json::as_str)
    }
}

impl<'t> Lowering<'t> {
    /// Returns where a part of the tree was written.
    pub(super) fn source_offset(&self, tree: &IdedExpr) -> u32 {
        self.places.offset_for(tree.id).map_or(0, |(start, _)| start)
    }

    /// Records a mistake and returns a placeholder that is never evaluated.
    pub(super) fn refuse(&mut self, error: ExpressionError) -> ExprNode {
        self.errors.push(error);
        ExprNode::Local(u32::MAX)
    }

    pub(super) fn lower_node(&mut self, tree: &'t IdedExpr) -> ExprNode {
        let at = self.source_offset(tree);
        let error = |message: &str| ExpressionError::new(at as usize, message);
        match &tree.expr {
            Expr::Literal(literal) => match literal {
                LiteralValue::Null => make_constant(Json::Null),
                LiteralValue::Boolean(value) => make_constant(Json::Bool(*value.inner())),
                LiteralValue::Int(value) => make_constant(Json::from(*value.inner())),
                LiteralValue::Double(value) => make_constant(Json::Number(Number::Float(*value.inner()))),
                LiteralValue::String(text) => make_constant(Json::from(text.inner())),
                LiteralValue::UInt(_) => {
                    self.refuse(error("unsigned numbers are not supported").hint("leave out the `u`"))
                }
                LiteralValue::Bytes(_) => self.refuse(error("bytes are not supported").hint("leave out the `b`")),
            },
            Expr::Ident(name) => self.lower_name(name, at),
            Expr::Select(select) => self.lower_select(select, at),
            Expr::Call(call) => self.lower_call(call, at),
            Expr::List(list) => {
                let items: Vec<ExprNode> = list.elements.iter().map(|element| self.lower_node(element)).collect();
                let known: Option<Vec<Json>> = items.iter().map(|item| constant_value(item).cloned()).collect();
                known.map_or_else(|| ExprNode::List(items.into()), |known| make_constant(Json::Array(known)))
            }
            Expr::Map(map) => self.lower_map(map, at),
            Expr::Comprehension(comprehension) => self.lower_comprehension(comprehension, at),
            Expr::Struct(_) => self.refuse(error("messages are not supported").hint("write a map: `{\"key\": value}`")),
            Expr::Unspecified => self.refuse(error("the expression cannot be read")),
        }
    }

    fn lower_name(&mut self, name: &str, at: u32) -> ExprNode {
        if let Some(place) = self.locals.iter().rposition(|local| local.name == name) {
            return ExprNode::Local((self.locals.len() - 1 - place) as u32);
        }
        let error = |message: String| ExpressionError::new(at as usize, message);
        match (Root::from_name(name), self.tables.get(name)) {
            (Some(_), Some(_)) => self.refuse(
                error(format!("`{name}` is a table of the policy and a field of every event"))
                    .hint("give the table another name"),
            ),
            (Some(root), None) => self.lower_root(root, at),
            (None, Some(table)) => ExprNode::Constant(Arc::clone(table)),
            (None, None) if name == "call" || name == "event" => {
                let fields = if name == "call" { "call.args" } else { "event.tool" };
                self.refuse(error(format!("`{name}` is no value by itself")).hint(format!("write `{fields}`")))
            }
            (None, None) => {
                let mut names: Vec<&str> = Root::names().chain(["call", "event"]).collect();
                names.extend(self.tables.names());
                names.extend(self.locals.iter().map(|local| local.name));
                let hint = match nearest(name, names.iter().copied()) {
                    Some(known) => format!("did you mean `{known}`?"),
                    None => format!("an argument is written `args.{name}`; there are {}", names.join(", ")),
                };
                self.refuse(error(format!("unknown name `{name}`")).hint(hint))
            }
        }
    }

    fn lower_root(&mut self, root: Root, at: u32) -> ExprNode {
        self.reads |= root.bit();
        ExprNode::Path(FieldPath { root, steps: Vec::new(), at })
    }

    fn lower_select(&mut self, select: &'t SelectExpr, at: u32) -> ExprNode {
        let field = select.field.as_str();
        let from = match &select.operand.expr {
            Expr::Ident(name)
                if !self.locals.iter().any(|local| local.name == name) && (name == "call" || name == "event") =>
            {
                let of_call = name == "call";
                let root = if of_call { Root::from_call_field(field) } else { Root::from_name(field) };
                let node = match root {
                    Some(root) => self.lower_root(root, at),
                    None => {
                        let error = ExpressionError::new(at as usize, format!("`{name}` has no field `{field}`"));
                        let names: Vec<&str> =
                            if of_call { Root::call_field_names().collect() } else { Root::names().collect() };
                        let error = error.suggest(field, names.into_iter());
                        self.refuse(error)
                    }
                };
                return if select.test { ExprNode::Has(Box::new(node)) } else { node };
            }
            _ => self.lower_node(&select.operand),
        };
        match from {
            ExprNode::Constant(table) if select.test => make_constant(Json::Bool(table.member(field).is_some())),
            ExprNode::Constant(table) => match (table.member(field), &table.json) {
                (Some(json), _) => make_constant(json.clone()),
                (None, Json::Object(members)) => {
                    let error = ExpressionError::new(at as usize, format!("the table has no `{field}`"));
                    let names: Vec<&str> =
                        members.iter().map(|(key, _)| key.as_str()).take(MAX_SUGGESTED_KEYS).collect();
                    self.refuse(error.suggest(field, names.into_iter()))
                }
                (None, json) => {
                    let message = format!("{} has no fields", CelValue::from(json).value_type());
                    self.refuse(ExpressionError::new(at as usize, message))
                }
            },
            from => {
                let node = add_step(from, PathStep::Key(Text::from(field)), at);
                if select.test { ExprNode::Has(Box::new(node)) } else { node }
            }
        }
    }

    fn lower_call(&mut self, call: &'t CallExpr, at: u32) -> ExprNode {
        if call.target.is_none() {
            match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::LOGICAL_AND, [_, _]) => {
                    let mut parts = Vec::new();
                    self.flatten(call, &mut parts);
                    return ExprNode::And(parts.into(), at);
                }
                (operators::LOGICAL_OR, [_, _]) => {
                    let mut parts = Vec::new();
                    self.flatten(call, &mut parts);
                    return ExprNode::Or(parts.into(), at);
                }
                (operators::LOGICAL_NOT, [inner]) => return ExprNode::Not(Box::new(self.lower_node(inner)), at),
                (operators::NEGATE, [inner]) => return ExprNode::Negate(Box::new(self.lower_node(inner)), at),
                (operators::CONDITIONAL, [condition, then, otherwise]) => {
                    let parts = [self.lower_node(condition), self.lower_node(then), self.lower_node(otherwise)];
                    return ExprNode::Choice(Box::new(parts), at);
                }
                (name, [left, right]) if name.starts_with(['_', '@']) => {
                    return self.lower_operator(name, left, right, at);
                }
                _ => {}
            }
        }
        self.lower_function_call(call, at)
    }

    /// Returns the parts of a chain of `&&` or of `||`, which the parser made a tree.
    fn flatten(&mut self, call: &'t CallExpr, parts: &mut Vec<ExprNode>) {
        for part in &call.args {
            match &part.expr {
                Expr::Call(inner) if inner.func_name == call.func_name => self.flatten(inner, parts),
                _ => parts.push(self.lower_node(part)),
            }
        }
    }

    fn lower_operator(&mut self, name: &str, left: &'t IdedExpr, right: &'t IdedExpr, at: u32) -> ExprNode {
        let parts = Box::new([self.lower_node(left), self.lower_node(right)]);
        let arithmetic = |operator, parts| ExprNode::Arithmetic(operator, parts, at);
        match name {
            operators::EQUALS | operators::NOT_EQUALS => {
                self.check_types(&parts, false, at);
                ExprNode::Equal(name == operators::EQUALS, parts, at)
            }
            operators::LESS => self.lower_order(Order::Less, parts, at),
            operators::LESS_EQUALS => self.lower_order(Order::AtMost, parts, at),
            operators::GREATER => self.lower_order(Order::Greater, parts, at),
            operators::GREATER_EQUALS => self.lower_order(Order::AtLeast, parts, at),
            operators::IN => {
                if let Some(sort) =
                    parts[1].value_type().filter(|sort| !matches!(sort, ValueType::List | ValueType::Map))
                {
                    let error =
                        ExpressionError::new(at as usize, format!("`in` looks into lists and maps, not {sort}"));
                    return self.refuse(error.hint("write `text.contains(\"…\")` to look into a text"));
                }
                ExprNode::In(parts, at)
            }
            operators::ADD => arithmetic(Operator::Add, parts),
            operators::SUBSTRACT => arithmetic(Operator::Subtract, parts),
            operators::MULTIPLY => arithmetic(Operator::Multiply, parts),
            operators::DIVIDE => arithmetic(Operator::Divide, parts),
            operators::MODULO => arithmetic(Operator::Remainder, parts),
            operators::INDEX => self.lower_index(*parts, at),
            _ => self.refuse(ExpressionError::new(at as usize, "unknown operator")),
        }
    }

    fn lower_order(&mut self, order: Order, parts: Box<[ExprNode; 2]>, at: u32) -> ExprNode {
        self.check_types(&parts, true, at);
        ExprNode::Order(order, parts, at)
    }

    /// Refuses a comparison that no event can decide.
    fn check_types(&mut self, parts: &[ExprNode; 2], ordering: bool, at: u32) {
        let (Some(left), Some(right)) = (parts[0].value_type(), parts[1].value_type()) else { return };
        let error = |message: String| ExpressionError::new(at as usize, message);
        if left != right {
            let error = error(format!("{left} is never compared with {right}"));
            let has_null = left == ValueType::Null || right == ValueType::Null;
            let hint =
                if has_null { "a field that is missing is absent, not null: write `has(event.tool)`" } else { "" };
            self.refuse(ExpressionError { hint: (!hint.is_empty()).then(|| hint.to_owned()), ..error });
        } else if ordering && matches!(left, ValueType::Null | ValueType::List | ValueType::Map) {
            self.refuse(error(format!("{left} is neither less nor greater than another")));
        }
    }

    fn lower_index(&mut self, [from, key]: [ExprNode; 2], at: u32) -> ExprNode {
        match (&from, constant_value(&key)) {
            (
                ExprNode::Path(_) | ExprNode::Select(..) | ExprNode::Index(..) | ExprNode::Local(_),
                Some(Json::String(name)),
            ) => {
                let name = name.clone();
                add_step(from, PathStep::Key(name), at)
            }
            (ExprNode::Path(_) | ExprNode::Select(..) | ExprNode::Index(..) | ExprNode::Local(_), Some(json)) => {
                match json.as_i64().and_then(|place| usize::try_from(place).ok()) {
                    Some(place) => add_step(from, PathStep::Place(place), at),
                    None => ExprNode::Index(Box::new([from, key]), at),
                }
            }
            _ => ExprNode::Index(Box::new([from, key]), at),
        }
    }

    fn lower_map(&mut self, map: &'t MapExpr, at: u32) -> ExprNode {
        let mut members = Vec::with_capacity(map.entries.len());
        for entry in &map.entries {
            if let EntryExpr::MapEntry(entry) = &entry.expr {
                members.push((self.lower_node(&entry.key), self.lower_node(&entry.value)));
            }
        }
        if members.iter().any(|(key, _)| key.value_type().is_some_and(|sort| sort != ValueType::Text)) {
            let error = ExpressionError::new(at as usize, "the keys of a map are texts");
            return self.refuse(error.hint("put them into quotes"));
        }
        let known: Option<Vec<(Text, Json)>> = members
            .iter()
            .map(|(key, value)| Some((Text::from(constant_value(key)?.as_str()?), constant_value(value)?.clone())))
            .collect();
        match known {
            Some(known) => {
                let object: Object = known.into_iter().collect();
                if object.len() < members.len() {
                    return self.refuse(ExpressionError::new(at as usize, "duplicate key in the map"));
                }
                make_constant(Json::Object(object))
            }
            None => ExprNode::Map(members.into(), at),
        }
    }
}

/// Adds a step to a node: a longer path where that is possible.
fn add_step(from: ExprNode, step: PathStep, at: u32) -> ExprNode {
    match from {
        ExprNode::Path(mut path) => {
            path.steps.push(step);
            ExprNode::Path(path)
        }
        from => ExprNode::Select(Box::new(from), step, at),
    }
}

pub(super) fn make_constant(json: Json) -> ExprNode {
    ExprNode::Constant(Arc::new(Constant::new(json)))
}

/// Returns the value of a constant.
pub(super) fn constant_value(node: &ExprNode) -> Option<&Json> {
    match node {
        ExprNode::Constant(constant) => Some(&constant.json),
        _ => None,
    }
}
