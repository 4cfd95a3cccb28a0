//! Files within a request: addresses, and bytes in base64, which may be a text.

use base64::Engine;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use lictor_json::Text;

use crate::name::is_name;

/// What a string under a key of files is.
pub(crate) enum FileContent {
    /// The address of a file, or bytes that are no text.
    Opaque,
    /// The text in a file.
    Text(Text),
    /// Neither an address nor bytes.
    None,
}

/// Reads a string under a key of files.
pub(crate) fn read_file(written: &str) -> FileContent {
    let is_address = ["https://", "http://"].iter().any(|scheme| written.starts_with(scheme));
    if is_address && written.bytes().all(|byte| byte.is_ascii_graphic()) {
        return FileContent::Opaque;
    }
    let payload = match written.strip_prefix("data:") {
        Some(rest) => match rest.split_once(',') {
            Some((head, payload)) if head.ends_with(";base64") => payload,
            _ => return FileContent::None,
        },
        None => written,
    };
    match decode(payload).map(String::from_utf8) {
        Some(Ok(text)) if is_readable(&text) => FileContent::Text(text.into()),
        Some(_) => FileContent::Opaque,
        None if is_name(written) => FileContent::Opaque,
        None => FileContent::None,
    }
}

/// Returns the bytes of base64 in either alphabet, with or without padding and line ends.
fn decode(payload: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let compact: Vec<u8> = payload.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    [&STANDARD, &URL_SAFE].into_iter().find_map(|alphabet| GeneralPurpose::new(alphabet, config).decode(&compact).ok())
}

/// Whether decoded bytes are a text rather than a picture or a signature.
fn is_readable(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t' | '\u{c}'))
}
