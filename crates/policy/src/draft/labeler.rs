//! Labelers, the questions put to them, and their budget.

use lictor_logic::Span;

use crate::labeler::{FactQuestion, LabelAllowance, LabelBudget, LabelerDefinition, LabelerSource};
use crate::policy_reader::{Fields, PolicyReader};
use crate::yaml::YamlNode;
use lictor_json::{Json, Text};

const EXAMPLE: &str =
    "such as `small: {endpoint: \"http://127.0.0.1:8080/v1\", model: small, calibration: small.json}`";

/// The keys that say who answers; a labeler has exactly one of them.
const SOURCE_KEYS: [&str; 6] = ["endpoint", "service", "presidio", "learnt", "person", "log"];

/// The keys of a labeler beside those, with the sources that they belong to; none is any.
const OTHER_KEYS: [(&str, &[&str]); 7] = [
    ("model", &["endpoint"]),
    ("key", &["endpoint", "service"]),
    ("version", &["service", "presidio"]),
    ("entities", &["presidio"]),
    ("timeout", &["endpoint", "service", "presidio"]),
    ("calls", &["endpoint", "service", "presidio"]),
    ("calibration", &[]),
];

/// The most events that a question may look back.
const MAX_WINDOW: u32 = 100;

impl PolicyReader<'_> {
    /// Reads the labelers of a policy.
    pub(super) fn read_labelers(&mut self, node: &YamlNode) -> Vec<LabelerDefinition> {
        let mut labelers = Vec::new();
        for (key, value) in self.read_entries(node, "`labelers`", EXAMPLE) {
            let known: Vec<&str> = SOURCE_KEYS.into_iter().chain(OTHER_KEYS.iter().map(|(key, _)| *key)).collect();
            let fields = self.read_fields(value, "a labeler", &known, EXAMPLE);
            let (Some(name), Some(source)) =
                (self.read_name(key, "a labeler"), self.read_labeler_source(value, &fields))
            else {
                continue;
            };
            let calibration = fields.get("calibration").and_then(|node| self.read_text(node, "`calibration`"));
            labelers.push(LabelerDefinition {
                name,
                source,
                calibration: calibration.map(Text::from),
                timeout: fields.get("timeout").and_then(|node| self.read_span(node, "`timeout`")),
                calls_per_hour: fields.get("calls").and_then(|node| self.read_rate(node)),
                place: self.source.place(key.span.start),
            });
        }
        labelers
    }

    /// Reads who answers; reports none or several, and keys that do not belong to it.
    fn read_labeler_source(&mut self, node: &YamlNode, fields: &Fields<'_>) -> Option<LabelerSource> {
        let given: Vec<&str> = SOURCE_KEYS.into_iter().filter(|key| fields.get(key).is_some()).collect();
        let [kind] = given[..] else {
            let message = match given.is_empty() {
                true => "nothing says who answers".to_owned(),
                false => format!("`{}` cannot be combined", given.join("` and `")),
            };
            let hint = "give one of `endpoint`, `service`, `presidio`, `learnt`, `person` and `log`".to_owned();
            self.report_error(node.head_span(), "policy.labeler", message, Some(hint));
            return None;
        };
        for (key, kinds) in OTHER_KEYS.iter().filter(|(_, kinds)| !kinds.is_empty() && !kinds.contains(&kind)) {
            if let Some(span) = fields.key_span(key) {
                let message = format!("`{key}` does not belong to `{kind}`");
                let hint = format!("it belongs to `{}`", kinds.join("` and `"));
                self.report_error(span, "policy.key-combination", message, Some(hint));
            }
        }
        let value = fields.get(kind)?;
        let key = fields.get("key").and_then(|node| self.read_text(node, "`key`")).map(Text::from);
        let version = fields.get("version").and_then(|node| self.read_scalar(node, "`version`")).map(Text::from);
        match kind {
            "endpoint" => {
                let model = self.require_key(node, fields, "model", "name the model, such as `model: small`");
                let model = model.and_then(|node| self.read_text(node, "`model`"))?.into();
                Some(LabelerSource::Endpoint { url: self.read_url(value, "`endpoint`")?, model, key })
            }
            "service" => Some(LabelerSource::Service { url: self.read_url(value, "`service`")?, version, key }),
            "presidio" => {
                let entities = fields.get("entities");
                let entities = entities.map(|node| self.read_texts(node, "`entities`", "such as `[PERSON]`"));
                let url = self.read_url(value, "`presidio`")?;
                Some(LabelerSource::Presidio { url, entities: entities.unwrap_or_default(), version })
            }
            "learnt" => self.read_text(value, "`learnt`").map(|text| LabelerSource::Learnt(text.into())),
            _ => match self.read_bool(value, &format!("`{kind}`"))? {
                true if kind == "person" => Some(LabelerSource::Person),
                true => Some(LabelerSource::Log),
                false => {
                    let message = format!("`{kind}: false` says nothing");
                    let hint = "leave the labeler out".to_owned();
                    self.report_error(value.span.clone(), "policy.labeler", message, Some(hint));
                    None
                }
            },
        }
    }

    fn read_url(&mut self, node: &YamlNode, what: &str) -> Option<Text> {
        let url = self.read_text(node, what)?.trim();
        let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
        if rest.is_none_or(|rest| rest.is_empty() || rest.starts_with('/') || rest.contains(char::is_whitespace)) {
            let message = format!("{what} is no address: `{url}`");
            let hint = "write it with its scheme, such as `http://127.0.0.1:8080/v1`".to_owned();
            self.report_error(node.span.clone(), "policy.labeler", message, Some(hint));
            return None;
        }
        Some(url.trim_end_matches('/').into())
    }

    /// Reads the question of a fact: who is asked, what it is shown, and examples.
    pub(super) fn read_question(&mut self, statement: Text, fields: &Fields<'_>) -> FactQuestion {
        let by = fields.get("by").and_then(|node| self.read_text(node, "`by`")).map(Text::from);
        let window = fields.get("window").and_then(|node| self.read_count(node, "`window`", 0));
        if let Some(node) = fields.get("window").filter(|_| window.is_some_and(|it| it > u64::from(MAX_WINDOW))) {
            let message = format!("`window` is at most {MAX_WINDOW} events");
            self.report_error(node.span.clone(), "policy.labeler", message, None);
        }
        let example = "such as `examples: {yes: [\"Pay or else\"], no: [\"Please pay\"]}`";
        let examples = fields.get("examples").map(|node| self.read_fields(node, "`examples`", &["yes", "no"], example));
        let mut texts = |key: &str| match examples.as_ref().and_then(|fields| fields.get(key)) {
            Some(node) => self.read_texts(node, &format!("`examples.{key}`"), example),
            None => Vec::new(),
        };
        let (yes, no) = (texts("yes"), texts("no"));
        FactQuestion { statement, by, window: window.unwrap_or(0).min(u64::from(MAX_WINDOW)) as u32, yes, no }
    }

    /// Reads what asking may cost.
    pub(super) fn read_budget(&mut self, node: &YamlNode) -> LabelBudget {
        let example = "such as `budget: {event: {calls: 5, time: 3s}, hour: {tokens: 400000}}`";
        let fields = self.read_fields(node, "`budget`", &["event", "session", "hour"], example);
        let mut allowance = |key: &str| {
            let Some(node) = fields.get(key) else { return LabelAllowance::default() };
            let inner = self.read_fields(node, &format!("`{key}`"), &["calls", "tokens", "time"], example);
            LabelAllowance {
                calls: inner.get("calls").and_then(|node| self.read_count(node, "`calls`", 1)),
                tokens: inner.get("tokens").and_then(|node| self.read_count(node, "`tokens`", 1)),
                time: inner.get("time").and_then(|node| self.read_span(node, "`time`")),
            }
        };
        LabelBudget { event: allowance("event"), session: allowance("session"), hour: allowance("hour") }
    }

    fn read_count(&mut self, node: &YamlNode, what: &str, least: u64) -> Option<u64> {
        let given = node.to_json();
        let count = given.as_i64().and_then(|count| u64::try_from(count).ok()).filter(|count| *count >= least);
        if count.is_none() {
            let hint = match given {
                Json::String(text) if text.trim().parse::<u64>().is_ok_and(|count| count >= least) => {
                    "write it without quotes".to_owned()
                }
                // What is never asked needs no limit.
                Json::Number(_) if least > 0 => "leave it out for no limit, or leave out the labeler".to_owned(),
                _ => format!("such as {}", least.max(3)),
            };
            self.report_type(node, what, &format!("a whole number of at least {least}"), &hint);
        }
        count
    }

    /// Reads `1000/h`.
    fn read_rate(&mut self, node: &YamlNode) -> Option<u64> {
        let text = self.read_scalar(node, "`calls`")?.trim();
        let count = text.strip_suffix("/h").and_then(|count| count.trim_end().parse().ok());
        let (message, hint) = match (count, text.parse::<u64>()) {
            (Some(0), _) => (
                format!("`calls: {text}` never asks the labeler"),
                "leave out the labeler, or allow at least `1/h`".to_owned(),
            ),
            (Some(count), _) => return Some(count),
            (None, Ok(number)) => (
                format!("`calls: {number}` does not say in which time"),
                format!("write the most calls in an hour: `{}/h`", number.max(1)),
            ),
            (None, Err(_)) => (format!("`{text}` is no rate"), "write the most calls in an hour: `1000/h`".to_owned()),
        };
        self.report_error(node.span.clone(), "policy.labeler", message, Some(hint));
        None
    }

    /// Reads a duration such as `2s`.
    pub(super) fn read_span(&mut self, node: &YamlNode, what: &str) -> Option<Span> {
        if let Json::Number(number) = node.to_json() {
            self.report_type(node, what, "a duration", &format!("with a unit: `{number}s` or `{number}ms`"));
            return None;
        }
        let text = self.read_text(node, what)?.trim();
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (count, unit) = text.split_at(digits);
        let size = Span::UNITS.iter().find(|(name, _)| *name == unit).map(|(_, size)| *size);
        let span = count.parse::<u64>().ok().zip(size).and_then(|(count, size)| count.checked_mul(size));
        if span.is_none_or(|span| span == 0) {
            let hint = Some("write a number and a unit: `500ms`, `2s`, `1m`".to_owned());
            self.report_error(node.span.clone(), "policy.type", format!("{what} is no duration: `{text}`"), hint);
            return None;
        }
        span.map(Span)
    }

    /// Reads the value of a key: a probability above 0, and at most 1.
    pub(super) fn read_probability(&mut self, node: &YamlNode, key: &str) -> Option<lictor_logic::Chance> {
        let given = match node.to_json() {
            Json::Number(number) => Some(number.as_f64()),
            _ => None,
        };
        let chance = given.filter(|risk| *risk > 0.0).and_then(|risk| lictor_logic::Chance::new(risk).ok());
        if chance.is_none() {
            let example = format!("such as `{key}: 0.2`");
            self.report_type(node, &format!("`{key}`"), "a probability above 0 and at most 1", &example);
        }
        chance
    }
}
