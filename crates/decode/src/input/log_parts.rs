//! Files that are parts of one log, so that a session continues from one to the next.
//!
//! Rotation writes a log in parts: `agent.jsonl.1`, then `agent.jsonl`. The requests of a batch and its answers are two
//! files, and `custom_id` pairs their lines. Two files that name a session alike are otherwise two logs: `1` is a session
//! of many programs.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use super::limits::InputLimits;
use super::log_name::LogName;
use super::{Input, InputContent};
use lictor_json::Json;

/// Up to how many files are looked into for the parts of a batch.
const MAX_BATCH_FILES: usize = 64;

/// Which file of a batch it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum BatchFile {
    Requests,
    Answers,
}

/// Marks the files that are parts of one log, and puts them one after the other.
pub(super) fn join_parts(inputs: Vec<Input>, limits: &InputLimits) -> Vec<Input> {
    join_batch(join_rotated(inputs), limits)
}

/// Marks the requests of a batch and its answers, if all inputs hold the requests of one batch only: the ids of another
/// batch are often the same.
fn join_batch(mut inputs: Vec<Input>, limits: &InputLimits) -> Vec<Input> {
    if !(2..=MAX_BATCH_FILES).contains(&inputs.len()) {
        return inputs;
    }
    let kinds: Vec<Option<BatchFile>> = inputs.iter().map(|input| find_batch_file(input, limits)).collect();
    let requests: Vec<usize> = (0..inputs.len()).filter(|place| kinds[*place] == Some(BatchFile::Requests)).collect();
    let ([requests], true) = (&requests[..], kinds.contains(&Some(BatchFile::Answers))) else { return inputs };
    let log = Arc::clone(&inputs[*requests].name);
    for (input, _) in inputs.iter_mut().zip(&kinds).filter(|(_, kind)| kind.is_some()) {
        input.log = Some(Arc::clone(&log));
    }
    let first = kinds.iter().position(Option::is_some).unwrap_or_default();
    let mut order: Vec<usize> = (0..inputs.len()).collect();
    order.sort_by_key(|place| if kinds[*place].is_some() { (first, kinds[*place]) } else { (*place, None) });
    order.into_iter().map(|place| inputs[place].clone()).collect()
}

/// Returns which file of a batch an input is, by its first record.
fn find_batch_file(input: &Input, limits: &InputLimits) -> Option<BatchFile> {
    let chunk = input.chunks(limits).ok()?.next()?;
    let first = chunk.records().next()?.ok()?.value;
    first.text("custom_id")?;
    let has = |keys: &[&str]| keys.iter().any(|key| first.get(key).is_some_and(|member: &Json| !member.is_null()));
    match (has(&["body", "params"]), has(&["response", "result", "error"])) {
        (true, false) => Some(BatchFile::Requests),
        (false, true) => Some(BatchFile::Answers),
        _ => None,
    }
}

/// Marks the parts of each rotated log, and puts them one after the other, the oldest first.
fn join_rotated(inputs: Vec<Input>) -> Vec<Input> {
    let mut groups: HashMap<(PathBuf, String), Vec<(LogName, usize)>> = HashMap::new();
    for (place, input) in inputs.iter().enumerate() {
        if let InputContent::File(path) = &input.content
            && let (Some(folder), Some(name)) = (path.parent(), path.file_name())
        {
            let name = LogName::parse(name);
            groups.entry((folder.to_owned(), name.base().to_owned())).or_default().push((name, place));
        }
    }
    let mut order: Vec<(usize, usize, Option<Arc<str>>)> = (0..inputs.len()).map(|place| (place, 0, None)).collect();
    for mut parts in groups.into_values().filter(|parts| parts.len() > 1) {
        parts.sort();
        // A part that is there twice, compressed and not, is a copy.
        if parts.windows(2).any(|pair| pair[0].0.is_same_part(&pair[1].0)) {
            continue;
        }
        let first = parts.iter().map(|(_, place)| *place).min().unwrap_or_default();
        let log = parts.last().map(|(_, place)| Arc::clone(&inputs[*place].name));
        for (number, (_, place)) in parts.iter().enumerate() {
            order[*place] = (first, number, log.clone());
        }
    }
    let mut inputs: Vec<_> = inputs.into_iter().zip(order).collect();
    inputs.sort_by_key(|(_, (place, number, _))| (*place, *number));
    inputs.into_iter().map(|(input, (_, _, log))| Input { log, ..input }).collect()
}
