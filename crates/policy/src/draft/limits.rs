//! The limits of formulas that a policy raises.

use lictor_logic::CacheLimits;

use crate::formula_limits::FormulaLimits;
use crate::policy_reader::PolicyReader;
use crate::yaml::YamlNode;

impl PolicyReader<'_> {
    /// Reads what judging a formula may cost.
    pub(super) fn read_limits(&mut self, node: &YamlNode) -> FormulaLimits {
        let example = "such as `limits: {work: 10000000, rows: 8000000}`";
        let fields = self.read_fields(node, "`limits`", &["work", "rows"], example);
        let mut read = |key: &str, usual: u64| {
            let node = fields.get(key)?;
            let count = node.to_json().as_i64().and_then(|count| u64::try_from(count).ok());
            let raised = count.filter(|count| *count >= usual);
            if raised.is_none() {
                let hint = format!("a policy can only raise the usual limit of {usual}: leave it out to keep that");
                self.report_type(node, &format!("`{key}`"), &format!("a whole number of at least {usual}"), &hint);
            }
            raised
        };
        FormulaLimits {
            work: read("work", CacheLimits::DEFAULT.work),
            rows: read("rows", CacheLimits::DEFAULT.rows as u64),
        }
    }
}
