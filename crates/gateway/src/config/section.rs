//! The section `gateway:` of a policy file, read strictly: unknown keys are errors, and all errors are reported.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hyper::Uri;
use lictor_json::{Json, Object};
use lictor_wire::UnknownFields;

use super::{Config, GatewayLimits};
use crate::identity::{EVERYBODY, KeyHash, SessionSource};

/// The errors of a section, one sentence each.
pub type ConfigErrors = Vec<String>;

const KEYS: [&str; 14] = [
    "listen",
    "certificate",
    "private_key",
    "upstream",
    "messages_upstream",
    "upstream_ca",
    "tenants",
    "known_only",
    "control_keys",
    "forward",
    "shadow",
    "session_from",
    "unknown_fields",
    "collector",
];

impl Config {
    /// Replaces the settings that a section has.
    pub fn take_over(&mut self, section: &Json) -> Result<(), ConfigErrors> {
        let mut reading = SectionReader { mistakes: Vec::new() };
        match section.as_object() {
            Some(section) => reading.section(self, section),
            None => {
                reading.wrong("gateway", "must be a mapping, such as `gateway: {upstream: https://api.openai.com}`")
            }
        }
        if reading.mistakes.is_empty() { Ok(()) } else { Err(reading.mistakes) }
    }
}

struct SectionReader {
    mistakes: ConfigErrors,
}

impl SectionReader {
    fn wrong(&mut self, place: &str, message: &str) {
        self.mistakes.push(format!("`{place}` {message}"));
    }

    fn section(&mut self, config: &mut Config, section: &Object) {
        let (mut certificate, mut private_key) = (None, None);
        for (key, value) in section.iter() {
            let place = format!("gateway.{key}");
            match key.as_str() {
                "listen" => self.parsed(&place, value, "an address and a port: `127.0.0.1:8787`", &mut config.listen),
                "upstream" => self.address(&place, value, &mut config.upstream),
                "messages_upstream" => self.optional_address(&place, value, &mut config.messages_upstream),
                "collector" => self.optional_address(&place, value, &mut config.collector),
                "upstream_ca" => config.upstream_ca = self.path(&place, value),
                "certificate" => certificate = self.path(&place, value),
                "private_key" => private_key = self.path(&place, value),
                "tenants" => config.tenants = self.tenants(&place, value),
                "control_keys" => config.control_keys = self.keys(&place, value),
                "forward" => {
                    config.forward = self.texts(&place, value);
                    if config.forward.iter().any(|path| !path.starts_with('/')) {
                        self.wrong(&place, "has a path that does not begin with `/`, as in `/v1/files*`");
                    }
                }
                "known_only" => self.truth(&place, value, &mut config.known_only),
                "shadow" => self.truth(&place, value, &mut config.shadow),
                "session_from" => {
                    let sources = self.texts(&place, value).into_iter().map(|source| match source.as_str() {
                        "traceparent" => Some(SessionSource::Traceparent),
                        "user" => Some(SessionSource::User),
                        _ => None,
                    });
                    match sources.collect() {
                        Some(sources) => config.session_from = sources,
                        None => self.wrong(&place, "may list `traceparent` and `user`"),
                    }
                }
                "unknown_fields" => match value.as_str() {
                    Some("strip") => config.unknown_fields = UnknownFields::Strip,
                    Some("pass") => config.unknown_fields = UnknownFields::Pass,
                    Some("refuse") => config.unknown_fields = UnknownFields::Refuse,
                    _ => self.wrong(&place, "must be `strip`, `pass` or `refuse`"),
                },
                "limits" => self.limits(&place, value, &mut config.limits),
                _ => self.wrong(&place, &format!("is not known; known are {}, limits", KEYS.join(", "))),
            }
        }
        match (certificate, private_key) {
            (Some(certificate), Some(key)) => config.tls = Some((certificate, key)),
            (None, None) => {}
            _ => self.wrong("gateway.certificate", "and `gateway.private_key` are given together or not at all"),
        }
    }

    fn parsed<T: std::str::FromStr>(&mut self, place: &str, value: &Json, wanted: &str, target: &mut T) {
        match value.as_str().and_then(|text| text.parse().ok()) {
            Some(parsed) => *target = parsed,
            None => self.wrong(place, &format!("must be {wanted}")),
        }
    }

    fn address(&mut self, place: &str, value: &Json, target: &mut Uri) {
        let is_whole = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some();
        match value.as_str().and_then(|text| text.parse::<Uri>().ok()).filter(is_whole) {
            Some(uri) => *target = uri,
            None => self.wrong(place, "must be an address such as `https://api.openai.com`"),
        }
    }

    fn optional_address(&mut self, place: &str, value: &Json, target: &mut Option<Uri>) {
        let mut uri = Uri::default();
        let before = self.mistakes.len();
        self.address(place, value, &mut uri);
        if self.mistakes.len() == before {
            *target = Some(uri);
        }
    }

    fn path(&mut self, place: &str, value: &Json) -> Option<PathBuf> {
        let path = value.as_str().map(PathBuf::from);
        if path.is_none() {
            self.wrong(place, "must be the path of a file");
        }
        path
    }

    fn truth(&mut self, place: &str, value: &Json, target: &mut bool) {
        match value.as_bool() {
            Some(truth) => *target = truth,
            None => self.wrong(place, "must be true or false"),
        }
    }

