//! Exports for other engines, and what they leave out and why.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use lictor_event::Event;
use lictor_event::record::{DecodedEvents, Decoder, LogRecord};
use lictor_judge::Judge;
use lictor_policy::{FileResolver, Policy};
use lictor_translate::export::{ExportedPolicy, dogwood, fact_traces, mfotl, rego};

const POLICY: &str = r#"
lictor: 1
name: payments
properties:
  - id: total
    formula: 'always forall p. (pays(p, _) -> sum[0,24h](a: pays(p, a)) <= 10000)'
  - id: often
    formula: 'always forall p. (pays(p, _) -> !(count[0,1h](a: pays(p, a)) >= 3))'
  - id: eyes
    formula: 'always forall p. (pays(p, _) -> exists a, b. (once approves(p, a) & once[0,24h] approves(p, b) & a != b))'
  - id: granted
    formula: 'always (acts -> in_force(granted, revoked))'
  - {id: stepwise, formula: 'always (acts -> once[0,3] granted)'}
  - {id: latest, formula: 'always forall p. (pays(p, _) -> latest(s: status(p, s)) = "open")'}
  - {id: later, formula: 'always (acts -> eventually reported)'}
"#;

const LINES: [&str; 3] = [
    r#"{"time":"2026-05-01T10:00:00Z","facts":["granted","approves(\"eve\",\"ann\")"]}"#,
    r#"{"time":"2026-05-01T10:00:02Z","facts":["pays(\"eve\",12.5)","acts"]}"#,
    r#"{"facts":["pays(\"eve\",3)","noted"]}"#,
];

fn events() -> Vec<Event> {
    let (mut decoder, mut decoded) = (lictor_event::native::NativeDecoder::default(), DecodedEvents::default());
    for line in LINES {
        let value = lictor_json::parse_str(line).unwrap();
        decoder.record(LogRecord { value, file: "log".into(), line: 1, index: 0 }, &mut decoded);
    }
    decoded.events
}

fn file<'e>(exported: &'e ExportedPolicy, name: &str) -> &'e str {
    exported.files.iter().find(|(file, _)| file == name).map(|(_, text)| text.as_str()).unwrap()
}

fn left_out(exported: &ExportedPolicy) -> Vec<(&str, &str)> {
    let mut left: Vec<(&str, &str)> =
        exported.left_out.iter().map(|left| (left.property.as_str(), left.reason.as_str())).collect();
    left.sort_unstable();
    left
}

#[test]
fn mfotl_export_has_formulas_signature_and_log() {
    let loaded = Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap();
    let mut judge = Judge::new(&loaded.policy).unwrap();
    let traces = fact_traces(&mut judge, [("s/1".into(), &events()[..])]);
    let exported = mfotl::policy(&loaded.policy, &traces);
    assert_eq!(
        file(&exported, "policy.sig"),
        "acts()\napproves(string, string)\ngranted()\npays(string, float)\nrevoked()\nstatus(string, string)\n"
    );
    assert_eq!(
        file(&exported, "total.mfotl"),
        "((EXISTS any_1. pays(x_p, any_1)) IMPLIES (NOT (EXISTS n_2. ((n_2 <- SUM x_a; x_p (ONCE[0s,86400s] \
         (pays(x_p, x_a) AND tp(tp_3)))) AND (NOT (n_2 <= 10000))))))\n"
    );
    assert_eq!(
        file(&exported, "often.mfotl"),
        "((EXISTS any_1. pays(x_p, any_1)) IMPLIES (NOT (EXISTS n_2. ((n_2 <- CNT tp_3; x_p (ONCE[0s,3600s] \
         (pays(x_p, x_a) AND tp(tp_3)))) AND (n_2 >= 3)))))\n"
    );
    assert_eq!(
        file(&exported, "eyes.mfotl"),
        "((EXISTS any_1. pays(x_p, any_1)) IMPLIES (EXISTS x_a, x_b. ((ONCE approves(x_p, x_a)) AND \
         (ONCE[0s,86400s] approves(x_p, x_b)) AND (NOT (x_a = x_b)))))\n"
    );
    assert_eq!(file(&exported, "granted.mfotl"), "(acts() IMPLIES ((NOT revoked()) SINCE granted()))\n");
    // An event without a time is at the time of the one before it; facts that no property asks for are not written.
    assert_eq!(
        file(&exported, "s_1.log"),
        "@1777629600 granted() approves(\"eve\",\"ann\");\n@1777629602 pays(\"eve\",12.5) acts();\n@1777629602 pays(\"eve\",3.0);\n"
    );
    assert_eq!(
        left_out(&exported),
        [
            ("later", "it looks ahead: a violation shows only later, or at the end of the trace"),
            ("latest", "it uses `latest`, which MFOTL cannot express"),
            ("stepwise", "it has a bound in steps; MonPoly supports bounds in time only"),
        ]
    );
}

