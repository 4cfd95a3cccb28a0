//! Reads the scenes, and compares a turn with its expectations.

use std::path::Path;

use serde_json::Value;

/// The result of a turn.
#[derive(Debug, Default)]
pub(crate) struct TurnResult {
    pub(crate) upstream: Option<String>,
    /// The later requests of the same turn, in which the model was asked again.
    pub(crate) again: Vec<String>,
    pub(crate) status: u64,
    pub(crate) code: String,
    pub(crate) client: String,
}

/// Returns all scenes of a folder, with their names.
pub(crate) fn scenes(folder: &Path) -> Vec<(String, Value)> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let name = |file: &Path| file.file_stem().unwrap().to_string_lossy().into_owned();
    let read = |file: &Path| serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let mut scenes: Vec<(String, Value)> = files.map(|file| (name(&file), read(&file))).collect();
    scenes.sort_by(|(one, _), (other, _)| one.cmp(other));
    assert!(scenes.len() >= 15, "{}", scenes.len());
    scenes
}

pub(crate) fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().map(|text| text.as_str().unwrap())
}

/// Returns the policy of a scene. `$FILES` stands for the folder of its files.
pub(crate) fn policy(scene: &Value) -> String {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../exchange/scenes/files");
    strings(&scene["policy"]).collect::<Vec<_>>().join("\n").replace("$FILES", &files.display().to_string())
}

/// Returns the approval id that the client got.
pub(crate) fn approval_id(seen: &TurnResult) -> &str {
    let (_, rest) = seen.client.split_once("Approval id: ").unwrap();
    rest.split_once(". Make").unwrap().0
}

/// Compares a turn's result with its expectations; the error names the first difference.
pub(crate) fn check(turn: &Value, seen: &TurnResult) -> Result<(), String> {
    let expect = |is_true: bool, what: &str| if is_true { Ok(()) } else { Err(format!("{what}\n{seen:#?}")) };
    expect(seen.status == turn["status"].as_u64().unwrap_or(200), "status")?;
    if let Some(code) = turn["code"].as_str() {
        expect(seen.code == code, "code")?;
    }
    match turn.get("upstream") {
        Some(Value::Null) => expect(seen.upstream.is_none(), "nothing is sent")?,
        Some(_) => expect(seen.upstream == Some(turn["request"].to_string()), "the request is sent unchanged")?,
        None => {}
    }
    if turn["client"] == "same" {
        let reply = match turn["stream"].is_array() {
            true => strings(&turn["stream"]).collect(),
            false => turn["reply"].to_string(),
        };
        expect(seen.client == reply, "the reply is sent unchanged")?;
    }
    if let Some(again) = turn["again"].as_array() {
        expect(seen.again.len() == again.len(), "the model is asked again as often as it replies")?;
    }
    let (upstream, again) = (seen.upstream.clone().unwrap_or_default(), seen.again.join("\n"));
    for (side, said) in [("upstream", &upstream), ("again", &again), ("client", &seen.client)] {
        for part in strings(&turn[format!("{side}_contains")]) {
            expect(said.contains(part), &format!("{side} contains {part}"))?;
        }
        for part in strings(&turn[format!("{side}_lacks")]) {
            expect(!said.contains(part), &format!("{side} lacks {part}"))?;
        }
    }
    Ok(())
}
