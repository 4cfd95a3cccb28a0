//! A set of effects.

use std::fmt;

use crate::vocabulary::EFFECTS;

/// A set of the [`EFFECTS`] that a tool may have.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Effects(u8);

impl Effects {
    /// Returns the set of these effects; words that name no effect are left out.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Effects {
        let bit = |name: &str| EFFECTS.iter().position(|(known, _)| *known == name).map_or(0, |place| 1 << place);
        Effects(names.into_iter().fold(0, |bits, name| bits | bit(name)))
    }

    /// Returns the names of the effects, in the order of [`EFFECTS`].
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        EFFECTS.iter().enumerate().filter(move |(place, _)| self.0 & (1 << place) != 0).map(|(_, (name, _))| *name)
    }

    /// Returns the effects of either set.
    #[must_use]
    pub const fn union(self, other: Effects) -> Effects {
        Effects(self.0 | other.0)
    }

    /// Whether the set has all effects of another one.
    pub const fn contains(self, other: Effects) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the set has no effect but `read`, which is the first of [`EFFECTS`].
    pub(super) const fn only_reads(self) -> bool {
        self.0 & !1 == 0
    }

    /// Whether the set has no effect.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}
