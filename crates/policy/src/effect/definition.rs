//! The effects that the definition of a tool tells: its description, its schema and the hints of its server.
//!
//! A definition only adds to a name, it never takes an effect away: the server that wrote it may be hostile.

use lictor_json::Json;

use super::clause::read_words;
use super::guess_from_name;
use super::set::Effects;
use super::vocabulary::{Vocabulary, WordClass};
use super::words::split_words;

/// How many characters of a description are read: its first sentence.
const MAX_SENTENCE_CHARS: usize = 200;

/// Words before the verb of a description: "This tool allows you to send …".
const PREAMBLE: &[&str] = &[
    "this",
    "tool",
    "function",
    "endpoint",
    "method",
    "operation",
    "api",
    "will",
    "allows",
    "allow",
    "lets",
    "let",
    "you",
    "enables",
    "enable",
    "to",
    "used",
    "use",
    "is",
    "a",
    "an",
    "the",
    "useful",
    "for",
    "when",
    "need",
    "can",
    "be",
    "that",
    "which",
    "helps",
    "help",
    "agent",
    "user",
    "users",
    "it",
    "simply",
    "wrapper",
    "around",
    "tries",
];

/// The last words of parameters that hold a program: `command`, `shell_command`.
const PROGRAM_WORDS: &[&str] = &["command", "commands", "cmd", "script", "scripts", "sql", "javascript"];

/// The words before `code` in parameters that hold a program. Other codes are identifiers: `country_code`.
const LANGUAGES: &[&str] = &["python", "javascript", "js", "shell", "bash", "source", "program", "script", "sql"];

/// What a code is that is no program: `get_country` takes the `code` of a country.
const CODE_KINDS: &[&str] = &[
    "country",
    "currency",
    "airport",
    "airline",
    "iata",
    "icao",
    "iso",
    "postal",
    "zip",
    "post",
    "language",
    "locale",
    "product",
    "discount",
    "coupon",
    "promo",
    "promotion",
    "voucher",
    "gift",
    "verification",
    "confirmation",
    "otp",
    "authorization",
    "auth",
    "access",
    "invite",
    "invitation",
    "referral",
    "status",
    "error",
    "area",
    "dialing",
    "tracking",
    "booking",
    "reservation",
    "diagnosis",
    "icd",
    "hs",
    "sku",
    "stock",
    "ticker",
    "bank",
    "sort",
    "swift",
    "room",
    "course",
    "station",
    "region",
    "state",
    "city",
    "color",
    "qr",
    "bar",
    "barcode",
    "two",
    "letter",
    "digit",
];

/// Calls a function for each tool of a list of definitions, with its name and its definition, in the forms that the
/// usual interfaces have.
pub fn each_definition(tools: &Json, each: &mut dyn FnMut(&str, &Json)) {
    let Some(tools) = tools.as_array() else { return };
    for tool in tools {
        if let Some(declarations) = tool.get("functionDeclarations").or_else(|| tool.get("function_declarations")) {
            // A list of declarations holds no further lists.
            declarations.as_array().unwrap_or_default().iter().for_each(|tool| name_definition(tool, each));
        } else {
            name_definition(tool.get("function").unwrap_or(tool), each);
        }
    }
}

fn name_definition(definition: &Json, each: &mut dyn FnMut(&str, &Json)) {
    if let Some(name) = definition.get("name").and_then(Json::as_str) {
        each(name, definition);
    }
}

/// Returns the effects of a tool by its name and its definition; none if they are unknown.
pub fn guess_from_definition(tool: &str, definition: &Json) -> Option<Effects> {
    let hint = |name: &str| definition.get("annotations").and_then(|hints| hints.get(name)).and_then(Json::as_bool);
    let only_reads = hint("readOnlyHint") == Some(true);
    let told = guess_from_name(tool)
        .or_else(|| definition.get("description").and_then(Json::as_str).and_then(read_description));
    let mut added = Effects::default();
    if hint("destructiveHint") == Some(true) && !only_reads {
        added = Effects::from_names(["destructive", "write"]);
    }
    // A harmless name loses against a parameter or a hint that says more: `evaluate` with `code`.
    if told.is_none_or(Effects::only_reads) && takes_program(tool, definition) {
        added = added.union(Effects::from_names(["execute"]));
    } else if told.is_some_and(Effects::only_reads) && hint("readOnlyHint") == Some(false) {
        added = added.union(Effects::from_names(["write"]));
    }
    match told {
        Some(told) => Some(told.union(added)),
        None if !added.is_empty() => Some(added),
        None => only_reads.then(|| Effects::from_names(["read"])),
    }
}

