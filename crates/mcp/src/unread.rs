//! Texts of a message that the decoder leaves out: metadata, annotations, unknown members, parts of unknown types. A server
//! or a model may read them, so they are judged with the event of the message, at the end of its text.
//!
//! Names and settings under the protocol's own keys are no texts; neither are pictures, sounds and files. Logging and
//! progress of a server reach the client's own display only.

use lictor_decode::Side;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Object, Text};
use lictor_wire::{FileBytes, FileLabel};

use crate::definitions::find_list_member;
use crate::message::Message;

/// The member of an event that has such texts.
const UNREAD: &str = "unread";

/// The keys under which a short word is a name or a setting of the protocol.
const SETTINGS: [&str; 33] = [
    "type",
    "role",
    "mimeType",
    "protocolVersion",
    "progressToken",
    "taskId",
    "cursor",
    "nextCursor",
    "method",
    "level",
    "lastModified",
    "audience",
    "status",
    "resultType",
    "mode",
    "action",
    "elicitationId",
    "requestState",
    "requestId",
    "createdAt",
    "lastUpdatedAt",
    "name",
    "id",
    "toolUseId",
    "model",
    "stopReason",
    "includeContext",
    "version",
    "theme",
    "sizes",
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/logLevel",
    "traceparent",
];

/// The keys of programs that name themselves.
const PROGRAMS: [&str; 4] =
    ["clientInfo", "serverInfo", "io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/serverInfo"];

/// The members by which a program names itself.
const PROGRAM_NAMES: [&str; 3] = ["name", "title", "version"];

/// The most bytes of a name.
const MAX_NAME_BYTES: usize = 128;

/// The most digits of a key that is a name. Longer ones are numbers of accounts, cards and telephones.
const MAX_KEY_DIGITS: usize = 8;

/// Returns the texts of a message that no event of it has, each in a line of its own. `method` is that of the request, also
/// for its response.
/// A file that says it is text, and cannot be read, is an error.
pub(crate) fn read(side: Side, method: &str, message: &Message) -> Result<Option<Text>, UnreadableFile> {
    let mut walk = Walk { side, texts: Vec::new(), has_unreadable: false };
    let value = &message.value;
    if let Some(result) = value.get("result") {
        walk.read_result(method, result);
    } else if let Some(error) = value.get("error") {
        walk.read_members(error, &["code", "message"]);
    } else if !(side == Side::Server && matches!(method, "notifications/message" | "notifications/progress")) {
        walk.read_params(method, message.params());
    }
    walk.read_members(value, &["jsonrpc", "id", "method", "params", "result", "error"]);
    match walk.has_unreadable {
        true => Err(UnreadableFile),
        false => Ok((!walk.texts.is_empty()).then(|| walk.texts.join("\n").into())),
    }
}

/// A file in a message says that it is text, and cannot be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnreadableFile;

impl std::fmt::Display for UnreadableFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(
            "a file says that it is text, and cannot be read: its base64 is broken, or its charset is not known",
        )
    }
}

/// Adds such texts to the last event of a message; without one, they are an event of their own.
pub(crate) fn add(events: &mut Vec<Event>, method: &str, unread: &Text) {
    if events.is_empty() {
        events.push(Event { tool: Some(method.into()), ..Event::new(Kind::Other(UNREAD.into())) });
    }
    let Some(event) = events.last_mut() else { return };
    // The message of a task is an event where its state changes.
    if event.text.as_ref() == Some(unread) {
        return;
    }
    event.text = Some(match &event.text {
        Some(text) => format!("{text}\n{unread}").into(),
        None => unread.clone(),
    });
    event.more.insert(UNREAD, true);
}

/// Takes such texts out of a rewritten event. False if they were rewritten too: there is no place to write them to.
pub(crate) fn take_out(event: &mut Event, unread: Option<&Text>) -> bool {
    let Some(unread) = unread.filter(|_| event.more.remove(UNREAD).is_some()) else { return true };
    let text = event.text.take().unwrap_or_default();
    match text.strip_suffix(unread.as_str()) {
        Some("") => true,
        Some(before) => {
            event.text = Some(before.strip_suffix('\n').unwrap_or(before).into());
            true
        }
        None => false,
    }
}

