//! Finds the personal data of long events before they are judged, so that a judge that is shared does not wait for it.

use std::sync::Arc;

use lictor_event::{Arguments, Event};
use lictor_json::Json;
use lictor_recognise::{LONG_TEXT_BYTES, PersonalData};

use crate::facts::recognise;
use crate::prepared::PreparedPolicy;

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

    /// Searches the texts of an event.
    pub fn search(&self, event: &Event) {
        recognise(&self.0.plan, event, &mut PersonalData::default());
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
        let mut short = Event::new(Kind::ToolCall);
        short.text = Some("alice@example.com".into());
        assert!(!early.is_long(&short));
    }
}
