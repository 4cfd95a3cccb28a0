//! Endpoints that answer, but not what was asked: answers are unclear, never no.

use lictor_event::AnswerValue;

use crate::model::{ModelView, write_completion, write_content, write_scored_completion};
use crate::scripted::{ScriptedServer, Turn};
use crate::{THREAT, ask, connection, judge, labeler};

/// Asks a model that writes its content by a function of the true answers.
fn ask_liar(lie: impl Fn(Vec<(String, &'static str)>) -> String + Send + Sync + 'static) -> AnswerValue {
    let server = ScriptedServer::start(move |_, request| {
        Turn::ok(write_completion(&lie(ModelView::read(request).answer(judge))))
    });
    let labeler = labeler(connection(&server));
    let answer = ask(&labeler, THREAT);
    let counts = labeler.counts();
    if answer.says == AnswerValue::Unclear {
        assert_eq!(counts.unread_replies + counts.wrong_controls, 1, "recorded");
        assert!(
            answer.why.as_deref().is_some_and(|why| ["unread_reply", "wrong_control"].contains(&why)),
            "{answer:?}"
        );
    }
    assert_eq!((counts.failures().count(), counts.requests), (0, 1));
    answer.says
}

#[test]
fn truthful_content_is_answered() {
    assert_eq!(ask_liar(|answers| write_content(&answers)), AnswerValue::Yes);
}

#[test]
fn half_json_is_unclear() {
    for length in 0..30 {
        let says = ask_liar(move |answers| write_content(&answers).chars().take(length).collect());
        assert_eq!(says, AnswerValue::Unclear, "{length} characters");
    }
}

#[test]
fn wrong_control_is_unclear() {
    for value in ["yes", "no", "unclear"] {
        let same = move |answers: Vec<(String, &'static str)>| {
            write_content(&answers.into_iter().map(|(key, _)| (key, value)).collect::<Vec<_>>())
        };
        assert_eq!(ask_liar(same), AnswerValue::Unclear, "all {value}");
    }
    let inverted = |answers: Vec<(String, &'static str)>| {
        let turn = |value| if value == "yes" { "no" } else { "yes" };
        write_content(&answers.into_iter().map(|(key, value)| (key, turn(value))).collect::<Vec<_>>())
    };
    assert_eq!(ask_liar(inverted), AnswerValue::Unclear);
}

#[test]
fn content_about_other_keys_is_unclear() {
    assert_eq!(ask_liar(|_| "{\"threatens\":\"no\"}".into()), AnswerValue::Unclear);
    assert_eq!(ask_liar(|_| "{\"k1\":\"no\",\"k2\":\"yes\",\"k3\":\"no\"}".into()), AnswerValue::Unclear);
    let more = |mut answers: Vec<(String, &'static str)>| {
        answers.push(("angry".to_owned(), "no"));
        write_content(&answers)
    };
    assert_eq!(ask_liar(more), AnswerValue::Unclear);
    let fewer = |answers: Vec<(String, &'static str)>| write_content(&answers[1..]);
    assert_eq!(ask_liar(fewer), AnswerValue::Unclear);
}

#[test]
fn content_with_both_values_is_unclear() {
    let twice = |answers: Vec<(String, &'static str)>| {
        let inverted = answers.iter().map(|(key, value)| (key.clone(), if *value == "yes" { "no" } else { "yes" }));
        let both: Vec<(String, &str)> = answers.iter().cloned().chain(inverted).collect();
        write_content(&both)
    };
    assert_eq!(ask_liar(twice), AnswerValue::Unclear);
    let list = |answers: Vec<(String, &'static str)>| {
        write_content(&answers).replace("\"yes\"", "[\"yes\",\"no\"]").replace("\"no\"", "\"yes\"")
    };
    assert_eq!(ask_liar(list), AnswerValue::Unclear);
}

#[test]
fn prose_is_unclear() {
    for text in ["no", "No.", "I know nothing", "yes", "", "null", "[]", "\"no\"", "{}", "I cannot help with that"] {
        assert_eq!(ask_liar(move |_| text.to_owned()), AnswerValue::Unclear, "{text}");
    }
}

#[test]
fn body_that_is_no_completion_is_unclear() {
    for body in ["", "{}", "<html></html>", "{\"choices\":[]}", "{\"choices\":null}", "{\"error\":\"busy\"}"] {
        let server = ScriptedServer::start(move |_, _| Turn::ok(body));
        assert_eq!(ask(&labeler(connection(&server)), THREAT).says, AnswerValue::Unclear, "{body}");
    }
    let deep = ScriptedServer::start(|_, _| Turn::ok("[".repeat(100_000)));
    assert_eq!(ask(&labeler(connection(&deep)), THREAT).says, AnswerValue::Unclear);
}

#[test]
fn forbidden_mass_over_limit_is_unclear() {
    for (forbidden, says) in [(0.04, AnswerValue::Yes), (0.06, AnswerValue::Unclear)] {
        let server = ScriptedServer::start(move |_, request| {
            Turn::ok(write_scored_completion(&ModelView::read(request).answer(judge), 0.9, forbidden))
        });
        assert_eq!(ask(&labeler(connection(&server)), THREAT).says, says, "{forbidden}");
    }
}

#[test]
fn score_against_the_value_is_unclear() {
    let server = ScriptedServer::start(move |_, request| {
        Turn::ok(write_scored_completion(&ModelView::read(request).answer(judge), 0.2, 0.01))
    });
    assert_eq!(ask(&labeler(connection(&server)), THREAT).says, AnswerValue::Unclear);
}
