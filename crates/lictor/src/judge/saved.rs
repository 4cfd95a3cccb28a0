//! What is remembered across sessions, as data that outlives the process.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use lictor_logic::{Atom, Fact, Facts, Moment, Snapshot, Term, Time, Value};
use serde::{Deserialize, Serialize};

use super::chronicle::{Chronicle, Chronicles, Kept};
use super::prepare::Prepared;
use crate::event::{Kind, Source};
use crate::json::Text;
use crate::label::Owner;
use crate::policy::History;
use crate::trail::{Brief, Trail};

/// The version of the format that is written.
const VERSION: u32 = 1;

/// What is remembered across sessions. It holds the facts and the places of events, and content only where the judge was
/// told to show it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SavedHistories {
    version: u32,
    histories: Vec<SavedHistory>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedHistory {
    history: History,
    owner: Owner,
    standing: Snapshot,
    moments: Vec<SavedMoment>,
    /// Behind which moment a property, by its name, was last started anew for a binding.
    resets: Vec<(Text, Vec<Option<Value>>, usize)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedMoment {
    Tick(Time),
    Event(SavedEvent),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedEvent {
    session: Option<Text>,
    step: u32,
    kind: Text,
    tool: Option<Text>,
    time: Option<Time>,
    file: Arc<str>,
    line: u32,
    record: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    facts: Vec<Fact>,
    /// Facts that nobody could tell; none among the values stands for any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<(Arc<str>, Vec<Option<Value>>)>,
}

/// Why what was saved cannot be gone on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryError {
    message: String,
}

impl fmt::Display for HistoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HistoryError {}

impl Chronicles {
    pub(super) fn save(&self, prepared: &Prepared) -> SavedHistories {
        let mut histories = Vec::new();
        for Kept { history, panel, chronicles } in &self.kept {
            let mut of_kind: Vec<(&Owner, &Chronicle)> = chronicles.iter().collect();
            of_kind.sort_unstable_by_key(|(owner, _)| *owner);
            for (owner, Chronicle { standing, trail }) in of_kind {
                let (history, owner, standing) = (*history, owner.clone(), panel.save(standing));
                let moments = trail.moments.iter().zip(&trail.briefs).filter_map(saved_moment).collect();
                let mut resets: Vec<_> = trail.resets.iter().collect();
                resets.sort_unstable();
                let named = |((property, binding), place): (&(usize, Vec<Option<Value>>), &usize)| {
                    (prepared.properties[*property].id.clone(), binding.clone(), *place)
                };
                let resets = resets.into_iter().map(named).collect();
                histories.push(SavedHistory { history, owner, standing, moments, resets });
            }
        }
        SavedHistories { version: VERSION, histories }
    }

    /// Takes over what was saved, all or nothing.
    pub(super) fn restore(&mut self, saved: &SavedHistories, prepared: &Prepared) -> Result<(), HistoryError> {
        let refuse = |message: String| Err(HistoryError { message });
        if saved.version != VERSION {
            return refuse(format!("the histories have version {}, this is version {VERSION}", saved.version));
        }
        let mut restored: Vec<HashMap<Owner, Chronicle>> = self.kept.iter().map(|_| HashMap::new()).collect();
        for saved in &saved.histories {
            let Some(place) = self.kept.iter().position(|kept| kept.history == saved.history) else {
                return refuse(format!("no property of the policy has the history {:?}", saved.history));
            };
            let standing = match self.kept[place].panel.restore(&saved.standing) {
                Ok(standing) => standing,
                Err(error) => return refuse(format!("the histories were kept by another policy: {error}")),
            };
            let mut trail = Trail::default();
            for moment in &saved.moments {
                let (moment, brief) = restored_moment(moment);
                trail.moments.push(moment);
                trail.briefs.push(brief);
            }
            for (id, binding, place) in &saved.resets {
                let Some(property) = prepared.properties.iter().position(|property| property.id == *id) else {
                    return refuse(format!("the histories were kept by another policy: it has a property `{id}`"));
                };
                trail.resets.insert((property, binding.clone()), (*place).min(trail.moments.len()));
            }
            restored[place].insert(saved.owner.clone(), Chronicle { standing, trail });
        }
        for (kept, chronicles) in self.kept.iter_mut().zip(restored) {
            kept.chronicles = chronicles;
        }
        Ok(())
    }
}

fn saved_moment((moment, brief): (&Moment, &Option<Brief>)) -> Option<SavedMoment> {
    let facts = match moment {
        Moment::Tick(now) => return Some(SavedMoment::Tick(*now)),
        Moment::Position(facts) => facts,
    };
    let brief = brief.as_ref()?;
    let value = |term: &Term| match term {
        Term::Value(value) => Some(value.clone()),
        Term::Any | Term::Var(_) => None,
    };
    let unknown = facts.unknown.iter().map(|atom| (atom.name.clone(), atom.terms.iter().map(value).collect()));
    Some(SavedMoment::Event(SavedEvent {
        session: brief.session.clone(),
        step: brief.step,
        kind: brief.kind.name().into(),
        tool: brief.tool.clone(),
        time: facts.time,
        file: Arc::clone(&brief.source.file),
        line: brief.source.line,
        record: brief.source.record,
        content: brief.content.clone(),
        facts: facts.known.clone(),
        unknown: unknown.collect(),
    }))
}

fn restored_moment(moment: &SavedMoment) -> (Moment, Option<Brief>) {
    let event = match moment {
        SavedMoment::Tick(now) => return (Moment::Tick(*now), None),
        SavedMoment::Event(event) => event,
    };
    let atom = |(name, values): &(Arc<str>, Vec<Option<Value>>)| {
        let terms = values.iter().map(|value| value.clone().map_or(Term::Any, Term::Value));
        Atom::new(Arc::clone(name), terms.collect::<Vec<_>>())
    };
    let unknown = event.unknown.iter().map(atom).collect();
    let facts = Facts { time: event.time, known: event.facts.clone(), unknown };
    let brief = Brief {
        session: event.session.clone(),
        step: event.step,
        kind: Kind::named(&event.kind),
        tool: event.tool.clone(),
        time: event.time,
        source: Source { file: Arc::clone(&event.file), line: event.line, record: event.record },
        content: event.content.clone(),
    };
    (Moment::Position(facts), Some(brief))
}
