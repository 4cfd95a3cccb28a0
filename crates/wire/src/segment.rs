//! Messages and items taken apart: one segment for each event, with the places in the body where it says what it says.
//!
//! What the events are, the decoders of logs decide. A segment is the smallest piece of a message that they make an event
//! of: a run of text, one call, one answer of a tool. So a segment can be judged by itself, and changed by itself.

use lictor_decode::piece;
use lictor_event::content_hash::{self, ContentHash};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Object, Text};

use crate::WireRefusal;
use crate::align;
use crate::splice::{Edit, Path, Step, at, join};

/// A piece of a message that is one event.
#[derive(Clone, Debug)]
pub(crate) struct Segment {
    pub(crate) event: Event,
    /// Where the message, the block, the call or the item is.
    pub(crate) at: Path,
    /// The texts that the event's text is joined of.
    texts: Vec<Said>,
    /// The arguments or the result.
    value: Option<Held>,
    /// Where the answer of a tool stands, all of it.
    answer: Option<Path>,
    /// The hash of pictures and files that come with it.
    attached: Option<ContentHash>,
}

/// A value in the body.
#[derive(Clone, Debug)]
struct Held {
    at: Path,
    form: Form,
}

/// How a value is written.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// As itself.
    Value,
    /// As a string that holds its JSON.
    Quoted,
    /// As a free text, which is the `input` of the arguments.
    Free,
}

/// A text in the body.
#[derive(Clone, Debug)]
struct Said {
    at: Path,
    text: Text,
    /// What is put before it, if something stands before it.
    joint: &'static str,
}

/// Tools that the vendor runs itself: when the call is seen it has been carried out.
pub(crate) const EXECUTED: &str = "executed_by";

/// The kind of the event of an `mcp_approval_response`.
pub(crate) const APPROVAL_RESPONSE: &str = "approval_response";

/// Takes a message of a chat apart, of any role.
pub(crate) fn message(written: &Json, at: &[Step]) -> Result<Vec<Segment>, WireRefusal> {
    let role = written.text("role").unwrap_or_default();
    let joint = if role == "assistant" { "" } else { "\n" };
    let mut segments = Vec::new();
    let mut run = Run::default();
    let content_at = join(at, ["content".into()]);
    match written.get("content") {
        Some(Json::Array(blocks)) if matches!(role, "user" | "assistant") => {
            for (place, block) in blocks.iter().enumerate() {
                let here = join(&content_at, [place.into()]);
                match act(role, block)? {
                    Some(event) => {
                        run.end(written, at, &mut segments)?;
                        segments.push(Segment::of_block(event, block, here));
                    }
                    None => run.add(block, here, joint),
                }
            }
        }
        Some(content) => run.add(content, content_at, joint),
        None => {}
    }
    if role == "assistant" {
        run.add_beside(written, at);
    }
    run.end(written, at, &mut segments)?;
    if role == "assistant" {
        segments.extend(calls(written, at)?);
    }
    // A user who sends nothing still took a turn.
    if segments.is_empty() && role != "assistant" {
        for event in events(written)? {
            segments.push(Segment::new(event, at.to_vec()));
        }
    }
    Ok(segments)
}

