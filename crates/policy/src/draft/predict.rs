//! Reads what a policy says about forecasts.

use lictor_json::Json;
use lictor_logic::Chance;

use crate::policy_reader::{Fields, PolicyReader};
use crate::predict::{ForecastSource, Intervention, PredictSettings, Undecided};
use crate::yaml::{Content, YamlNode};

/// The most actions that a forecast looks ahead.
const MAX_WITHIN: i64 = 20;

/// The most candidates for one reply.
const MAX_CANDIDATES: i64 = 20;

/// The most plans for one reply.
const MAX_SAMPLES: i64 = 500;

/// The most calls of a session or an hour.
const MAX_CALLS: i64 = 100_000;

/// The most tokens of a session.
const MAX_TOKENS: i64 = 1_000_000_000;

const EXAMPLE: &str = "such as `predict: {chain: chain.json, within: 3, risk: 0.3, intervene: [resample]}`";

const KEYS: [&str; 16] = [
    "chain",
    "by",
    "within",
    "risk",
    "hold",
    "undecided",
    "intervene",
    "candidates",
    "one_by_one",
    "samples",
    "session_calls",
    "hour_calls",
    "session_tokens",
    "time",
    "model",
    "properties",
];

impl PolicyReader<'_> {
    /// Reads the section `predict`.
    pub(super) fn read_predict(&mut self, node: &YamlNode) -> Option<PredictSettings> {
        let fields = self.read_fields(node, "`predict`", &KEYS, EXAMPLE);
        let chain = fields.get("chain").map(|node| self.read_text(node, "`chain`").map(Into::into));
        let by = match fields.get("by") {
            Some(node) => self.read_sources(node),
            None => vec![ForecastSource::Chain],
        };
        if by.contains(&ForecastSource::Chain) && chain.is_none() {
            let hint =
                Some("name the file that `lictor learn chain` wrote: `chain: chain.json`; or write `by: [sample]`");
            let message = "the forecast is by a chain, and there is no `chain`".to_owned();
            self.report_error(node.head_span(), "policy.predict", message, hint.map(str::to_owned));
        }
        let samples = by.contains(&ForecastSource::Sample);
        let mut count = |key: &str, default: u32, range: std::ops::RangeInclusive<i64>| match fields.get(key) {
            Some(node) => self.read_count_within(node, key, range).unwrap_or(default),
            None => default,
        };
        let within = count("within", 3, 1..=MAX_WITHIN);
        let candidates = count("candidates", 5, 1..=MAX_CANDIDATES);
        // Asking for plans takes many more calls than asking for replies.
        let session_calls = count("session_calls", if samples { 500 } else { 20 }, 0..=MAX_CALLS);
        let samples = count("samples", 24, 1..=MAX_SAMPLES);
        let mut limit = |key: &str, most: i64| fields.get(key).and_then(|it| self.read_count_within(it, key, 0..=most));
        let hour_calls = limit("hour_calls", MAX_CALLS);
        let session_tokens = limit("session_tokens", MAX_TOKENS);
        let time = fields.get("time").and_then(|node| self.read_span(node, "`time`"));
        let risk = fields.get("risk").and_then(|node| self.read_probability(node, "risk"));
        let hold = fields.get("hold").and_then(|node| self.read_probability(node, "hold"));
        let undecided = fields.get("undecided").and_then(|node| self.read_undecided(node)).unwrap_or_default();
        let intervene = fields.get("intervene").map(|node| self.read_interventions(node)).unwrap_or_default();
        let model = fields.get("model").and_then(|node| self.read_text(node, "`model`")).map(Into::into);
        let properties = match fields.get("properties") {
            Some(node) => self.read_texts(node, "`properties`", EXAMPLE),
            None => Vec::new(),
        };
        let one_by_one =
            fields.get("one_by_one").and_then(|node| self.read_bool(node, "`one_by_one`")).unwrap_or(false);
        let mut settings = PredictSettings {
            chain: chain.flatten(),
            chain_hash: None,
            by,
            within,
            risk: risk.unwrap_or(Chance::new(0.3).unwrap_or(Chance::ALWAYS)),
            hold,
            undecided,
            intervene,
            candidates,
            one_by_one,
            samples,
            session_calls,
            hour_calls,
            session_tokens,
            time,
            model,
            properties,
            place: self.source.place(node.span.start),
        };
        settings.chain_hash = settings.hash_chain();
        self.check_predict(&settings, node, &fields);
        Some(settings)
    }

    /// Reports what contradicts itself, and what has no effect.
    fn check_predict(&mut self, settings: &PredictSettings, node: &YamlNode, fields: &Fields<'_>) {
        let PredictSettings { by, intervene, .. } = settings;
        let is_replacing = settings.replaces_replies();
        let is_gating = settings.call_response().is_some();
        let has = |key: &str| fields.get(key).is_some();
        let mut refuse = |key: &str, message: &str, hint: &str| {
            let span = fields.get(key).map_or_else(|| node.head_span(), |field| field.span.clone());
            self.report_error(span, "policy.predict", message.to_owned(), Some(hint.to_owned()));
        };
        if intervene.contains(&Intervention::Switch) && settings.model.is_none() && !has("model") {
            refuse(
                "intervene",
                "`switch` asks another model, and there is no `model`",
                "name it: `model: other-model`",
            );
        }
        if intervene.contains(&Intervention::Ask) && intervene.contains(&Intervention::Stop) {
            let message = "`ask` lets calls wait for a reviewer, and `stop` blocks the same calls";
            refuse("intervene", message, "keep one of them");
        }
        let is_repeated = |(place, by): (usize, &Intervention)| intervene[..place].contains(by);
        if intervene.iter().enumerate().any(is_repeated) {
            refuse(
                "intervene",
                "`intervene` names a way twice",
                "name each once; `candidates` says how often is asked",
            );
        }
        if has("properties") && settings.properties.is_empty() {
            let hint = "name some, or leave it out: then all are forecast that can be";
            refuse("properties", "`properties` names no property", hint);
        }
        if has("hold") && !is_replacing {
            let message = "`hold` keeps a stream back to replace it, and `intervene` replaces nothing";
            refuse("hold", message, "add `resample`, `inject` or `switch` to `intervene`, or remove `hold`");
        }
        if !by.contains(&ForecastSource::Chain) && !by.is_empty() {
            let hint = "add `chain` to `by`, and name the file that `lictor learn chain` wrote";
            let needing = [
                ("intervene", is_gating, "`ask` and `stop` score each call"),
                ("hold", has("hold"), "`hold` needs a forecast before the reply"),
                ("one_by_one", settings.one_by_one, "`one_by_one` scores each reply before the next is asked for"),
            ];
            for (key, _, what) in needing.iter().filter(|(_, is_needing, _)| *is_needing) {
                refuse(key, &format!("{what}, and only a chain can forecast without asking the model"), hint);
            }
        }
        if intervene.is_empty()
            && fields
                .get("intervene")
                .is_none_or(|node| matches!(&node.content, Content::List(items) if items.is_empty()))
        {
            let hint = Some("write `intervene: [inject, resample]`, or another way".to_owned());
            let message = "`predict` without `intervene` forecasts, and does nothing about it".to_owned();
            self.report_warning(node.head_span(), "policy.predict", message, hint);
            return;
        }
        let without_effect = [
            ("model", !intervene.contains(&Intervention::Switch), "only `switch` asks another model"),
            ("samples", !by.contains(&ForecastSource::Sample), "plans are asked for with `by: [sample]` only"),
            ("candidates", !is_replacing, "`intervene` asks for no other replies"),
            ("one_by_one", !is_replacing, "`intervene` asks for no other replies"),
        ];
        for (key, is_idle, why) in without_effect {
            if let Some(field) = fields.get(key).filter(|_| is_idle) {
                let message = format!("`{key}` has no effect: {why}");
                self.report_warning(field.span.clone(), "policy.predict", message, Some("remove it".to_owned()));
            }
        }
    }

    fn read_count_within(&mut self, node: &YamlNode, key: &str, range: std::ops::RangeInclusive<i64>) -> Option<u32> {
        let count = match node.to_json() {
            number @ Json::Number(_) => number.as_i64().filter(|count| range.contains(count)),
            _ => None,
        };
        if count.is_none() {
            let (least, most) = (range.start(), range.end());
            let wanted = format!("a whole number from {least} to {most}");
            self.report_type(node, &format!("`{key}`"), &wanted, EXAMPLE);
        }
        count.and_then(|count| u32::try_from(count).ok())
    }

    fn read_undecided(&mut self, node: &YamlNode) -> Option<Undecided> {
        self.read_word(node, "`undecided`", &[("forward", Undecided::Forward), ("intervene", Undecided::Intervene)])
    }

    /// Reads where forecasts come from, the chain first.
    fn read_sources(&mut self, node: &YamlNode) -> Vec<ForecastSource> {
        let items = self.read_items(node, "`by`", "such as `by: [chain, sample]`");
        let names = ForecastSource::NAMES.map(|(source, name)| (name, source));
        let mut sources: Vec<ForecastSource> =
            items.iter().filter_map(|item| self.read_word(item, "a source of forecasts", &names)).collect();
        if let (true, Content::List(_)) = (items.is_empty(), &node.content) {
            let hint = Some("write `by: [chain]`, `by: [sample]` or `by: [chain, sample]`".to_owned());
            let message = "`by` names no source of forecasts".to_owned();
            self.report_error(node.head_span(), "policy.predict", message, hint);
        }
        if !sources.is_empty() && sources.iter().all(|source| *source == ForecastSource::Stated) {
            let hint = Some("write `by: [chain, stated]` or `by: [sample, stated]`".to_owned());
            let message = "`stated` only orders candidates, and there is no forecast".to_owned();
            self.report_error(node.head_span(), "policy.predict", message, hint);
        }
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    fn read_interventions(&mut self, node: &YamlNode) -> Vec<Intervention> {
        let items = self.read_items(node, "`intervene`", EXAMPLE);
        let names = Intervention::NAMES.map(|(intervention, name)| (name, intervention));
        items.iter().filter_map(|item| self.read_word(item, "a way to intervene", &names)).collect()
    }
}
