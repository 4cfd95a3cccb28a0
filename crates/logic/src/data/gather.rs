//! What happenings add up to, kept up to date with every one that comes or goes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::store::{Stamp, is_bounded};
use crate::interval::{Interval, Span};
use crate::measure::{Exact, Gathering, Quantity};
use crate::term::Value;

/// Happenings by group.
#[derive(Clone, Debug)]
pub(super) struct Gathered {
    kind: Gathering,
    interval: Interval,
    /// How many of the first columns are the group.
    width: usize,
    groups: FxHashMap<Arc<[Value]>, Group>,
    /// All happenings within the bound, the oldest first; empty if there is no bound, for then none ever goes.
    queue: VecDeque<Happening>,
    /// Happenings that a lower end of the bound does not reach yet.
    young: VecDeque<Happening>,
}

/// When it was, in which group, and with which value; none if it is only possible.
type Happening = (Stamp, Arc<[Value]>, Option<Told>);

/// The value that is gathered, if there is one.
type Told = Option<Value>;

/// What the happenings of a group add up to.
#[derive(Clone, Debug, Default)]
struct Group {
    count: u64,
    /// How many of them are only possible.
    possible: u64,
    /// How many of them are no numbers.
    strange: u64,
    sum: Exact,
    /// How often each value is there, where that matters.
    values: BTreeMap<Value, u64>,
    latest: VecDeque<(Stamp, Value)>,
}

impl Gathered {
    pub(super) fn new(kind: Gathering, interval: Interval, width: usize) -> Gathered {
        Gathered { kind, interval, width, groups: FxHashMap::default(), queue: VecDeque::new(), young: VecDeque::new() }
    }

    pub(super) fn len(&self) -> usize {
        let of_values = match self.kind {
            Gathering::Distinct | Gathering::Min | Gathering::Max if !is_bounded(self.interval) => {
                self.groups.values().map(|group| group.values.len()).sum()
            }
            _ => self.groups.len(),
        };
        self.queue.len() + self.young.len() + of_values
    }

    pub(super) fn add(&mut self, row: &[Value], now: Stamp, maybe: bool) {
        let (group, rest) = row.split_at(self.width);
        let value = (!maybe).then(|| rest.first().cloned());
        let key = match self.groups.get_key_value(group) {
            Some((key, _)) => Arc::clone(key),
            None => {
                let key: Arc<[Value]> = group.into();
                self.groups.insert(Arc::clone(&key), Group::default());
                key
            }
        };
        let is_open_from_now =
            matches!(self.interval, Interval::Steps { from: 0, .. } | Interval::Time { from: Span(0), .. });
        if is_open_from_now {
            self.count(now, key, value);
        } else {
            self.young.push_back((now, key, value));
        }
    }

    /// Counts a happening that the bound reaches.
    fn count(&mut self, stamp: Stamp, key: Arc<[Value]>, value: Option<Told>) {
        if let Some(group) = self.groups.get_mut(&key) {
            group.add(self.kind, stamp, value.as_ref());
        }
        if is_bounded(self.interval) {
            self.queue.push_back((stamp, key, value));
        }
    }

    /// Lets in what the bound has come to reach, and lets go what it has left.
    pub(super) fn expire(&mut self, now: Stamp) {
        while let Some((stamp, _, _)) = self.young.front() {
            let has_come = stamp.is_within(self.interval, now) || stamp.is_over(self.interval, now);
            if !has_come {
                break;
            }
            if let Some((stamp, key, value)) = self.young.pop_front() {
                self.count(stamp, key, value);
            }
        }
        while let Some((stamp, _, _)) = self.queue.front() {
            if !stamp.is_over(self.interval, now) {
                break;
            }
            if let Some((stamp, key, value)) = self.queue.pop_front()
                && let Some(group) = self.groups.get_mut(&key)
            {
                group.remove(self.kind, stamp, value.as_ref());
                if group.count == 0 && self.young.iter().all(|(_, other, _)| *other != key) {
                    self.groups.remove(&key);
                }
            }
        }
    }

    pub(super) fn quantity(&self, group: &[Value], _now: Stamp) -> Quantity {
        let nothing = Group::default();
        let group = self.groups.get(group).unwrap_or(&nothing);
        if group.possible > 0 {
            return Quantity::Unknown;
        }
        let end = |entry: Option<(&Value, &u64)>| match entry.and_then(|(value, _)| Exact::of(value)) {
            _ if group.strange > 0 => Quantity::Unknown,
            Some(number) => Quantity::Number(number),
            None => Quantity::Nothing,
        };
        match self.kind {
            Gathering::Count => Quantity::Number(Exact::whole(group.count)),
            Gathering::Distinct => Quantity::Number(Exact::whole(group.values.len() as u64)),
            Gathering::Min => end(group.values.first_key_value()),
            Gathering::Max => end(group.values.last_key_value()),
            Gathering::Latest => group.latest.back().map_or(Quantity::Nothing, |(_, value)| Quantity::of(value)),
            Gathering::Sum | Gathering::Average if group.strange > 0 => Quantity::Unknown,
            Gathering::Sum => Quantity::Number(group.sum),
            Gathering::Average => group.sum.over(Exact::whole(group.count)).map_or(Quantity::Nothing, Quantity::Number),
        }
    }
}

