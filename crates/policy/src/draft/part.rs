//! The section `patterns`, and the places where its parts are used.

use std::borrow::Cow;

use lictor_logic::nearest;

use crate::pattern_parts::{PartProblem, is_name_byte};
use crate::policy_reader::{PolicyReader, ScalarProblem};
use crate::yaml::{Content, YamlNode};
use lictor_json::{Json, Object};

impl PolicyReader<'_> {
    /// Reads the named parts of patterns. Each may use those above it.
    pub(super) fn read_parts(&mut self, node: &YamlNode) {
        let example = "such as `word: '[a-z]+'`, which a pattern uses as `(?&word)`";
        for (key, value) in self.read_entries(node, "`patterns`", example) {
            let Some(name) = self.read_name(key, "a part of patterns") else { continue };
            if !name.bytes().all(is_name_byte) {
                let message = format!("`{name}` cannot be the name of a part of patterns");
                let hint = Some("take letters, digits and `_`".to_owned());
                self.report_error(key.span.clone(), "policy.name", message, hint);
                continue;
            }
            let Some(written) = self.read_text(value, "a part of patterns") else { continue };
            let Some(pattern) = self.put_parts_in(value, written, 0) else { continue };
            if self.check_regex(value, &pattern, 0..written.len()) {
                self.parts.add(name, pattern.into_owned());
            }
        }
    }

    /// Returns a pattern with its parts put in; reports a part that does not exist. The pattern begins at an offset of
    /// the node's text.
    pub(super) fn put_parts_in<'p>(
        &mut self,
        node: &YamlNode,
        pattern: &'p str,
        offset: usize,
    ) -> Option<Cow<'p, str>> {
        let (span, message, hint) = match self.parts.put_in(pattern) {
            Ok(whole) => return Some(whole),
            Err(PartProblem::Unknown(span)) => {
                let name = pattern.get(span.clone()).unwrap_or_default();
                let hint = match nearest(name, self.parts.names()) {
                    Some(meant) => format!("did you mean `(?&{meant})`?"),
                    None => "name it under `patterns:` of the same file, above the parts that use it".to_owned(),
                };
                (span, format!("no part of patterns is called `{name}`"), hint)
            }
            Err(PartProblem::Unclosed(span)) => {
                (span, "`(?&` begins a part of patterns".into(), "write `(?&name)`".to_owned())
            }
            Err(PartProblem::TooLong) => {
                (0..pattern.len(), "the pattern with all its parts is too long".into(), "use fewer parts".to_owned())
            }
        };
        let problem = ScalarProblem { code: "policy.pattern-part", message, hint: Some(hint) };
        self.report_in_scalar(node, offset + span.start..offset + span.end, problem);
        None
    }

    /// Returns the value of a table, with the parts of the patterns in it.
    pub(super) fn read_table_value(&mut self, node: &YamlNode) -> Json {
        match &node.content {
            Content::Scalar { text, .. } => match node.to_json() {
                Json::String(_) => self.put_parts_in(node, text, 0).map_or(Json::Null, |whole| Json::from(&*whole)),
                other => other,
            },
            Content::List(items) => Json::Array(items.iter().map(|item| self.read_table_value(item)).collect()),
            Content::Map(entries) => Json::Object(
                entries
                    .iter()
                    .map(|(key, value)| (key.text.as_str().into(), self.read_table_value(value)))
                    .collect::<Object>(),
            ),
            Content::Bad => Json::Null,
        }
    }
}
