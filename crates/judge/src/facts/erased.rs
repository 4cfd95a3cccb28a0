//! Erased persons in later texts: the form of a customer number or a name does not identify a person, but the session did.
//!
//! A single word in small letters is no identifier that could be looked for: `user` and `the` are in every text.

use lictor_event::{Arguments, Event};
use lictor_json::{Json, Text};

use super::labels::{Labels, NameId};
use super::values::plain_text;
use lictor_logic::Value;

/// Shorter identifiers occur in texts by chance.
const MIN_CHARACTERS: usize = 3;

/// Returns the persons whose data an event erases, by its facts.
pub(super) fn find_erased(erasure: Option<NameId>, labels: &Labels) -> Vec<Text> {
    let Some(erasure) = erasure else { return Vec::new() };
    let persons = labels.iter().filter(|(name, _)| *name == erasure).filter_map(|(_, values)| match values.first() {
        Some(Value::Text(person)) if is_telling(person) => Some(Text::new(person)),
        _ => None,
    });
    persons.collect()
}

/// Adds the erased persons that an event names to those that were recognised.
pub(super) fn add_named(erased: &[Text], event: &Event, subjects: &mut Vec<Text>) {
    if erased.is_empty() {
        return;
    }
    let mut texts: Vec<String> = event.text.iter().map(|text| text.as_str().to_lowercase()).collect();
    match &event.args {
        Some(Arguments::Value(value)) => collect_texts(value, &mut texts),
        Some(Arguments::Unparsed(text)) => texts.push(text.as_str().to_lowercase()),
        None => {}
    }
    event.result.iter().for_each(|result| collect_texts(result, &mut texts));
    for person in erased {
        let lower = person.as_str().to_lowercase();
        if !subjects.contains(person) && texts.iter().any(|text| names(text, &lower)) {
            subjects.push(person.clone());
        }
    }
}

/// Whether an identifier can be told from ordinary words: it has a digit, a capital, a blank or a sign.
fn is_telling(person: &str) -> bool {
    let is_sign = |c: char| !c.is_alphabetic() || c.is_uppercase();
    person.chars().count() >= MIN_CHARACTERS && !person.starts_with('*') && person.chars().any(is_sign)
}

/// Collects the texts and numbers of a value, and the names of its members: a result may list persons by them.
fn collect_texts(value: &Json, texts: &mut Vec<String>) {
    match value {
        Json::Null => {}
        Json::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Json::Object(members) => {
            for (key, value) in members.iter() {
                texts.push(key.as_str().to_lowercase());
                collect_texts(value, texts);
            }
        }
        scalar => texts.push(plain_text(scalar).to_lowercase()),
    }
}

/// Whether a text contains a name, and not as a part of a longer word or number.
fn names(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(place, _)| {
        let (before, after) = (&text[..place], &text[place + name.len()..]);
        !before.ends_with(char::is_alphanumeric) && !after.starts_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erased_person_is_found_as_a_whole_word() {
        let found = |text: &str| {
            let event = Event { text: Some(text.into()), ..Event::default() };
            let mut subjects = Vec::new();
            add_named(&["customer-17".into(), "Jane Miller".into()], &event, &mut subjects);
            subjects
        };
        assert_eq!(found("The order of Customer-17 is late"), ["customer-17"]);
        assert_eq!(found("customer-170, jane millers"), [] as [&str; 0]);
        assert_eq!(found("Write to JANE MILLER."), ["Jane Miller"]);
    }

    #[test]
    fn erased_person_is_found_as_key_of_result() {
        let result = lictor_json::parse_str(r#"{"orders":{"customer-17":[{"id":1}]}}"#).ok();
        let event = Event { result, ..Event::default() };
        let mut subjects = Vec::new();
        add_named(&["customer-17".into(), "customer-18".into()], &event, &mut subjects);
        assert_eq!(subjects, ["customer-17"]);
    }
}
