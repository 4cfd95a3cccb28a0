//! Steering: what a model is told, and which tools it is offered, before it replies.

/// How a policy steers the model with each request. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Steering {
    /// Whether the model is told which obligations are open.
    pub owed: bool,
    /// What becomes of tools whose calls would be stopped; none leaves them as they are.
    pub shield: Option<ShieldMode>,
}

impl Steering {
    /// Whether something has to be worked out for each request.
    pub fn is_active(self) -> bool {
        self.owed || self.shield.is_some()
    }
}

/// What becomes of tools whose calls would be stopped.
// Exhaustive on purpose: our crates match every variant, and a missed one must not compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShieldMode {
    /// They are taken out of the request.
    Remove,
    /// They stay, and the model is told that they are not available.
    Name,
}
