//! Imports of Dogwood policies: the properties, the facts of a log, and refusals.

use lictor_policy::PolicyText;
use lictor_translate::import::dogwood::{ImportedPolicy, PolicyFiles, REASONS};

const POLICY: &str = r#"// Payments need a login, and stop at a limit.
permit (principal, action == Bank::Action::"Pay", resource)
when { context.input.amount < 500 || temporal { formerly within 1h Bank::Action::"Approve"::request{ input.id: context.input.id } } }
when temporal { !Bank::Action::"Logout"::request{ input.user: context.input.user } since within 8h Bank::Action::"Login"::request{ input.user: context.input.user } };

@id("limit")
forbid (principal, action, resource)
when temporal {
  exists (total: Long). (sum_within(a, 24h, Bank::Action::"Pay"::request{ input.user: context.input.user, input.amount: a }) == total && total > 1000)
};
"#;

const EVENTS: &str = r#"
decision event <A>::request { ...inputs(A), requestId: String }
event <A>::response { ...inputs(A), ...outputs(A) }
"#;

const LOG: &str = r#"@0 scope(principal: Bank::User::"eve", resource: Bank::Desk::"d") request_context(input: { user: "eve" }) Bank::Action::"Login"::request(input: { user: "eve" })
@60 scope(principal: Bank::User::"eve", resource: Bank::Desk::"d") request_context(input: { user: "eve", id: "7", amount: 20 }) Bank::Action::"Pay"::request(input: { user: "eve", id: "7", amount: 20 })
@61 Bank::Action::"Pay"::response(input: { user: "eve", id: "7", amount: 20 }, output: { done: true })
"#;

fn given(policy: &str) -> PolicyFiles {
    let mut files = PolicyFiles::new(vec![PolicyText::new("pay.dw", policy)]);
    files.events = Some(PolicyText::new("events.dwschema", EVENTS));
    files
}

#[test]
fn dogwood_import_makes_properties_and_facts() {
    let imported = ImportedPolicy::new("pay", &given(POLICY)).unwrap();
    let formulas: Vec<&str> = imported.policy.lines().filter_map(|line| line.strip_prefix("    formula: ")).collect();
    assert_eq!(
        formulas,
        [
            "'always forall context_input_user, context_input_id. (asked(context_input_user, context_input_id) \
             & count[0,0](asked) = 1 -> (permit.1 \
             & (!(Logout.request(context_input_user)) since[0,28800s] (Login.request(context_input_user))) \
             & ((permit.1.if.1(false) & !(once[0,3600s] (Approve.request(context_input_id)))) \
             | (permit.1.if.1(true) & once[0,3600s] (Approve.request(context_input_id))))))'",
            "'always forall context_input_user. (asked(context_input_user) & count[0,0](asked) = 1 -> \
             !(forbid.1 & (sum[0,86400s](a: Pay.request(context_input_user, a)) > 1000)))'",
        ]
    );
    let events = imported.log("monday", &PolicyText::new("monday.log", LOG)).unwrap();
    let lines: Vec<&str> = events.iter().map(|event| event.line.as_str()).collect();
    assert_eq!(
        lines,
        [
            r#"{"session":"monday","time":0,"facts":["Login.request(\"eve\")","asked(\"eve\",\"@absent\")","forbid.1"]}"#,
            r#"{"session":"monday","time":60,"facts":["Pay.request(\"eve\",20)","asked(\"eve\",\"7\")","permit.1","permit.1.if.1(false)","permit.1.if.1(true)","forbid.1"]}"#,
            r#"{"session":"monday","time":61,"facts":[]}"#,
        ]
    );
    assert_eq!(events.iter().map(|event| event.is_decided).collect::<Vec<_>>(), [true, true, false]);
}

#[test]
fn dogwood_import_without_schema_splits_principals() {
    let policies = vec![PolicyText::new("pay.dw", "permit (principal, action, resource);")];
    let imported = ImportedPolicy::new("pay", &PolicyFiles::new(policies)).unwrap();
    let log = r#"@0 A::Action::"B"::request(callerPrincipal: A::User::"eve")
@1 A::Action::"B"::response()"#;
    let events = imported.log("s", &PolicyText::new("a.log", log)).unwrap();
    let sessions: Vec<&str> = events.iter().map(|event| event.session.as_str()).collect();
    assert_eq!(sessions, [r#"s/callerPrincipal="@A::User::\"eve\"""#, "s/callerPrincipal=none"]);
}

#[test]
fn dogwood_import_refusal_has_code_and_place() {
    let cases = [
        ("permit (principal == ?principal, action, resource);", "dogwood.template", 1, 22),
        ("permit (principal, action, resource)\nwhen { Risk::Score(context.a).high };", "dogwood.provider", 2, 8),
        ("permit (principal, action, resource)\nwhen { ip(\"1.2.3.4\").isLoopback() };", "dogwood.extension", 2, 8),
        ("permit (principal, action, resource) when { near(1) };", "dogwood.macro", 1, 45),
        (
            "permit (principal, action, resource) when temporal { formerly 1h A::Action::\"B\"::c{} };",
            "dogwood.syntax",
            1,
            63,
        ),
        (
            "permit (principal, action, resource)\nwhen temporal { formerly within 1h A::Action::\"B\"::c{ input.x: y } };",
            "dogwood.syntax",
            2,
            64,
        ),
        (
            "forbid (principal, action, resource) when temporal {\nexists (n: Long). ((count for (t: Timepoint). where tp(t)) == n && formerly within 1h (n > 5))};",
            "dogwood.moved-number",
            2,
            88,
        ),
        (
            "forbid (principal, action, resource) when temporal { A::Action::\"B\"::c{ input.x: context.y } since within 1h A::Action::\"D\"::c{} && formerly within 1h A::Action::\"E\"::c{} && formerly within 2h A::Action::\"E\"::c{} };",
            "dogwood.logic",
            1,
            1,
        ),
    ];
    for (policy, reason, line, column) in cases {
        let problem = ImportedPolicy::new("x", &given(policy)).unwrap_err();
        assert_eq!((problem.code, problem.line, problem.column), (reason, line, column), "{problem}");
        assert!(REASONS.contains(&problem.code));
    }
    let imported = ImportedPolicy::new("pay", &given(POLICY)).unwrap();
    let logs = [
        ("@5 A::Action::\"B\"::request()\n@4 A::Action::\"B\"::request()", "dogwood.time", 2),
        ("@5 entities(A::U::\"x\": { a: 1 }) A::Action::\"B\"::request()", "dogwood.entities", 1),
        ("@5 Bank::Action::\"Pay\"::request(input: { user: \"eve\", amount: \"much\" })", "dogwood.type", 1),
        ("5 A::Action::\"B\"::request()", "dogwood.syntax", 1),
    ];
    for (log, reason, line) in logs {
        let problem = imported.log("s", &PolicyText::new("a.log", log)).unwrap_err();
        assert_eq!((problem.code, problem.line), (reason, line), "{problem}");
    }
}
