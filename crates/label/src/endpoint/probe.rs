//! Finds out what an endpoint supports, by asking for all of it and then for less.

use super::features::{EndpointProbe, OutputFormat};
use super::prompt::write_request;
use super::reply::{read_content, read_object, read_tokens, read_value};
use crate::budget::Allowance;
use crate::clock::Deadline;
use crate::connection::{CallFailure, Connection};
use crate::meter::LabelFailure;

/// The key of the probe's answer.
const KEY: &str = "answer";

/// Asks for another form than the one that is enforced, if it is.
const SYSTEM: &str = "You greet people.";
const USER: &str = "Reply with the single word hello.";

/// What is asked for, in turn.
const ATTEMPTS: [(OutputFormat, bool); 6] = [
    (OutputFormat::Schema, true),
    (OutputFormat::Schema, false),
    (OutputFormat::JsonObject, true),
    (OutputFormat::JsonObject, false),
    (OutputFormat::Plain, true),
    (OutputFormat::Plain, false),
];

/// Probes an endpoint. It fails only if the endpoint answers nothing at all.
pub(super) fn probe_endpoint(
    connection: &Connection,
    model: &str,
    deadline: Deadline,
    allowance: &Allowance<'_>,
) -> Result<EndpointProbe, LabelFailure> {
    let mut probe = EndpointProbe::full();
    let mut accepted: Option<EndpointProbe> = None;
    let mut last = LabelFailure::Refused;
    for (output, log_probabilities) in ATTEMPTS {
        // An accepted format that is not enforced leaves the next formats to try, with what is known of the rest.
        if accepted.is_some_and(|known| known.output == output || known.log_probabilities != log_probabilities) {
            continue;
        }
        (probe.output, probe.log_probabilities) = (output, log_probabilities);
        match try_features(connection, model, &mut probe, deadline, allowance) {
            Ok(body) => {
                let found = read_features(&body, probe);
                if found.enforced {
                    return Ok(found);
                }
                // The first that was accepted asks for most.
                accepted.get_or_insert(found);
                probe.log_probabilities = found.log_probabilities;
            }
            Err(failure) if is_unsupported(&failure) => last = failure.reason,
            Err(failure) => return Err(failure.reason),
        }
    }
    accepted.ok_or(last)
}

/// Sends a request with these features; renames or leaves out a field that the endpoint complains of.
fn try_features(
    connection: &Connection,
    model: &str,
    probe: &mut EndpointProbe,
    deadline: Deadline,
    allowance: &Allowance<'_>,
) -> Result<Vec<u8>, CallFailure> {
    loop {
        let request = write_request(model, SYSTEM, USER, &[KEY], probe);
        let failure = match connection.post(&request, 64, deadline, allowance, read_tokens) {
            Err(failure) if is_unsupported(&failure) => failure,
            other => return other,
        };
        if !probe.completion_limit && failure.message.contains("max_completion_tokens") {
            probe.completion_limit = true;
        } else if probe.temperature && failure.message.contains("temperature") {
            probe.temperature = false;
        } else {
            return Err(failure);
        }
    }
}

/// Whether a server refused a feature, and not the caller.
fn is_unsupported(failure: &CallFailure) -> bool {
    matches!(failure.status, Some(400 | 415 | 422 | 501))
}

/// Returns what a reply to the probe shows.
fn read_features(body: &[u8], asked: EndpointProbe) -> EndpointProbe {
    let Ok(completion) = lictor_json::parse(body) else {
        return EndpointProbe { log_probabilities: false, enforced: false, ..asked };
    };
    let tokens = completion.at("choices.0.logprobs.content").and_then(|content| content.as_array());
    let log_probabilities = tokens.is_some_and(|tokens| {
        tokens
            .iter()
            .any(|token| token.get("top_logprobs").and_then(|top| top.as_array()).is_some_and(|it| !it.is_empty()))
    });
    let content = read_content(&completion).unwrap_or_default();
    let enforced = match asked.output {
        OutputFormat::Schema => read_object(content, asked.output)
            .is_some_and(|object| object.len() == 1 && object.get(KEY).and_then(read_value).is_some()),
        OutputFormat::JsonObject => read_object(content, asked.output).is_some(),
        OutputFormat::Plain => false,
    };
    EndpointProbe { log_probabilities, enforced, ..asked }
}
