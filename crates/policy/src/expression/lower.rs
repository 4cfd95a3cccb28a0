//! From the syntax tree to what is evaluated: names are looked up, constants computed, patterns compiled, and all that
//! could only ever fail is refused.

use std::sync::Arc;

use cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, MapExpr, SelectExpr, SourceInfo, operators,
};

use super::call;
use super::error::{ExpressionError, ExpressionErrors, nearest};
use super::node::{Node, Operator, Order, Quantifier};
use super::root::{Path, Root, Step};
use super::tables::{Constant, Tables};
use super::value::{CelValue, Sort};
use lictor_json::{Json, Number, Object, Text};

/// How many keys of a table are offered for one that is not there.
const MOST_NAMES: usize = 30;

/// Compiles a syntax tree; also returns the set of roots that it reads.
pub(super) fn lower(tree: &IdedExpr, places: &SourceInfo, tables: &Tables) -> Result<(Node, u32), ExpressionErrors> {
    let mut lowering = Lowering { places, tables, locals: Vec::new(), reads: 0, errors: Vec::new() };
    let node = lowering.node(tree);
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
    locals: Vec<&'t str>,
    reads: u32,
    errors: Vec<ExpressionError>,
}

impl<'t> Lowering<'t> {
    /// Where a part of the tree was written.
    pub(super) fn place(&self, tree: &IdedExpr) -> u32 {
        self.places.offset_for(tree.id).map_or(0, |(start, _)| start)
    }

    /// Notes a mistake; what stands in its place is never evaluated.
    pub(super) fn refuse(&mut self, error: ExpressionError) -> Node {
        self.errors.push(error);
        Node::Local(u32::MAX)
    }

