//! Endpoints that stall, refuse, limit, redirect or flood: answers are failed, never no.

use std::time::Duration;

use lictor_event::AnswerValue;
use lictor_label::endpoint::{EndpointLabeler, EndpointOptions, EndpointProbe, OutputFormat};
use lictor_label::meter::LabelFailure;

use crate::model::{ModelView, write_completion, write_content};
use crate::scripted::{ScriptedServer, Turn, reply};
use crate::{THREAT, ask, connection, judge, labeler, truthful};

/// Asks a server once with one retry, and expects a failed answer for a reason.
fn expect_failure(server: &ScriptedServer, timeout: Duration, reason: LabelFailure) {
    let labeler = labeler(connection(server).timeout(timeout).retries(1).max_reply(10_000));
    let answer = ask(&labeler, THREAT);
    assert_eq!((answer.says, answer.score), (AnswerValue::Failed, None));
    assert_eq!(answer.why.as_deref(), Some(reason.name()));
    assert_eq!(labeler.counts().failures().collect::<Vec<_>>(), [(reason, 1)]);
}

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(60);

#[test]
fn timeout_of_stalled_endpoint_is_failed() {
    let silent = ScriptedServer::start(|_, _| Turn::Hold(String::new()));
    expect_failure(&silent, SHORT, LabelFailure::Timeout);
    let within_head = ScriptedServer::start(|_, _| Turn::Hold("HTTP/1.1 200 OK\r\ncontent-".into()));
    expect_failure(&within_head, SHORT, LabelFailure::Timeout);
    let within_body =
        ScriptedServer::start(|_, _| Turn::Hold("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"choices\"".into()));
    expect_failure(&within_body, SHORT, LabelFailure::Timeout);
}

#[test]
fn timeout_covers_probe_and_all_questions() {
    let server = ScriptedServer::start(|_, _| Turn::Hold(String::new()));
    let options = EndpointOptions::new("small", "m", connection(&server).timeout(SHORT));
    let labeler = EndpointLabeler::new(options).unwrap();
    assert_eq!(ask(&labeler, THREAT).says, AnswerValue::Failed);
    assert!(labeler.probe().unwrap_err().to_string().contains("timeout"));
    assert_eq!(labeler.counts().requests, 2, "no other attempt after a timeout");
}

#[test]
fn broken_connection_is_failed_after_retry() {
    let closes = ScriptedServer::start(|_, _| Turn::Close(String::new()));
    expect_failure(&closes, LONG, LabelFailure::Unreachable);
    assert_eq!(closes.requests().len(), 2);
    let torn = ScriptedServer::start(|_, _| Turn::Close("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{}".into()));
    expect_failure(&torn, LONG, LabelFailure::Unreachable);
    let nonsense = ScriptedServer::start(|_, _| Turn::Close("220 mail ready\r\n\r\n".into()));
    expect_failure(&nonsense, LONG, LabelFailure::Unreachable);
}

#[test]
fn circuit_opens_after_three_silent_calls() {
    let closes = ScriptedServer::start(|_, _| Turn::Close(String::new()));
    let labeler = labeler(connection(&closes).timeout(LONG).retries(0).breaks_circuit(true));
    for _ in 0..3 {
        assert_eq!(ask(&labeler, THREAT).why.as_deref(), Some("unreachable"));
    }
    assert!(labeler.counts().is_circuit_open);
    for _ in 0..5 {
        assert_eq!(ask(&labeler, THREAT).why.as_deref(), Some("circuit_open"));
    }
    assert_eq!(closes.requests().len(), 3, "the server is left alone");
    assert_eq!(labeler.counts().failed(LabelFailure::CircuitOpen), 5);
}

