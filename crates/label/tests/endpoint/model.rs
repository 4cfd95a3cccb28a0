//! A scripted model: it reads requests as a model would, and answers them by a function.

use lictor_json::{Json, Number};

use crate::scripted::ScriptedRequest;

/// A request as a model understands it.
pub(crate) struct ModelView {
    /// The statements by their keys.
    pub(crate) statements: Vec<(String, String)>,
    /// The text without its marks.
    pub(crate) text: String,
    /// Everything that the model reads.
    pub(crate) prompt: String,
    pub(crate) mark: char,
    pub(crate) wants_log_probabilities: bool,
    /// Whether it is a probe, which has no statements.
    pub(crate) is_probe: bool,
}

impl ModelView {
    pub(crate) fn read(request: &ScriptedRequest) -> ModelView {
        let content = |place: usize| request.body.at(&format!("messages.{place}.content")).unwrap().as_str().unwrap();
        let user = content(1);
        let wants_log_probabilities = request.body.get("logprobs").is_some();
        let prompt = format!("{}\n{user}", content(0));
        if !user.contains("The statements:") {
            let (statements, text) = (Vec::new(), String::new());
            return ModelView { statements, text, prompt, mark: ' ', wants_log_probabilities, is_probe: true };
        }
        let mark = user.split_once("The character ").unwrap().1.chars().next().unwrap();
        let list = user.split_once("The statements:\n").unwrap().1.split("\n<").next().unwrap();
        let statement = |line: &str| {
            let (key, statement) = line.strip_prefix('"')?.split_once("\": ")?;
            Some((key.to_owned(), statement.to_owned()))
        };
        let statements = list.lines().filter_map(statement).collect();
        let block = user.split_once("\n<text-").unwrap().1.split_once('\n').unwrap().1;
        let text = block.split_once("\n</text-").unwrap().0.replace(mark, " ");
        ModelView { statements, text, prompt, mark, wants_log_probabilities, is_probe: false }
    }

    /// Answers the control questions truly, and the others by a function of statement and text.
    pub(crate) fn answer(&self, judge: impl Fn(&str, &str) -> &'static str) -> Vec<(String, &'static str)> {
        if self.is_probe {
            return vec![("answer".to_owned(), "yes")];
        }
        let says =
            |statement: &str| control_truth(statement, &self.text).unwrap_or_else(|| judge(statement, &self.text));
        self.statements.iter().map(|(key, statement)| (key.clone(), says(statement))).collect()
    }
}

/// Returns the truth of a control question; none for other statements.
fn control_truth(statement: &str, text: &str) -> Option<&'static str> {
    let says = |truth: bool| if truth { "yes" } else { "no" };
    if let Some(word) = statement.strip_prefix("the word \"").and_then(|it| it.strip_suffix("\" occurs in the text")) {
        return Some(says(text.split_whitespace().any(|it| it == word)));
    }
    let (one, other) = statement.strip_prefix("the number ")?.split_once(" is greater than the number ")?;
    Some(says(one.parse::<u32>().ok()? > other.parse::<u32>().ok()?))
}

/// Returns the JSON object of some answers.
pub(crate) fn write_content(answers: &[(String, &str)]) -> String {
    let members: Vec<String> = answers.iter().map(|(key, value)| format!("\"{key}\": \"{value}\"")).collect();
    format!("{{{}}}", members.join(", "))
}

/// Returns a chat completion with a content.
pub(crate) fn write_completion(content: &str) -> String {
    write_completion_with(content, Json::Null)
}

fn write_completion_with(content: &str, logprobs: Json) -> String {
    let message = Json::from([("role", "assistant".into()), ("content", content.into())]);
    let choice = Json::from([("message", message), ("logprobs", logprobs), ("finish_reason", "stop".into())]);
    let usage = Json::from([("total_tokens", 100.into())]);
    Json::from([("choices", vec![choice].into()), ("usage", usage)]).to_string()
}

/// Returns a completion with log probabilities: the value that is written has that mass, `forbidden` the word *maybe*,
/// and the other values share the rest.
pub(crate) fn write_scored_completion(answers: &[(String, &str)], sure: f64, forbidden: f64) -> String {
    let number = |p: f64| Json::Number(Number::Float(p.ln()));
    let token = |text: &str, top: &[(&str, f64)]| {
        let alternative = |(text, p): &(&str, f64)| Json::from([("token", (*text).into()), ("logprob", number(*p))]);
        let top: Vec<Json> = top.iter().map(alternative).collect();
        Json::from([("token", text.into()), ("logprob", number(1.0)), ("top_logprobs", top.into())])
    };
    let mut tokens = vec![token("{", &[("{", 1.0)])];
    for (place, (key, value)) in answers.iter().enumerate() {
        let comma = if place > 0 { ", " } else { "" };
        let start = format!("{comma}\"{key}\": \"");
        tokens.push(token(&start, &[(&start, 1.0)]));
        let rest = (1.0 - sure - forbidden) / 2.0;
        let mut top = vec![(*value, sure), ("maybe", forbidden)];
        top.extend(["yes", "no", "unclear"].into_iter().filter(|other| other != value).map(|other| (other, rest)));
        tokens.push(token(value, &top));
        tokens.push(token("\"", &[("\"", 1.0)]));
    }
    tokens.push(token("}", &[("}", 1.0)]));
    let content = tokens.iter().filter_map(|token| token.text("token")).collect::<String>();
    write_completion_with(&content, Json::from([("content", tokens.into())]))
}
