//! What the model of a session should know before it replies.

use lictor_json::Text;
use lictor_logic::Time;

use super::Guard;
use crate::guidance::{Guidance, GuidanceQuery};

impl Guard {
    /// Returns the open obligations of a session, and which sketched calls would be blocked now, whatever their other
    /// arguments are. Nothing changes. Histories across sessions are not looked at.
    pub fn guide(&mut self, name: &str, query: &GuidanceQuery, now: Option<Time>) -> Guidance {
        let Guard { decider, sessions, annotators, .. } = self;
        let begun;
        let session = match sessions.get(name) {
            Some(guarded) => &guarded.session,
            None => {
                begun = decider.begin(&Text::from(name));
                &begun.session
            }
        };
        let judge = &mut decider.judge;
        let obligations = if query.owed { session.find_obligations(judge) } else { Vec::new() };
        let is_annotated = !annotators.is_empty();
        let stopping = query.sketches.iter().map(|sketch| session.find_stopping(judge, sketch, now, is_annotated));
        Guidance { obligations, stopping: stopping.collect() }
    }
}
