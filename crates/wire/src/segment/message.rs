//! Messages of a chat, cut into segments. All interfaces have such messages, with the forms of OpenAI and of Anthropic.

use lictor_decode::piece;
use lictor_event::{Event, Kind};
use lictor_json::{Json, JsonPath, JsonStep, Object, Text, join_path, json_path};

use super::text_part::{TextPart, collect_texts, hash_attachments};
use super::{EXECUTED_BY, Segment, ValuePlace, definition_paths};
use crate::known::{is_custom_call, is_thinking};
use crate::refusal::WireRefusal;

/// The members of a message that its text is read with: the content, and whose it is.
const MESSAGE_MEMBERS: [&str; 4] = ["content", "role", "name", "tool_call_id"];

/// Returns the segments of a message of any role.
pub(crate) fn read_message(written: &Json, at: &[JsonStep]) -> Result<Vec<Segment>, WireRefusal> {
    let role = written.text("role").unwrap_or_default();
    let joint = if role == "assistant" { "" } else { "\n" };
    let content_at = join_path(at, ["content".into()]);
    if let Some(Json::String(text)) = written.get("content")
        && is_text_alone(written, text)
    {
        // Most messages of a history are one text, so nothing of them is taken apart.
        let texts = vec![TextPart { at: content_at.clone(), text: text.clone(), joint }];
        let event = read_events(written)?.into_iter().next();
        let result_at = event.as_ref().filter(|event| event.kind == Kind::ToolResult).map(|_| content_at);
        return Ok(event
            .map(|event| Segment { texts, result_at, ..Segment::new(event, at.to_vec()) })
            .into_iter()
            .collect());
    }
    let mut segments = Vec::new();
    let mut run = TextRun::default();
    match written.get("content") {
        Some(Json::Array(blocks)) if matches!(role, "user" | "assistant") => {
            for (place, block) in blocks.iter().enumerate() {
                let here = join_path(&content_at, [place.into()]);
                match read_call_block(role, block)? {
                    Some(event) => {
                        run.finish(written, at, &mut segments)?;
                        segments.push(block_segment(event, block, here));
                    }
                    None => run.add(block, here, joint),
                }
            }
        }
        Some(content) => run.add(content, content_at, joint),
        None => {}
    }
    if role == "assistant" {
        run.add_audio_and_refusal(written, at);
    }
    run.finish(written, at, &mut segments)?;
    if role == "assistant" {
        segments.extend(read_calls(written, at)?);
    }
    // A user who sends nothing still took a turn.
    if segments.is_empty() && role != "assistant" {
        for event in read_events(written)? {
            segments.push(Segment::new(event, at.to_vec()));
        }
    }
    Ok(segments)
}

/// Whether a message has a text and nothing else that could be said or called: its members are those that a run of text
/// is read with.
fn is_text_alone(written: &Json, text: &str) -> bool {
    let is_plain = |(key, value): (&Text, &Json)| MESSAGE_MEMBERS.contains(&key.as_str()) || value.is_null();
    !text.is_empty() && written.as_object().is_some_and(|message| message.iter().all(is_plain))
}

/// Returns the event of a block that is a call or a result; none if the block is text.
pub(crate) fn read_call_block(role: &str, block: &Json) -> Result<Option<Event>, WireRefusal> {
    let Some(_) = block.text("type") else { return Ok(None) };
    let message = Json::from([("role", role.into()), ("content", vec![block.clone()].into())]);
    let is_text = |event: &Event| matches!(event.kind, Kind::UserMessage | Kind::AssistantMessage);
    Ok(read_events(&message)?.into_iter().find(|event| !is_text(event)))
}

/// Returns the segment of a block that is a call or a result.
fn block_segment(event: Event, block: &Json, at: JsonPath) -> Segment {
    let content_at = join_path(&at, ["content".into()]);
    let mut segment = Segment::new(event, at);
    let Segment { event, at, texts, value, result_at, attached, held, .. } = &mut segment;
    match event.kind {
        Kind::ToolCall => {
            let input_at = join_path(at, ["input".into()]);
            *value = Some(ValuePlace::of_arguments(input_at, block.get("input"), false));
        }
        Kind::ToolResult => {
            *result_at = Some(content_at.clone());
            // A result of the vendor's own tool comes back unchanged, so its value identifies it.
            if block.text("type") == Some("tool_result") && event.result.is_none() {
                *attached = block.get("content").and_then(hash_attachments);
            }
            match event.result {
                Some(_) => *value = Some(ValuePlace::of_result(content_at)),
                None => collect_texts(block.get("content").unwrap_or(&Json::Null), content_at, "\n", texts),
            }
        }
        Kind::ToolDefinitions => {
            let tools_at = join_path(at, ["tools".into()]);
            *held = definition_paths(block.get("tools").unwrap_or(&Json::Null), &tools_at);
        }
        _ => {}
    }
    let name = block.text("type").unwrap_or_default();
    if !matches!(name, "tool_use" | "tool_result") && event.kind != Kind::ToolDefinitions {
        event.more.insert(EXECUTED_BY, "vendor");
    }
    segment
}

/// Consecutive blocks of text, which are one event.
#[derive(Default)]
struct TextRun {
    blocks: Vec<Json>,
    /// What an assistant says beside the content.
    beside: Object,
    texts: Vec<TextPart>,
    /// Whether the content is one value rather than a list of blocks.
    is_plain: bool,
}

impl TextRun {
    fn add(&mut self, block: &Json, at: JsonPath, joint: &'static str) {
        self.is_plain = matches!(at.last(), Some(JsonStep::Key(_)));
        if !is_thinking(block) {
            collect_texts(block, at, joint, &mut self.texts);
        }
        self.blocks.push(block.clone());
    }