#[test]
fn rate_limit_is_retried_after_pause() {
    let server = ScriptedServer::start(|number, request| match number {
        0 | 1 => Turn::Reply(429, "retry-after: 0\r\n", String::new()),
        _ => truthful(request),
    });
    let labeler = labeler(connection(&server));
    assert_eq!(ask(&labeler, THREAT).says, AnswerValue::Yes);
    let counts = labeler.counts();
    assert_eq!((counts.requests, counts.retries, counts.failures().count()), (3, 2, 0));
}

#[test]
fn rate_limit_beyond_the_timeout_fails_at_once() {
    let server = ScriptedServer::start(|_, _| Turn::Reply(429, "retry-after: 86400\r\n", String::new()));
    expect_failure(&server, LONG, LabelFailure::RateLimited);
    assert_eq!(server.requests().len(), 1, "an hour of waiting is not begun");
}

#[test]
fn server_error_is_retried_then_failed() {
    for status in [500, 502, 503] {
        let server = ScriptedServer::start(move |_, _| Turn::Reply(status, "retry-after: 0\r\n", "{}".into()));
        expect_failure(&server, LONG, LabelFailure::ServerError);
        assert_eq!(server.requests().len(), 2, "{status}");
    }
}

#[test]
fn refused_request_is_failed_without_retry() {
    for status in [400, 401, 403, 404, 422] {
        let server = ScriptedServer::start(move |_, _| Turn::Reply(status, "", "{\"error\":\"no\"}".into()));
        expect_failure(&server, LONG, LabelFailure::Refused);
        assert_eq!(server.requests().len(), 1, "{status}");
    }
}

#[test]
fn redirect_is_not_followed() {
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = ScriptedServer::start(|_, request| truthful(request));
        let location = format!("location: {}/chat/completions\r\n", elsewhere.url());
        let here = ScriptedServer::start(move |_, _| Turn::Close(reply(status, &location, "")));
        expect_failure(&here, LONG, LabelFailure::Redirected);
        assert_eq!((here.requests().len(), elsewhere.requests().len()), (1, 0), "{status}");
    }
}

#[test]
fn endless_reply_is_cut_off() {
    let body = ScriptedServer::start(|_, _| Turn::Endless("HTTP/1.1 200 OK\r\n\r\n", "{\"choices\":[],"));
    expect_failure(&body, LONG, LabelFailure::TooLarge);
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunks = ScriptedServer::start(move |_, _| Turn::Endless(chunked, "5\r\n     \r\n"));
    expect_failure(&chunks, LONG, LabelFailure::TooLarge);
    let announced = ScriptedServer::start(|_, _| Turn::Reply(200, "", " ".repeat(10_001)));
    expect_failure(&announced, LONG, LabelFailure::TooLarge);
}

#[test]
fn endless_head_is_cut_off() {
    let server = ScriptedServer::start(|_, _| Turn::Endless("HTTP/1.1 200 OK\r\n", "x-more: and more\r\n"));
    let labeler = labeler(connection(&server).retries(0));
    assert_eq!(ask(&labeler, THREAT).says, AnswerValue::Failed);
}

#[test]
fn unreachable_endpoint_is_failed() {
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let connection = lictor_label::connection::ConnectionOptions::new(format!("http://127.0.0.1:{port}/v1"));
    let labeler = labeler(connection.timeout(LONG).retries(0));
    assert_eq!(ask(&labeler, THREAT).says, AnswerValue::Failed);
    assert_eq!(labeler.counts().failed(LabelFailure::Unreachable), 1);
}

#[test]
fn concurrency_limit_holds() {
    let server = ScriptedServer::start(|_, request| truthful(request));
    let labeler = labeler(connection(&server).concurrency(2));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..10).for_each(|_| assert_eq!(ask(&labeler, THREAT).says, AnswerValue::Yes)));
        }
    });
    assert_eq!(server.requests().len(), 80);
    assert!(server.most_at_once() <= 2, "{} at once", server.most_at_once());
}

