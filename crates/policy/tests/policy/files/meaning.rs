//! The content of policies without mistakes.

use std::fs;

use lictor_json::Json;
use lictor_policy::{After, Basis, FactPattern, FileResolver, LoadedPolicy, Mode, Policy, Response, Severity};

use super::golden::{Folder, folder};

fn load(text: &str) -> LoadedPolicy {
    Policy::parse(text, "test.yaml", &FileResolver).unwrap_or_else(|problems| panic!("{problems}"))
}

fn good() -> Policy {
    let text = fs::read_to_string(folder().join("good.yaml")).unwrap();
    Policy::parse(&text, "good.yaml", &Folder(folder())).unwrap_or_else(|problems| panic!("{problems}")).policy
}

#[test]
fn policy_sections_are_all_read() {
    let policy = good();
    assert_eq!(policy.name, "shopper");
    assert_eq!(policy.purposes.len(), 3);
    assert_eq!(policy.purposes[2].basis, Basis::LegalObligation);
    assert!(policy.purposes[2].survives_erasure);
    let sends = policy.tools.iter().find(|tool| tool.name == "send_*").unwrap();
    assert_eq!(sends.effects.as_deref().unwrap(), ["external", "write"]);
    let keeps = policy.tools.iter().find(|tool| tool.name == "keep_record").unwrap();
    assert_eq!(keeps.effects, None);
    assert_eq!(policy.categories[0].pattern.as_deref(), Some("LY-[0-9]{6}"));
    assert!(policy.categories[0].identifies);
    assert_eq!(policy.tables[0].1, Json::Array(vec!["DE".into(), "FR".into(), "IT".into()]));

    let fact = |name: &str| policy.facts.iter().find(|fact| fact.name == name).unwrap();
    let transfer = &fact("big_transfer").cases[0];
    assert_eq!(transfer.on[0].tool.as_deref(), Some("transfer*"));
    assert_eq!(transfer.when.as_deref(), Some("args.amount > 10000"));
    assert_eq!(transfer.values, ["args.amount"]);
    let confirmed = &fact("confirmed").cases[0].tests[0];
    assert_eq!(
        (confirmed.path.as_str(), &confirmed.any[..]),
        ("text", &[FactPattern::Regex(r"(?i)\b(yes|confirm)\b".into())][..])
    );
    assert_eq!(fact("cabin").parameters, ["reservation", "class"]);
    assert_eq!(fact("item").cases[0].each.as_deref(), Some("args.items"));
    assert_eq!(fact("pushed").cases.len(), 2);
    assert_eq!(fact("pushed").cases[1].tests[0].any, [FactPattern::Glob("*git push*".into())]);
    let question = fact("angry").cases[0].ask.as_ref().unwrap();
    assert_eq!((question.statement.as_str(), &question.by), ("the user complains", &None));
    assert_eq!(fact("angry").cases[0].on[0].kind, "user_message");
}

