//! Tests of replies: everything that is not exactly an answer is unread.

use super::*;

fn items() -> Vec<PromptItem> {
    let item = |key: &str, role| PromptItem { key: key.into(), role };
    vec![
        item("k1", ItemRole::Question(0)),
        item("k2", ItemRole::Control(true)),
        item("k3", ItemRole::Control(false)),
        item("k4", ItemRole::Question(1)),
    ]
}

fn completion(content: &str) -> String {
    let message = Json::from([("role", "assistant".into()), ("content", content.into())]);
    let choice = Json::from([("index", 0.into()), ("message", message), ("finish_reason", "stop".into())]);
    Json::from([("choices", vec![choice].into())]).to_string()
}

fn read(content: &str) -> Reply {
    read_reply(completion(content).as_bytes(), &items(), OutputFormat::Schema)
}

const GOOD: &str = r#"{"k1":"no","k2":"yes","k3":"no","k4":"unclear"}"#;

#[test]
fn reply_to_every_statement_is_read() {
    let answers = vec![(AnswerValue::No, None), (AnswerValue::Unclear, None)];
    assert_eq!(read(GOOD), Reply::Answers(answers));
}

#[test]
fn reply_with_wrong_control_has_no_answers() {
    for content in [
        r#"{"k1":"no","k2":"no","k3":"no","k4":"no"}"#,
        r#"{"k1":"yes","k2":"yes","k3":"yes","k4":"yes"}"#,
        r#"{"k1":"no","k2":"unclear","k3":"no","k4":"no"}"#,
    ] {
        assert_eq!(read(content), Reply::WrongControl, "{content}");
    }
}

#[test]
fn reply_that_is_no_answer_is_unread() {
    for content in [
        "",
        "no",
        "No, I know nothing of it.",
        r#"{"k1":"no","k2":"yes","k3":"no""#,
        r#"{"k1":"no","k2":"yes","k3":"no"}"#,
        r#"{"k1":"no","k2":"yes","k3":"no","k5":"no"}"#,
        r#"{"k1":"no","k2":"yes","k3":"no","k4":"no","k5":"no"}"#,
        r#"{"k1":"no","k1":"yes","k2":"yes","k3":"no","k4":"no"}"#,
        r#"{"k1":"no","\u006b1":"yes","k2":"yes","k3":"no","k4":"no"}"#,
        r#"{"k1":["yes","no"],"k2":"yes","k3":"no","k4":"no"}"#,
        r#"{"k1":"maybe","k2":"yes","k3":"no","k4":"no"}"#,
        r#"{"k1":"No","k2":"yes","k3":"no","k4":"no"}"#,
        r#"{"k1":false,"k2":true,"k3":false,"k4":false}"#,
        r#"{"k1":null,"k2":"yes","k3":"no","k4":"no"}"#,
        r#"{"k1":"no","k2":"yes","k3":"no","k4":"no"} and more"#,
        "```json\n{\"k1\":\"no\",\"k2\":\"yes\",\"k3\":\"no\",\"k4\":\"no\"}\n```",
    ] {
        assert_eq!(read(content), Reply::Unread, "{content}");
    }
}

#[test]
fn reply_in_fence_is_read_without_format() {
    let fenced = completion(&format!("```json\n{GOOD}\n```"));
    assert!(matches!(read_reply(fenced.as_bytes(), &items(), OutputFormat::Plain), Reply::Answers(_)));
    let chatty = completion(&format!("Sure! ```json\n{GOOD}\n```"));
    assert_eq!(read_reply(chatty.as_bytes(), &items(), OutputFormat::Plain), Reply::Unread);
}

#[test]
fn reply_of_unfinished_completion_is_unread() {
    let good = completion(GOOD);
    for broken in [
        good.replace("\"stop\"", "\"length\""),
        good.replace("\"stop\"", "\"content_filter\""),
        good.replace("\"role\":\"assistant\"", "\"tool_calls\":[{\"id\":\"1\"}]"),
        good.replace("\"role\":\"assistant\"", "\"refusal\":\"I cannot\""),
        good.replace("choices", "choice"),
        "{\"choices\":[]}".to_owned(),
        "<html>".to_owned(),
        good[..good.len() - 1].to_owned(),
    ] {
        assert_eq!(read_reply(broken.as_bytes(), &items(), OutputFormat::Schema), Reply::Unread, "{broken}");
    }
}

#[test]
fn answer_against_its_mass_is_unclear() {
    let mass = |yes, no, unclear| Some(TokenMass { yes, no, unclear });
    assert_eq!(weigh(AnswerValue::Yes, mass(0.6, 0.2, 0.2)), (AnswerValue::Yes, Some(0.6 / 0.8)));
    assert_eq!(weigh(AnswerValue::No, mass(0.0, 0.99, 0.0)), (AnswerValue::No, Some(0.0)));
    assert_eq!(weigh(AnswerValue::Yes, mass(0.3, 0.6, 0.1)), (AnswerValue::Unclear, None));
    assert_eq!(weigh(AnswerValue::No, mass(0.4, 0.5, 0.0)), (AnswerValue::Unclear, None), "forbidden mass of 0.1");
    assert_eq!(weigh(AnswerValue::Unclear, mass(0.2, 0.2, 0.6)), (AnswerValue::Unclear, None));
    assert_eq!(weigh(AnswerValue::No, mass(0.0, 0.0, 1.0)), (AnswerValue::Unclear, None));
    assert_eq!(weigh(AnswerValue::No, None), (AnswerValue::No, None));
}

#[test]
fn reported_tokens_are_read() {
    assert_eq!(read_tokens(br#"{"usage":{"prompt_tokens":3,"total_tokens":17}}"#), Some(17));
    assert_eq!(read_tokens(br#"{"usage":{"total_tokens":-1}}"#), None);
    assert_eq!(read_tokens(br#"{"usage":{"total_tokens":9223372036854775807}}"#), None, "no count of one reply");
    assert_eq!(read_tokens(b"{}"), None);
}