/// Takes an item of the Responses interface apart.
pub(crate) fn item(written: &Json, at: &[Step]) -> Result<Vec<Segment>, WireRefusal> {
    let name = written.text("type").unwrap_or("message");
    if name == "message" {
        return message(written, at);
    }
    let events = piece::item(written).ok_or_else(|| unknown("an item", "type", name))?;
    let hosted = is_hosted(name);
    let segment = |event: Event| {
        let mut segment = Segment::new(on_the_wire(event), at.to_vec());
        let Segment { event, texts, value, answer, attached, .. } = &mut segment;
        match event.kind {
            Kind::ToolResult => {
                let key = ["output", "results", "outputs", "result"]
                    .into_iter()
                    .find(|key| written.get(key).is_some_and(|held| !held.is_null()));
                if let Some(key) = key {
                    let place = join(at, [key.into()]);
                    match event.result {
                        Some(_) => *value = Some(Held { at: place, form: Form::Value }),
                        None => collect(written.get(key).unwrap_or(&Json::Null), place, "\n", texts),
                    }
                }
                if !hosted && event.result.is_none() {
                    *attached = key.and_then(|key| attachments(written.get(key)?));
                }
                let key = key.or_else(|| written.get("error").map(|_| "error"));
                // Of tools that were found, no text stands in the place.
                *answer = (name != "tool_search_output").then(|| join(at, [key.unwrap_or("output").into()]));
            }
            Kind::ToolCall => {
                let key = match name {
                    "custom_tool_call" => Some("input"),
                    _ => ["arguments", "action", "operation"].into_iter().find(|key| written.get(key).is_some()),
                };
                *value = key.map(|key| Held::new(join(at, [key.into()]), written.get(key), name == "custom_tool_call"));
            }
            _ => {}
        }
        if hosted && matches!(event.kind, Kind::ToolCall | Kind::ToolResult) {
            event.more.insert(EXECUTED, "vendor");
        }
        segment
    };
    Ok(events.into_iter().map(segment).collect())
}

/// Instructions beside the messages.
pub(crate) fn instructions(content: &Json, at: Path) -> Segment {
    let mut segment = Segment::new(piece::instructions(content), at.clone());
    collect(content, at, "\n", &mut segment.texts);
    segment
}

/// The tools on offer.
pub(crate) fn definitions(tools: &Json, at: Path) -> Option<Segment> {
    tools.as_array().filter(|tools| !tools.is_empty())?;
    let mut event = Event::new(Kind::ToolDefinitions);
    event.more.insert("tools", tools.clone());
    Some(Segment::new(event, at))
}

/// Something that is carried and that no text or call holds.
pub(crate) fn other(kind: &str, key: &str, value: &Json, at: Path) -> Segment {
    let mut event = Event::new(Kind::Other(kind.into()));
    event.more.insert(key, value.clone());
    Segment::new(event, at)
}

/// The hash of what an event says.
pub(crate) fn hash(event: &Event) -> ContentHash {
    match event.kind {
        // What these say is beside their texts.
        Kind::ToolDefinitions | Kind::Other(_) => {
            content_hash::extend_hash(&content_hash::hash_json(&Json::Object(event.more.clone())), event)
        }
        _ => content_hash::extend_hash(&[0; 32], event),
    }
}

/// What a client or a vendor calls an approval is what they say: nobody here was asked. It is an event of another name, so that
/// it allows nothing.
pub(crate) fn on_the_wire(mut event: Event) -> Event {
    if matches!(event.kind, Kind::Approval | Kind::Denial) {
        event.more.insert("approve", event.kind == Kind::Approval);
        event.kind = Kind::Other(APPROVAL_RESPONSE.into());
    }
    event
}

/// Whether items of this type are calls that the vendor carries out, so that nobody can stop them any more.
fn is_hosted(name: &str) -> bool {
    const HOSTED: [&str; 7] = [
        "mcp_call",
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "tool_search_call",
        "program",
    ];
    HOSTED.contains(&name)
}

impl Segment {
    fn new(event: Event, at: Path) -> Segment {
        Segment { event, at, texts: Vec::new(), value: None, answer: None, attached: None }
    }

    /// The hash of what it says, with what comes along.
    pub(crate) fn hash(&self) -> ContentHash {
        match self.attached {
            Some(attached) => content_hash::extend_hash(&attached, &self.event),
            None => hash(&self.event),
        }
    }

