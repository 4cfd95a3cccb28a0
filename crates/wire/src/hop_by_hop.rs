//! Header fields that belong to one connection: a proxy does not forward them (RFC 9110, section 7.6.1).

/// The fields that are hop-by-hop in every message.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "http2-settings",
];

/// The hop-by-hop header fields of one message: those that always are, and those that its `Connection` lists.
///
/// ```
/// let fields = lictor_wire::HopByHopFields::read([b"close, X-Private".as_slice()]);
/// assert!(fields.contains("x-private") && fields.contains("Transfer-Encoding"));
/// assert!(!fields.contains("x-public"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HopByHopFields {
    /// The listed names, in small letters.
    listed: Vec<String>,
}

impl HopByHopFields {
    /// Returns the fields of a message, by the values of its `Connection` fields.
    pub fn read<'a>(connection: impl IntoIterator<Item = &'a [u8]>) -> HopByHopFields {
        let names = connection.into_iter().flat_map(|value| value.split(|byte| *byte == b','));
        let names = names.map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase());
        HopByHopFields { listed: names.filter(|name| !name.is_empty()).collect() }
    }

    /// Whether a field belongs to the connection.
    pub fn contains(&self, name: &str) -> bool {
        let is_same = |other: &str| other.eq_ignore_ascii_case(name);
        HOP_BY_HOP.into_iter().any(is_same) || self.listed.iter().any(|listed| is_same(listed))
    }
}
