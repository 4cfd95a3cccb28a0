//! The limits of a cache, and how much of them is used.

/// The limits of the cache of a monitor, and of the rows that a trace keeps for a formula about data.
///
/// ```
/// let mut limits = lictor_logic::CacheLimits::DEFAULT;
/// limits.rows = 100_000;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheLimits {
    /// The most cached states, the two definite ones included.
    pub states: usize,
    /// The most cached transitions outside of tables, and answers about continuations.
    pub transitions: usize,
    /// The most rows and occurrences that one formula about data keeps for one trace, and the most bindings of another
    /// one: of one variable they count as a row, of several as four rows for each. Beyond that, every later position of
    /// the trace is unknown to the formula.
    pub rows: usize,
    /// The most resolutions of unknown facts that a step follows one by one, for all possible states of a trace
    /// together. Beyond that, one state stands for all of them: verdicts are right but may be late.
    pub resolutions: usize,
    /// The most work of one position for one formula and one trace, counted in parts of formulas, obligations, bindings
    /// and rows that are looked at. Beyond that, every later position of the trace is unknown to the formula. No cache,
    /// no other trace and no machine changes the count.
    pub work: u64,
}

impl CacheLimits {
    /// At most tens of megabytes for a formula, and hundreds for rows; most formulas need kilobytes.
    pub const DEFAULT: CacheLimits =
        CacheLimits { states: 20_000, transitions: 200_000, rows: 4_000_000, resolutions: 1024, work: 2_000_000 };
}

/// The size of a [`Cache`](super::Cache) and how often it was cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheUse {
    /// Cached states.
    pub states: usize,
    /// Cached transitions, in tables or outside.
    pub transitions: usize,
    /// How often transitions were dropped, because of the limit or on demand.
    pub clears: u64,
    /// Steps that were computed because their state is not cached.
    pub uncached_steps: u64,
    /// Whether a search for a continuation reached its limit: verdicts are right but may be late.
    pub is_partial: bool,
}
