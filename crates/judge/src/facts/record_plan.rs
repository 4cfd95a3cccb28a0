//! The records that tools make, compiled.

use lictor_json::Text;
use lictor_policy::expression::{Expression, Tables};
use lictor_policy::{Problem, RecordPurpose, Tool, ToolRecordKind};

/// A record that a tool makes, compiled.
#[derive(Debug)]
pub(crate) struct RecordPlan {
    pub(super) kind: ToolRecordKind,
    pub(super) subject: Expression,
    pub(super) purposes: Vec<PurposePlace>,
}

/// Where the purpose of a record comes from.
#[derive(Debug)]
pub(super) enum PurposePlace {
    Named(Text),
    Computed(Expression),
}

impl RecordPlan {
    /// Returns the records that the policy states for a tool.
    pub(super) fn compile(tool: &Tool) -> Result<Vec<RecordPlan>, Box<Problem>> {
        let compile = |text: &Text| {
            let problem = |message: String| Box::new(Problem::new(&tool.place, "policy.tool", message));
            Expression::compile(text, &Tables::default()).map_err(|errors| problem(errors.to_string()))
        };
        let mut plans = Vec::new();
        for record in &tool.records {
            let mut purposes = Vec::new();
            for purpose in &record.purposes {
                match purpose {
                    RecordPurpose::Named(name) => purposes.push(PurposePlace::Named(name.clone())),
                    RecordPurpose::Computed(text) => purposes.push(PurposePlace::Computed(compile(text)?)),
                    _ => {}
                }
            }
            plans.push(RecordPlan { kind: record.kind, subject: compile(&record.subject)?, purposes });
        }
        Ok(plans)
    }

    /// Whether the record is about purposes, which a call of the tool names without serving them.
    pub(super) fn has_purposes(&self) -> bool {
        self.kind != ToolRecordKind::Erasure
    }
}
