//! Aggregates of occurrences, updated whenever one is added or expires.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::key_table::{KeyTable, MIN_PREFETCH_KEYS, hash_key};
use super::row::{RowStamp, prefetch_value};
use super::stamp::Stamp;
use crate::interval::{Interval, Span};
use crate::measure::{AggregateKind, FixedDecimal, Quantity};
use crate::value::Value;

/// The occurrences of one aggregate, by group.
#[derive(Clone, Debug)]
pub(super) struct AggregateTable {
    kind: AggregateKind,
    interval: Interval,
    /// How many of the first columns form the group.
    width: usize,
    /// The groups; the `width` values of each are in `values`.
    groups: Vec<Group>,
    values: Vec<Value>,
    by_values: KeyTable,
    free: Vec<u32>,
    /// All occurrences within the bound, the oldest first; empty without an upper bound, because then none expires.
    queue: VecDeque<Occurrence>,
    /// Occurrences that the lower end of the bound does not reach yet.
    young: VecDeque<Occurrence>,
}

/// The stamp, group and value of an occurrence; no value if it is only possible.
type Occurrence = (Stamp, u32, Option<GatheredValue>);

/// The aggregated value; none if only occurrences are counted.
type GatheredValue = Option<Value>;

/// The aggregate of one group.
#[derive(Clone, Debug, Default)]
struct Group {
    sum: FixedDecimal,
    count: u64,
    /// How many occurrences are only possible.
    possible: u32,
    /// How many values are no numbers.
    strange: u32,
    /// How many occurrences the bound does not reach yet.
    waiting: u32,
    /// The values themselves, if the aggregate needs them.
    values: Option<Box<GroupValues>>,
}

/// The values of a group.
#[derive(Clone, Debug, Default)]
struct GroupValues {
    /// How often each value occurs.
    counts: BTreeMap<Value, u64>,
    latest: VecDeque<(Stamp, Value)>,
}

impl AggregateTable {
    pub(super) fn new(kind: AggregateKind, interval: Interval, width: usize) -> AggregateTable {
        AggregateTable {
            kind,
            interval,
            width,
            groups: Vec::new(),
            values: Vec::new(),
            by_values: KeyTable::default(),
            free: Vec::new(),
            queue: VecDeque::new(),
            young: VecDeque::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        let of_values = match self.kind {
            AggregateKind::Distinct | AggregateKind::Min | AggregateKind::Max if !self.interval.has_end() => {
                self.groups.iter().map(|group| group.values.as_ref().map_or(0, |values| values.counts.len())).sum()
            }
            _ => self.by_values.len(),
        };
        self.queue.len() + self.young.len() + of_values
    }

    fn find_group<'v>(&self, hash: u32, key: impl Iterator<Item = &'v Value> + Clone) -> Option<u32> {
        self.by_values.find(hash, |place| self.key(place).iter().eq(key.clone()))
    }

    /// Returns the values of a group.
    fn key(&self, place: u32) -> &[Value] {
        let start = place as usize * self.width;
        &self.values[start..start + self.width]
    }

    fn insert(&mut self, key: &[Value]) -> u32 {
        let hash = hash_key(key.iter());
        if let Some(place) = self.find_group(hash, key.iter()) {
            return place;
        }
        let place = match self.free.pop() {
            Some(place) => {
                let start = place as usize * self.width;
                self.values[start..start + self.width].clone_from_slice(key);
                place
            }
            None => {
                self.groups.push(Group::default());
                self.values.extend_from_slice(key);
                (self.groups.len() - 1) as u32
            }
        };
        self.by_values.insert(hash, place);
        place
    }

    pub(super) fn add(&mut self, row: &[Value], (now, maybe): RowStamp) {
        let (group, rest) = row.split_at(self.width);
        let value = (!maybe).then(|| rest.first().cloned());
        let place = self.insert(group);
        let is_open_from_now =
            matches!(self.interval, Interval::Steps { from: 0, .. } | Interval::Time { from: Span(0), .. });
        if is_open_from_now {
            self.count(now, place, value);
        } else {
            self.groups[place as usize].waiting += 1;
            self.young.push_back((now, place, value));
        }
    }

    /// Counts an occurrence within the bound.
    fn count(&mut self, stamp: Stamp, place: u32, value: Option<GatheredValue>) {
        self.groups[place as usize].add(self.kind, stamp, value.as_ref());
        if self.interval.has_end() {
            self.queue.push_back((stamp, place, value));
        }
    }