/// A walk over the members of a message.
struct Walk {
    side: Side,
    texts: Vec<String>,
    has_unreadable: bool,
}

impl Walk {
    /// Reads the parameters of a request or a notification.
    fn read_params(&mut self, method: &str, params: &Json) {
        let has_arguments = params.get("arguments").is_some_and(|arguments| !arguments.is_null());
        let read: &[&str] = match method {
            // The event has all parameters.
            "completion/complete" => return,
            "prompts/get" if has_arguments => return,
            "tools/call" => &["name", "arguments", "inputResponses"],
            "resources/read" | "prompts/get" | "tasks/update" => &["inputResponses"],
            "sampling/createMessage" => {
                self.read_messages(params);
                &["systemPrompt", "messages"]
            }
            "elicitation/create" => {
                self.read_form(params.get("requestedSchema").unwrap_or(&Json::Null));
                &["message", "url", "requestedSchema"]
            }
            "notifications/cancelled" => &["reason"],
            _ => &[],
        };
        self.read_members(params, read);
        for (name, response) in
            params.get("inputResponses").and_then(Json::as_object).into_iter().flat_map(Object::iter)
        {
            self.read_key(name);
            self.read_members(response, &["action", "content"]);
        }
    }

    /// Reads the result of a request.
    fn read_result(&mut self, method: &str, result: &Json) {
        if result.text("resultType") == Some("input_required") {
            return self.read_members(result, &["inputRequests"]);
        }
        let listed = find_list_member(method);
        let read: &[&str] = match method {
            "tools/call" | "tasks/result" => {
                self.read_parts(result.get("content").unwrap_or(&Json::Null));
                // The event has the value, but not its keys as a text.
                for key in ["structuredContent", "toolResult"] {
                    self.read_keys(result.get(key).unwrap_or(&Json::Null));
                }
                &["content", "structuredContent", "toolResult"]
            }
            "tasks/get" => {
                if let Some(inner) = result.get("result") {
                    self.read_result("tasks/result", inner);
                }
                &["result"]
            }
            "resources/read" => {
                self.read_parts(result.get("contents").unwrap_or(&Json::Null));
                &["contents"]
            }
            "prompts/get" => {
                self.read_messages(result);
                &["description", "messages"]
            }
            "completion/complete" => {
                self.read_members(result.get("completion").unwrap_or(&Json::Null), &["values"]);
                &["completion"]
            }
            "sampling/createMessage" => {
                self.read_parts(result.get("content").unwrap_or(&Json::Null));
                &["content"]
            }
            "elicitation/create" => &["action", "content"],
            "initialize" | "server/discover" => &["instructions"],
            "tools/list" => &["tools"],
            // Lists of what there is are read as those of tools: their descriptions quote examples.
            _ => listed.as_slice(),
        };
        self.read_members(result, read);
    }

    fn read_messages(&mut self, holder: &Json) {
        for message in holder.get("messages").and_then(Json::as_array).unwrap_or_default() {
            self.read_parts(message.get("content").unwrap_or(&Json::Null));
            self.read_members(message, &["content"]);
        }
    }

