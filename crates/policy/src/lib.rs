//! Policies: facts to look for, properties over them, and what to do when one is violated.

mod atoms;
mod check;
mod draft;
pub mod effect;
pub mod expression;
mod fact;
mod fingerprint;
mod formula_limits;
pub mod glob;
mod labeler;
mod lint;
mod load;
mod merge;
mod merged_draft;
mod objective;
pub mod pack;
mod pattern_parts;
mod place;
mod policy;
mod policy_reader;
mod policy_text;
mod predict;
mod problem;
mod property;
mod resolver;
mod shell;
mod steering;
mod tool_record;
pub mod vocabulary;
mod yaml;

pub use fact::{FactCase, FactDefinition, FactPattern, Test, Trigger};
pub use formula_limits::FormulaLimits;
pub use labeler::{FactQuestion, LabelAllowance, LabelBudget, LabelerDefinition, LabelerSource};
pub use lictor_logic::After;
pub use lint::lint;
pub use place::Place;
pub use policy::{Basis, Category, LoadedPolicy, Policy, Purpose, Suppression, Tool};
pub use policy_text::PolicyText;
pub use predict::{ForecastSource, Intervention, PredictSettings, Undecided};
pub use problem::{Problem, ProblemLevel, Problems};
pub use property::{History, Mode, Property, Response, Severity};
pub use resolver::{FileResolver, PageBase, ResolvedFile, Resolver};
pub use steering::{ShieldMode, Steering};
pub use tool_record::{RecordPurpose, ToolRecord, ToolRecordKind};

/// The JSON Schema of policy files.
pub const SCHEMA: &str = include_str!("../schema/policy.schema.json");

#[cfg(test)]
mod tests;

/// Compiles and runs the examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
