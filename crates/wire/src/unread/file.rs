//! Files within JSON: addresses, and bytes in base64 or in a data URL, which may be a text.

use lictor_json::{Json, Object, Text};

use crate::name::is_name;
use crate::refusal::WireRefusal;
use crate::text_file::{FileBytes, FileLabel, decode_base64};

/// The members that say of which type a file is.
const TYPE_KEYS: [&str; 5] = ["media_type", "mime_type", "mimeType", "content_type", "file_type"];

/// The members that name a file.
const FILE_NAME_KEYS: [&str; 5] = ["filename", "file_name", "fileName", "title", "name"];

/// What a string under a key of files is.
pub(crate) enum FileContent {
    /// The address of a file, or bytes that are no text.
    Opaque,
    /// The text in a file.
    Text(Text),
    /// Neither an address nor bytes.
    None,
    /// It says that it is a text, and cannot be read.
    Unreadable,
}

/// What an object says about the file within it.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileHolder {
    label: FileLabel,
    /// Whether it says that the bytes are written in base64.
    is_base64: bool,
    /// Whether it says that the text is written as it is.
    is_plain: bool,
}

impl FileHolder {
    /// Returns what the members of an object say, besides what this one says around it.
    pub(crate) fn with_members(&self, members: &Object) -> FileHolder {
        let mut holder =
            FileHolder { is_plain: members.get("type").and_then(Json::as_str) == Some("text"), ..self.clone() };
        for (key, value) in members.iter() {
            let Json::String(value) = value else { continue };
            match key.as_str() {
                key if TYPE_KEYS.contains(&key) => holder.label = holder.label.with_type(value),
                key if FILE_NAME_KEYS.contains(&key) => holder.label = holder.label.with_name(value),
                "type" | "encoding" => holder.is_base64 |= value.eq_ignore_ascii_case("base64"),
                _ => {}
            }
        }
        holder
    }

    /// Whether the type or the name says that the file is text.
    pub(crate) fn says_text(&self) -> bool {
        self.label.says_text()
    }

    /// Reads a string under a key of files.
    pub(crate) fn read_file(&self, written: &str) -> FileContent {
        let is_address = ["https://", "http://"].iter().any(|scheme| written.starts_with(scheme));
        if is_address && written.bytes().all(|byte| byte.is_ascii_graphic()) {
            return FileContent::Opaque;
        }
        if let Some(url) = DataUrl::read(written) {
            let Some(bytes) = url.read_bytes() else { return FileContent::Unreadable };
            let content = read_bytes(&url.label.with_label(&self.label), &bytes);
            // A head that is no type of media could be a sentence.
            return match (content, written.split_once(',').filter(|(head, _)| !is_plain_head(head))) {
                (FileContent::Text(text), Some((head, _))) => FileContent::Text(format!("{head}\n{text}").into()),
                (FileContent::Opaque, Some((head, _))) => FileContent::Text(head.into()),
                (content, _) => content,
            };
        }
        if self.is_plain {
            return FileContent::None;
        }
        match decode_base64(written.as_bytes()) {
            Some(bytes) => read_bytes(&self.label, &bytes),
            None if self.is_base64 && self.says_text() => FileContent::Unreadable,
            None if is_name(written) && self.says_text() => FileContent::Unreadable,
            None if is_name(written) => FileContent::Opaque,
            None => FileContent::None,
        }
    }
}

/// Returns the refusal of a file that says it is a text, and cannot be read.
pub(crate) fn refuse_unreadable(code: &'static str) -> WireRefusal {
    let message = "a file says that it is text, and cannot be read: its base64 is broken, or its charset is not known";
    WireRefusal::new(code, message)
}

/// A `data:` URL, which has the bytes of a file within it.
struct DataUrl<'a> {
    label: FileLabel,
    is_base64: bool,
    payload: &'a str,
}

impl<'a> DataUrl<'a> {
    /// Reads a string; none if it is no such URL.
    fn read(written: &'a str) -> Option<DataUrl<'a>> {
        let scheme = written.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:"))?;
        let (head, payload) = written.get(scheme.len()..)?.split_once(',')?;
        let parameters = head.rsplit_once(';');
        let base64 = parameters.filter(|(_, last)| last.trim().eq_ignore_ascii_case("base64"));
        let (is_base64, media_type) = (base64.is_some(), base64.map_or(head, |(media_type, _)| media_type).trim());
        // Without a type it is plain text; pictures in base64 often have none.
        let media_type = if media_type.starts_with(';') || media_type.is_empty() && !is_base64 {
            format!("text/plain{media_type}")
        } else {
            media_type.to_owned()
        };
        Some(DataUrl { label: FileLabel::default().with_type(&media_type), is_base64, payload })
    }

    fn read_bytes(&self) -> Option<Vec<u8>> {
        let bytes = decode_percent(self.payload);
        if self.is_base64 { decode_base64(&bytes) } else { Some(bytes) }
    }
}

/// Whether the part of a data URL before its bytes has blanks only after a `;`.
fn is_plain_head(head: &str) -> bool {
    head.split(';').all(|part| part.trim_start().bytes().all(|byte| byte.is_ascii_graphic()))
}

fn read_bytes(label: &FileLabel, bytes: &[u8]) -> FileContent {
    match label.read_bytes(bytes) {
        FileBytes::Text(text) => FileContent::Text(text),
        FileBytes::Other => FileContent::Opaque,
        FileBytes::Unreadable => FileContent::Unreadable,
    }
}

/// Returns the bytes of a text in which some are written as `%` and two digits.
fn decode_percent(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[2..] } else { after };
    }
    bytes
}
