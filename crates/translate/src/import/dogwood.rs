//! Dogwood: policies of `permit` and `forbid` whose conditions may look back at what happened.
//!
//! A request is denied unless something permits it and nothing forbids it. So a policy becomes one property for all
//! that is permitted and one for each statement that forbids: a request is denied exactly where one of them is broken.
//!
//! ```text
//! always forall u. (asked(u) -> permit.1 & once[0,3600s] Login.request(u))
//! ```
//!
//! Conditions on the history become formulas. What one request decides by itself, which is all of Cedar, is computed
//! while a log is converted and becomes facts: `permit.1` says that the first `permit` fits the request as far as
//! that goes. `asked` holds at requests, with the values that formulas ask for.
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

use facts::Labels;
use lictor_judge::Judge;
use lictor_policy::{FileResolver, Policy, PolicyText, Problem};
use macros::Expander;
use refusal::{At, LOGIC, Refused, refused};
use schema::{Events, Groups};
use statements::{Prepared, prepare, ways};
use syntax::{Condition, Effect};
use translate::{Style, Translator};
use variables::Renamer;
use vocabulary::Vocabulary;

pub use facts::ImportedEvent;
pub use refusal::REASONS;

/// The macros that every policy can use, unless another library is given.
const LIBRARY: &str = "\
def temporal count_within(?window, ?what) { count for ($at: Timepoint). where formerly within ?window (?what && tp($at)) };
def temporal sum_within(?n, ?window, ?what) { sum ?n for (?n: Long), ($at: Timepoint). where formerly within ?window (?what && tp($at)) };
def temporal count_distinct_within(?key, ?window, ?what) { count for (?key: String). where formerly within ?window ?what };
def temporal bind(?n, ?number, ?then) { exists (?n: Long). (?number == ?n && ?then) };
";

/// The files of a policy.
#[derive(Clone, Debug, Default)]
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

/// A policy of Dogwood, carried over.
#[derive(Debug)]
pub struct ImportedPolicy {
    /// The policy file.
    pub policy: String,
    vocabulary: Vocabulary,
    statements: Vec<Prepared>,
    events: Events,
    groups: Groups,
}

impl ImportedPolicy {
    /// Carries a policy over, or says what stands in the way and where.
    pub fn new(name: &str, given: &PolicyFiles) -> Result<ImportedPolicy, Box<Problem>> {
        let mut files = given.policies.clone();
        let macros = given.macros.clone().unwrap_or_else(|| PolicyText::new("the standard macros", LIBRARY));
        let others = [Some(macros), given.events.clone(), given.actions.clone()];
        files.extend(others.into_iter().map(|file| file.unwrap_or_else(|| PolicyText::new("", ""))));
        ImportedPolicy::read(name, given, &files).map_err(|refused| Box::new(refused.problem(&files)))
    }

    fn read(name: &str, given: &PolicyFiles, files: &[PolicyText]) -> Result<ImportedPolicy, Refused> {
        let text = |file: usize| files.get(file).map(PolicyText::body).unwrap_or_default();
        let count = given.policies.len();
        let (mut macros, mut written) = (Vec::new(), Vec::new());
        for file in 0..count {
            let parsed = parser::parse(file, text(file))?;
            macros.extend(parsed.macros);
            written.extend(parsed.statements);
        }
        macros.extend(parser::parse(count, text(count))?.macros);
        let events = match &given.events {
            Some(_) => Events::read(count + 1, text(count + 1))?,
            None => Events::default(),
        };
        let groups = Groups::read(count + 2, text(count + 2))?;
        let mut expander = Expander::new(&macros);
        for statement in &mut written {
            for condition in &mut statement.conditions {
                *condition = expander.expression(condition)?;
            }
        }
        let statements = prepare(written)?;
        let mut vocabulary = Vocabulary::default();
        let policy = policy(name, &statements, &events, &mut vocabulary)?;
        Ok(ImportedPolicy { policy, vocabulary, statements, events, groups })
    }

    /// Carries a log over.
    pub fn log(&self, session: &str, log: &PolicyText) -> Result<Vec<ImportedEvent>, Box<Problem>> {
        let labels = Labels {
            vocabulary: &self.vocabulary,
            statements: &self.statements,
            events: &self.events,
            groups: &self.groups,
        };
        let events = log::log(0, log.body()).and_then(|events| labels.log(session, &events));
        events.map_err(|refused| Box::new(refused.problem(std::slice::from_ref(log))))
    }
}