    /// Adds the occurrences that the bound now reaches, and removes the expired ones.
    pub(super) fn expire(&mut self, now: Stamp) {
        while let Some((stamp, _, _)) = self.young.front() {
            let has_come = stamp.is_within(self.interval, now) || stamp.is_over(self.interval, now);
            if !has_come {
                break;
            }
            if let Some((stamp, place, value)) = self.young.pop_front() {
                self.groups[place as usize].waiting -= 1;
                self.count(stamp, place, value);
            }
        }
        while let Some((stamp, _, _)) = self.queue.front() {
            if !stamp.is_over(self.interval, now) {
                break;
            }
            if let Some((stamp, place, value)) = self.queue.pop_front() {
                let group = &mut self.groups[place as usize];
                group.remove(self.kind, stamp, value.as_ref());
                if group.count == 0 && group.waiting == 0 {
                    *group = Group::default();
                    self.by_values.remove(hash_key(self.key(place).iter()), place);
                    self.free.push(place);
                }
            }
        }
    }

    /// Prefetches the groups of these hashes, and those of the occurrences that expire next.
    pub(super) fn prefetch(&self, hashes: &[u32]) -> u64 {
        if self.width != 1 || self.by_values.len() < MIN_PREFETCH_KEYS {
            return 0;
        }
        let next = self.queue.iter().take(hashes.len()).map(|(_, place, _)| *place);
        let mut prefetch = next.fold(0u64, |sum, place| sum.wrapping_add(self.groups[place as usize].count));
        prefetch = hashes.iter().fold(prefetch, |sum, hash| sum.wrapping_add(self.by_values.prefetch(*hash)));
        let places: Vec<u32> = hashes.iter().filter_map(|hash| self.by_values.guess(*hash)).collect();
        prefetch = places.iter().fold(prefetch, |sum, place| sum.wrapping_add(self.groups[*place as usize].count));
        places.iter().fold(prefetch, |sum, place| sum.wrapping_add(prefetch_value(&self.values[*place as usize])))
    }

    pub(super) fn quantity<'v>(&self, group: impl Iterator<Item = &'v Value> + Clone) -> Quantity {
        let nothing = Group::default();
        let place = self.find_group(hash_key(group.clone()), group);
        let group = place.map_or(&nothing, |place| &self.groups[place as usize]);
        if group.possible > 0 {
            return Quantity::Unknown;
        }
        let end = |entry: Option<(&Value, &u64)>| match entry.and_then(|(value, _)| FixedDecimal::from_value(value)) {
            _ if group.strange > 0 => Quantity::Unknown,
            Some(number) => Quantity::Number(number),
            None => Quantity::Nothing,
        };
        let values = group.values.as_deref();
        match self.kind {
            AggregateKind::Count => Quantity::Number(FixedDecimal::from_whole(group.count)),
            AggregateKind::Distinct => {
                Quantity::Number(FixedDecimal::from_whole(values.map_or(0, |values| values.counts.len() as u64)))
            }
            AggregateKind::Min => end(values.and_then(|values| values.counts.first_key_value())),
            AggregateKind::Max => end(values.and_then(|values| values.counts.last_key_value())),
            AggregateKind::Latest => values
                .and_then(|values| values.latest.back())
                .map_or(Quantity::Nothing, |(_, value)| Quantity::from_value(value)),
            AggregateKind::Sum | AggregateKind::Average if group.strange > 0 => Quantity::Unknown,
            AggregateKind::Sum => Quantity::Number(group.sum),
            AggregateKind::Average => {
                group.sum.divide(FixedDecimal::from_whole(group.count)).map_or(Quantity::Nothing, Quantity::Number)
            }
        }
    }
}

/// The aggregate of one group, as data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SavedGroup {
    key: Vec<Value>,
    count: u64,
    possible: u32,
    strange: u32,
    sum: FixedDecimal,
    values: Vec<(Value, u64)>,
    latest: Vec<(Stamp, Value)>,
}

/// An aggregate table, as data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SavedAggregateTable {
    groups: Vec<SavedGroup>,
    queue: Vec<SavedOccurrence>,
    young: Vec<SavedOccurrence>,
}

/// The stamp, group and value of an occurrence, and whether it is only possible.
type SavedOccurrence = (Stamp, Vec<Value>, Option<Value>, bool);

