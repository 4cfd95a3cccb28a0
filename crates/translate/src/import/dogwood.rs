//! Dogwood: policies of `permit` and `forbid` whose conditions may look back at what happened.
//!
//! A request is denied unless a statement permits it and none forbids it. So a policy becomes one property for all
//! permits and one for each `forbid`: a request is denied exactly where one of them is violated.
//!
//! ```text
//! always forall u. (asked(u) -> permit.1 & once[0,3600s] Login.request(u))
//! ```
//!
//! Conditions on the history become formulas. Conditions on the request alone, which is all of Cedar, are computed
//! while a log is converted and become facts: `permit.1` says that the first `permit` fits the request itself. `asked`
//! holds at requests, with the values that formulas ask for.
//!
//! The order of the modules is that of the data: `lexer`, `cursor`, `parser` with `conditions`, `macros`, `statements`,
//! `variables`, `translate` with `counted`; and for logs `log`, `cedar`, `facts`.

mod cedar;
mod conditions;
mod counted;
mod cursor;
mod facts;
mod lexer;
mod log;
mod macros;
mod parser;
mod refusal;
mod schema;
mod statements;
mod syntax;
mod translate;
mod value;
mod variables;
mod vocabulary;

use std::fmt::Write;

use facts::FactBuilder;
use lictor_judge::Judge;
use lictor_policy::{FileResolver, Policy, PolicyText, Problem};
use macros::Expander;
use refusal::{LOGIC, Location, Refusal, refuse};
use schema::{ActionGroups, EventSchema};
use statements::{PreparedStatement, assignments, prepare};
use syntax::{Condition, Effect};
use translate::{Style, Translator};
use variables::Renamer;
use vocabulary::Vocabulary;

pub use facts::ImportedEvent;
pub use refusal::REASONS;

/// The macros that every policy can use, unless another library is given.
const STANDARD_MACROS: &str = "\
def temporal count_within(?window, ?what) { count for ($at: Timepoint). where formerly within ?window (?what && tp($at)) };
def temporal sum_within(?n, ?window, ?what) { sum ?n for (?n: Long), ($at: Timepoint). where formerly within ?window (?what && tp($at)) };
def temporal count_distinct_within(?key, ?window, ?what) { count for (?key: String). where formerly within ?window ?what };
def temporal bind(?n, ?number, ?then) { exists (?n: Long). (?number == ?n && ?then) };
";

/// The files of a policy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PolicyFiles {
    /// The policy: macros and statements.
    pub policies: Vec<PolicyText>,
    /// Macros to use instead of the standard ones.
    pub macros: Option<PolicyText>,
    /// The event schema; without it requests are decided, and every principal has a history of its own.
    pub events: Option<PolicyText>,
    /// The action schema, for the groups that actions belong to.
    pub actions: Option<PolicyText>,
}

impl PolicyFiles {
    /// Returns a policy with the standard macros and without schemas.
    pub fn new(policies: Vec<PolicyText>) -> PolicyFiles {
        PolicyFiles { policies, macros: None, events: None, actions: None }
    }
}

/// A policy of Dogwood, imported.
#[derive(Debug)]
pub struct ImportedPolicy {
    /// The policy file.
    pub policy: String,
    vocabulary: Vocabulary,
    statements: Vec<PreparedStatement>,
    events: EventSchema,
    groups: ActionGroups,
}

impl ImportedPolicy {
    /// Imports a policy, or returns what cannot be imported and where.
    pub fn new(name: &str, given: &PolicyFiles) -> Result<ImportedPolicy, Box<Problem>> {
        let mut files = given.policies.clone();
        let macros = given.macros.clone().unwrap_or_else(|| PolicyText::new("the standard macros", STANDARD_MACROS));
        let others = [Some(macros), given.events.clone(), given.actions.clone()];
        files.extend(others.into_iter().map(|file| file.unwrap_or_else(|| PolicyText::new("", ""))));
        ImportedPolicy::import(name, given, &files).map_err(|refusal| Box::new(refusal.into_problem(&files)))
    }

    fn import(name: &str, given: &PolicyFiles, files: &[PolicyText]) -> Result<ImportedPolicy, Refusal> {
        let text = |file: usize| files.get(file).map(PolicyText::body).unwrap_or_default();
        let count = given.policies.len();
        let (mut macros, mut written) = (Vec::new(), Vec::new());
        for file in 0..count {
            let parsed = parser::parse_policy(file, text(file))?;
            macros.extend(parsed.macros);
            written.extend(parsed.statements);
        }
        macros.extend(parser::parse_policy(count, text(count))?.macros);
        let events = match &given.events {
            Some(_) => EventSchema::read(count + 1, text(count + 1))?,
            None => EventSchema::default(),
        };
        let groups = ActionGroups::read(count + 2, text(count + 2))?;
        let mut expander = Expander::new(&macros);
        for statement in &mut written {
            for condition in &mut statement.conditions {
                *condition = expander.expand_expression(condition)?;
            }
        }
        let statements = prepare(written)?;
        let mut vocabulary = Vocabulary::default();
        let policy = write_policy(name, &statements, &events, &mut vocabulary)?;
        Ok(ImportedPolicy { policy, vocabulary, statements, events, groups })
    }

    /// Imports a log.
    pub fn log(&self, session: &str, log: &PolicyText) -> Result<Vec<ImportedEvent>, Box<Problem>> {
        let facts = FactBuilder {
            vocabulary: &self.vocabulary,
            statements: &self.statements,
            events: &self.events,
            groups: &self.groups,
        };
        let events = log::read_log(0, log.body()).and_then(|events| facts.build_events(session, &events));
        events.map_err(|refusal| Box::new(refusal.into_problem(std::slice::from_ref(log))))
    }
}

