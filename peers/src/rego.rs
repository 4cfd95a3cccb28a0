//! Exports to Rego, run by regorus, an engine that shares nothing with ours.

use regorus::Engine;

use crate::cases::Verdicts;

/// A Rego engine with an exported policy.
#[derive(Debug)]
pub struct RegoEngine(Engine);

impl RegoEngine {
    /// Loads the files of an exported policy.
    pub fn new(files: &[(String, String)]) -> Result<RegoEngine, String> {
        let mut engine = Engine::new();
        for (name, text) in files {
            engine.add_policy(name.clone(), text.clone()).map_err(|error| format!("{error:#}\n{text}"))?;
        }
        Ok(RegoEngine(engine))
    }

    /// Returns the violations that it finds in an exported trace.
    pub fn judge(&mut self, input: &str) -> Result<Verdicts, String> {
        self.0.set_input_json(input).map_err(|error| format!("{error:#}"))?;
        let value = self.0.eval_rule("data.lictor.violations".to_owned()).map_err(|error| format!("{error:#}"))?;
        let text = value.to_json_str().map_err(|error| format!("{error:#}"))?;
        let list: Vec<serde_json::Value> = serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
        let verdict = |entry: &serde_json::Value| {
            let place = entry.get("event")?.as_u64()? as usize;
            Some((place, entry.get("property")?.as_str()?.to_owned()))
        };
        list.iter().map(|entry| verdict(entry).ok_or_else(|| format!("what is {entry}?"))).collect()
    }
}
