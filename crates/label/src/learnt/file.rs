//! The file of a learnt model: one JSON object whose `hash` covers everything else in it.
//!
//! A file may come from anywhere: every number is checked, and a file that was changed by hand is refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lictor_json::{Json, Object, Text};

use super::cue::{CUES, NAMES};
use super::features::FEATURES_VERSION;
use super::model::{LabelModel, LabelModelError, LabelRow, MAX_NAME_BYTES};
use crate::file_kind::{FileKind, MODEL_FORMAT};

/// How large a model's file may be.
pub const MAX_MODEL_BYTES: usize = 64 << 20;

/// How many facts a model may have, and how many sources it may name.
const MAX_LIST: usize = 256;

impl LabelModel {
    /// Returns the content of its file.
    pub fn to_text(&self) -> String {
        let mut object = self.to_object();
        object.insert("hash", self.hash.as_str());
        let mut text = Json::Object(object).to_string();
        text.push('\n');
        text
    }

    /// Reads the content of a model's file.
    pub fn from_bytes(bytes: &[u8]) -> Result<LabelModel, LabelModelError> {
        read(bytes).map_err(|mistake| match FileKind::find(bytes).filter(|kind| *kind != FileKind::Model) {
            Some(other) => LabelModelError(format!(
                "it is {other}, not a model of labels\nhint: `lictor learn labels LOGS -o FILE` writes a model"
            )),
            None => LabelModelError(format!("not a model of labels: {mistake}")),
        })
    }

    pub(super) fn compute_hash(&self) -> String {
        blake3::hash(Json::Object(self.to_object()).to_string().as_bytes()).to_hex().to_string()
    }

    fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.insert("format", MODEL_FORMAT);
        object.insert("features", FEATURES_VERSION);
        object.insert("name", self.name.clone());
        object.insert("sources", list(self.sources.iter().cloned().map(Json::String)));
        object.insert("bits", i64::from(self.bits));
        object.insert("windows", list(self.windows.iter().map(|size| Json::from(*size as i64))));
        object.insert("cues", list(NAMES.into_iter().map(Json::from)));
        object.insert("facts", list(self.rows.iter().map(|row| Json::Object(row.to_object()))));
        object
    }
}

impl LabelRow {
    fn to_object(&self) -> Object {
        let mut object = Object::new();
        object.insert("fact", self.fact.clone());
        object.insert("positives", i64::from(self.positives));
        object.insert("negatives", i64::from(self.negatives));
        object.insert("bias", i64::from(self.bias));
        object.insert("scale", i64::from(self.scale));
        object.insert("cues", list(self.cues.iter().map(|weight| Json::from(i64::from(*weight)))));
        let bytes: Vec<u8> = self.weights.iter().map(|weight| weight.to_le_bytes()[0]).collect();
        object.insert("weights", STANDARD.encode(bytes));
        object
    }
}

fn list(values: impl Iterator<Item = Json>) -> Json {
    Json::Array(values.collect())
}