    /// Where its texts stand.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Path> {
        self.texts.iter().map(|said| &said.at)
    }

    /// The edits by which the body says what the event says now.
    pub(crate) fn rewrite(&self, event: &Event) -> Result<Vec<(Path, Edit)>, WireRefusal> {
        let mut edits = Vec::new();
        if event.args != self.event.args
            && let Some(args) = &event.args
        {
            let held = self.value.as_ref().ok_or_else(|| self.stuck("its arguments"))?;
            edits.push((held.at.clone(), Edit::Set(self.arguments(args))));
        }
        if event.result != self.event.result {
            let held = self.value.as_ref().ok_or_else(|| self.stuck("its result"))?;
            edits.push((held.at.clone(), Edit::Set(event.result.clone().unwrap_or(Json::Null))));
        }
        if event.text != self.event.text {
            edits.extend(self.retext(event.text.as_deref().unwrap_or_default())?);
        }
        Ok(edits)
    }

    /// The edits by which the body says another text.
    pub(crate) fn retext(&self, new: &str) -> Result<Vec<(Path, Edit)>, WireRefusal> {
        let (mut old, mut ranges) = (String::new(), Vec::new());
        for said in &self.texts {
            if !old.is_empty() {
                old.push_str(said.joint);
            }
            ranges.push(old.len()..old.len() + said.text.len());
            old.push_str(&said.text);
        }
        if old != self.event.text.as_deref().unwrap_or_default() || self.texts.is_empty() {
            return Err(self.stuck("its text"));
        }
        let pieces = align::pieces(&old, &ranges, &align::replaced(&old, new));
        let changed = self.texts.iter().zip(pieces).filter(|(said, piece)| said.text != *piece);
        Ok(changed.map(|(said, piece)| (said.at.clone(), Edit::Set(piece.into()))).collect())
    }

    /// The edits by which the body says the text of a denial in place of what was said or answered.
    pub(crate) fn deny(&self, text: &str) -> Result<Vec<(Path, Edit)>, WireRefusal> {
        // With all that is beside its words: pictures, files, titles.
        if let Some(answer) = &self.answer {
            return Ok(vec![(answer.clone(), Edit::Set(text.into()))]);
        }
        let Some((first, rest)) = self.texts.split_first() else { return Err(self.stuck("itself")) };
        let mut edits = vec![(first.at.clone(), Edit::Set(text.into()))];
        edits.extend(rest.iter().map(|said| (said.at.clone(), Edit::Set("(withheld)".into()))));
        Ok(edits)
    }

    /// Arguments in the form in which this call has them.
    pub(crate) fn arguments(&self, args: &Arguments) -> Json {
        let form = self.value.as_ref().map_or(Form::Value, |held| held.form);
        match (args, form) {
            (Arguments::Unparsed(text), _) => Json::String(text.clone()),
            (Arguments::Value(value), Form::Free) => {
                value.get("input").cloned().unwrap_or_else(|| value.to_string().into())
            }
            (Arguments::Value(value), Form::Quoted) => value.to_string().into(),
            (Arguments::Value(value), Form::Value) => value.clone(),
        }
    }

    fn of_block(event: Event, block: &Json, at: Path) -> Segment {
        let content_at = join(&at, ["content".into()]);
        let mut segment = Segment::new(event, at);
        let Segment { event, at, texts, value, answer, attached } = &mut segment;
        match event.kind {
            Kind::ToolCall => *value = Some(Held::new(join(at, ["input".into()]), block.get("input"), false)),
            Kind::ToolResult => {
                *answer = Some(content_at.clone());
                // What the vendor's own tools answer comes back as it was told, and is known by its value.
                if block.text("type") == Some("tool_result") && event.result.is_none() {
                    *attached = block.get("content").and_then(attachments);
                }
                match event.result {
                    Some(_) => *value = Some(Held { at: content_at, form: Form::Value }),
                    None => collect(block.get("content").unwrap_or(&Json::Null), content_at, "\n", texts),
                }
            }
            _ => {}
        }
        let name = block.text("type").unwrap_or_default();
        if !matches!(name, "tool_use" | "tool_result") && event.kind != Kind::ToolDefinitions {
            event.more.insert(EXECUTED, "vendor");
        }
        segment
    }

    /// What a service says about itself, which stands nowhere in particular.
    pub(crate) fn about(event: Event) -> Segment {
        Segment::new(event, Vec::new())
    }

    /// The same where its texts are under another key.
    pub(crate) fn moved(mut self, from: &str, to: &str) -> Segment {
        for said in &mut self.texts {
            for step in said.at.iter_mut().filter(|step| **step == from.into()).take(1) {
                *step = to.into();
            }
        }
        self
    }

    fn stuck(&self, what: &str) -> WireRefusal {
        WireRefusal::new(
            "wire.rewrite",
            format!(
                "a {} cannot be changed in place: {what} is not in a form that can be written back",
                self.event.kind
            ),
        )
    }
}

