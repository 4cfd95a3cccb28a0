//! Histories that go on across sessions: of a person, a principal, an agent, or of all events.

use std::collections::{BTreeSet, HashMap};

use lictor_logic::{Standing, Time};

use super::panel::{Panel, Ruling};
use super::prepare::{Panels, Prepared, Provers};
use crate::finding::Finding;
use crate::label::{Labels, Owner, Whose};
use crate::policy::History;
use crate::trail::{Brief, Later, Trail};

/// How many moments of one history are kept for witnesses. Verdicts do not need them: those are exact however long it
/// gets.
const MOST_RECORDED: usize = 100_000;

/// The properties with a history beyond the session, and all histories.
#[derive(Debug, Default)]
pub(super) struct Chronicles {
    pub(super) kept: Vec<Kept>,
    /// The histories that the last decision looked at, by the place of their kind.
    pub(super) consulted: Vec<(usize, Owner)>,
}

/// The properties that are judged over histories of one kind.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) history: History,
    pub(super) panel: Panel,
    /// Names come from logs: the table's seed is its own, so nobody can make them collide.
    pub(super) chronicles: HashMap<Owner, Chronicle>,
    /// How many events are missing that may belong to any of them, known ones and new ones.
    pub(super) missed: u64,
    /// The properties of which nothing can be told since then.
    pub(super) lost: BTreeSet<usize>,
}

/// One history.
#[derive(Debug)]
pub(super) struct Chronicle {
    /// Whether something happened in it since it was last saved.
    pub(super) is_changed: bool,
    pub(super) standing: Standing,
    /// A second standing of the same history, so that nothing is copied to foresee an event.
    spare: Option<Standing>,
    /// The second standing while it is ahead: by the event of that turn, which may become part of the history or not.
    ahead: Option<(u64, Standing)>,
    pub(super) trail: Trail,
    /// How many of the missing events it has taken in.
    missed: u64,
}

impl Chronicle {
    pub(super) fn new(standing: Standing, trail: Trail) -> Chronicle {
        Chronicle { is_changed: false, standing, spare: None, ahead: None, trail, missed: 0 }
    }
}

/// An event, as far as histories across sessions need it.
#[derive(Clone, Debug)]
pub(crate) struct Happening {
    /// For each kind of history that is kept, whose it belongs to.
    owners: Vec<Vec<Owner>>,
    labels: Labels,
    pub(crate) brief: Brief,
    /// When its event was labeled, counted in events.
    turn: u64,
}

impl Chronicles {
    pub(super) fn new(panels: Panels) -> Chronicles {
        let kept =
            |(history, panel)| Kept { history, panel, chronicles: HashMap::new(), missed: 0, lost: BTreeSet::new() };
        Chronicles { kept: panels.into_iter().map(kept).collect(), consulted: Vec::new() }
    }