    /// Reads what the decoder leaves out of content: a text, a part or a list of parts.
    fn read_parts(&mut self, content: &Json) {
        match content {
            Json::Array(parts) => parts.iter().for_each(|part| self.read_parts(part)),
            Json::Object(_) => {
                let text = ["text", "refusal", "transcript"].into_iter().find(|key| content.text(key).is_some());
                let read: &[&str] = match (text, content.text("type")) {
                    (Some("text"), _) => &["text"],
                    (Some("refusal"), _) => &["refusal"],
                    (Some(_), _) => &["transcript"],
                    (None, Some("image" | "audio")) => {
                        self.read_file(content, "data");
                        &["data"]
                    }
                    (None, Some("resource")) => {
                        let resource = content.get("resource").unwrap_or(&Json::Null);
                        self.read_file(resource, "blob");
                        self.read_members(resource, &["text", "blob"]);
                        &["resource"]
                    }
                    (None, Some("resource_link")) => &["name", "title", "description"],
                    (None, None) => {
                        self.read_file(content, "blob");
                        &["blob"]
                    }
                    _ => &[],
                };
                self.read_members(content, read);
            }
            _ => {}
        }
    }

    /// Reads the bytes under a key of a part, if they are text.
    fn read_file(&mut self, part: &Json, key: &str) {
        let Some(written) = part.text(key).filter(|written| !written.is_empty()) else { return };
        let with = |label: FileLabel, key: &str| part.text(key).map_or(label.clone(), |value| label.with_type(value));
        let label = with(FileLabel::default(), "mimeType");
        let names = ["uri", "name", "title"].into_iter().filter_map(|key| part.text(key));
        let label = names.fold(label, FileLabel::with_name);
        match label.read_base64(written) {
            FileBytes::Text(text) => self.texts.push(text.to_string()),
            FileBytes::Other => {}
            FileBytes::Unreadable => self.has_unreadable = true,
        }
    }

    /// Reads the keys of a value that are sentences, at any depth.
    fn read_keys(&mut self, value: &Json) {
        match value {
            Json::Array(values) => values.iter().for_each(|value| self.read_keys(value)),
            Json::Object(members) => members.iter().for_each(|(key, value)| {
                self.texts.extend(key.contains(char::is_whitespace).then(|| key.to_string()));
                self.read_keys(value);
            }),
            _ => {}
        }
    }

    /// Reads the names of the fields of a form: a client shows them where a field has no title.
    fn read_form(&mut self, schema: &Json) {
        for (name, field) in schema.get("properties").and_then(Json::as_object).into_iter().flat_map(Object::iter) {
            if field.text("title").is_none_or(str::is_empty) && !name.contains(char::is_whitespace) {
                self.texts.push(name.to_string());
            }
        }
    }

    /// Reads the members of an object, except those that are read elsewhere.
    fn read_members(&mut self, value: &Json, read: &[&str]) {
        for (key, value) in value.as_object().into_iter().flat_map(Object::iter) {
            if !read.contains(&key.as_str()) {
                self.read_key(key);
                self.read_value(key, value);
            }
        }
    }

    fn read_value(&mut self, key: &str, value: &Json) {
        match value {
            Json::String(text) => self.read_text(key, text),
            Json::Array(values) => values.iter().for_each(|value| self.read_value(key, value)),
            Json::Object(_) if PROGRAMS.contains(&key) => self.read_members(value, &PROGRAM_NAMES),
            Json::Object(_) => self.read_members(value, &[]),
            _ => {}
        }
    }

    fn read_text(&mut self, key: &str, text: &str) {
        let is_setting = SETTINGS.contains(&key) && is_name(text);
        // A model does not read where a server says that something is; a server reads where a client asks it to look.
        let is_address =
            self.side == Side::Server && matches!(key, "uri" | "url" | "src" | "websiteUrl") && is_plain(text);
        if !(text.is_empty() || is_setting || is_address) {
            self.texts.push(text.to_owned());
        }
    }

    /// A key that is no name could be a sentence, or a number of a person.
    fn read_key(&mut self, key: &str) {
        if !is_name(key) || key.bytes().filter(u8::is_ascii_digit).count() > MAX_KEY_DIGITS {
            self.texts.push(key.to_owned());
        }
    }
}

/// Whether a text is a name: short, and without anything that separates words.
fn is_name(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/+=".contains(&byte);
    text.len() <= MAX_NAME_BYTES && text.bytes().all(is_part)
}

/// Whether an address has neither words nor a mailbox.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'@')
}
