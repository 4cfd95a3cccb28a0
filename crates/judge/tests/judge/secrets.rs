//! Secrets: a fact of their own, and redacted where a property asks for it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use lictor_event::{Arguments, Event, Kind};
use lictor_judge::Judge;
use lictor_judge::guard::{Decision, Guard, GuardOptions};
use lictor_policy::{FileResolver, Policy};

const POLICY: &str = "lictor: 1\nname: p\nproperties:\n  \
    - {id: no-secret, formula: 'always forall k. !carries_secret(k)', respond: redact}\n  \
    - {id: no-data, formula: 'always forall c. !carries(c)', respond: block}\n";

fn decide(event: Event) -> Decision {
    let policy = Policy::parse(POLICY, "p.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}")).policy;
    Guard::new(Judge::new(&policy).unwrap(), GuardOptions::default()).decide(event, None)
}

fn call(args: &str) -> Event {
    let args = Some(Arguments::from_json(args.into()));
    Event { tool: Some("save".into()), id: Some("c".into()), args, ..Event::new(Kind::ToolCall) }
}

#[test]
fn secret_is_fact_and_no_category() {
    let key = "sk_live_tvCfYFbN73k587KVSqez5pU0";
    let text = Some(format!("Use {key} for now").into());
    let decision = decide(Event { text, ..Event::new(Kind::AssistantMessage) });
    let objections: Vec<&str> = decision.objections.iter().map(|objection| objection.property.id.as_str()).collect();
    assert_eq!(objections, ["no-secret"]);
    let rewritten = decision.rewritten.unwrap().text.unwrap();
    assert!(!rewritten.contains(key) && rewritten.starts_with("Use "), "{rewritten}");
}

#[test]
fn secret_argument_is_redacted_by_key() {
    let rewritten = decide(call(r#"{"note":"x","db_password":"s3cr3t!"}"#)).rewritten.unwrap();
    assert_eq!(rewritten.args.unwrap().value().unwrap().to_string(), r#"{"note":"x","db_password":"[redacted]"}"#);
    assert!(decide(call(r#"{"note":"the password is required"}"#)).objections.is_empty());
}
