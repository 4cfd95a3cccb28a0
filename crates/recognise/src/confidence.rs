//! How sure a finding is.

/// How sure a finding is, by what it rests on.
///
/// | level | rests on |
/// |---|---|
/// | `High` | a check digit, or a form that nothing else has: an `@` with a domain, a `+` with a country code, a category of the policy |
/// | `Medium` | a word for the category next to a value of its form, or a form that little else has |
/// | `Low` | a form that other things share, or a word that is not about the category alone |
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
// Exhaustive on purpose: three levels are the design; who decides by them should see a change.
pub enum Confidence {
    /// Other things may look like this.
    Low,
    /// A word next to it says so, or the form is rare.
    Medium,
    /// A check digit or the form leaves little doubt.
    High,
}

impl Confidence {
    /// Returns the level in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }
}