impl AggregateTable {
    pub(super) fn save(&self) -> SavedAggregateTable {
        let mut groups = Vec::new();
        for (place, group) in self.groups.iter().enumerate() {
            if group.count == 0 && group.waiting == 0 {
                continue;
            }
            let values = group.values.as_deref();
            groups.push(SavedGroup {
                key: self.key(place as u32).to_vec(),
                count: group.count,
                possible: group.possible,
                strange: group.strange,
                sum: group.sum,
                values: values.iter().flat_map(|it| &it.counts).map(|(value, count)| (value.clone(), *count)).collect(),
                latest: values.iter().flat_map(|it| &it.latest).cloned().collect(),
            });
        }
        // Sorted, so that equal pasts give equal data.
        groups.sort_by(|a, b| a.key.cmp(&b.key));
        let list = |queue: &VecDeque<Occurrence>| {
            let saved = |(stamp, place, value): &Occurrence| {
                (*stamp, self.key(*place).to_vec(), value.clone().flatten(), value.is_none())
            };
            queue.iter().map(saved).collect()
        };
        SavedAggregateTable { groups, queue: list(&self.queue), young: list(&self.young) }
    }

    /// Restores the table from data; none if the data does not fit.
    pub(super) fn load(&mut self, saved: &SavedAggregateTable) -> Option<()> {
        for group in &saved.groups {
            if group.key.len() != self.width {
                return None;
            }
            let SavedGroup { count, possible, strange, sum, .. } = *group;
            let has_values = !group.values.is_empty() || !group.latest.is_empty();
            let values = has_values.then(|| {
                let (counts, latest) = (group.values.iter().cloned().collect(), group.latest.iter().cloned().collect());
                Box::new(GroupValues { counts, latest })
            });
            let place = self.insert(&group.key);
            self.groups[place as usize] = Group { sum, count, possible, strange, waiting: 0, values };
        }
        let happening = |(stamp, key, value, maybe): &SavedOccurrence| {
            let place = self.find_group(hash_key(key.iter()), key.iter())?;
            Some((*stamp, place, (!maybe).then(|| value.clone())))
        };
        let queue = saved.queue.iter().map(happening).collect::<Option<_>>()?;
        let young: VecDeque<Occurrence> = saved.young.iter().map(happening).collect::<Option<_>>()?;
        for (_, place, _) in &young {
            self.groups[*place as usize].waiting += 1;
        }
        (self.queue, self.young) = (queue, young);
        Some(())
    }
}

impl Group {
    fn values(&mut self) -> &mut GroupValues {
        self.values.get_or_insert_default()
    }

    fn add(&mut self, kind: AggregateKind, stamp: Stamp, value: Option<&GatheredValue>) {
        self.count += 1;
        self.possible += u32::from(value.is_none());
        let Some(Some(value)) = value else { return };
        match kind {
            AggregateKind::Count => {}
            AggregateKind::Sum | AggregateKind::Average => match FixedDecimal::from_value(value) {
                Some(number) => self.sum = self.sum.saturating_add(number),
                None => self.strange += 1,
            },
            AggregateKind::Distinct => *self.values().counts.entry(value.clone()).or_default() += 1,
            AggregateKind::Min | AggregateKind::Max => {
                self.strange += u32::from(FixedDecimal::from_value(value).is_none());
                *self.values().counts.entry(value.clone()).or_default() += 1;
            }
            AggregateKind::Latest => {
                // The largest of several at one position counts.
                let latest = &mut self.values().latest;
                match latest.back_mut() {
                    Some((last, known)) if *last == stamp => *known = value.clone().max(known.clone()),
                    _ => latest.push_back((stamp, value.clone())),
                }
                if latest.len() > 1 {
                    latest.pop_front();
                }
            }
        }
    }

    fn remove(&mut self, kind: AggregateKind, stamp: Stamp, value: Option<&GatheredValue>) {
        self.count -= 1;
        self.possible -= u32::from(value.is_none());
        let Some(Some(value)) = value else { return };
        match kind {
            AggregateKind::Count => {}
            AggregateKind::Sum | AggregateKind::Average => match FixedDecimal::from_value(value) {
                Some(number) => self.sum = self.sum.saturating_sub(number),
                None => self.strange -= 1,
            },
            AggregateKind::Distinct | AggregateKind::Min | AggregateKind::Max => {
                if kind != AggregateKind::Distinct {
                    self.strange -= u32::from(FixedDecimal::from_value(value).is_none());
                }
                let counts = &mut self.values().counts;
                if let Some(count) = counts.get_mut(value) {
                    *count -= 1;
                    if *count == 0 {
                        counts.remove(value);
                    }
                }
            }
            AggregateKind::Latest => {
                let latest = &mut self.values().latest;
                if latest.front().is_some_and(|(last, _)| *last == stamp) {
                    latest.pop_front();
                }
            }
        }
    }
}