/// Returns the effects that the first sentence of a description tells by its first verb, and by verbs joined to it.
fn read_description(description: &str) -> Option<Effects> {
    let sentence: String = description.trim_start().chars().take(MAX_SENTENCE_CHARS).collect();
    let sentence = sentence.split(['\n', ';', ':', '(']).next()?.split(". ").next()?.to_lowercase();
    let words = split_words(&sentence);
    let vocabulary = Vocabulary::load();
    let class_of = |word: &String| vocabulary.find_phrase(std::slice::from_ref(word)).map(|(word, _)| word.class);
    let start = words.iter().position(|word| !PREAMBLE.contains(&word.as_str()))?;
    let mut words = words.get(start..)?.iter();
    let mut clause = vec![find_stem(words.next()?)?];
    let mut is_joined = false;
    let mut is_complete = false;
    for word in words {
        match class_of(word) {
            Some(WordClass::And) => is_joined = true,
            _ if is_joined => {
                is_joined = false;
                if let Some(stem) = find_stem(word).filter(|stem| class_of(stem) == Some(WordClass::Verb)) {
                    clause.extend(["and".to_owned(), stem]);
                }
            }
            Some(WordClass::Of) => is_complete = true,
            // Only what the verb acts on matters: a second verb in the sentence has another subject.
            class if !is_complete && class != Some(WordClass::Verb) && word != "that" => clause.push(word.clone()),
            _ => is_complete = true,
        }
    }
    read_words(&clause).effects()
}

/// Returns a known word that acts as a verb from its form in a sentence: `Deletes`, `Searches`, `Sending`.
fn find_stem(word: &str) -> Option<String> {
    // Only in a sentence does it mean this: the tool `return_item` sends something back.
    if matches!(word, "returns" | "return" | "provides" | "gives") {
        return Some("get".into());
    }
    let vocabulary = Vocabulary::load();
    let cut = |suffix: &str, with: &str| word.strip_suffix(suffix).map(|stem| format!("{stem}{with}"));
    let forms = [Some(word.to_owned()), cut("s", ""), cut("es", ""), cut("ies", "y"), cut("ing", ""), cut("ing", "e")];
    let acts = |stem: &String| {
        let known = vocabulary.find_phrase(std::slice::from_ref(stem));
        known.is_some_and(|(word, _)| {
            matches!(
                word.class,
                WordClass::Verb | WordClass::Command | WordClass::Action | WordClass::Thing | WordClass::Unclear
            )
        })
    };
    forms.into_iter().flatten().find(acts)
}

/// Whether a tool takes a program as a parameter that may be any text.
fn takes_program(tool: &str, definition: &Json) -> bool {
    let schema = ["inputSchema", "input_schema", "parameters"].iter().find_map(|key| definition.get(key));
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Json::as_object);
    properties.is_some_and(|properties| {
        properties.iter().any(|(name, parameter)| is_free_text(parameter) && names_program(tool, name, parameter))
    })
}

/// Whether a parameter may be any text, or a list of texts.
fn is_free_text(parameter: &Json) -> bool {
    let is_text = |kind: &Json| matches!(kind.as_str(), Some("string" | "array"));
    let kinds =
        parameter.get("type").map(|kind| kind.as_array().map_or(is_text(kind), |kinds| kinds.iter().any(is_text)));
    let is_limited = ["enum", "const", "pattern", "format", "maxLength"].iter().any(|key| parameter.get(key).is_some());
    kinds.unwrap_or(true) && !is_limited
}

/// Whether a parameter is called as one that holds a program.
fn names_program(tool: &str, name: &str, parameter: &Json) -> bool {
    let words = split_words(name);
    match words.as_slice() {
        [.., before, last] if last == "code" => LANGUAGES.contains(&before.as_str()),
        [only] if only == "code" => {
            let description = parameter.get("description").and_then(Json::as_str).unwrap_or_default();
            let is_kind = |word: &String| CODE_KINDS.contains(&word.as_str());
            !split_words(tool).iter().chain(&split_words(&description.to_lowercase())).any(is_kind)
        }
        [first, ..] if matches!(first.as_str(), "sql" | "shell") => true,
        [.., last] => PROGRAM_WORDS.contains(&last.as_str()),
        [] => false,
    }
}
