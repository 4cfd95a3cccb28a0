//! What a policy says about steering: a word, a list of words, or a mapping.

use crate::policy_reader::PolicyReader;
use crate::steering::{ShieldMode, Steering};
use crate::yaml::{Content, YamlNode};

/// The words of the short forms.
const WORDS: [(&str, Steering); 2] = [
    ("owed", Steering { owed: true, shield: None }),
    ("shield", Steering { owed: false, shield: Some(ShieldMode::Remove) }),
];

const SHIELD_MODES: [(&str, ShieldMode); 2] = [("remove", ShieldMode::Remove), ("name", ShieldMode::Name)];

const EXAMPLE: &str = "such as `steer: owed`, `steer: [owed, shield]` or `steer: {owed: true, shield: name}`";

impl PolicyReader<'_> {
    /// Reads how the model is steered.
    pub(super) fn read_steering(&mut self, node: &YamlNode) -> Steering {
        match &node.content {
            Content::Map(_) => {
                let fields = self.read_fields(node, "`steer`", &["owed", "shield"], EXAMPLE);
                let owed = fields.get("owed").and_then(|node| self.read_bool(node, "`owed`"));
                let shield = fields.get("shield").and_then(|node| self.read_word(node, "`shield`", &SHIELD_MODES));
                Steering { owed: owed.unwrap_or(false), shield }
            }
            Content::List(items) => {
                let mut steering = Steering::default();
                for item in items {
                    let Some(word) = self.read_word(item, "an entry of `steer`", &WORDS) else { continue };
                    let is_known = (word.owed && steering.owed) || (word.shield.is_some() && steering.shield.is_some());
                    if is_known {
                        let message = "`steer` has an entry twice".to_owned();
                        self.report_error(item.span.clone(), "policy.duplicate", message, None);
                    }
                    steering.owed |= word.owed;
                    steering.shield = steering.shield.or(word.shield);
                }
                steering
            }
            _ if node.to_json().as_str().is_some() => self.read_word(node, "`steer`", &WORDS).unwrap_or_default(),
            _ => {
                self.report_type(node, "`steer`", "a word, a list of words or a mapping", EXAMPLE);
                Steering::default()
            }
        }
    }
}
