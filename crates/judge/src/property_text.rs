//! What properties say, as sentences for a model.

use lictor_policy::Property;

/// Returns the text in one line, with a full stop at its end.
pub(crate) fn sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.ends_with(['.', '!', '?']) { text } else { format!("{text}.") }
}

/// Returns what a property says, and what would be right.
pub(crate) fn describe_property(property: &Property) -> String {
    match &property.remedy {
        Some(remedy) => format!("{} What would be right: {}", sentence(&property.says), sentence(remedy)),
        None => sentence(&property.says),
    }
}