    pub(super) fn node(&mut self, tree: &'t IdedExpr) -> Node {
        let at = self.place(tree);
        let error = |message: &str| ExpressionError::new(at as usize, message);
        match &tree.expr {
            Expr::Literal(literal) => match literal {
                LiteralValue::Null => constant(Json::Null),
                LiteralValue::Boolean(value) => constant(Json::Bool(*value.inner())),
                LiteralValue::Int(value) => constant(Json::from(*value.inner())),
                LiteralValue::Double(value) => constant(Json::Number(Number::Float(*value.inner()))),
                LiteralValue::String(text) => constant(Json::from(text.inner())),
                LiteralValue::UInt(_) => self.refuse(error("unsigned numbers are not known").hint("leave out the `u`")),
                LiteralValue::Bytes(_) => self.refuse(error("bytes are not known").hint("leave out the `b`")),
            },
            Expr::Ident(name) => self.name(name, at),
            Expr::Select(select) => self.select(select, at),
            Expr::Call(call) => self.call(call, at),
            Expr::List(list) => {
                let items: Vec<Node> = list.elements.iter().map(|element| self.node(element)).collect();
                let known: Option<Vec<Json>> = items.iter().map(|item| known(item).cloned()).collect();
                known.map_or_else(|| Node::List(items.into()), |known| constant(Json::Array(known)))
            }
            Expr::Map(map) => self.map(map, at),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, at),
            Expr::Struct(_) => self.refuse(error("messages are not known").hint("write a map: `{\"key\": value}`")),
            Expr::Unspecified => self.refuse(error("the expression cannot be read")),
        }
    }

    fn name(&mut self, name: &str, at: u32) -> Node {
        if let Some(place) = self.locals.iter().rposition(|local| *local == name) {
            return Node::Local((self.locals.len() - 1 - place) as u32);
        }
        let error = |message: String| ExpressionError::new(at as usize, message);
        match (Root::named(name), self.tables.get(name)) {
            (Some(_), Some(_)) => self.refuse(
                error(format!("`{name}` is a table of the policy and a field of every event"))
                    .hint("give the table another name"),
            ),
            (Some(root), None) => self.root(root, at),
            (None, Some(table)) => Node::Constant(Arc::clone(table)),
            (None, None) if name == "call" || name == "event" => {
                let fields = if name == "call" { "call.args" } else { "event.tool" };
                self.refuse(error(format!("`{name}` is no value by itself")).hint(format!("write `{fields}`")))
            }
            (None, None) => {
                let mut names: Vec<&str> = Root::names().chain(["call", "event"]).collect();
                names.extend(self.tables.names());
                names.extend(&self.locals);
                let hint = match nearest(name, names.iter().copied()) {
                    Some(known) => format!("did you mean `{known}`?"),
                    None => format!("an argument is written `args.{name}`; there are {}", names.join(", ")),
                };
                self.refuse(error(format!("unknown name `{name}`")).hint(hint))
            }
        }
    }

    fn root(&mut self, root: Root, at: u32) -> Node {
        self.reads |= root.bit();
        Node::Path(Path { root, steps: Vec::new(), at })
    }

    fn select(&mut self, select: &'t SelectExpr, at: u32) -> Node {
        let field = select.field.as_str();
        let from = match &select.operand.expr {
            Expr::Ident(name) if !self.locals.contains(&name.as_str()) && (name == "call" || name == "event") => {
                let of_call = name == "call";
                let root = if of_call { Root::of_call(field) } else { Root::named(field) };
                let node = match root {
                    Some(root) => self.root(root, at),
                    None => {
                        let error = ExpressionError::new(at as usize, format!("`{name}` has no field `{field}`"));
                        let names: Vec<&str> =
                            if of_call { Root::names_of_call().collect() } else { Root::names().collect() };
                        let error = error.suggest(field, names.into_iter());
                        self.refuse(error)
                    }
                };
                return if select.test { Node::Has(Box::new(node)) } else { node };
            }
            _ => self.node(&select.operand),
        };
        match from {
            Node::Constant(table) if select.test => constant(Json::Bool(table.member(field).is_some())),
            Node::Constant(table) => match (table.member(field), &table.json) {
                (Some(json), _) => constant(json.clone()),
                (None, Json::Object(members)) => {
                    let error = ExpressionError::new(at as usize, format!("the table has no `{field}`"));
                    let names: Vec<&str> = members.iter().map(|(key, _)| key.as_str()).take(MOST_NAMES).collect();
                    self.refuse(error.suggest(field, names.into_iter()))
                }
                (None, json) => {
                    let message = format!("{} has no fields", CelValue::from(json).sort());
                    self.refuse(ExpressionError::new(at as usize, message))
                }
            },
            from => {
                let node = step(from, Step::Key(Text::from(field)), at);
                if select.test { Node::Has(Box::new(node)) } else { node }
            }
        }
    }

    fn call(&mut self, call: &'t CallExpr, at: u32) -> Node {
        if call.target.is_none() {
            match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::LOGICAL_AND, [_, _]) => {
                    let mut parts = Vec::new();
                    self.flatten(call, &mut parts);
                    return Node::And(parts.into(), at);
                }
                (operators::LOGICAL_OR, [_, _]) => {
                    let mut parts = Vec::new();
                    self.flatten(call, &mut parts);
                    return Node::Or(parts.into(), at);
                }
                (operators::LOGICAL_NOT, [inner]) => return Node::Not(Box::new(self.node(inner)), at),
                (operators::NEGATE, [inner]) => return Node::Negate(Box::new(self.node(inner)), at),
                (operators::CONDITIONAL, [condition, then, otherwise]) => {
                    let parts = [self.node(condition), self.node(then), self.node(otherwise)];
                    return Node::Choice(Box::new(parts), at);
                }
                (name, [left, right]) if name.starts_with(['_', '@']) => return self.operator(name, left, right, at),
                _ => {}
            }
        }
        call::lower(self, call, at)
    }

    /// The parts of a chain of `&&` or of `||`, which the parser made a tree.
    fn flatten(&mut self, call: &'t CallExpr, parts: &mut Vec<Node>) {
        for part in &call.args {
            match &part.expr {
                Expr::Call(inner) if inner.func_name == call.func_name => self.flatten(inner, parts),
                _ => parts.push(self.node(part)),
            }
        }
    }

    fn operator(&mut self, name: &str, left: &'t IdedExpr, right: &'t IdedExpr, at: u32) -> Node {
        let parts = Box::new([self.node(left), self.node(right)]);
        let arithmetic = |operator, parts| Node::Arithmetic(operator, parts, at);
        match name {
            operators::EQUALS | operators::NOT_EQUALS => {
                self.check_sorts(&parts, false, at);
                Node::Equal(name == operators::EQUALS, parts, at)
            }
            operators::LESS => self.order(Order::Less, parts, at),
            operators::LESS_EQUALS => self.order(Order::AtMost, parts, at),
            operators::GREATER => self.order(Order::Greater, parts, at),
            operators::GREATER_EQUALS => self.order(Order::AtLeast, parts, at),
            operators::IN => {
                if let Some(sort) = parts[1].sort().filter(|sort| !matches!(sort, Sort::List | Sort::Map)) {
                    let error =
                        ExpressionError::new(at as usize, format!("`in` looks into lists and maps, not {sort}"));
                    return self.refuse(error.hint("write `text.contains(\"…\")` to look into a text"));
                }
                Node::In(parts, at)
            }
            operators::ADD => arithmetic(Operator::Add, parts),
            operators::SUBSTRACT => arithmetic(Operator::Subtract, parts),
            operators::MULTIPLY => arithmetic(Operator::Multiply, parts),
            operators::DIVIDE => arithmetic(Operator::Divide, parts),
            operators::MODULO => arithmetic(Operator::Remainder, parts),
            operators::INDEX => self.index(*parts, at),
            _ => self.refuse(ExpressionError::new(at as usize, "the operator is not known")),
        }
    }

    fn order(&mut self, order: Order, parts: Box<[Node; 2]>, at: u32) -> Node {
        self.check_sorts(&parts, true, at);
        Node::Order(order, parts, at)
    }

    /// Refuses a comparison that no event can decide.
    fn check_sorts(&mut self, parts: &[Node; 2], ordering: bool, at: u32) {
        let (Some(left), Some(right)) = (parts[0].sort(), parts[1].sort()) else { return };
        let error = |message: String| ExpressionError::new(at as usize, message);
        if left != right {
            let error = error(format!("{left} is never compared with {right}"));
            let has_null = left == Sort::Null || right == Sort::Null;
            let hint =
                if has_null { "a field that is missing is absent, not null: write `has(event.tool)`" } else { "" };
            self.refuse(ExpressionError { hint: (!hint.is_empty()).then(|| hint.to_owned()), ..error });
        } else if ordering && matches!(left, Sort::Null | Sort::List | Sort::Map) {
            self.refuse(error(format!("{left} is neither less nor greater than another")));
        }
    }

    fn index(&mut self, [from, key]: [Node; 2], at: u32) -> Node {
        match (&from, known(&key)) {
            (Node::Path(_) | Node::Select(..) | Node::Index(..) | Node::Local(_), Some(Json::String(name))) => {
                let name = name.clone();
                step(from, Step::Key(name), at)
            }
            (Node::Path(_) | Node::Select(..) | Node::Index(..) | Node::Local(_), Some(json)) => {
                match json.as_i64().and_then(|place| usize::try_from(place).ok()) {
                    Some(place) => step(from, Step::Place(place), at),
                    None => Node::Index(Box::new([from, key]), at),
                }
            }
            _ => Node::Index(Box::new([from, key]), at),
        }
    }

    fn map(&mut self, map: &'t MapExpr, at: u32) -> Node {
        let mut members = Vec::with_capacity(map.entries.len());
        for entry in &map.entries {
            if let EntryExpr::MapEntry(entry) = &entry.expr {
                members.push((self.node(&entry.key), self.node(&entry.value)));
            }
        }
        if members.iter().any(|(key, _)| key.sort().is_some_and(|sort| sort != Sort::Text)) {
            let error = ExpressionError::new(at as usize, "the keys of a map are texts");
            return self.refuse(error.hint("put them into quotes"));
        }
        let known: Option<Vec<(Text, Json)>> = members
            .iter()
            .map(|(key, value)| Some((Text::from(known(key)?.as_str()?), known(value)?.clone())))
            .collect();
        match known {
            Some(known) => {
                let object: Object = known.into_iter().collect();
                if object.len() < members.len() {
                    return self.refuse(ExpressionError::new(at as usize, "a key stands twice in the map"));
                }
                constant(Json::Object(object))
            }
            None => Node::Map(members.into(), at),
        }
    }

    /// The parser writes macros out as loops with an accumulator; each is known by its first value and its step.
    fn comprehension(&mut self, loop_: &'t ComprehensionExpr, at: u32) -> Node {
        let list = self.node(&loop_.iter_range);
        if list.sort().is_some_and(|sort| !matches!(sort, Sort::List | Sort::Map)) {
            let error = ExpressionError::new(at as usize, "only lists and maps have elements");
            return self.refuse(error);
        }
        let Expr::Call(step) = &loop_.loop_step.expr else { return self.unknown_macro(at) };
        self.locals.push(&loop_.iter_var);
        let node = match (&loop_.accu_init.expr, step.func_name.as_str(), step.args.as_slice()) {
            (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_AND, [_, condition]) => {
                Node::Quantify(Quantifier::All, Box::new([list, self.node(condition)]), at)
            }
            (Expr::Literal(LiteralValue::Boolean(_)), operators::LOGICAL_OR, [_, condition]) => {
                Node::Quantify(Quantifier::Exists, Box::new([list, self.node(condition)]), at)
            }
            (Expr::Literal(LiteralValue::Int(_)), operators::CONDITIONAL, [condition, ..]) => {
                Node::Quantify(Quantifier::One, Box::new([list, self.node(condition)]), at)
            }
            (Expr::List(_), operators::CONDITIONAL, [condition, taken, _]) => {
                let (condition, element) = (self.node(condition), self.taken(taken, at));
                Node::Collect(Box::new((list, Some(condition), element)), at)
            }
            (Expr::List(_), operators::ADD, _) => {
                let element = self.taken(&loop_.loop_step, at);
                Node::Collect(Box::new((list, None, element)), at)
            }
            _ => self.unknown_macro(at),
        };
        self.locals.pop();
        node
    }

    /// The element in `accumulator + [element]`.
    fn taken(&mut self, tree: &'t IdedExpr, at: u32) -> Node {
        if let Expr::Call(call) = &tree.expr
            && let [_, list] = call.args.as_slice()
            && let Expr::List(list) = &list.expr
            && let [element] = list.elements.as_slice()
        {
            return self.node(element);
        }
        self.unknown_macro(at)
    }

    fn unknown_macro(&mut self, at: u32) -> Node {
        self.refuse(ExpressionError::new(at as usize, "the macro is not known"))
    }
}

/// One step further: a longer path where that is possible.
fn step(from: Node, step: Step, at: u32) -> Node {
    match from {
        Node::Path(mut path) => {
            path.steps.push(step);
            Node::Path(path)
        }
        from => Node::Select(Box::new(from), step, at),
    }
}

pub(super) fn constant(json: Json) -> Node {
    Node::Constant(Arc::new(Constant::new(json)))
}

/// The value of a constant.
pub(super) fn known(node: &Node) -> Option<&Json> {
    match node {
        Node::Constant(constant) => Some(&constant.json),
        _ => None,
    }
}
