//! What an endpoint supports, as a probe found it.

use std::fmt;

/// How the reply's form is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OutputFormat {
    /// By a JSON schema with the keys and values of the answers.
    Schema,
    /// By `json_object`: some JSON object.
    JsonObject,
    /// By words in the prompt only.
    Plain,
}

impl OutputFormat {
    /// Returns its name in requests.
    pub fn name(self) -> &'static str {
        match self {
            OutputFormat::Schema => "json_schema",
            OutputFormat::JsonObject => "json_object",
            OutputFormat::Plain => "plain",
        }
    }
}

/// What an endpoint was found to support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointProbe {
    /// Whether replies have log probabilities. Some endpoints accept the field and return none.
    pub log_probabilities: bool,
    /// How the form of replies is asked for.
    pub output: OutputFormat,
    /// Whether the reply to the probe had that form, although the prompt asked for another one.
    pub enforced: bool,
    /// Whether a temperature is accepted.
    pub temperature: bool,
    /// Whether the limit of tokens is called `max_completion_tokens` instead of `max_tokens`.
    pub completion_limit: bool,
}

impl EndpointProbe {
    /// Returns what an endpoint with all features supports.
    pub fn full() -> EndpointProbe {
        EndpointProbe {
            log_probabilities: true,
            output: OutputFormat::Schema,
            enforced: true,
            temperature: true,
            completion_limit: false,
        }
    }

    /// Returns the probe with another output format, not enforced.
    #[must_use]
    pub fn with_output(self, output: OutputFormat) -> EndpointProbe {
        EndpointProbe { output, enforced: false, ..self }
    }

    /// Returns the probe without log probabilities.
    #[must_use]
    pub fn without_log_probabilities(self) -> EndpointProbe {
        EndpointProbe { log_probabilities: false, ..self }
    }
}

/// Writes what was found, for logs: `log probabilities, json_schema enforced`.
impl fmt::Display for EndpointProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scores = if self.log_probabilities { "log probabilities" } else { "no log probabilities" };
        let enforced = if self.enforced { "enforced" } else { "not enforced" };
        write!(f, "{scores}, {} {enforced}", self.output.name())?;
        if !self.temperature {
            f.write_str(", no temperature")?;
        }
        Ok(())
    }
}
