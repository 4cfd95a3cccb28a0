//! Where a report comes from: which logs, which policy, which command.

use super::Report;
use super::words::escape_hidden;
use lictor_json::Text;

/// How many logs are named.
const MAX_NAMED_LOGS: usize = 5;

/// Where a report comes from. Its logs are in [`Report::files`].
#[derive(Clone, Debug, Default)]
pub struct ReportOrigin {
    /// The fingerprint of the policy, if the caller knows it.
    pub fingerprint: Option<Text>,
    /// The command that made the report, as it can be typed into a shell.
    pub command: Option<Text>,
}

impl ReportOrigin {
    /// Returns the command of these arguments, each quoted for a shell where it must be.
    pub fn quote_command<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Text {
        let quoted: Vec<String> = arguments.into_iter().map(quote_argument).collect();
        quoted.join(" ").into()
    }
}

fn quote_argument(argument: &str) -> String {
    let is_plain = |character: char| character.is_alphanumeric() || "_-./:=,+@%".contains(character);
    match !argument.is_empty() && argument.chars().all(is_plain) {
        true => argument.to_owned(),
        false => format!("'{}'", argument.replace('\'', "'\\''")),
    }
}

/// Returns the names of the first logs, and counts the rest; empty if there are none.
pub(super) fn name_logs(report: &Report) -> String {
    let names = report.files.iter().take(MAX_NAMED_LOGS).map(|file| escape_hidden(&file.name).into_owned());
    let names = names.collect::<Vec<_>>().join(", ");
    match report.files.len().saturating_sub(MAX_NAMED_LOGS) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

/// Returns the origin in rows of a name and a text; what is unknown is left out.
pub(super) fn describe_origin(report: &Report) -> Vec<(&'static str, String)> {
    let ReportOrigin { fingerprint, command } = &report.origin;
    let rows = [
        ("logs", Some(name_logs(report)).filter(|logs| !logs.is_empty())),
        ("fingerprint", fingerprint.as_deref().map(|text| escape_hidden(text).into_owned())),
        ("command", command.as_deref().map(|text| escape_hidden(text).into_owned())),
    ];
    rows.into_iter().filter_map(|(name, text)| Some((name, text?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_is_quoted_for_a_shell() {
        let arguments = ["lictor", "audit", "help desk.jsonl", "--only", "gdpr/*", "it's", ""];
        assert_eq!(
            ReportOrigin::quote_command(arguments),
            r"lictor audit 'help desk.jsonl' --only 'gdpr/*' 'it'\''s' ''"
        );
    }
}