impl Held {
    fn new(at: Path, value: Option<&Json>, is_free: bool) -> Held {
        let form = match value {
            _ if is_free => Form::Free,
            Some(Json::String(_)) => Form::Quoted,
            _ => Form::Value,
        };
        Held { at, form }
    }
}

/// A run of blocks that say something together.
#[derive(Default)]
struct Run {
    blocks: Vec<Json>,
    beside: Object,
    texts: Vec<Said>,
    /// Whether the content is one value rather than a list of blocks.
    is_plain: bool,
}

impl Run {
    fn add(&mut self, block: &Json, at: Path, joint: &'static str) {
        self.is_plain = matches!(at.last(), Some(Step::Key(_)));
        if !is_thought(block) {
            collect(block, at, joint, &mut self.texts);
        }
        self.blocks.push(block.clone());
    }

    /// What an assistant says beside the content.
    fn add_beside(&mut self, written: &Json, at: &[Step]) {
        if let Some(audio) = written.get("audio").filter(|audio| audio.text("transcript").is_some()) {
            self.beside.insert("audio", audio.clone());
            let at = join(at, ["audio".into(), "transcript".into()]);
            collect(audio.get("transcript").unwrap_or(&Json::Null), at, "\n", &mut self.texts);
        }
        if let Some(refusal) =
            written.get("refusal").filter(|refusal| refusal.as_str().is_some_and(|text| !text.is_empty()))
        {
            self.beside.insert("refusal", refusal.clone());
            collect(refusal, join(at, ["refusal".into()]), "\n", &mut self.texts);
        }
    }

    fn end(&mut self, written: &Json, at: &[Step], segments: &mut Vec<Segment>) -> Result<(), WireRefusal> {
        let run = std::mem::take(self);
        if run.blocks.is_empty() && run.beside.is_empty() {
            return Ok(());
        }
        let mut message = run.beside;
        let is_heard = message.get("audio").is_some();
        for key in ["role", "name", "tool_call_id"] {
            if let Some(value) = written.get(key) {
                message.insert(key, value.clone());
            }
        }
        let content = match (run.is_plain, <[Json; 1]>::try_from(run.blocks)) {
            (true, Ok([content])) => content,
            (_, Ok([block])) => vec![block].into(),
            (_, Err(blocks)) => blocks.into(),
        };
        let attached = (written.text("role") != Some("assistant")).then(|| attachments(&content)).flatten();
        message.insert("content", content);
        for event in events(&message.into())? {
            // A run without words beside other segments is no turn of its own.
            let is_silent = event.text.as_ref().is_none_or(|text| text.is_empty()) && event.more.is_empty();
            if !(is_silent && event.kind == Kind::UserMessage) {
                // What was recorded as sound cannot be changed, so neither can what is said of it.
                let texts = if is_heard { Vec::new() } else { run.texts.clone() };
                let answer = (event.kind == Kind::ToolResult).then(|| join(at, ["content".into()]));
                segments.push(Segment { event, at: at.to_vec(), texts, value: None, answer, attached });
            }
        }
        Ok(())
    }
}

/// The calls beside the content of a message.
fn calls(written: &Json, at: &[Step]) -> Result<Vec<Segment>, WireRefusal> {
    let mut segments = Vec::new();
    let alone = |key: &str, value: Json| {
        let mut message = Object::new();
        for key in ["role", "name"] {
            if let Some(value) = written.get(key) {
                message.insert(key, value.clone());
            }
        }
        message.insert(key, value);
        events(&message.into())
    };
    for (place, entry) in written.get("tool_calls").and_then(Json::as_array).unwrap_or_default().iter().enumerate() {
        let here = join(at, at!["tool_calls", place]);
        let inner = match (entry.get("function"), entry.get("custom")) {
            (Some(_), _) => Some(at!["function", "arguments"]),
            (None, Some(_)) => Some(at!["custom", "input"]),
            (None, None) => None,
        };
        for event in alone("tool_calls", vec![entry.clone()].into())? {
            let value = inner.clone().map(|inner| {
                let held = crate::splice::value_at(entry, &inner);
                Held::new(join(&here, inner), held, entry.get("function").is_none())
            });
            segments.push(Segment { value, ..Segment::new(event, here.clone()) });
        }
    }
    if let Some(call) = written.get("function_call").filter(|call| !call.is_null()) {
        let here = join(at, ["function_call".into()]);
        for event in alone("function_call", call.clone())? {
            let value = Some(Held::new(join(&here, ["arguments".into()]), call.get("arguments"), false));
            segments.push(Segment { value, ..Segment::new(event, here.clone()) });
        }
    }
    Ok(segments)
}

