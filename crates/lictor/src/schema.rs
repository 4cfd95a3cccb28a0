//! The JSON Schemas of what Lictor reads and writes.

/// Policy files.
pub const POLICY: &str = include_str!("../schema/policy.schema.json");

/// Lictor's own event lines.
pub const EVENT: &str = include_str!("../schema/event.schema.json");

/// Reports of an audit, as JSON.
pub const REPORT: &str = include_str!("../schema/report.schema.json");

/// The lines that a guard answers with.
pub const DECISION: &str = include_str!("../schema/decision.schema.json");
