//! Services with Lictor's contract, and Presidio's analyzer.

use std::time::Duration;

use lictor_event::labeler::{Inquiry, Labeler, Question};
use lictor_event::{AnswerValue, Event, Kind};
use lictor_json::Json;
use lictor_label::connection::ConnectionOptions;
use lictor_label::service::{PresidioLabeler, PresidioOptions, ServiceLabeler, ServiceOptions};
use lictor_logic::Fact;

use crate::scripted::{ScriptedServer, Turn};
use crate::{PEACE, THREAT, ask, connection, judge, say, threatens};

fn service(server: &ScriptedServer) -> ServiceLabeler {
    ServiceLabeler::new(ServiceOptions::new("words", "1", connection(server))).unwrap()
}

#[test]
fn service_answers_by_contract() {
    let server = ScriptedServer::start(|_, request| {
        let text = request.body.text("text").unwrap().to_owned();
        let answer = |question: &Json| {
            let says = judge(question.text("statement").unwrap(), &text);
            format!("{{\"fact\":{},\"says\":\"{says}\",\"score\":0.93}}", question.get("fact").unwrap())
        };
        let answers: Vec<String> =
            request.body.get("questions").unwrap().as_array().unwrap().iter().map(answer).collect();
        Turn::ok(format!("{{\"answers\":[{}]}}", answers.join(",")))
    });
    let labeler = service(&server);
    let (yes, no) = (ask(&labeler, THREAT), ask(&labeler, PEACE));
    assert_eq!((yes.says, yes.score), (AnswerValue::Yes, Some(0.93)));
    assert_eq!((no.says, no.by.as_deref()), (AnswerValue::No, Some(labeler.version())));
    let event = Event { tool: Some("mail".into()), text: Some("hi".into()), ..Event::new(Kind::ToolCall) };
    labeler.answer(&Inquiry::new(&event, &[threatens()]).after(&[say("before")]));
    let sent = &server.requests()[2];
    assert!(sent.head.starts_with("POST /v1 HTTP/1.1"), "{}", sent.head);
    let expected = r#"{"text":"tool: mail\nhi","kind":"tool_call","tool":"mail","before":[{"kind":"user_message","text":"before"}],"questions":[{"fact":"threatens","statement":"the user threatens somebody","yes":[],"no":[]}]}"#;
    assert_eq!(sent.body.to_string(), expected);
}

#[test]
fn service_that_breaks_contract_is_unclear() {
    for body in [
        "{}",
        "no",
        r#"{"answers":[{"fact":"other","says":"no"}]}"#,
        r#"{"answers":[{"fact":"threatens","says":"no"},{"fact":"threatens","says":"yes"}]}"#,
        r#"{"answers":[{"fact":"threatens","says":"no","says":"yes"}]}"#,
        r#"{"answers":[{"fact":"threatens","says":"#,
    ] {
        let server = ScriptedServer::start(move |_, _| Turn::ok(body));
        let labeler = service(&server);
        let answer = ask(&labeler, THREAT);
        assert_eq!((answer.says, answer.why.as_deref()), (AnswerValue::Unclear, Some("unread_reply")), "{body}");
        assert_eq!(labeler.counts().unclear, 1, "{body}");
        assert_eq!(labeler.counts().unread_replies, 1);
    }
}

#[test]
fn service_that_fails_is_failed() {
    let broken = ScriptedServer::start(|_, _| Turn::Reply(500, "retry-after: 0\r\n", "[]".into()));
    assert_eq!(ask(&service(&broken), THREAT).says, AnswerValue::Failed);
    let silent = ScriptedServer::start(|_, _| Turn::Hold(String::new()));
    let impatient = ConnectionOptions::new(silent.url()).timeout(Duration::from_millis(200));
    let labeler = ServiceLabeler::new(ServiceOptions::new("words", "1", impatient)).unwrap();
    assert_eq!(ask(&labeler, THREAT).says, AnswerValue::Failed);
}

fn presidio(server: &ScriptedServer) -> PresidioLabeler {
    let options = PresidioOptions::new("pii", connection(server)).threshold(0.4);
    let options = options.entities("names_person", &["PERSON"]).entities("contact", &["EMAIL_ADDRESS", "PHONE_NUMBER"]);
    PresidioLabeler::new(options).unwrap()
}

fn pii_questions() -> Vec<Question> {
    ["names_person", "contact", "angry"].map(|name| Question::new(Fact::new(name, []), name)).to_vec()
}

#[test]
fn presidio_entities_answer_mapped_facts() {
    let server = ScriptedServer::start(|_, request| {
        // As Presidio does: nothing below the threshold, other types only if asked for.
        assert_eq!(request.body.get("entities").unwrap().as_array().unwrap().len(), 3);
        let found = match request.body.text("text").unwrap() {
            "nothing" => "[]",
            _ => {
                r#"[{"analysis_explanation":null,"end":3,"entity_type":"PERSON","score":0.3,"start":0},
                    {"end":14,"entity_type":"EMAIL_ADDRESS","score":1.0,"start":7},
                    {"end":14,"entity_type":"PHONE_NUMBER","score":0.5,"start":7}]"#
            }
        };
        Turn::ok(found)
    });
    let labeler = presidio(&server);
    let questions = pii_questions();
    let answers = labeler.answer(&Inquiry::new(&say("Bob at b@c.org"), &questions));
    let read: Vec<_> = answers.iter().map(|answer| (answer.says, answer.score)).collect();
    use AnswerValue::{No, Unclear, Yes};
    assert_eq!(read, [(No, Some(0.0)), (Yes, Some(1.0)), (Unclear, None)], "0.3 is below the threshold");
    let answers = labeler.answer(&Inquiry::new(&say("nothing"), &questions));
    assert_eq!(answers.iter().map(|it| it.says).collect::<Vec<_>>(), [No, No, Unclear]);
    assert!(server.requests()[0].head.starts_with("POST /v1/analyze"));
}

#[test]
fn presidio_error_is_never_no() {
    for (turn, says) in [
        (|| Turn::Reply(500, "retry-after: 0\r\n", "[]".into()), AnswerValue::Failed),
        (|| Turn::ok("{\"error\":\"no recognizer\"}"), AnswerValue::Unclear),
        (|| Turn::ok(""), AnswerValue::Unclear),
        (|| Turn::ok("[{}]"), AnswerValue::Unclear),
        (|| Turn::Close(String::new()), AnswerValue::Failed),
    ] as [(fn() -> Turn, AnswerValue); 5]
    {
        let server = ScriptedServer::start(move |_, _| turn());
        let answers = presidio(&server).answer(&Inquiry::new(&say("Bob"), &pii_questions()[..2]));
        assert!(answers.iter().all(|answer| answer.says == says), "{answers:?}");
    }
}

#[test]
fn presidio_is_not_asked_without_fact_or_text() {
    let server = ScriptedServer::start(|_, _| Turn::ok("[]"));
    let answers = presidio(&server).answer(&Inquiry::new(&say("Bob"), &pii_questions()[2..]));
    assert_eq!((answers[0].says, server.requests().len()), (AnswerValue::Unclear, 0));
    let answers = presidio(&server).answer(&Inquiry::new(&say(""), &pii_questions()));
    assert_eq!((answers[0].says, server.requests().len()), (AnswerValue::No, 0), "nothing is in an empty text");
}
