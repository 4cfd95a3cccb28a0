//! Which model is asked, and how.

use crate::connection::ConnectionOptions;

/// Which model is asked, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointOptions {
    /// The name of the labeler in the policy.
    pub name: String,
    /// The model, as the endpoint names it.
    pub model: String,
    /// How the endpoint is reached.
    pub connection: ConnectionOptions,
    /// The longest text in one request, in bytes. Longer ones are asked about in parts.
    pub max_text: usize,
    /// The most parts of one text. Beyond them a text is unclear, unless a part says yes.
    pub max_parts: usize,
    /// The most examples of each value and question in one request.
    pub max_examples: usize,
}

impl EndpointOptions {
    /// Returns the options for a model: texts of 12,000 bytes a request in at most four parts, four examples a value.
    pub fn new(name: impl Into<String>, model: impl Into<String>, connection: ConnectionOptions) -> EndpointOptions {
        EndpointOptions {
            name: name.into(),
            model: model.into(),
            connection,
            max_text: 12_000,
            max_parts: 4,
            max_examples: 4,
        }
    }

    /// Sets the longest text in one request, in bytes.
    #[must_use]
    pub fn max_text(mut self, bytes: usize) -> EndpointOptions {
        self.max_text = bytes;
        self
    }

    /// Sets the most parts of one text.
    #[must_use]
    pub fn max_parts(mut self, parts: usize) -> EndpointOptions {
        self.max_parts = parts;
        self
    }

    /// Sets the most examples of each value and question.
    #[must_use]
    pub fn max_examples(mut self, examples: usize) -> EndpointOptions {
        self.max_examples = examples;
        self
    }

    /// Returns the name with a hash of everything that answers depend on.
    pub(super) fn version(&self, prompt_version: &str) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("lictor 2026 version of an endpoint labeler");
        let numbers = format!("{} {} {}", self.max_text, self.max_parts, self.max_examples);
        for part in [&self.connection.url, &self.model, prompt_version, &numbers] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part.as_bytes());
        }
        format!("{}@{}", self.name, &hasher.finalize().to_hex()[..8])
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn endpoint_version_changes_with_what_answers_depend_on() {
        let options = || EndpointOptions::new("small", "m", ConnectionOptions::new("http://a/v1"));
        let version = options().version("1");
        assert!(version.starts_with("small@") && version.len() == "small@".len() + 8, "{version}");
        let elsewhere = EndpointOptions::new("small", "m", ConnectionOptions::new("http://b/v1"));
        for other in [options().max_text(9), options().max_examples(9), options().max_parts(9), elsewhere] {
            assert_ne!(other.version("1"), version);
        }
        assert_ne!(options().version("2"), version);
        let patient = ConnectionOptions::new("http://a/v1").timeout(Duration::from_secs(9));
        assert_eq!(EndpointOptions::new("small", "m", patient).version("1"), version);
    }
}