fn read(bytes: &[u8]) -> Result<LabelModel, String> {
    if bytes.len() > MAX_MODEL_BYTES {
        return Err(format!("the file of {} bytes is over the limit of {MAX_MODEL_BYTES}", bytes.len()));
    }
    let json = lictor_json::parse(bytes).map_err(|error| error.to_string())?;
    let Json::Object(mut object) = json else { return Err("expected an object".into()) };
    if object.get("format").and_then(Json::as_str) != Some(MODEL_FORMAT) {
        return Err(format!("`format` must be {MODEL_FORMAT:?}"));
    }
    if read_whole(&object, "features", 0, i64::MAX)? != FEATURES_VERSION {
        return Err(format!("`features` must be {FEATURES_VERSION}; learn the model again with this version"));
    }
    let hash = object.remove("hash");
    let hash = hash.as_ref().and_then(Json::as_str).ok_or("`hash` is missing")?.to_owned();
    let names = read_list(&object, "cues", CUES)?;
    if !names.iter().map(Json::as_str).eq(NAMES.into_iter().map(Some)) {
        return Err("`cues` are not those of this version; learn the model again".into());
    }
    let bits = read_whole(&object, "bits", 8, 20)? as u32;
    let mut windows = Vec::new();
    for size in read_list(&object, "windows", 4)? {
        let size = size.as_i64().filter(|size| (0..=4096).contains(size));
        windows.push(size.ok_or("`windows` must be whole numbers from 0 to 4096")? as usize);
    }
    if windows.is_empty() {
        return Err("`windows` is empty".into());
    }
    let mut sources = Vec::new();
    for source in read_list(&object, "sources", MAX_LIST)? {
        sources.push(Text::from(source.as_str().ok_or("`sources` must be strings")?));
    }
    let mut rows: Vec<LabelRow> = Vec::new();
    for row in read_list(&object, "facts", MAX_LIST)? {
        let row = read_row(row, bits)?;
        if rows.iter().any(|other| other.fact == row.fact) {
            return Err(format!("the fact `{}` occurs twice", row.fact));
        }
        rows.push(row);
    }
    if rows.is_empty() {
        return Err("`facts` is empty".into());
    }
    let model = LabelModel { name: read_name(&object, "name")?, sources, bits, windows, rows, hash };
    if model.compute_hash() != model.hash {
        return Err("`hash` does not match the content; the file was changed or is damaged".into());
    }
    Ok(model)
}

fn read_row(row: &Json, bits: u32) -> Result<LabelRow, String> {
    let object = row.as_object().ok_or("`facts` must be objects")?;
    let fact = read_name(object, "fact")?;
    let wrong = |key: &str| format!("`{key}` of the fact `{fact}` is wrong");
    let mut cues = [0; CUES];
    let listed = read_list(object, "cues", CUES)?;
    if listed.len() != CUES {
        return Err(wrong("cues"));
    }
    for (cue, weight) in cues.iter_mut().zip(listed) {
        let weight = weight.as_i64().filter(|weight| weight.abs() <= 1_000_000);
        *cue = weight.ok_or_else(|| wrong("cues"))? as i32;
    }
    let weights = object.get("weights").and_then(Json::as_str).ok_or_else(|| wrong("weights"))?;
    let weights = STANDARD.decode(weights).map_err(|_| wrong("weights"))?;
    if weights.len() != 1 << bits {
        return Err(wrong("weights"));
    }
    Ok(LabelRow {
        positives: read_whole(object, "positives", 0, i64::from(u32::MAX))? as u32,
        negatives: read_whole(object, "negatives", 0, i64::from(u32::MAX))? as u32,
        bias: read_whole(object, "bias", -1_000_000, 1_000_000)? as i32,
        scale: read_whole(object, "scale", 1, i64::from(u32::MAX))? as u32,
        cues,
        weights: weights.into_iter().map(|weight| i8::from_le_bytes([weight])).collect(),
        fact,
    })
}

fn read_name(object: &Object, key: &str) -> Result<Text, String> {
    let name = object.get(key).and_then(Json::as_str).filter(|name| !name.is_empty() && name.len() <= MAX_NAME_BYTES);
    name.map(Text::from).ok_or_else(|| format!("`{key}` must be a string of 1 to {MAX_NAME_BYTES} bytes"))
}

fn read_whole(object: &Object, key: &str, least: i64, most: i64) -> Result<i64, String> {
    let value = object.get(key).and_then(Json::as_i64).filter(|value| (least..=most).contains(value));
    value.ok_or_else(|| format!("`{key}` must be a whole number from {least} to {most}"))
}

fn read_list<'a>(object: &'a Object, key: &str, most: usize) -> Result<&'a [Json], String> {
    let list = object.get(key).and_then(Json::as_array).filter(|list| list.len() <= most);
    list.ok_or_else(|| format!("`{key}` must be a list of at most {most}"))
}