/// Writes the policy file.
fn write_policy(
    name: &str,
    statements: &[PreparedStatement],
    events: &EventSchema,
    vocabulary: &mut Vocabulary,
) -> Result<String, Refusal> {
    let mut text = String::new();
    let with_effect = |effect: Effect| statements.iter().filter(move |prepared| prepared.statement.effect == effect);
    let place = statements.first().map(|prepared| prepared.statement.at).unwrap_or_default();
    text += &write_property(place, "permitted", "Something permits the request.", vocabulary, |translator| {
        let permits = with_effect(Effect::Permit).map(|prepared| write_applies(prepared, events, translator));
        let permits = permits.collect::<Result<Vec<_>, _>>()?;
        Ok(if permits.is_empty() { "false".to_owned() } else { format!("({})", permits.join(" | ")) })
    })?;
    for prepared in with_effect(Effect::Forbid) {
        let says = match &prepared.statement.id {
            Some(id) => format!("The request is not forbidden by {id}."),
            None => "Nothing forbids the request.".to_owned(),
        };
        let id = prepared.fact.replace('.', "-");
        text += &write_property(prepared.statement.at, &id, &says, vocabulary, |translator| {
            Ok(format!("!({})", write_applies(prepared, events, translator)?))
        })?;
    }
    Ok(format!("{}lictor: 1\nname: {}\nproperties:\n{text}", write_meanings(statements, vocabulary), quote_yaml(name)))
}

/// Writes the meanings of the facts, for readers of the file.
fn write_meanings(statements: &[PreparedStatement], vocabulary: &Vocabulary) -> String {
    let parts: Vec<&str> = vocabulary.request_parts.iter().map(|part| part.variable.as_str()).collect();
    let mut text = format!("# asked({}): a request that is decided\n", parts.join(", "));
    for prepared in statements {
        let id = prepared.statement.id.as_ref().map(|id| format!(", {id:?},")).unwrap_or_default();
        let _ = writeln!(text, "# {}: the statement{id} fits, as far as the request itself tells", prepared.fact);
    }
    for shape in &vocabulary.event_facts {
        let fields: Vec<String> = shape.fields.iter().map(|path| path.join(".")).collect();
        let (action, id) = (&shape.action.kind, &shape.action.id);
        let _ = writeln!(text, "# {}({}): {action}::{id:?}::{}", shape.name, fields.join(", "), shape.kind);
    }
    text
}

/// Writes a property, in the first style that the logic can monitor.
fn write_property(
    at: Location,
    id: &str,
    says: &str,
    vocabulary: &mut Vocabulary,
    formula: impl Fn(&mut Translator<'_>) -> Result<String, Refusal>,
) -> Result<String, Refusal> {
    let mut first = None;
    for style in Style::ALL {
        let mut attempt = vocabulary.clone();
        let mut translator = Translator::new(&mut attempt, style);
        let body = formula(&mut translator)?;
        let whole = translator.write_invariant(&body);
        let entry = format!(
            "  - id: {id}\n    says: {}\n    formula: {}\n    severity: high\n    respond: block\n    after: each\n",
            quote_yaml(says),
            quote_yaml(&whole)
        );
        match find_obstacle(&entry) {
            None => {
                *vocabulary = attempt;
                return Ok(entry);
            }
            Some(message) => first = first.or(Some(message)),
        }
    }
    let message = first.unwrap_or_default();
    Err(refuse(at, LOGIC, format!("the logic cannot monitor this statement: {message}")))
}

/// Returns why the logic cannot monitor a property; none if it can.
fn find_obstacle(entry: &str) -> Option<String> {
    let alone = format!("lictor: 1\nname: x\nproperties:\n{entry}");
    match Policy::parse(&alone, "policy.yaml", &FileResolver) {
        Ok(loaded) => Judge::new(&loaded.policy).err()?.into_iter().next().map(|problem| problem.message),
        Err(problems) => problems.into_iter().next().map(|problem| problem.message),
    }
}

/// Writes the formula that a statement applies.
fn write_applies(
    prepared: &PreparedStatement,
    events: &EventSchema,
    translator: &mut Translator<'_>,
) -> Result<String, Refusal> {
    let mut parts = vec![prepared.fact.clone()];
    let mut leaf = |condition: &Condition| {
        let mut condition = condition.clone();
        Renamer::new(events).rename(&mut condition)?;
        translator.translate(&condition)
    };
    for (is_wanted, condition) in &prepared.leaves {
        let formula = leaf(condition)?;
        parts.push(if *is_wanted { formula } else { format!("!({formula})") });
    }
    for mixed in &prepared.mixed {
        let formulas = mixed.leaves.iter().map(&mut leaf).collect::<Result<Vec<_>, _>>()?;
        let cases = assignments(formulas.len()).map(|way| {
            let values: Vec<String> = way.iter().map(ToString::to_string).collect();
            let mut case = vec![format!("{}({})", mixed.fact, values.join(", "))];
            let turned = way.iter().zip(&formulas);
            case.extend(turned.map(|(holds, formula)| if *holds { formula.clone() } else { format!("!({formula})") }));
            format!("({})", case.join(" & "))
        });
        parts.push(format!("({})", cases.collect::<Vec<_>>().join(" | ")));
    }
    Ok(parts.join(" & "))
}

/// Quotes any text for YAML.
fn quote_yaml(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