    fn add_audio_and_refusal(&mut self, written: &Json, at: &[JsonStep]) {
        if let Some(audio) = written.get("audio").filter(|audio| audio.text("transcript").is_some()) {
            self.beside.insert("audio", audio.clone());
            let at = join_path(at, ["audio".into(), "transcript".into()]);
            collect_texts(audio.get("transcript").unwrap_or(&Json::Null), at, "\n", &mut self.texts);
        }
        let refusal = written.get("refusal").filter(|refusal| refusal.as_str().is_some_and(|text| !text.is_empty()));
        if let Some(refusal) = refusal {
            self.beside.insert("refusal", refusal.clone());
            collect_texts(refusal, join_path(at, ["refusal".into()]), "\n", &mut self.texts);
        }
    }

    /// Adds the segments of the blocks so far and starts anew.
    fn finish(&mut self, written: &Json, at: &[JsonStep], segments: &mut Vec<Segment>) -> Result<(), WireRefusal> {
        let mut run = std::mem::take(self);
        if run.blocks.is_empty() && run.beside.is_empty() {
            return Ok(());
        }
        let mut message = run.beside;
        let is_audio = message.get("audio").is_some();
        copy_members(written, &MESSAGE_MEMBERS[1..], &mut message);
        let content = match (run.is_plain, <[Json; 1]>::try_from(run.blocks)) {
            (true, Ok([content])) => content,
            (_, Ok([block])) => vec![block].into(),
            (_, Err(blocks)) => blocks.into(),
        };
        let attached = (written.text("role") != Some("assistant")).then(|| hash_attachments(&content)).flatten();
        message.insert("content", content);
        let events = read_events(&message.into())?;
        let last = events.len().saturating_sub(1);
        for (place, event) in events.into_iter().enumerate() {
            // A run without text beside other segments is no turn of its own.
            let is_empty = event.text.as_ref().is_none_or(|text| text.is_empty()) && event.more.is_empty();
            if !(is_empty && event.kind == Kind::UserMessage) {
                // Audio cannot be changed, so its transcript cannot either.
                let texts = match (is_audio, place == last) {
                    (true, _) => Vec::new(),
                    (false, true) => std::mem::take(&mut run.texts),
                    (false, false) => run.texts.clone(),
                };
                let result_at = (event.kind == Kind::ToolResult).then(|| join_path(at, ["content".into()]));
                segments.push(Segment { texts, result_at, attached, ..Segment::new(event, at.to_vec()) });
            }
        }
        Ok(())
    }
}

/// Returns the calls beside the content of a message.
fn read_calls(written: &Json, at: &[JsonStep]) -> Result<Vec<Segment>, WireRefusal> {
    let mut segments = Vec::new();
    let read_alone = |key: &str, value: Json| {
        let mut message = Object::new();
        copy_members(written, &["role", "name"], &mut message);
        message.insert(key, value);
        read_events(&message.into())
    };
    let entries = match written.get("tool_calls") {
        None | Some(Json::Null) => &[],
        Some(Json::Array(entries)) => entries.as_slice(),
        Some(_) => return Err(WireRefusal::new("wire.shape", "`tool_calls` is not a list")),
    };
    for (place, entry) in entries.iter().enumerate() {
        let here = join_path(at, json_path!["tool_calls", place]);
        let is_custom = is_custom_call(entry)?;
        let (key, argument) = if is_custom { ("custom", "input") } else { ("function", "arguments") };
        check_call(entry.get(key).unwrap_or(&Json::Null), argument)?;
        let inner = json_path![key, argument];
        for event in read_alone("tool_calls", vec![entry.clone()].into())? {
            let value = ValuePlace::of_arguments(join_path(&here, inner.clone()), entry.find(&inner), is_custom);
            segments.push(Segment { value: Some(value), ..Segment::new(event, here.clone()) });
        }
    }
    if let Some(call) = written.get("function_call").filter(|call| !call.is_null()) {
        check_call(call, "arguments")?;
        let here = join_path(at, ["function_call".into()]);
        for event in read_alone("function_call", call.clone())? {
            let arguments_at = join_path(&here, ["arguments".into()]);
            let value = Some(ValuePlace::of_arguments(arguments_at, call.get("arguments"), false));
            segments.push(Segment { value, ..Segment::new(event, here.clone()) });
        }
    }
    Ok(segments)
}

/// Refuses a call whose name or arguments some readers take for something else.
fn check_call(body: &Json, argument: &str) -> Result<(), WireRefusal> {
    let wrong = |message: String| Err(WireRefusal::new("wire.shape", message));
    match body.get("name") {
        Some(Json::String(name)) if !name.is_empty() => {}
        _ => return wrong("the name of a call is missing, or not a text".into()),
    }
    match (body.get(argument), argument) {
        (None | Some(Json::Null | Json::String(_)), _) | (Some(Json::Object(_)), "arguments") => Ok(()),
        _ => wrong(format!("`{argument}` of a call is not a text")),
    }
}

/// Copies the members of these names, as far as they exist.
fn copy_members(from: &Json, keys: &[&str], to: &mut Object) {
    for key in keys {
        if let Some(value) = from.get(key) {
            to.insert(*key, value.clone());
        }
    }
}

fn read_events(message: &Json) -> Result<Vec<Event>, WireRefusal> {
    let role = || message.text("role").unwrap_or("none");
    piece::message(message).ok_or_else(|| WireRefusal::unknown("a message", "role", role()))
}