    fn texts(&mut self, place: &str, value: &Json) -> Vec<String> {
        let texts: Option<Vec<String>> =
            value.as_array().and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        texts.unwrap_or_else(|| {
            self.wrong(place, "must be a list of texts");
            Vec::new()
        })
    }

    /// Reads hashes of keys. A key in plain text is an error: configurations are copied, shown and archived.
    fn keys(&mut self, place: &str, value: &Json) -> Vec<KeyHash> {
        let mut keys = Vec::new();
        for text in self.texts(place, value) {
            match text.parse() {
                Ok(key) => keys.push(key),
                Err(wanted) => self.wrong(place, &format!("holds something else than keys: {wanted}")),
            }
        }
        keys
    }

    fn tenants(&mut self, place: &str, value: &Json) -> BTreeMap<KeyHash, String> {
        let mut tenants = BTreeMap::new();
        let Some(object) = value.as_object() else {
            self.wrong(place, "must be a mapping of names to lists of keys");
            return tenants;
        };
        for (name, keys) in object.iter() {
            let place = format!("{place}.{name}");
            if name == EVERYBODY {
                self.wrong(&place, "is reserved: keys that are not listed belong to the tenant `everybody`. Remove the entry, or give the tenant another name");
            }
            for key in self.keys(&place, keys) {
                if tenants.insert(key, name.to_string()).is_some() {
                    self.wrong(&place, &format!("has a key that another tenant has: {key}"));
                }
            }
        }
        tenants
    }

    fn limits(&mut self, place: &str, value: &Json, limits: &mut GatewayLimits) {
        let Some(object) = value.as_object() else {
            self.wrong(place, "must be a mapping");
            return;
        };
        for (key, value) in object.iter() {
            let place = format!("{place}.{key}");
            let Some(number) = value.as_i64().and_then(|number| usize::try_from(number).ok()) else {
                self.wrong(&place, "must be a whole number: bytes, a count, or seconds");
                continue;
            };
            let seconds = Duration::from_secs(number as u64);
            match key.as_str() {
                "body" => limits.body = number,
                "inflation" => limits.inflation = number,
                "connections" => limits.connections = number.max(1),
                "exchanges" => limits.exchanges = number.max(1),
                "sessions" => limits.sessions = number.max(1),
                "items" => limits.items = number,
                "text" => limits.text = number,
                "calls" => limits.calls = number,
                "bytes_in_flight" => limits.bytes_in_flight = number,
                "held" => limits.held = number,
                "hold_back" => limits.hold_back = number,
                "corrections" => limits.corrections = number,
                "session_corrections" => limits.session_corrections = number,
                "head" => limits.head = seconds,
                "idle" => limits.idle = seconds,
                "body_idle" => limits.body_idle = seconds,
                "write" => limits.write = seconds,
                "connect" => limits.connect = seconds,
                "answer" => limits.answer = seconds,
                "approval" => limits.approval = seconds,
                "grace" => limits.grace = seconds,
                "drain" => limits.drain = seconds,
                _ => self.wrong(
                    &place,
                    "is not known; known are body, inflation, bytes_in_flight, connections, exchanges, sessions, items, text, calls, held, \
                     hold_back, corrections, session_corrections in bytes or counts, and head, idle, body_idle, write, connect, answer, approval, grace, drain in seconds",
                ),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, ConfigErrors> {
        let mut config = Config::new(Uri::from_static("http://127.0.0.1:1"));
        config.take_over(&lictor_json::parse_str(text).unwrap())?;
        Ok(config)
    }

    #[test]
    fn config_section_is_read() {
        let key = KeyHash::of("k");
        let text = format!(
            r#"{{"listen":"0.0.0.0:80","upstream":"https://a.example/x","tenants":{{"acme":["{key}"]}},"shadow":true,
                "forward":["/v1/files*"],"unknown_fields":"pass","session_from":["user"],"control_keys":["{key}"],"limits":{{"body":10,"answer":3,"text":7,"calls":8,"bytes_in_flight":9}}}}"#
        );
        let config = read(&text).unwrap();
        assert_eq!(config.tenants.get(&key).map(String::as_str), Some("acme"));
        assert_eq!((config.limits.body, config.limits.answer), (10, Duration::from_secs(3)));
        assert_eq!((config.limits.text, config.limits.calls, config.limits.bytes_in_flight), (7, 8, 9));
        assert!(config.shadow && config.control_keys == [key]);
        assert_eq!(config.unknown_fields, UnknownFields::Pass);
        assert_eq!(config.session_from, [SessionSource::User]);
    }

    #[test]
    fn config_errors_are_all_reported_at_once() {
        let text = r#"{"upstream":"api.example","control_keys":["secret"],"limits":{"body":"x","bodies":1},"port":1,
                       "certificate":"a.pem","unknown_fields":true,"tenants":{"everybody":[]},"forward":["v1"]}"#;
        let mistakes = read(text).unwrap_err().join("\n");
        for wanted in [
            "gateway.upstream",
            "sha256:",
            "gateway.limits.body`",
            "bodies",
            "gateway.port",
            "together",
            "`gateway.tenants.everybody` is reserved",
            "gateway.forward",
            "`strip`, `pass` or `refuse`",
        ] {
            assert!(mistakes.contains(wanted), "{wanted} in\n{mistakes}");
        }
        assert!(!mistakes.contains("`secret`"));
    }
}
