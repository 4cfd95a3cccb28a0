//! Damaged records: a decoder returns events and faults, and never stops.

use std::path::PathBuf;

use lictor_decode::Format;
use lictor_json::{Json, Object};

use super::golden::detected;
use crate::golden_files::{FormatFamily, golden_files};
use crate::reader::{decode, records};

/// Values of unexpected types.
fn strangers() -> Vec<Json> {
    let mut object = Object::new();
    object.insert("type", "tool_use");
    vec![Json::Null, Json::from(-7), Json::from("\u{e9}\\u{\"["), Json::Array(vec![object.into()])]
}

/// The value with its n-th part (counted from the root) replaced; none when it has fewer.
fn replaced(value: &Json, count: &mut usize, stranger: &Json) -> Option<Json> {
    if *count == 0 {
        return Some(stranger.clone());
    }
    *count -= 1;
    match value {
        Json::Array(items) => items.iter().enumerate().find_map(|(place, item)| {
            let mut items = items.clone();
            items[place] = replaced(item, count, stranger)?;
            Some(Json::Array(items))
        }),
        Json::Object(object) => object.iter().find_map(|(key, item)| {
            let mut object = object.clone();
            object.insert(key.clone(), replaced(item, count, stranger)?);
            Some(Json::Object(object))
        }),
        _ => None,
    }
}

fn all_files() -> Vec<(Format, PathBuf)> {
    golden_files(|family| family != FormatFamily::Exchange)
}

#[test]
fn damaged_value_stops_no_log_decoder() {
    let strangers = strangers();
    for (format, file) in all_files() {
        let whole = records(&file);
        let mut records = whole.clone();
        for damaged in 0..whole.len() {
            // An ordinary run puts one stranger into each place, and a run with `LICTOR_CASES=4` all of them.
            for place in 0.. {
                let some = strangers.iter().cycle().skip((damaged + place) % strangers.len());
                let some = some.take(crate::cases(1).min(strangers.len()));
                let values: Vec<Json> =
                    some.filter_map(|stranger| replaced(&whole[damaged].1, &mut { place }, stranger)).collect();
                if values.is_empty() {
                    break;
                }
                for value in values {
                    let kept = std::mem::replace(&mut records[damaged].1, value);
                    let _ = detected(&records[damaged..=damaged]);
                    decode(format, "damaged", &records);
                    records[damaged].1 = kept;
                }
            }
        }
    }
}

#[test]
fn truncated_text_stops_no_decoder() {
    for (format, file) in all_files() {
        if !matches!(format, Format::Xes | Format::Actions) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        for (cut, _) in text.char_indices() {
            for part in [&text[..cut], &text[cut..]] {
                decode(format, "cut", &[(1, Json::from(part))]);
            }
        }
    }
}

#[test]
fn unknown_record_is_a_fault() {
    for (format, file) in all_files() {
        let mut records = records(&file);
        let before = decode(format, "own", &records).faults.len();
        records.push((9, Json::Object([("greeting".into(), Json::from("hello"))].into_iter().collect())));
        let faults = decode(format, "strange", &records).faults;
        assert_eq!(faults.len(), before + 1, "{}", file.display());
        let told = faults.iter().any(|fault| {
            fault.line == 9 && fault.code == "decode.unknown_record" && fault.message.contains("greeting")
        });
        assert!(told, "{}: {faults:?}", file.display());
    }
}