/// The policy file.
fn policy(
    name: &str,
    statements: &[Prepared],
    events: &Events,
    vocabulary: &mut Vocabulary,
) -> Result<String, Refused> {
    let mut text = String::new();
    let of = |effect: Effect| statements.iter().filter(move |prepared| prepared.statement.effect == effect);
    let place = statements.first().map(|prepared| prepared.statement.at).unwrap_or_default();
    text += &property(place, "permitted", "Something permits the request.", vocabulary, |translator| {
        let permits = of(Effect::Permit).map(|prepared| applies(prepared, events, translator));
        let permits = permits.collect::<Result<Vec<_>, _>>()?;
        Ok(if permits.is_empty() { "false".to_owned() } else { format!("({})", permits.join(" | ")) })
    })?;
    for prepared in of(Effect::Forbid) {
        let says = match &prepared.statement.id {
            Some(id) => format!("The request is not forbidden by {id}."),
            None => "Nothing forbids the request.".to_owned(),
        };
        let id = prepared.fact.replace('.', "-");
        text += &property(prepared.statement.at, &id, &says, vocabulary, |translator| {
            Ok(format!("!({})", applies(prepared, events, translator)?))
        })?;
    }
    Ok(format!("{}lictor: 1\nname: {}\nproperties:\n{text}", meanings(statements, vocabulary), quoted(name)))
}

/// What the facts of the properties mean, for who reads the file or writes such facts.
fn meanings(statements: &[Prepared], vocabulary: &Vocabulary) -> String {
    let parts: Vec<&str> = vocabulary.parts.iter().map(|part| part.variable.as_str()).collect();
    let mut text = format!("# asked({}): a request that is decided\n", parts.join(", "));
    for prepared in statements {
        let id = prepared.statement.id.as_ref().map(|id| format!(", {id:?},")).unwrap_or_default();
        let _ = writeln!(text, "# {}: the statement{id} fits, as far as the request itself tells", prepared.fact);
    }
    for shape in &vocabulary.shapes {
        let fields: Vec<String> = shape.fields.iter().map(|path| path.join(".")).collect();
        let (action, id) = (&shape.action.kind, &shape.action.id);
        let _ = writeln!(text, "# {}({}): {action}::{id:?}::{}", shape.name, fields.join(", "), shape.kind);
    }
    text
}

/// A property, put in the first way in which the logic can follow it.
fn property(
    at: At,
    id: &str,
    says: &str,
    vocabulary: &mut Vocabulary,
    formula: impl Fn(&mut Translator<'_>) -> Result<String, Refused>,
) -> Result<String, Refused> {
    let mut first = None;
    for style in Style::ALL {
        let mut attempt = vocabulary.clone();
        let mut translator = Translator::new(&mut attempt, style);
        let body = formula(&mut translator)?;
        let whole = translator.invariant(&body);
        let entry = format!(
            "  - id: {id}\n    says: {}\n    formula: {}\n    severity: high\n    respond: block\n    after: each\n",
            quoted(says),
            quoted(&whole)
        );
        match stands_in_the_way(&entry) {
            None => {
                *vocabulary = attempt;
                return Ok(entry);
            }
            Some(message) => first = first.or(Some(message)),
        }
    }
    let message = first.unwrap_or_default();
    Err(refused(at, LOGIC, format!("the logic cannot follow this statement: {message}")))
}

/// Why the logic cannot follow a property, if it cannot.
fn stands_in_the_way(entry: &str) -> Option<String> {
    let alone = format!("lictor: 1\nname: x\nproperties:\n{entry}");
    match Policy::parse(&alone, "policy.yaml", &FileResolver) {
        Ok(loaded) => Judge::new(&loaded.policy).err()?.into_iter().next().map(|problem| problem.message),
        Err(problems) => problems.into_iter().next().map(|problem| problem.message),
    }
}

/// That a statement applies, as a formula.
fn applies(prepared: &Prepared, events: &Events, translator: &mut Translator<'_>) -> Result<String, Refused> {
    let mut parts = vec![prepared.fact.clone()];
    let mut leaf = |condition: &Condition| {
        let mut condition = condition.clone();
        Renamer::new(events).condition(&mut condition)?;
        translator.formula(&condition)
    };
    for (is_wanted, condition) in &prepared.leaves {
        let formula = leaf(condition)?;
        parts.push(if *is_wanted { formula } else { format!("!({formula})") });
    }
    for mixed in &prepared.mixed {
        let formulas = mixed.leaves.iter().map(&mut leaf).collect::<Result<Vec<_>, _>>()?;
        let cases = ways(formulas.len()).map(|way| {
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

/// A text in YAML, whatever is in it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
