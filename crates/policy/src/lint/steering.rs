//! Steering that can never tell the model anything.

use lictor_logic::After;

use super::{Linter, ParsedProperty};
use crate::{History, Mode, Place, Response};

impl Linter<'_> {
    /// Warns of a `steer` that no property has anything to say for.
    pub(super) fn check_steering(&mut self, parsed: &[ParsedProperty<'_>]) {
        let steering = self.policy.steering;
        let in_session = parsed
            .iter()
            .map(|parsed| parsed.property)
            .filter(|property| property.mode == Mode::Enforce && property.history == History::Session);
        // A property that is judged event by event owes nothing.
        if steering.owed && in_session.clone().all(|property| property.after == After::Each) {
            let message = "`steer: owed` tells the model nothing: no property has obligations in a session";
            self.warn_of_steering(message, "an obligation is something like `always (a implies eventually b)`");
        }
        if steering.shield.is_some() && in_session.clone().all(|property| property.respond != Response::Block) {
            let message = "`steer: shield` shields nothing: no property of sessions has `respond: block`";
            self.warn_of_steering(message, "write `respond: block` for what must not happen");
        }
    }

    fn warn_of_steering(&mut self, message: &str, hint: &str) {
        let file = self.policy.sources.first().map(|source| source.file.clone()).unwrap_or_default();
        let place = Place { file, line: 1, column: 1 };
        let problem = self.problem_at_word(&place, "steer", "lint.steering", message).into_warning();
        self.problems.add(problem.with_hint(hint));
    }
}