#[test]
fn rego_export_has_module_and_input() {
    let loaded = Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap();
    let mut judge = Judge::new(&loaded.policy).unwrap();
    let exported = rego::policy(&loaded.policy, &[]);
    let module = file(&exported, "policy.rego");
    for property in ["total", "often", "eyes", "granted", "stepwise", "latest"] {
        assert!(module.contains(&format!("\"property\": \"{property}\"")), "{property}");
    }
    let looks_ahead = "it looks ahead: a violation shows only later, or at the end of the trace";
    assert_eq!(left_out(&exported), [("later", looks_ahead)]);
    let traces = fact_traces(&mut judge, [("s".into(), &events()[..])]);
    let input: serde_json::Value = serde_json::from_str(&rego::trace(&traces[0])).unwrap();
    assert_eq!(input["events"][1]["time"], 1_777_629_602_000_000_000_i64);
    assert_eq!(input["events"][1]["facts"][0], serde_json::json!({"name": "pays", "values": ["eve", 12.5]}));
    assert_eq!(input["events"][2]["time"], serde_json::Value::Null);
}

#[test]
fn dogwood_export_has_statements_schemas_and_log() {
    let loaded = Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap();
    let mut judge = Judge::new(&loaded.policy).unwrap();
    let mut events = events();
    events.remove(1);
    let traces = fact_traces(&mut judge, [("s/1".into(), &events[..])]);
    let exported = dogwood::policy(&loaded.policy, &traces);
    let pays = |fields: &str| format!("Lictor::Action::\"Step\"::request{{ input.is_pays.holds: true, {fields} }}");
    let approves = |v1: &str| {
        format!(
            "Lictor::Action::\"Step\"::request{{ input.is_approves.holds: true, input.is_approves.v0: x_p, \
             input.is_approves.v1: {v1} }}"
        )
    };
    let statement = |id: &str, condition: &str| {
        format!("\n@id(\"{id}\")\nforbid (principal, action, resource)\nwhen temporal {{\n    {condition}\n}};\n")
    };
    let anybody = pays("input.is_pays.v0: x_p, input.is_pays.v1: *");
    let amount = pays("input.is_pays.v0: x_p, input.is_pays.v1: x_a");
    let expected = [
        "permit (principal, action, resource);\n".to_owned(),
        statement(
            "total",
            &format!(
                "exists (x_p: String). ({anybody} && !((sum x_a for (x_a: Long), (at_2: Timepoint). where \
                 (formerly within 86400s ({amount} && tp(at_2)))) <= 10000))"
            ),
        ),
        statement(
            "often",
            &format!(
                "exists (x_p: String). ({anybody} && (count for (x_a: Long), (at_2: Timepoint). where \
                 (formerly within 3600s ({amount} && tp(at_2)))) >= 3)"
            ),
        ),
        statement(
            "eyes",
            &format!(
                "exists (x_p: String). ({anybody} && !(exists (x_a: String). exists (x_b: String). (formerly within \
                 213504d ({}) && formerly within 86400s ({}) && x_a != x_b)))",
                approves("x_a"),
                approves("x_b")
            ),
        ),
        statement(
            "granted",
            "Lictor::Action::\"Step\"::request{ input.is_acts.holds: true } && \
             !((!Lictor::Action::\"Step\"::request{ input.is_revoked.holds: true }) since within 213504d \
             (Lictor::Action::\"Step\"::request{ input.is_granted.holds: true }))",
        ),
    ];
    assert_eq!(file(&exported, "policy.dw"), expected.concat());
    assert_eq!(
        file(&exported, "s_1.log"),
        "@1777629600 scope(principal: Lictor::Agent::\"agent\", resource: Lictor::Session::\"session\") \
         Lictor::Action::\"Step\"::request(input: { is_granted: { holds: true }, is_approves: { holds: true, v0: \
         \"eve\", v1: \"ann\" } })\n\
         @1777629600 scope(principal: Lictor::Agent::\"agent\", resource: Lictor::Session::\"session\") \
         Lictor::Action::\"Step\"::request(input: { is_pays: { holds: true, v0: \"eve\", v1: 3 } })\n"
    );
    assert!(file(&exported, "actions.cedarschema").contains("    is_pays?: { holds: Bool, v0: String, v1: Long },\n"));
    assert_eq!(
        left_out(&exported),
        [
            ("later", "it looks ahead: a violation shows only later, or at the end of the trace"),
            ("latest", "it uses `latest`, which Dogwood cannot express"),
            ("stepwise", "it has a bound in steps; Dogwood supports windows of time only"),
        ]
    );
}

#[test]
fn dogwood_export_reports_unsupported_values() {
    let loaded = Policy::parse(POLICY, "policy.yaml", &FileResolver).unwrap();
    let mut judge = Judge::new(&loaded.policy).unwrap();
    let traces = fact_traces(&mut judge, [("s".into(), &events()[..])]);
    let exported = dogwood::policy(&loaded.policy, &traces);
    let total = "value 2 of `pays` has several types or is not a whole number; Dogwood needs one type per field";
    let session = "12.5 is not a whole number; Dogwood supports whole numbers only";
    assert!(left_out(&exported).contains(&("total", total)), "{:?}", exported.left_out);
    assert!(left_out(&exported).contains(&("session s", session)), "{:?}", exported.left_out);
}
