//! The caller of a request, and its session.
//!
//! The tenant depends on the credential alone, and on no other input of the client. A session's name is a keyed hash
//! over the tenant, the credential and the client's id: a client that uses the id of another tenant's session gets a
//! session of its own. Ids of any length and with any characters are only hashed.

mod digest_cache;

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::str::FromStr;
use std::sync::Arc;

use hmac::{Hmac, KeyInit, Mac};
use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HeaderName};
use lictor_event::content_hash::to_hex;
use lictor_wire::SessionHints;
use sha2::{Digest as _, Sha256};

use crate::work::Flow;
use digest_cache::DigestCache;

/// The header by which an application names the session.
pub(crate) const SESSION_HEADER: &str = "x-lictor-session";

/// The header by which an application names the principal that the agent acts for.
pub(crate) const PRINCIPAL_HEADER: &str = "x-lictor-principal";

/// The tenant of credentials that the configuration does not list.
pub(crate) const EVERYBODY: &str = "everybody";

/// The SHA-256 of a credential. A configuration never has the credential itself.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    /// Returns the hash of a credential, as it is sent after `Bearer` or in `x-api-key`.
    pub fn of(credential: &str) -> KeyHash {
        KeyHash(Sha256::digest(credential.as_bytes()).into())
    }

    /// Returns the bytes of the hash.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether it is one of these, in constant time.
    pub(crate) fn is_among(&self, known: &[KeyHash]) -> bool {
        let same = |other: &KeyHash| self.0.iter().zip(other.0).fold(0, |sum, (one, other)| sum | (one ^ other)) == 0;
        known.iter().fold(false, |found, other| same(other) | found)
    }
}

impl FromStr for KeyHash {
    type Err = String;

    fn from_str(text: &str) -> Result<KeyHash, String> {
        let wrong = || "a key stands here by its hash: `sha256:` and 64 hexadecimal digits".to_owned();
        let digits = text.strip_prefix("sha256:").filter(|digits| digits.len() == 64).ok_or_else(wrong)?;
        let mut bytes = [0u8; 32];
        for (place, byte) in bytes.iter_mut().enumerate() {
            let pair = digits.get(place * 2..place * 2 + 2).ok_or_else(wrong)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| wrong())?;
        }
        Ok(KeyHash(bytes))
    }
}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        f.write_str(&to_hex(&self.0))
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

// Names that are parsed once: every request is asked for them several times.
static CREDENTIAL_NAMES: [HeaderName; 3] =
    [HeaderName::from_static("x-api-key"), HeaderName::from_static("api-key"), AUTHORIZATION];
static SESSION_NAME: HeaderName = HeaderName::from_static(SESSION_HEADER);
static PRINCIPAL_NAME: HeaderName = HeaderName::from_static(PRINCIPAL_HEADER);
static TRACEPARENT_NAME: HeaderName = HeaderName::from_static("traceparent");

/// Returns the names of the headers that identify a caller. Duplicates are refused: the upstream may read the other one.
pub(crate) fn identity_headers() -> impl Iterator<Item = &'static HeaderName> {
    CREDENTIAL_NAMES.iter().chain([&SESSION_NAME, &PRINCIPAL_NAME])
}

/// Returns the session header as it was sent, or nothing.
pub(crate) fn session_bytes(headers: &HeaderMap) -> &[u8] {
    headers.get(&SESSION_NAME).map(|value| value.as_bytes()).unwrap_or_default()
}

/// The source of a session's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// In the header [`SESSION_HEADER`].
    Header,
    /// In the body, where the vendor's API has a place for it.
    Body,
    /// In the trace that the request belongs to.
    Trace,
    /// The end user that the body names.
    User,
    /// The response that the request continues.
    Previous,
    /// No id: the conversation is known by its first message.
    History,
    /// Neither an id nor a message: all such requests of a principal, or of a credential, are one session.
    Principal,
}

/// What may name a session besides ids that are meant for it.
// Exhaustive on purpose: a variant that a caller does not handle should be a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSource {
    /// The trace id of `traceparent`. A client with OpenTelemetry may begin a trace for each request.
    Traceparent,
    /// The end user: all requests of a user are one session.
    User,
}

impl Origin {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Origin::Header => "header",
            Origin::Body => "body",
            Origin::Trace => "traceparent",
            Origin::User => "user",
            Origin::Previous => "previous_response",
            Origin::History => "history",
            Origin::Principal => "principal",
        }
    }
}

