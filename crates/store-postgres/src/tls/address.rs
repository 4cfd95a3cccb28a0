//! Takes `sslmode` and `sslrootcert` out of a connection string: the client library knows only some of the modes.

use std::ops::Range;
use std::path::PathBuf;

/// When connections are encrypted, and what is checked of the server; the names are those of libpq.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TlsMode {
    Disable,
    #[default]
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

/// The settings of a connection string that concern TLS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TlsSettings {
    pub(crate) mode: TlsMode,
    /// The file with the certificates of authorities.
    pub(crate) root: Option<PathBuf>,
}

impl TlsSettings {
    /// Returns the settings, and the connection string without them.
    pub(crate) fn read(address: &str) -> Result<(TlsSettings, String), String> {
        let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| address.starts_with(scheme));
        // A password may have a question mark.
        let host = address.find('@').unwrap_or(0);
        let pairs = match address.get(host..).and_then(|rest| rest.find('?')).map(|mark| host + mark) {
            _ if !is_url => read_pairs(address),
            Some(mark) => read_query(address, mark + 1),
            None => Vec::new(),
        };
        let mut settings = TlsSettings::default();
        let mut rest = address.to_owned();
        // From the end, so that the places before stay right. Of two values the last counts.
        let (mut mode, mut root) = (None, None);
        for pair in pairs.into_iter().rev() {
            let setting = match pair.key.as_str() {
                "sslmode" => &mut mode,
                "sslrootcert" => &mut root,
                _ => continue,
            };
            setting.get_or_insert(pair.value);
            rest.replace_range(pair.place, "");
        }
        if let Some(mode) = mode {
            settings.mode = read_mode(&mode)?;
        }
        settings.root = root.map(PathBuf::from);
        Ok((settings, rest))
    }
}

fn read_mode(name: &str) -> Result<TlsMode, String> {
    Ok(match name {
        "disable" => TlsMode::Disable,
        "prefer" => TlsMode::Prefer,
        "require" => TlsMode::Require,
        "verify-ca" => TlsMode::VerifyCa,
        "verify-full" => TlsMode::VerifyFull,
        _ => return Err(format!("sslmode `{name}` is none of disable, prefer, require, verify-ca and verify-full")),
    })
}

/// A setting in a connection string, and its place.
struct Pair {
    key: String,
    value: String,
    place: Range<usize>,
}

/// Returns the settings in the query of a URL.
fn read_query(address: &str, start: usize) -> Vec<Pair> {
    let mut place = start;
    let pairs = address.get(start..).unwrap_or_default().split('&').map(|text| {
        let (key, value) = text.split_once('=').unwrap_or((text, ""));
        let begun = place;
        place += text.len() + 1;
        // Together with the `&` after it.
        Pair { key: key.to_owned(), value: decode_percent(value), place: begun..place.min(address.len()) }
    });
    pairs.collect()
}

fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let encoded = after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match encoded.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the settings of the form `key = value`, as far as they can be read; the client library reports the rest.
fn read_pairs(address: &str) -> Vec<Pair> {
    let mut pairs = Vec::new();
    let mut characters = address.char_indices().peekable();
    loop {
        while characters.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        let Some(&(begun, _)) = characters.peek() else { return pairs };
        let mut key = String::new();
        while let Some((_, c)) = characters.next_if(|(_, c)| !c.is_whitespace() && *c != '=') {
            key.push(c);
        }
        while characters.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        if characters.next_if(|(_, c)| *c == '=').is_none() {
            return pairs;
        }
        while characters.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        let is_quoted = characters.next_if(|(_, c)| *c == '\'').is_some();
        let mut value = String::new();
        while let Some((_, c)) = characters.next_if(|(_, c)| is_quoted || !c.is_whitespace()) {
            match c {
                '\'' if is_quoted => break,
                '\\' => value.extend(characters.next().map(|(_, c)| c)),
                _ => value.push(c),
            }
        }
        let end = characters.peek().map_or(address.len(), |(place, _)| *place);
        pairs.push(Pair { key, value, place: begun..end });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tls_settings_are_taken_out_of_address() {
        let full = |root: Option<&str>| TlsSettings { mode: TlsMode::VerifyFull, root: root.map(PathBuf::from) };
        for (address, settings, rest) in [
            ("postgres://u:p?w@h/d", TlsSettings::default(), "postgres://u:p?w@h/d"),
            ("postgres://u@h/d?sslmode=verify-full", full(None), "postgres://u@h/d?"),
            (
                "postgresql://h/d?a=b&sslrootcert=%2Fx%20y.pem&sslmode=verify-full&c=d",
                full(Some("/x y.pem")),
                "postgresql://h/d?a=b&c=d",
            ),
            ("host=h sslmode=verify-full user=u", full(None), "host=h  user=u"),
            ("host='a b' sslrootcert = '/it\\'s.pem' sslmode =verify-full", full(Some("/it's.pem")), "host='a b'  "),
            ("host=h sslmode=disable", TlsSettings { mode: TlsMode::Disable, root: None }, "host=h "),
            ("host=h sslmode=disable sslmode=verify-full", full(None), "host=h  "),
            ("no address", TlsSettings::default(), "no address"),
        ] {
            assert_eq!(TlsSettings::read(address), Ok((settings, rest.to_owned())), "{address}");
        }
        let error = TlsSettings::read("host=h sslmode=maybe").unwrap_err();
        assert!(error.contains("sslmode `maybe` is none of"), "{error}");
    }
}
