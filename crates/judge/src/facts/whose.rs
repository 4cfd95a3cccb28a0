//! Whose history an event belongs to.

use super::person;
use lictor_event::Event;
use lictor_json::Text;
use lictor_policy::History;

/// The persons, the principal and the agent that a session named last.
///
/// Most events name no person, principal or agent: they belong to those named most recently.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct Whose {
    subjects: Vec<Text>,
    principal: Option<Text>,
    agent: Option<Text>,
}

impl Whose {
    /// Notes the persons, the principal and the agent that an event names.
    pub(super) fn note(&mut self, event: &Event, subjects: &[Text]) {
        if !subjects.is_empty() {
            self.subjects.clear();
            self.subjects.extend(subjects.iter().map(|subject| Text::from(person(subject))));
            self.subjects.sort_unstable();
            self.subjects.dedup();
        }
        if let Some(principal) = &event.principal {
            self.principal = Some(person(principal).into());
        }
        if event.agent.is_some() {
            self.agent.clone_from(&event.agent);
        }
    }

    /// Returns the owners of an event's histories of a kind. If the session named none, it has a history of its own, so
    /// that every event is judged.
    pub(crate) fn histories(&self, history: History, session: &Text) -> Vec<Owner> {
        let one = |name: &Option<Text>| match name {
            Some(name) => vec![Owner::Named(name.clone())],
            None => vec![Owner::Session(session.clone())],
        };
        match history {
            History::Session => vec![Owner::Session(session.clone())],
            History::Subject if self.subjects.is_empty() => vec![Owner::Session(session.clone())],
            History::Subject => self.subjects.iter().cloned().map(Owner::Named).collect(),
            History::Principal => one(&self.principal),
            History::Agent => one(&self.agent),
            History::Global => vec![Owner::Everybody],
        }
    }
}

/// The owner of a history.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Owner {
    /// A person's, a principal's or an agent's.
    Named(Text),
    /// A session that named no owner.
    Session(Text),
    /// The one history of all events.
    Everybody,
}

impl Owner {
    /// Returns the key of a history, different from every other.
    pub(crate) fn key(&self, history: History) -> String {
        match self {
            Owner::Named(name) => format!("{history:?}/of/{name}"),
            Owner::Session(name) => format!("{history:?}/in/{name}"),
            Owner::Everybody => format!("{history:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(agent: Option<&str>, principal: Option<&str>) -> Event {
        Event { agent: agent.map(Into::into), principal: principal.map(Into::into), ..Event::default() }
    }

    #[test]
    fn event_belongs_to_last_named_subject() {
        let (mut whose, session) = (Whose::default(), Text::from("s"));
        whose.note(&event(None, None), &[]);
        for history in [History::Subject, History::Principal, History::Agent] {
            assert_eq!(whose.histories(history, &session), [Owner::Session("s".into())]);
        }
        assert_eq!(whose.histories(History::Global, &session), [Owner::Everybody]);
        whose.note(&event(Some("desk"), Some("Ann@Example.org")), &["Bob@x.org".into(), "bob@x.org".into()]);
        whose.note(&event(None, None), &[]);
        assert_eq!(whose.histories(History::Subject, &session), [Owner::Named("bob@x.org".into())]);
        assert_eq!(whose.histories(History::Principal, &session), [Owner::Named("ann@example.org".into())]);
        assert_eq!(whose.histories(History::Agent, &session), [Owner::Named("desk".into())]);
    }
}