/// The caller of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The tenant, as the configuration names it.
    pub(crate) tenant: String,
    /// The hash of the credential; that of an empty one if there is none.
    pub(crate) credential: KeyHash,
    /// Whether the configuration knows the credential.
    pub(crate) is_known: bool,
    /// The principal that the agent acts for, according to the application.
    pub(crate) principal: Option<String>,
}

impl Caller {
    /// Returns the caller, by the headers of a request.
    pub(crate) fn of(headers: &HeaderMap, tenants: &BTreeMap<KeyHash, String>) -> Caller {
        Caller::with_hash(KeyHash::of(credential(headers).unwrap_or_default()), headers, tenants)
    }

    /// Returns the caller with the hash of its credential.
    fn with_hash(credential: KeyHash, headers: &HeaderMap, tenants: &BTreeMap<KeyHash, String>) -> Caller {
        let tenant = tenants.get(&credential);
        let principal = any_text(headers, &PRINCIPAL_NAME).filter(|name| !name.is_empty());
        let is_known = tenant.is_some();
        Caller { tenant: tenant.map_or(EVERYBODY, String::as_str).to_owned(), credential, is_known, principal }
    }

    /// Returns whose turn a request takes: that of the credential, and of the session as far as the head names it. Without a
    /// name each request is a conversation of its own.
    pub(crate) fn flow(&self, headers: &HeaderMap, exchange: &str) -> Flow {
        let hash = |bytes: &[u8]| {
            let mut hasher = DefaultHasher::new();
            hasher.write(bytes);
            hasher.finish()
        };
        let conversation = match session_bytes(headers) {
            [] => exchange.as_bytes(),
            session => session,
        };
        Flow { client: hash(self.credential.as_bytes()), conversation: hash(conversation) }
    }
}

/// Returns the credential, from the first of the vendors' headers that has one.
fn credential(headers: &HeaderMap) -> Option<&str> {
    credentials(headers).next()
}

/// Returns the key of `authorization: Bearer KEY`; none if the field is missing, repeated or of another scheme.
pub(crate) fn bearer_key(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (value, second) = (values.next()?, values.next());
    let (scheme, key) = value.to_str().ok().filter(|_| second.is_none())?.trim().split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| key.trim()).filter(|key| !key.is_empty())
}

/// Whether there are two different credentials: the upstream may use the one, and we the other.
pub(crate) fn has_two_credentials(headers: &HeaderMap) -> bool {
    let mut all = credentials(headers);
    let first = all.next();
    all.any(|other| Some(other) != first)
}

fn credentials(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let [x_api_key, api_key, authorization] = &CREDENTIAL_NAMES;
    let authorization = text(headers, authorization).map(|value| match value.split_once(' ') {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("bearer") => rest.trim(),
        _ => value,
    });
    let all = [text(headers, x_api_key), text(headers, api_key), authorization];
    all.into_iter().flatten().filter(|credential| !credential.is_empty())
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Returns a header whose value may have any characters. Bytes that are not UTF-8 are read as Latin-1, so that no two
/// values become one.
fn any_text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    let bytes = headers.get(name)?.as_bytes().trim_ascii();
    let latin = || bytes.iter().map(|byte| char::from(*byte)).collect();
    Some(std::str::from_utf8(bytes).map_or_else(|_| latin(), str::to_owned))
}

/// The session of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SessionKey {
    /// The name under which it is judged and stored: a hash.
    pub(crate) name: String,
    /// The source of its id.
    pub(crate) origin: Origin,
}

/// Names sessions, with a key that is kept in the store.
#[derive(Clone)]
pub(crate) struct Namer {
    /// A MAC with the key, to be cloned.
    mac: Hmac<Sha256>,
    digests: Arc<DigestCache>,
}

impl fmt::Debug for Namer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Namer")
    }
}

impl Namer {
    pub(crate) fn new(key: [u8; 32]) -> Namer {
        // HMAC accepts a key of any length, so this cannot fail.
        let mac = Hmac::new_from_slice(&key).unwrap_or_else(|_| Hmac::new(&Default::default()));
        Namer { mac, digests: Arc::new(DigestCache::new(&key)) }
    }