    /// The same properties, with nothing remembered.
    pub(super) fn fork(&self) -> Chronicles {
        Chronicles::new(self.kept.iter().map(|kept| (kept.history, kept.panel.clone())).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub(super) fn happening(&self, whose: &Whose, labels: Labels, brief: Brief, turn: u64) -> Happening {
        let session = brief.session.clone().unwrap_or_default();
        let owners = self.kept.iter().map(|kept| whose.histories(kept.history, &session)).collect();
        Happening { owners, labels, brief, turn }
    }

    /// What an event would break, and of what nobody can tell; the histories stay as they are.
    pub(super) fn foresee(
        &mut self,
        happening: &Happening,
        provers: &mut Provers,
    ) -> (Vec<(usize, Finding)>, Vec<usize>) {
        let (mut findings, mut doubts, nothing) = (Vec::new(), Vec::new(), Trail::default());
        let owners = happening.owners.iter().enumerate();
        let consulted = owners.flat_map(|(place, owners)| owners.iter().map(move |owner| (place, owner.clone())));
        self.consulted.extend(consulted);
        for (Kept { panel, chronicles, .. }, owners) in self.kept.iter_mut().zip(&happening.owners) {
            for owner in owners {
                let mut known = chronicles.get_mut(owner);
                let mut standing = match &mut known {
                    Some(chronicle) => chronicle.spare.take().unwrap_or_else(|| chronicle.standing.clone()),
                    None => panel.start(),
                };
                let trail = known.as_ref().map_or(&nothing, |chronicle| &chronicle.trail);
                let Happening { labels, brief, .. } = happening;
                let ruling = rule(panel, &mut standing, labels, brief.time, provers);
                let later = Later::event(labels, brief, &ruling);
                findings.append(&mut trail.findings(provers, &ruling.broken, later));
                let event = (labels, brief.time);
                let fresh;
                let before = match &known {
                    Some(chronicle) => &chronicle.standing,
                    None => {
                        fresh = panel.start();
                        &fresh
                    }
                };
                doubts.append(&mut panel.doubts((before, &standing), trail, event, &ruling, &provers.prepared));
                if let Some(chronicle) = known {
                    chronicle.ahead = Some((happening.turn, standing));
                }
            }
        }
        (findings, doubts)
    }

    /// Adds an event, and says what it broke.
    pub(super) fn observe(&mut self, happening: Happening, provers: &mut Provers) -> Vec<(usize, Finding)> {
        let mut findings = Vec::new();
        let Happening { owners, labels, brief, turn } = happening;
        for (Kept { panel, chronicles, missed, lost, .. }, owners) in self.kept.iter_mut().zip(owners) {
            for owner in owners {
                let chronicle =
                    chronicles.entry(owner).or_insert_with(|| Chronicle::new(panel.start(), Trail::default()));
                chronicle.is_changed = true;
                chronicle.take_in(*missed, panel, lost, &provers.prepared);
                // What was foreseen has come: both standings have read it.
                chronicle.spare =
                    chronicle.ahead.take().filter(|(foreseen, _)| *foreseen == turn).map(|(_, ahead)| ahead);
                let mut ruling = rule(panel, &mut chronicle.standing, &labels, brief.time, provers);
                ruling.broken.retain(|broken| !lost.contains(&broken.property));
                let later = Later::event(&labels, &brief, &ruling);
                findings.append(&mut chronicle.trail.findings(provers, &ruling.broken, later));
                chronicle.trail.append(&mut labels.clone(), brief.clone(), &ruling);
                chronicle.trail.keep(MOST_RECORDED);
            }
        }
        findings
    }

    /// Notes that events are missing which may belong to any history, or to none that is asked about. As many positions as
    /// are missing stand for fewer too, but where positions are counted; and when they were is not known at all.
    pub(super) fn miss(&mut self, count: u64, prepared: &Prepared) {
        for kept in &mut self.kept {
            kept.missed = kept.missed.saturating_add(count);
            kept.lost.extend(kept.panel.properties().iter().copied().filter(|property| {
                let parsed = &prepared.formulas[*property];
                parsed.measures_time || parsed.counts_positions
            }));
        }
    }

    /// Lets time pass in all histories, and says what was late.
    pub(super) fn tick(&mut self, now: Time, provers: &mut Provers) -> Vec<(usize, Finding)> {
        let mut findings = Vec::new();
        for Kept { panel, chronicles, lost, .. } in &mut self.kept {
            let mut owners: Vec<(&Owner, &mut Chronicle)> = chronicles.iter_mut().collect();
            owners.sort_unstable_by_key(|(owner, _)| *owner);
            for (_, Chronicle { is_changed, standing, spare, ahead, trail, .. }) in owners {
                if panel.deadline(standing).is_none_or(|due| due > now) {
                    continue;
                }
                *is_changed = true;
                (*spare, *ahead) = (None, None);
                let mut ruling = Ruling::default();
                panel.tick(standing, now, &provers.prepared, &mut ruling);
                ruling.broken.retain(|broken| !lost.contains(&broken.property));
                findings.append(&mut trail.findings(provers, &ruling.broken, Later::Time(now)));
                trail.pass(now, &ruling);
            }
        }
        findings
    }
}

impl Chronicle {
    /// Takes in the events that went missing since the last event of this history.
    fn take_in(&mut self, missed: u64, panel: &mut Panel, lost: &mut BTreeSet<usize>, prepared: &Prepared) {
        if self.missed == missed {
            return;
        }
        (self.spare, self.ahead) = (None, None);
        // What they broke whatever they were, positions are counted for: those properties are lost.
        let given_up = panel.miss(&mut self.standing, missed - self.missed, prepared, &mut Ruling::default());
        lost.extend(given_up);
        self.missed = missed;
    }
}

/// What an event decides in a history.
fn rule(panel: &mut Panel, standing: &mut Standing, labels: &Labels, time: Option<Time>, provers: &Provers) -> Ruling {
    let mut ruling = Ruling::default();
    panel.expire(standing, time, &provers.prepared, &mut ruling);
    panel.observe_labels(standing, labels, time, &provers.prepared, &mut ruling);
    ruling
}
