//! The secrets in an event: keys, tokens, passwords. They are no personal data, so no category names them.

use std::collections::BTreeSet;

use super::labels::{Labels, NameId};
use super::values::Values;
use lictor_event::{Arguments, Event};
use lictor_recognise::{SecretKind, find_secrets};

/// Adds the kinds of secrets in the texts, arguments and result of an event, if some property asks for them.
pub(super) fn label_secrets(name: Option<NameId>, event: &Event, values: &mut Values, labels: &mut Labels) {
    let Some(name) = name else { return };
    let mut kinds = BTreeSet::new();
    let mut search = |text: &str| kinds.extend(find_secrets(text).into_iter().map(|secret| secret.kind));
    event.text.iter().for_each(|text| search(text));
    match &event.args {
        // A key may name the secret: the value is searched as it is written.
        Some(Arguments::Value(value)) => search(&value.to_string()),
        Some(Arguments::Unparsed(text)) => search(text),
        None => {}
    }
    event.result.iter().for_each(|result| search(&result.to_string()));
    kinds.into_iter().for_each(|kind: SecretKind| labels.push(name, &[values.get(kind.name())]));
}
