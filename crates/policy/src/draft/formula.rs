//! Formulas: parsed, compiled, and their mistakes shown where they were written.

use lictor_logic::{Arena, Formula, Monitor};

use crate::policy_reader::{PolicyReader, ScalarProblem};
use crate::yaml::YamlNode;

impl PolicyReader<'_> {
    /// Parses a formula and checks that it can be monitored.
    pub(super) fn read_formula(&mut self, node: &YamlNode) -> Option<(String, Arena, Formula)> {
        let text = self.read_text(node, "`formula`")?;
        let mut arena = Arena::new();
        let formula = match arena.parse(text) {
            Ok(formula) => formula,
            Err(errors) => {
                for error in &errors {
                    let (code, message) = ("policy.formula", error.message().to_owned());
                    let hint = Some(error.hint().to_owned());
                    self.report_in_scalar(node, error.span(), ScalarProblem { code, message, hint });
                }
                return None;
            }
        };
        if let Err(error) = Monitor::new(&arena, formula) {
            let (message, hint) = (error.message().to_owned(), Some(error.hint().to_owned()));
            let problem = ScalarProblem { code: "policy.not-monitorable", message, hint };
            self.report_in_scalar(node, 0..text.trim_end().len(), problem);
            return None;
        }
        Some((text.trim().to_owned(), arena, formula))
    }
}