#[test]
fn pattern_parts_are_put_in_everywhere() {
    let text = r#"
lictor: 1
patterns:
  digits: '[0-9]+'
  member: 'M-(?&digits)'
categories:
  member: {pattern: '(?&member)'}
tables:
  shapes: {plain: '^(?&member)$', number: 7, list: ['(?&digits)', 'x']}
facts:
  named: {on: user_message, where: {text: '/member (?&member)/i'}}
properties:
  - {id: p, formula: always !named}
"#;
    let policy = load(text).policy;
    let member = "(?:M-(?:[0-9]+))";
    assert_eq!(policy.categories[0].pattern.as_deref(), Some(member));
    let shapes = format!(r#"{{"plain":"^{member}$","number":7,"list":["(?:[0-9]+)","x"]}}"#);
    assert_eq!(policy.tables[0].1.to_string(), shapes);
    let fact = policy.facts.iter().find(|fact| fact.name == "named").unwrap();
    assert_eq!(fact.cases[0].tests[0].any, [FactPattern::Regex(format!("(?i)member {member}").into())]);
}

#[test]
fn property_settings_are_read() {
    let policy = good();
    let property = |id: &str| policy.properties.iter().find(|property| property.id == id);
    let first = property("confirm-big-transfers").unwrap();
    assert_eq!((first.severity, first.respond, first.unknown), (Severity::High, Response::Block, Response::Ask));
    assert_eq!((first.after, first.mode), (After::Reset, Mode::Enforce));
    assert_eq!((first.place.line, &*first.place.file), (33, "good.yaml"));
    let second = property("never-abroad").unwrap();
    assert_eq!((second.severity, second.respond, second.unknown), (Severity::Medium, Response::Warn, Response::Warn));
    assert_eq!((second.after, second.mode), (After::Each, Mode::Shadow));
    assert!(!second.says.is_empty());
    assert_eq!(property("tests-before-push").unwrap().formula, "always (pushed ->\n  once tests_pass)");
    let changed = property("gdpr/data-minimisation").unwrap();
    assert_eq!((changed.severity, changed.mode), (Severity::Low, Mode::Shadow));
    assert!(changed.place.file.ends_with("gdpr/data-minimisation.md"));
    assert!(property("gdpr/right-to-erasure").is_none());
    assert!(property("agent-safety/denial-is-respected").is_some());
    assert!(property("agent-safety/no-sink-after-taint").is_none());
    assert!(property("more/refunds-are-rare").is_some());
}

#[test]
fn changed_response_also_applies_to_unknown() {
    let text = "lictor: 1\nuses: [gdpr/data-minimisation]\nchange: {gdpr/*: {respond: block}}\n";
    let policy = load(text).policy;
    assert_eq!((policy.properties[0].respond, policy.properties[0].unknown), (Response::Block, Response::Block));
}

#[test]
fn field_pattern_kind_follows_its_spelling() {
    let text = "lictor: 1\nfacts:\n  f:\n    where:\n      args.a: 5\n      args.b: '5'\n      args.c: true\n      \
                args.d: [x, 'y*', /z/]\n      args.e: '>= 2.5'\n      args.f: '!= no'\n      args.g: /etc/passwd\n      \
                args.h: '< -3'\n      args.i: '!= 4'\nproperties:\n  - {id: p, formula: always !f}\n";
    let policy = load(text).policy;
    let shown: Vec<String> =
        policy.facts[0].cases[0].tests.iter().map(|test| format!("{} {:?}", test.path, test.any)).collect();
    assert_eq!(
        shown,
        [
            "args.a [Equal(Number(Integer(5)))]",
            "args.b [Equal(String(\"5\"))]",
            "args.c [Equal(Bool(true))]",
            "args.d [Equal(String(\"x\")), Glob(\"y*\"), Regex(\"z\")]",
            "args.e [Compare(\">=\", Number(Float(2.5)))]",
            "args.f [Compare(\"!=\", String(\"no\"))]",
            "args.g [Equal(String(\"/etc/passwd\"))]",
            "args.h [Compare(\"<\", Number(Integer(-3)))]",
            "args.i [Compare(\"!=\", Number(Integer(4)))]",
        ]
    );
}

#[test]
fn fingerprint_depends_on_meaning_not_spelling() {
    let base = "lictor: 1\nname: n\nproperties:\n  - {id: p, formula: always (tool_call -> once user_message)}\n";
    let same = [
        "lictor: 1\nname: n\n# A comment.\nproperties:\n- id: p\n  formula: 'G(tool_call -> O user_message)'\n  says: >-\n    \
         a tool call must at all times be preceded by x\n",
        base,
    ];
    let fingerprint = |text: &str| load(text).policy.fingerprint();
    assert_eq!(fingerprint(base).len(), 64);
    assert_eq!(fingerprint(same[1]), fingerprint(&format!("# first\n{base}")));
    let says = load(base).policy.properties[0].says.clone();
    let spelt = format!(
        "lictor: 1\nname: n\nproperties: [{{id: p, says: \"{says}\", formula: '□(tool_call → O user_message)'}}]"
    );
    assert_eq!(fingerprint(base), fingerprint(&spelt));
    assert_ne!(fingerprint(base), fingerprint(same[0]));
    for other in [
        base.replace("once", "historically"),
        base.replace("id: p", "id: q"),
        base.replace("id: p", "id: p, severity: low"),
        format!("{base}tools: {{a: {{effects: [read]}}}}\n"),
        format!("{base}tables: {{a: 1}}\n"),
        format!("{base}facts: {{a: {{on: error}}}}\n"),
    ] {
        assert_ne!(fingerprint(base), fingerprint(&other), "{other}");
    }
}

#[test]
fn missing_policy_file_is_a_problem() {
    let problems = Policy::load(std::path::Path::new("no/such/policy.yaml")).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "error[policy.unreadable]: the policy cannot be read: there is no such file\n --> no/such/policy.yaml"
    );
}

#[test]
fn used_files_resolve_relative_to_policy() {
    let loaded = Policy::load(&folder().join("decided.yaml")).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(loaded.policy.facts.len(), 2);
    assert_eq!(loaded.policy.facts[0].cases[0].on[0].tool.as_deref(), Some("refund_some"));
}

#[test]
fn used_page_states_its_property() {
    let loaded = Policy::load(&folder().join("own_page.yaml")).unwrap_or_else(|problems| panic!("{problems}"));
    let [property] = &loaded.policy.properties[..] else { panic!("{:?}", loaded.policy.properties) };
    assert_eq!((property.id.as_str(), property.severity), ("no-wipe", Severity::High));
    assert_eq!(property.needs, ["tool_call"], "`change` replaces what it needs");
}
