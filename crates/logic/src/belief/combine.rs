//! The probability that some, or all, of several bindings have something happen to them.
//!
//! Products hold only if no doubt is shared. Otherwise the ends are those that hold under any dependence (Boole,
//! Fréchet): some is at least the greatest and at most the sum, all is at most the least.

use crate::chance::{Chance, ChanceRange, ONE, multiply};

/// Bindings with one chance.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberChance {
    pub(super) members: u64,
    pub(super) range: ChanceRange,
}

/// Returns the probability that it happens to some binding.
pub(super) fn chance_of_some(mut list: Vec<MemberChance>, is_shared: bool) -> ChanceRange {
    list.retain(|it| it.members > 0);
    if is_shared {
        let least = list.iter().map(|it| it.range.least.weight()).max().unwrap_or(0);
        let sum: u128 = list.iter().map(|it| u128::from(it.members) * u128::from(it.range.most.weight())).sum();
        return ChanceRange::from_weights(least, sum.min(u128::from(ONE)) as u64);
    }
    let none = |end: fn(&ChanceRange) -> Chance, round: Round| {
        product(list.iter().map(|it| (ONE - end(&it.range).weight(), it.members)), round)
    };
    let (least, most) = (none(|range| range.least, Round::Up), none(|range| range.most, Round::Down));
    ChanceRange::from_weights(ONE - least, ONE - most)
}

/// Returns the probability that it happens to all bindings.
pub(super) fn chance_of_all(mut list: Vec<MemberChance>, is_shared: bool) -> ChanceRange {
    list.retain(|it| it.members > 0);
    if is_shared {
        let missing = |it: &MemberChance| u128::from(it.members) * u128::from(ONE - it.range.least.weight());
        let missing: u128 = list.iter().map(missing).sum();
        let most = list.iter().map(|it| it.range.most.weight()).min().unwrap_or(ONE);
        return ChanceRange::from_weights(ONE - missing.min(u128::from(ONE)) as u64, most);
    }
    let every = |end: fn(&ChanceRange) -> Chance, round: Round| {
        product(list.iter().map(|it| (end(&it.range).weight(), it.members)), round)
    };
    ChanceRange::from_weights(every(|range| range.least, Round::Down), every(|range| range.most, Round::Up))
}

/// What a position, or a deadline, does to bindings that move alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberRisk {
    pub(super) members: u64,
    /// The chance that one was violated before.
    pub(super) before: ChanceRange,
    /// The chance that it violates one now.
    pub(super) now: ChanceRange,
    /// The chance that it violates one, given that it was not violated before.
    pub(super) risk: ChanceRange,
    /// Whether more than what rounding lost may be violated.
    pub(super) is_named: bool,
}

/// Returns the probability that a position violates some binding, given that none was violated before if `latches`.
pub(super) fn risk_of_some(list: &[MemberRisk], is_shared: bool, latches: bool) -> ChanceRange {
    if list.iter().all(|it| it.now.most == Chance::NEVER) {
        return ChanceRange { least: Chance::NEVER, most: Chance::NEVER };
    }
    let select = |range: fn(&MemberRisk) -> ChanceRange| -> Vec<MemberChance> {
        list.iter().map(|it| MemberChance { members: it.members, range: range(it) }).collect()
    };
    if !is_shared || !latches {
        return chance_of_some(select(|it| it.risk), is_shared);
    }
    let (before, now) = (chance_of_some(select(|it| it.before), true), chance_of_some(select(|it| it.now), true));
    // One is violated now, and none of the others was before.
    let most_before: u128 = list.iter().map(|it| u128::from(it.members) * u128::from(it.before.most.weight())).sum();
    let alone = |it: &MemberRisk| {
        let others = most_before - u128::from(it.before.most.weight());
        u128::from(it.now.least.weight()).saturating_sub(others) as u64
    };
    let least = list.iter().filter(|it| it.members > 0).map(alone).max().unwrap_or(0);
    let least = ChanceRange::share(least, 0, ONE - before.least.weight(), 0).least;
    let most = ChanceRange::share(0, now.most.weight(), ONE - before.most.weight(), 0).most;
    ChanceRange { least, most: most.max(least) }
}

/// Returns how a probability that only grows has grown, as a share of what was left before.
pub(super) fn growth(before: ChanceRange, behind: ChanceRange) -> ChanceRange {
    let share = |before: Chance, behind: Chance| {
        let (before, behind) = (before.weight(), behind.weight());
        ChanceRange::share(behind.saturating_sub(before), behind.saturating_sub(before), ONE - before, 0)
    };
    ChanceRange { least: share(before.most, behind.least).least, most: share(before.least, behind.most).most }
}

#[derive(Clone, Copy, PartialEq)]
enum Round {
    Up,
    Down,
}

/// Returns the product of powers. Factors are sorted, so that their order does not show in the rounding.
fn product(factors: impl Iterator<Item = (u64, u64)>, round: Round) -> u64 {
    let mut factors: Vec<(u64, u64)> = factors.collect();
    factors.sort_unstable();
    factors.into_iter().fold(ONE, |all, (factor, times)| times_rounded(all, power(factor, times, round), round))
}

fn power(mut base: u64, mut exponent: u64, round: Round) -> u64 {
    let mut result = ONE;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times_rounded(result, base, round);
        }
        base = times_rounded(base, base, round);
        exponent >>= 1;
    }
    result
}

fn times_rounded(a: u64, b: u64, round: Round) -> u64 {
    match round {
        Round::Down => multiply(a, b),
        Round::Up => (u128::from(a) * u128::from(b)).div_ceil(u128::from(ONE)) as u64,
    }
}