/// What a group adds up to, as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedGroup {
    key: Vec<Value>,
    count: u64,
    possible: u64,
    strange: u64,
    sum: Exact,
    values: Vec<(Value, u64)>,
    latest: Vec<(Stamp, Value)>,
}

/// Happenings, as data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedGathered {
    groups: Vec<SavedGroup>,
    queue: Vec<SavedHappening>,
    young: Vec<SavedHappening>,
}

/// When it was, in which group, with which value, and whether it is only possible.
type SavedHappening = (Stamp, Vec<Value>, Option<Value>, bool);

impl Gathered {
    pub(super) fn save(&self) -> SavedGathered {
        let mut groups: Vec<SavedGroup> = self
            .groups
            .iter()
            .map(|(key, group)| SavedGroup {
                key: key.to_vec(),
                count: group.count,
                possible: group.possible,
                strange: group.strange,
                sum: group.sum,
                values: group.values.iter().map(|(value, count)| (value.clone(), *count)).collect(),
                latest: group.latest.iter().cloned().collect(),
            })
            .collect();
        // The same past gives the same data, whatever order a table keeps.
        groups.sort_by(|a, b| a.key.cmp(&b.key));
        let list = |queue: &VecDeque<Happening>| {
            let saved =
                |(stamp, key, value): &Happening| (*stamp, key.to_vec(), value.clone().flatten(), value.is_none());
            queue.iter().map(saved).collect()
        };
        SavedGathered { groups, queue: list(&self.queue), young: list(&self.young) }
    }

    pub(super) fn load(&mut self, saved: &SavedGathered) -> Option<()> {
        for group in &saved.groups {
            if group.key.len() != self.width {
                return None;
            }
            let SavedGroup { count, possible, strange, sum, .. } = *group;
            let values = group.values.iter().cloned().collect();
            let latest = group.latest.iter().cloned().collect();
            self.groups.insert(group.key.clone().into(), Group { count, possible, strange, sum, values, latest });
        }
        let groups = &self.groups;
        let list = |saved: &[SavedHappening]| -> Option<VecDeque<Happening>> {
            let loaded = |(stamp, key, value, maybe): &SavedHappening| {
                let (key, _) = groups.get_key_value(&key[..])?;
                Some((*stamp, Arc::clone(key), (!maybe).then(|| value.clone())))
            };
            saved.iter().map(loaded).collect()
        };
        (self.queue, self.young) = (list(&saved.queue)?, list(&saved.young)?);
        Some(())
    }
}

impl Group {
    fn add(&mut self, kind: Gathering, stamp: Stamp, value: Option<&Told>) {
        self.count += 1;
        self.possible += u64::from(value.is_none());
        let Some(Some(value)) = value else { return };
        match kind {
            Gathering::Count => {}
            Gathering::Sum | Gathering::Average => match Exact::of(value) {
                Some(number) => self.sum = self.sum.plus(number),
                None => self.strange += 1,
            },
            Gathering::Distinct => *self.values.entry(value.clone()).or_default() += 1,
            Gathering::Min | Gathering::Max => {
                self.strange += u64::from(Exact::of(value).is_none());
                *self.values.entry(value.clone()).or_default() += 1;
            }
            Gathering::Latest => {
                // Of several at the same position the largest is told.
                match self.latest.back_mut() {
                    Some((last, known)) if *last == stamp => *known = value.clone().max(known.clone()),
                    _ => self.latest.push_back((stamp, value.clone())),
                }
                if self.latest.len() > 1 {
                    self.latest.pop_front();
                }
            }
        }
    }

    fn remove(&mut self, kind: Gathering, stamp: Stamp, value: Option<&Told>) {
        self.count -= 1;
        self.possible -= u64::from(value.is_none());
        let Some(Some(value)) = value else { return };
        match kind {
            Gathering::Count => {}
            Gathering::Sum | Gathering::Average => match Exact::of(value) {
                Some(number) => self.sum = self.sum.minus(number),
                None => self.strange -= 1,
            },
            Gathering::Distinct | Gathering::Min | Gathering::Max => {
                if kind != Gathering::Distinct {
                    self.strange -= u64::from(Exact::of(value).is_none());
                }
                if let Some(count) = self.values.get_mut(value) {
                    *count -= 1;
                    if *count == 0 {
                        self.values.remove(value);
                    }
                }
            }
            Gathering::Latest => {
                if self.latest.front().is_some_and(|(last, _)| *last == stamp) {
                    self.latest.pop_front();
                }
            }
        }
    }
}
