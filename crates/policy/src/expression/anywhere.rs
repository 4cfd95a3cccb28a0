//! Members of a name, wherever they stand.
//!
//! An agent may say the same argument one level deeper, or as `userEmail` where a rule expects `user_email`. Where no
//! schema of the tool forbids that, a rule has to look for it.

use super::evaluate::Run;
use super::reason::Missing;
use super::value::{CelValue, List};

/// The values of all members of this name in a value, those that stand first before those that stand deeper within them.
/// Names are the same whatever their case, and with or without `_` and `-`.
pub(super) fn anywhere<'a>(run: &Run<'a>, value: CelValue<'a>, name: &str, at: u32) -> Result<CelValue<'a>, Missing> {
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
                    if is_same(key, name) {
                        found.push(value.clone());
                    }
                }
                left.extend(members.into_iter().rev().map(|(_, value)| value));
            }
            _ => {}
        }
    }
    Ok(CelValue::List(List::Made(found.into())))
}

fn is_same(key: &str, name: &str) -> bool {
    letters(key).eq(letters(name))
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase)
}