    /// Returns a new MAC with the same key.
    pub(crate) fn mac(&self) -> Hmac<Sha256> {
        self.mac.clone()
    }

    /// Returns the caller of a request, as [`Caller::of`] does.
    pub(crate) fn caller(&self, headers: &HeaderMap, tenants: &BTreeMap<KeyHash, String>) -> Caller {
        let credential = credential(headers).unwrap_or_default();
        let input = [b"credential".as_slice(), credential.as_bytes()].concat();
        let hash = self.digests.find_or_compute(&input, || KeyHash::of(credential).0);
        Caller::with_hash(KeyHash(hash), headers, tenants)
    }

    /// Returns the session of a request: by the application's header, else `id`, which the body has, else the sources that the
    /// configuration lists, else the conversation itself. A request that continues another has none here.
    pub(crate) fn session(
        &self,
        caller: &Caller,
        headers: &HeaderMap,
        id: Option<&str>,
        hints: &SessionHints,
        sources: &[SessionSource],
    ) -> SessionKey {
        let named = |origin: Origin, id: Option<&str>| {
            let id = id.filter(|id| !id.is_empty())?;
            Some(SessionKey { name: self.name(caller, origin, id), origin })
        };
        let in_header = any_text(headers, &SESSION_NAME);
        let listed = || {
            sources.iter().find_map(|source| match source {
                SessionSource::Traceparent => named(Origin::Trace, trace_id(text(headers, &TRACEPARENT_NAME)?)),
                SessionSource::User => named(Origin::User, hints.user.as_deref()),
            })
        };
        // The principal tells two conversations apart that begin alike.
        let principal = caller.principal.as_deref().unwrap_or_default();
        let conversation = || {
            let opening = hints.opening.as_ref().filter(|_| hints.previous_response.is_none())?;
            named(Origin::History, Some(&format!("{}/{principal}", to_hex(opening))))
        };
        let by_principal =
            || SessionKey { name: self.name(caller, Origin::Principal, principal), origin: Origin::Principal };
        named(Origin::Header, in_header.as_deref())
            .or_else(|| named(Origin::Body, id))
            .or_else(listed)
            .or_else(conversation)
            .unwrap_or_else(by_principal)
    }

    /// Returns the name of a caller's session with this id. The same id in a header and in a body names one session.
    pub(crate) fn name(&self, caller: &Caller, origin: Origin, id: &str) -> String {
        let kind = match origin {
            Origin::Header | Origin::Body => "id",
            Origin::Trace => "trace",
            Origin::User => "user",
            Origin::Previous => "previous",
            Origin::History => "history",
            Origin::Principal => "principal",
        };
        // A listed tenant may use several keys; other callers are distinguished by their keys.
        let owner = if caller.is_known { String::new() } else { caller.credential.to_string() };
        self.hash(&[&caller.tenant, &owner, kind, id])
    }

    /// Returns a keyed hash of texts, each delimited by its length.
    pub(crate) fn hash(&self, parts: &[&str]) -> String {
        let mut input = b"name".to_vec();
        let start = input.len();
        for part in parts {
            input.extend_from_slice(&(part.len() as u64).to_be_bytes());
            input.extend_from_slice(part.as_bytes());
        }
        let digest = self.digests.find_or_compute(&input, || {
            let mut mac = self.mac();
            mac.update(input.get(start..).unwrap_or_default());
            mac.finalize().into_bytes().into()
        });
        to_hex(digest.get(..16).unwrap_or_default())
    }
}