/// The call or the answer that a block is; none if it is something said.
pub(crate) fn act(role: &str, block: &Json) -> Result<Option<Event>, WireRefusal> {
    let Some(_) = block.text("type") else { return Ok(None) };
    let mut alone = Object::new();
    alone.insert("role", role);
    alone.insert("content", vec![block.clone()]);
    let said = |event: &Event| matches!(event.kind, Kind::UserMessage | Kind::AssistantMessage);
    Ok(events(&alone.into())?.into_iter().find(|event| !said(event)))
}

/// Whether a block is what the model thinks, which nobody hears.
fn is_thought(block: &Json) -> bool {
    matches!(block.text("type"), Some("thinking" | "redacted_thinking" | "reasoning" | "fallback" | "compaction"))
}

fn events(message: &Json) -> Result<Vec<Event>, WireRefusal> {
    piece::message(message).ok_or_else(|| unknown("a message", "role", message.text("role").unwrap_or("none")))
}

pub(crate) fn unknown(what: &str, key: &str, name: &str) -> WireRefusal {
    WireRefusal::new(
        "wire.unknown",
        format!("{what} with the {key} `{name}`, which is not known, so nobody can judge it"),
    )
}

/// The hash of the pictures and files of a content; none if there are none. Where a vendor may keep it for later is nothing that
/// it says, and moves on from request to request.
fn attachments(content: &Json) -> Option<ContentHash> {
    let files: Vec<Json> = content.as_array()?.iter().filter_map(file).collect();
    (!files.is_empty()).then(|| content_hash::hash_json(&files.into()))
}

/// A part that holds something else than words, whatever its title.
fn file(part: &Json) -> Option<Json> {
    let mut texts = Vec::new();
    collect(part, Vec::new(), "", &mut texts);
    let is_beside = |said: &Said| piece::leading_fields(part).iter().any(|key| said.at == at![*key]);
    if !texts.iter().all(is_beside) {
        return None;
    }
    let mut file = part.as_object()?.clone();
    file.remove("cache_control");
    Some(file.into())
}

/// The texts of a content, in the order in which a reader joins them.
fn collect(value: &Json, at: Path, joint: &'static str, texts: &mut Vec<Said>) {
    match value {
        Json::String(text) => texts.push(Said { at, text: text.clone(), joint }),
        Json::Array(parts) => {
            for (place, part) in parts.iter().enumerate() {
                collect(part, join(&at, [place.into()]), joint, texts);
            }
        }
        Json::Object(_) => {
            for key in piece::leading_fields(value) {
                if let Some(beside) = value.get(key).filter(|beside| beside.as_str().is_some()) {
                    collect(beside, join(&at, [(*key).into()]), joint, texts);
                }
            }
            let inner = match ["text", "refusal", "transcript"].into_iter().find(|key| value.text(key).is_some()) {
                Some(key) => at![key],
                None => match value.text("type") {
                    Some("document") => match value.at("source.type").and_then(Json::as_str) {
                        Some("text") => at!["source", "data"],
                        _ => at!["source", "content"],
                    },
                    Some("search_result") => at!["content"],
                    _ => return,
                },
            };
            if let Some(inner_value) = crate::splice::value_at(value, &inner) {
                collect(inner_value, join(&at, inner), joint, texts);
            }
        }
        _ => {}
    }
}
