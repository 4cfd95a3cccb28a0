//! How many random cases a test draws: a number for an ordinary run, which a long run multiplies.

/// Returns a number of pairs that are compared with the definition; `LICTOR_DIFFERENTIAL_PAIRS` multiplies it.
pub(crate) fn pairs(ordinary: u64) -> u64 {
    ordinary * factor("LICTOR_DIFFERENTIAL_PAIRS")
}

/// Returns a number of other random cases; `LICTOR_CASES` multiplies it.
pub(crate) fn cases(ordinary: u64) -> u64 {
    ordinary * factor("LICTOR_CASES")
}

fn factor(variable: &str) -> u64 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}
