//! A trail as data that outlives the process.

use std::sync::Arc;

use lictor_logic::{Atom, Fact, Facts, Moment, Term, Time, Value};
use serde::{Deserialize, Serialize};

use super::{Brief, Entry, Trail};
use crate::event::{Kind, Source};
use crate::json::Text;
use crate::judge::Prepared;

/// A trail without the session it belongs to.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SavedTrail {
    moments: Vec<SavedMoment>,
    /// Behind which moment a property, by its name, was last started anew for a binding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    resets: Vec<(Text, Vec<Option<Value>>, usize)>,
    /// Behind which moment a property, by its name, began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    begun: Vec<(Text, usize)>,
    #[serde(default, skip_serializing_if = "is_zero")]
    forgotten: usize,
}

/// A moment, with the event that it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SavedMoment {
    Tick(Time),
    Event(SavedEvent),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedEvent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session: Option<Text>,
    step: u32,
    kind: Text,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
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

impl SavedTrail {
    /// The trail with what was saved later.
    #[must_use]
    pub(crate) fn followed_by(mut self, later: SavedTrail) -> SavedTrail {
        self.moments.extend(later.moments);
        // What was forgotten meanwhile is here still, in front.
        let gone = later.forgotten.saturating_sub(self.forgotten).min(self.moments.len());
        self.moments.drain(..gone);
        SavedTrail { moments: self.moments, ..later }
    }
}

impl Trail {
    /// From a moment on, by its number; what was saved before is [put before it](SavedTrail::followed_by).
    pub(crate) fn save(&self, prepared: &Prepared, from: usize) -> SavedTrail {
        let mut resets: Vec<_> = self.resets.iter().collect();
        resets.sort_unstable();
        let mut begun: Vec<_> = self.begun.iter().collect();
        begun.sort_unstable();
        let named = |((property, binding), place): (&(usize, Vec<Option<Value>>), &usize)| {
            (prepared.properties[*property].id.clone(), binding.clone(), *place)
        };
        SavedTrail {
            moments: self
                .moments
                .iter()
                .zip(&self.briefs)
                .skip(from.saturating_sub(self.forgotten))
                .filter_map(saved_moment)
                .collect(),
            resets: resets.into_iter().map(named).collect(),
            begun: begun
                .into_iter()
                .map(|(property, place)| (prepared.properties[*property].id.clone(), *place))
                .collect(),
            forgotten: self.forgotten,
        }
    }

    /// The last moments only, for what is saved again and again; witnesses then go back no further.
    pub(crate) fn save_last(&self, prepared: &Prepared, most: usize) -> SavedTrail {
        let gone = self.moments.len().saturating_sub(most);
        let mut saved = self.save(prepared, self.forgotten + gone);
        saved.resets.iter_mut().for_each(|(_, _, place)| *place = place.saturating_sub(gone));
        saved.begun.iter_mut().for_each(|(_, place)| *place = place.saturating_sub(gone));
        saved.forgotten += gone;
        saved
    }

    /// What is said of properties that the policy does not have is left out.
    pub(crate) fn load(session: Text, saved: &SavedTrail, prepared: &Prepared) -> Trail {
        let mut trail = Trail::of(session);
        trail.append(saved.moments.iter().map(restored_moment).collect(), &[]);
        let known = |id: &Text| prepared.properties.iter().position(|property| property.id == *id);
        for (id, binding, place) in &saved.resets {
            if let Some(property) = known(id) {
                trail.resets.insert((property, binding.clone()), (*place).min(trail.moments.len()));
            }
        }
        for (id, place) in &saved.begun {
            if let Some(property) = known(id) {
                trail.begun.insert(property, (*place).min(trail.moments.len()));
            }
        }
        trail.forgotten = saved.forgotten;
        trail
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
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

fn restored_moment(moment: &SavedMoment) -> Entry {
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
