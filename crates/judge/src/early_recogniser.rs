//! Finds the personal data of long events before they are judged, so that a judge that is shared does not wait for it.

use std::collections::BTreeSet;
use std::sync::Arc;

use lictor_event::{Arguments, Event};
use lictor_json::{Json, Text};
use lictor_logic::{Term, Value};
use lictor_policy::Response;
use lictor_recognise::{LONG_TEXT_BYTES, PersonalData};

use crate::facts::{collect_atoms, is_special, recognise};
use crate::prepared::PreparedPolicy;
use crate::text_mask::MaskScope;

/// Searches long texts of events for a [judge](crate::Judge) and its forks, which then know what was found.
#[derive(Clone, Debug)]
pub struct EarlyRecogniser(pub(crate) Arc<PreparedPolicy>);

impl EarlyRecogniser {
    /// Whether an event has a text that takes long to search.
    pub fn is_long(&self, event: &Event) -> bool {
        let has_long_args = match &event.args {
            Some(Arguments::Value(value)) => has_long_text(value),
            Some(Arguments::Unparsed(text)) => text.len() >= LONG_TEXT_BYTES,
            None => false,
        };
        let has_long_text_of_its_own = event.text.as_ref().is_some_and(|text| text.len() >= LONG_TEXT_BYTES);
        has_long_text_of_its_own || has_long_args || event.result.as_ref().is_some_and(has_long_text)
    }

    /// Searches the texts of an event, and masks the long ones as properties with `redact` are likely to ask for it.
    pub fn search(&self, event: &Event) {
        let mut found = PersonalData::default();
        recognise(&self.0.plan, event, &mut found);
        let categories = self.find_likely_masks(event.categories.as_ref().unwrap_or(&found.categories));
        if categories.is_empty() {
            return;
        }
        let scope = MaskScope { categories, ..MaskScope::default() };
        let mut mask = |text: &Text| self.0.masked.prepare(&self.0.plan.recogniser, &scope, text);
        event.text.iter().for_each(&mut mask);
        match &event.args {
            Some(Arguments::Value(value)) => visit_texts(value, &mut mask),
            Some(Arguments::Unparsed(text)) => mask(text),
            None => {}
        }
        event.result.iter().for_each(|result| visit_texts(result, &mut mask));
    }

    /// Returns which of these categories the properties with `redact` name.
    fn find_likely_masks(&self, found: &[Text]) -> BTreeSet<Text> {
        let mut likely = BTreeSet::new();
        let properties = self.0.properties.iter().zip(&self.0.formulas);
        for (_, parsed) in properties.filter(|(property, _)| property.respond == Response::Redact) {
            let mut atoms = Vec::new();
            collect_atoms(&parsed.arena, parsed.formula, true, &mut atoms);
            let asks_for_special = atoms.iter().any(|(atom, _)| &*atom.name == "special");
            for (atom, _) in atoms.iter().filter(|(atom, _)| matches!(&*atom.name, "carries" | "special")) {
                let is_named = |category: &&Text| match atom.terms.first() {
                    Some(Term::Value(Value::Text(name))) => **name == *category.as_str(),
                    _ => !asks_for_special || is_special(category),
                };
                likely.extend(found.iter().filter(is_named).cloned());
            }
        }
        likely
    }
}

fn visit_texts(value: &Json, visit: &mut impl FnMut(&Text)) {
    match value {
        Json::String(text) => visit(text),
        Json::Array(items) => items.iter().for_each(|item| visit_texts(item, visit)),
        Json::Object(members) => members.iter().for_each(|(_, value)| visit_texts(value, visit)),
        _ => {}
    }
}

fn has_long_text(value: &Json) -> bool {
    match value {
        Json::String(text) => text.len() >= LONG_TEXT_BYTES,
        Json::Array(items) => items.iter().any(has_long_text),
        Json::Object(members) => members.iter().any(|(_, value)| has_long_text(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use lictor_event::Kind;
    use lictor_policy::{FileResolver, Policy};

    use super::*;
    use crate::Judge;
    use crate::guard::{Action, Guard, GuardOptions};

    #[test]
    fn early_recogniser_changes_no_decision() {
        let text = "lictor: 1\nname: p\nproperties: [{id: a, formula: 'always !carries(\"email\")', respond: block}]";
        let policy =
            Policy::parse(text, "p.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}")).policy;
        let judge = Judge::new(&policy).unwrap();
        let early = judge.early_recogniser();
        let long = "The words go on. ".repeat(LONG_TEXT_BYTES / 16);
        for (ending, action) in [("", Action::Forward), ("alice@example.com", Action::Block)] {
            let text = format!("{long}{ending}");
            let mut said = Event::new(Kind::AssistantMessage);
            said.text = Some(text.as_str().into());
            let mut result = Event::new(Kind::ToolResult);
            result.result = Some(Json::from([("page", Json::from(vec![Json::from(text.as_str())]))]));
            let mut call = Event::new(Kind::ToolCall);
            call.args = Some(Arguments::Unparsed(text.as_str().into()));
            for event in [said, result, call] {
                assert!(early.is_long(&event), "{:?}", event.kind);
                let decide =
                    |judge: Judge| Guard::new(judge, GuardOptions::default()).decide(event.clone(), None).action;
                let alone = decide(Judge::new(&policy).unwrap());
                early.search(&event);
                assert_eq!(decide(judge.fork()), action, "{:?}", event.kind);
                assert_eq!(alone, action, "{:?}", event.kind);
            }
        }
        // What is masked ahead is what the guard asks for.
        let policy = text.replace("block", "redact");
        let policy =
            Policy::parse(&policy, "p.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}")).policy;
        let judge = Judge::new(&policy).unwrap();
        let mut event = Event::new(Kind::AssistantMessage);
        event.text = Some(format!("{long}alice@example.com, +1 212 555 0147").into());
        judge.early_recogniser().search(&event);
        let scope = MaskScope { categories: [Text::new("email")].into(), ..MaskScope::default() };
        let is_masked = |judge: &Judge| judge.prepared().masked.take(&scope, event.text.as_ref().unwrap()).is_some();
        assert!(is_masked(&judge));
        judge.early_recogniser().search(&event);
        let decided = Guard::new(judge.fork(), GuardOptions::default()).decide(event.clone(), None);
        assert_eq!(decided.action, Action::Redact);
        assert!(!is_masked(&judge), "the guard took it");
        let alone = Guard::new(Judge::new(&policy).unwrap(), GuardOptions::default()).decide(event.clone(), None);
        assert_eq!((decided.rewritten, decided.redactions), (alone.rewritten, alone.redactions));
        let mut short = Event::new(Kind::ToolCall);
        short.text = Some("alice@example.com".into());
        assert!(!early.is_long(&short));
    }
}