/// Returns the trace id of a `traceparent`; none if it is invalid or all zeros.
fn trace_id(traceparent: &str) -> Option<&str> {
    let mut parts = traceparent.split('-');
    let (version, trace) = (parts.next()?, parts.next()?);
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (version.len() == 2 && trace.len() == 32 && is_hex(trace) && trace.bytes().any(|byte| byte != b'0'))
        .then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(fields: &[(&'static str, &str)]) -> HeaderMap {
        fields.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    fn session(fields: &[(&'static str, &str)], in_body: Option<&str>) -> SessionKey {
        session_of(fields, in_body, &SessionHints::default(), &[SessionSource::Traceparent])
    }

    fn session_of(
        fields: &[(&'static str, &str)],
        id: Option<&str>,
        hints: &SessionHints,
        sources: &[SessionSource],
    ) -> SessionKey {
        let tenants = BTreeMap::from([(KeyHash::of("a1"), "a".to_owned()), (KeyHash::of("a2"), "a".to_owned())]);
        let headers = headers(fields);
        Namer::new([7; 32]).session(&Caller::of(&headers, &tenants), &headers, id, hints, sources)
    }

    #[test]
    fn conversation_without_id_is_known_by_its_opening() {
        let hints = |opening: u8| SessionHints { opening: Some([opening; 32]), ..SessionHints::default() };
        let of = |opening: u8| session_of(&[], None, &hints(opening), &[]);
        assert_eq!(of(1), of(1));
        assert_eq!(of(1).origin, Origin::History);
        assert_ne!(of(1), of(2));
        let trace = ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        let body = SessionHints { user: Some("ann".into()), ..hints(1) };
        let session_of = |sources: &[SessionSource]| session_of(&[trace], None, &body, sources);
        assert_eq!(session_of(&[]), of(1), "a trace and a user count only if listed");
        assert_eq!(session_of(&[SessionSource::Traceparent]).origin, Origin::Trace);
        assert_eq!(session_of(&[SessionSource::User]).origin, Origin::User);
    }

    #[test]
    fn session_ids_may_have_any_characters() {
        let name = |value: &[u8]| {
            let value = hyper::header::HeaderValue::from_bytes(value).unwrap();
            let headers = HeaderMap::from_iter([(SESSION_HEADER.parse().unwrap(), value)]);
            let caller = Caller::of(&headers, &BTreeMap::new());
            Namer::new([7; 32]).session(&caller, &headers, None, &SessionHints::default(), &[])
        };
        assert_eq!(name("Gespräch".as_bytes()).origin, Origin::Header);
        assert_ne!(name("Gespräch".as_bytes()), name("Gesprach".as_bytes()));
        assert_ne!(name(b"caf\xe9"), name(b"caf\xe8"));
    }

    #[test]
    fn session_id_is_scoped_to_tenant() {
        let of = |key: &str| session(&[("authorization", key), (SESSION_HEADER, "s")], None);
        assert_eq!(of("Bearer a1"), of("Bearer a2"), "two keys of one tenant");
        assert_ne!(of("Bearer a1"), of("Bearer b"));
        assert_ne!(of("Bearer c"), of("Bearer b"));
        assert_eq!(of("Bearer b").name, session(&[("x-api-key", "b")], Some("s")).name, "however it is said");
    }

    #[test]
    fn session_id_sources_have_fixed_order() {
        let trace = ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
        assert_eq!(session(&[trace, (SESSION_HEADER, "h")], Some("b")).origin, Origin::Header);
        assert_eq!(session(&[trace, (SESSION_HEADER, "")], Some("b")).origin, Origin::Body);
        assert_eq!(session(&[trace], None).origin, Origin::Trace);
        assert_eq!(session(&[("traceparent", "00-0-0-01")], None).origin, Origin::Principal);
        let zeros = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        assert_eq!(session(&[("traceparent", &zeros)], None).origin, Origin::Principal);
        let long = "x".repeat(10_240);
        assert_eq!(session(&[], Some(&long)).name.len(), 32);
        let control = session(&[], Some("a\u{0}\n\u{7}b"));
        assert!(control.name.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let of = |name: &str| session(&[(PRINCIPAL_HEADER, name)], None).name;
        assert_ne!(of("ann"), of("bob"));
    }

    #[test]
    fn control_key_is_a_bearer_token() {
        assert_eq!(bearer_key(&headers(&[("authorization", "bearer k")])), Some("k"));
        for other in [("x-api-key", "k"), ("api-key", "k"), ("authorization", "k"), ("authorization", "Basic k")] {
            assert_eq!(bearer_key(&headers(&[other])), None, "{other:?}");
        }
        let mut twice = headers(&[("authorization", "Bearer k")]);
        twice.append("authorization", "Bearer l".parse().unwrap());
        assert_eq!(bearer_key(&twice), None);
    }

    #[test]
    fn keys_are_written_as_hashes() {
        let hash = KeyHash::of("secret");
        assert_eq!(hash.to_string().parse::<KeyHash>().unwrap(), hash);
        assert!("secret".parse::<KeyHash>().unwrap_err().contains("sha256:"));
        assert!(hash.is_among(&[KeyHash::of("x"), hash]) && !hash.is_among(&[KeyHash::of("x")]));
    }
}
