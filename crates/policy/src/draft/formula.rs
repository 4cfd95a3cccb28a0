//! Formulas: read, compiled, and their mistakes shown where they were written.

use lictor_logic::{Arena, Formula, Monitor};

use crate::form::{Form, InsideProblem};
use crate::yaml::Node;

impl Form<'_> {
    /// Reads a formula and tries whether it can be monitored.
    pub(super) fn formula(&mut self, node: &Node) -> Option<(String, Arena, Formula)> {
        let text = self.text(node, "`formula`")?;
        let mut arena = Arena::new();
        let formula = match arena.parse(text) {
            Ok(formula) => formula,
            Err(errors) => {
                for error in &errors {
                    let (code, message) = ("policy.formula", error.message().to_owned());
                    let hint = Some(error.hint().to_owned());
                    self.complain_inside(node, error.span(), InsideProblem { code, message, hint });
                }
                return None;
            }
        };
        if let Err(error) = Monitor::new(&arena, formula) {
            let (message, hint) = (error.message().to_owned(), Some(error.hint().to_owned()));
            let problem = InsideProblem { code: "policy.not-monitorable", message, hint };
            self.complain_inside(node, 0..text.trim_end().len(), problem);
            return None;
        }
        Some((text.trim().to_owned(), arena, formula))
    }
}