/// An endpoint that refuses requests with one of these fields, and gives log probabilities or not.
fn endpoint_without(fields: &'static [&'static str], gives_scores: bool) -> ScriptedServer {
    ScriptedServer::start(move |_, request| {
        let format = request.body.at("response_format.type").and_then(|it| it.as_str()).unwrap_or("plain");
        let refused = fields.iter().find(|field| **field == format || request.body.get(field).is_some());
        match refused {
            Some(field) => {
                let hint = if *field == "max_tokens" { "use max_completion_tokens" } else { field };
                Turn::Reply(400, "", format!("{{\"error\":{{\"message\":\"unsupported: {hint}\"}}}}"))
            }
            None if gives_scores => truthful(request),
            None => Turn::ok(write_completion(&write_content(&ModelView::read(request).answer(judge)))),
        }
    })
}

#[test]
fn probe_writes_down_what_is_missing() {
    let full = EndpointProbe::full();
    for (fields, gives_scores, output, is_scored) in [
        (&[][..], true, OutputFormat::Schema, true),
        (&[], false, OutputFormat::Schema, false),
        (&["logprobs"], true, OutputFormat::Schema, false),
        (&["json_schema"], true, OutputFormat::JsonObject, true),
        (&["json_schema", "logprobs"], true, OutputFormat::JsonObject, false),
        (&["json_schema", "json_object"], true, OutputFormat::Plain, true),
        (&["json_schema", "json_object", "logprobs"], true, OutputFormat::Plain, false),
        (&["max_tokens"], true, OutputFormat::Schema, true),
        (&["max_tokens", "temperature"], true, OutputFormat::Schema, true),
    ] {
        let server = endpoint_without(fields, gives_scores);
        let labeler = EndpointLabeler::new(EndpointOptions::new("small", "m", connection(&server))).unwrap();
        let probe = labeler.probe().unwrap();
        assert_eq!((probe.output, probe.log_probabilities), (output, is_scored), "without {fields:?}: {probe}");
        assert_eq!(probe.completion_limit, fields.contains(&"max_tokens"), "{probe}");
        assert_eq!(probe.temperature, full.temperature && !fields.contains(&"temperature"), "{probe}");
        let answer = ask(&labeler, THREAT);
        assert_eq!((answer.says, answer.score.is_some()), (AnswerValue::Yes, is_scored), "without {fields:?}");
    }
}

#[test]
fn probe_notices_a_schema_that_is_ignored() {
    let server = ScriptedServer::start(|_, request| match ModelView::read(request).is_probe {
        true => Turn::ok(write_completion("hello")),
        false => truthful(request),
    });
    let labeler = EndpointLabeler::new(EndpointOptions::new("small", "m", connection(&server))).unwrap();
    let probe = labeler.probe().unwrap();
    assert_eq!(probe.to_string(), "no log probabilities, json_schema not enforced");
    assert_eq!(ask(&labeler, THREAT).says, AnswerValue::Yes);
}

#[test]
fn probe_runs_once_for_many_threads() {
    let server = ScriptedServer::start(|_, request| truthful(request));
    let options = EndpointOptions::new("small", "m", connection(&server));
    let labeler = EndpointLabeler::new(options).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(ask(&labeler, THREAT).says, AnswerValue::Yes));
        }
    });
    let probes = server.requests().iter().filter(|request| ModelView::read(request).is_probe).count();
    assert_eq!((probes, server.requests().len()), (1, 9));
}

#[test]
fn probe_is_not_repeated_after_refusal() {
    let server = ScriptedServer::start(|_, _| Turn::Reply(400, "", "{\"error\":\"no such model\"}".into()));
    let labeler = EndpointLabeler::new(EndpointOptions::new("small", "m", connection(&server))).unwrap();
    for _ in 0..5 {
        assert_eq!(ask(&labeler, THREAT).says, AnswerValue::Failed);
    }
    assert_eq!(labeler.counts().failed(LabelFailure::Refused), 5);
    assert_eq!(server.requests().len(), 6, "one for each form of request");
}
