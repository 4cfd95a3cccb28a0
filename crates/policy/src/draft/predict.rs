//! Reads what a policy says about forecasts.

use lictor_json::Json;
use lictor_logic::Chance;

use crate::policy_reader::PolicyReader;
use crate::predict::{Intervention, PredictSettings, Undecided};
use crate::yaml::YamlNode;

/// The most actions that a forecast looks ahead.
const MAX_WITHIN: i64 = 20;

/// The most candidates for one reply.
const MAX_CANDIDATES: i64 = 20;

const EXAMPLE: &str = "such as `predict: {chain: chain.json, within: 3, risk: 0.3, intervene: [resample]}`";

const KEYS: [&str; 10] =
    ["chain", "within", "risk", "hold", "undecided", "intervene", "candidates", "session_calls", "model", "properties"];

impl PolicyReader<'_> {
    /// Reads the section `predict`.
    pub(super) fn read_predict(&mut self, node: &YamlNode) -> Option<PredictSettings> {
        let fields = self.read_fields(node, "`predict`", &KEYS, EXAMPLE);
        let chain = self.require_key(node, &fields, "chain", "name the file that `lictor learn chain` wrote")?;
        let chain = self.read_text(chain, "`chain`")?.into();
        let mut count = |key: &str, default: u32, range: std::ops::RangeInclusive<i64>| match fields.get(key) {
            Some(node) => self.read_count_within(node, key, range).unwrap_or(default),
            None => default,
        };
        let within = count("within", 3, 1..=MAX_WITHIN);
        let candidates = count("candidates", 5, 1..=MAX_CANDIDATES);
        let session_calls = count("session_calls", 20, 0..=100_000);
        let risk = fields.get("risk").and_then(|node| self.read_probability(node, "risk"));
        let hold = fields.get("hold").and_then(|node| self.read_probability(node, "hold"));
        let undecided = fields.get("undecided").and_then(|node| self.read_undecided(node)).unwrap_or_default();
        let intervene = fields.get("intervene").map(|node| self.read_interventions(node)).unwrap_or_default();
        let model = fields.get("model").and_then(|node| self.read_text(node, "`model`")).map(Into::into);
        let properties = match fields.get("properties") {
            Some(node) => self.read_texts(node, "`properties`", EXAMPLE),
            None => Vec::new(),
        };
        if intervene.contains(&Intervention::Switch) && model.is_none() {
            let hint = Some("name it: `model: other-model`".to_owned());
            let message = "`switch` asks another model, and there is no `model`".to_owned();
            self.report_error(node.span.clone(), "policy.predict", message, hint);
        }
        let place = |key: &str| fields.get(key).map_or(node, |field| field).span.clone();
        if intervene.contains(&Intervention::Ask) && intervene.contains(&Intervention::Stop) {
            let hint = Some("keep one of them".to_owned());
            let message = "`ask` lets calls wait for a reviewer, and `stop` blocks the same calls".to_owned();
            self.report_error(place("intervene"), "policy.predict", message, hint);
        }
        if hold.is_some() && !intervene.iter().any(|by| by.asks_model()) {
            let hint = Some("add `resample`, `inject` or `switch` to `intervene`, or remove `hold`".to_owned());
            let message = "`hold` keeps a stream back to replace it, and `intervene` replaces nothing".to_owned();
            self.report_error(place("hold"), "policy.predict", message, hint);
        }
        Some(PredictSettings {
            chain,
            within,
            risk: risk.unwrap_or(Chance::new(0.3).unwrap_or(Chance::ALWAYS)),
            hold,
            undecided,
            intervene,
            candidates,
            session_calls,
            model,
            properties,
            place: self.source.place(node.span.start),
        })
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

    fn read_interventions(&mut self, node: &YamlNode) -> Vec<Intervention> {
        let items = self.read_items(node, "`intervene`", EXAMPLE);
        let names = Intervention::NAMES.map(|(intervention, name)| (name, intervention));
        items.iter().filter_map(|item| self.read_word(item, "a way to intervene", &names)).collect()
    }
}
