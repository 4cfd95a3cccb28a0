//! What the model of a session should know before it replies.

use lictor_json::Text;
use lictor_logic::Time;

use super::Guard;
use crate::guidance::{Guidance, GuidanceQuery};
use crate::session::is_blocking;

impl Guard {
    /// Returns the open obligations of a session, and which sketched calls would be blocked now, whatever their other
    /// arguments are. Nothing changes. Histories across sessions are not looked at.
    pub fn guide(&mut self, name: &str, query: &GuidanceQuery, now: Option<Time>) -> Guidance {
        let Guard { decider, sessions, annotators, .. } = self;
        let mut begun;
        let session = match sessions.get_mut(name) {
            Some(guarded) => guarded,
            None => {
                begun = decider.begin(&Text::from(name));
                &mut begun
            }
        };
        let judge = &mut decider.judge;
        let obligations = if query.owed { session.find_obligations(judge) } else { Vec::new() };
        let is_annotated = !annotators.is_empty();
        let mut stopping = Vec::with_capacity(query.sketches.len());
        for sketch in &query.sketches {
            let violated = session.find_violated(judge, sketch, now, is_annotated);
            stopping.push(violated.into_iter().filter(|property| is_blocking(property)).collect());
        }
        Guidance { obligations, stopping }
    }
}
