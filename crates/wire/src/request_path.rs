//! Paths of requests, with whatever prefix a service puts before the vendor's own paths.

/// What a request carries, by its method and path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Traffic {
    /// A conversation: body and reply are judged.
    Conversation,
    /// A conversation whose reply is only a count of its tokens: the body is judged.
    Count,
    /// Nothing that an agent says or does.
    Harmless,
}

/// A path without its query, as names.
#[derive(Debug)]
pub(crate) struct RequestPath<'a> {
    names: Vec<&'a str>,
    /// Where the vendor's own path begins, after a prefix such as `/v1` or `/openai/deployments/NAME`.
    start: usize,
}

impl<'a> RequestPath<'a> {
    /// Returns the path of a request target. Anything may come before the first `/v1`.
    pub(crate) fn new(target: &'a str) -> RequestPath<'a> {
        let path = target.split(['?', '#']).next().unwrap_or(target).trim_matches('/');
        let names: Vec<&str> = path.split('/').collect();
        let start = match (names.iter().position(|name| *name == "v1"), names.as_slice()) {
            (Some(place), _) => place + 1,
            (None, ["openai", "deployments", _, ..]) => 3,
            (None, _) => 0,
        };
        RequestPath { names, start }
    }

    /// Returns the path as a service reads it that takes everything up to the last `/v1` for the prefix.
    pub(crate) fn with_longest_prefix(mut self) -> RequestPath<'a> {
        if let Some(place) = self.names.iter().rposition(|name| *name == "v1") {
            self.start = place + 1;
        }
        self
    }

    /// Returns the names after the prefix.
    pub(crate) fn own_names(&self) -> &[&'a str] {
        self.names.get(self.start..).unwrap_or_default()
    }

    /// Whether the path ends with these names, whatever comes before them.
    pub(crate) fn ends_with(&self, names: &[&str]) -> bool {
        self.names.ends_with(names)
    }
}
