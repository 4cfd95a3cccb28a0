//! Members of a name at any depth of a value.
//!
//! An agent may pass the same argument one level deeper, or as `userEmail` where a policy expects `user_email`. Where
//! no schema of the tool forbids that, a policy has to look for it.

use super::reason::{NoValue, UnknownCause};
use super::run::Run;
use super::value::{CelValue, List};

/// Returns the values of all members of this name in a value, outer ones before the ones within them.
/// Case, `_` and `-` do not matter.
pub(super) fn find_anywhere<'a>(
    run: &Run<'a>,
    value: CelValue<'a>,
    name: &str,
    at: u32,
) -> Result<CelValue<'a>, NoValue> {
    let mut found = Vec::new();
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            CelValue::List(list) => {
                run.spend(list.len(), at)?;
                left.extend((0..list.len()).rev().filter_map(|place| list.get(place)));
            }
            CelValue::Map(map) => {
                let members = map.members();
                run.spend(members.len(), at)?;
                for (key, value) in &members {
                    run.scan(key.len() + name.len(), at)?;
                    if is_same_name(key, name) {
                        found.push(value.clone());
                    }
                }
                left.extend(members.into_iter().rev().map(|(_, value)| value));
            }
            _ => {}
        }
    }
    let has_free_text = run.scope.event.has_free_text() || run.scope.call.is_some_and(|call| call.has_free_text);
    if found.is_empty() && has_free_text {
        return Err(UnknownCause::FreeText.to_unknown(at));
    }
    Ok(CelValue::List(List::Made(found.into())))
}

fn is_same_name(key: &str, name: &str) -> bool {
    normalize_name(key).eq(normalize_name(name))
}

fn normalize_name(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase)
}
