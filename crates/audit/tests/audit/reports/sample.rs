//! Reports made up for the tests: a small one with one of everything, one that means harm, one that is large.

use std::sync::Arc;

use lictor_audit::report::{FileReport, PropertyOutcome, Report, ReportOrigin, SessionReport};
use lictor_decode::{Fault, Format};
use lictor_event::order::{Gap, GapCause};
use lictor_event::{Kind, Source};
use lictor_judge::finding::{DecidedBy, Finding, WitnessEvent};
use lictor_logic::{Time, Value, Verdict, WitnessBasis};
use lictor_policy::{After, History, Mode, Place, Property, Response, Severity};

pub(crate) fn property(id: &str, severity: Severity, says: &str, formula: &str) -> Property {
    Property {
        id: id.into(),
        says: says.into(),
        formula: formula.into(),
        source: None,
        remedy: None,
        severity,
        respond: Response::Block,
        unknown: Response::Ask,
        after: After::Latch,
        history: History::Session,
        mode: Mode::Enforce,
        risk: None,
        needs: Vec::new(),
        place: Place::default(),
    }
}

pub(crate) fn source(file: &str, line: u32) -> Source {
    Source { file: file.into(), line, ..Source::default() }
}

pub(crate) fn proof(
    step: u32,
    source: Source,
    kind: Kind,
    tool: Option<&str>,
    present: &[&str],
    absent: &[&str],
) -> WitnessEvent {
    WitnessEvent {
        session: None,
        step,
        source,
        kind,
        tool: tool.map(Into::into),
        time: None,
        present: present.iter().map(|&fact| fact.into()).collect(),
        absent: absent.iter().map(|&fact| fact.into()).collect(),
        content: None,
    }
}

/// A finding whose deciding event is the last of its witness.
pub(crate) fn finding(property: &Arc<Property>, session: &str, witness: Vec<WitnessEvent>) -> Finding {
    let last = witness.last().unwrap();
    Finding {
        property: Arc::clone(property),
        session: session.into(),
        decided: DecidedBy::Event,
        step: last.step,
        source: last.source.clone(),
        kind: last.kind.clone(),
        tool: last.tool.clone(),
        binding: Vec::new(),
        risk: None,
        grounds: Vec::new(),
        owed: None,
        suppressed: None,
        fingerprint: format!("{:016x}", fingerprint(&property.id, session, last.step)),
        witness,
        basis: WitnessBasis::Proof,
    }
}

/// FNV-1a: a number that is the same everywhere.
fn fingerprint(property: &str, session: &str, step: u32) -> u64 {
    let text = format!("{property} {session} {step}");
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

pub(crate) fn outcome(verdict: Verdict) -> PropertyOutcome {
    PropertyOutcome { verdict, live: false, violated_at_step: None, violations: 0, is_judged: true }
}

pub(crate) fn broken(step: u32, violations: u32) -> PropertyOutcome {
    PropertyOutcome {
        verdict: Verdict::Violated,
        live: true,
        violated_at_step: Some(step),
        violations,
        is_judged: true,
    }
}

fn properties() -> Vec<Arc<Property>> {
    let mut consent = property(
        "gdpr/consent-before-processing",
        Severity::High,
        "Personal data serve a purpose only after the person agreed to that purpose",
        "always forall p. (processes(p) & needs_consent(p)) -> once consent(_, p)",
    );
    consent.source = Some("GDPR Art. 6(1)(a), 7".into());
    consent.remedy = Some("Ask for consent to the purpose first, and go on only when it was given.".into());
    let mut erasure = property(
        "gdpr/erased-data-stay-erased",
        Severity::Critical,
        "Data of a person who asked to be forgotten are not used again.",
        "always forall s. erased(s) -> always !uses(s)",
    );
    erasure.source = Some("GDPR Art. 17".into());
    let mut answer = property(
        "desk/complaint-answered",
        Severity::Medium,
        "A complaint is answered within a day.",
        "always (complaint implies eventually[0,1d] answered)",
    );
    answer.remedy = Some("Answer the complaint, or hand it to somebody who can.".into());
    let mut receipt = property(
        "desk/receipt-for-payment",
        Severity::Low,
        "Every payment is followed by a receipt.",
        "always forall n. payment(n) -> eventually receipt(n)",
    );
    receipt.mode = Mode::Shadow;
    let mut greeting = property(
        "desk/greets-once",
        Severity::Info,
        "A session has one greeting.",
        "always (greeting -> weak_next always !greeting)",
    );
    greeting.after = After::Reset;
    [consent, erasure, answer, receipt, greeting].map(Arc::new).to_vec()
}

/// One of everything.
pub(crate) fn small() -> Report {
    let properties = properties();
    let [consent, erasure, answer, receipt, greeting] = [0, 1, 2, 3, 4].map(|place| &properties[place]);
    let (shop, desk) = ("shop.jsonl", "logs/help desk.jsonl");

    let mut first = finding(
        consent,
        "s1",
        vec![
            proof(4, source(shop, 4), Kind::Consent, None, &["consent(\"alice\", \"support\")"], &[]),
            proof(
                9,
                source(shop, 9),
                Kind::ToolCall,
                Some("send_marketing_email"),
                &["processes(\"marketing\")", "needs_consent(\"marketing\")"],
                &["consent(_, \"marketing\")"],
            ),
        ],
    );
    first.binding = vec![("p".into(), Value::text("marketing"))];
    first.witness[0].time = Some(Time::from_seconds(1_777_629_603));
    first.witness[1].time = Some(Time::from_seconds(1_777_629_655));
    let mut second = first.clone();
    second.binding = vec![("p".into(), Value::text("profiling"))];
    second.fingerprint = format!("{:016x}", fingerprint("profiling", "s1", 9));

    let mut third = finding(
        erasure,
        "s2",
        vec![
            proof(2, source(shop, 13), Kind::Erasure, None, &["erased(\"bob\")"], &[]),
            proof(3, source(shop, 14), Kind::ToolCall, Some("lookup_customer"), &["uses(\"bob\")"], &[]),
        ],
    );
    third.binding = vec![("s".into(), Value::text("bob"))];
    third.witness[1].content = Some("lookup_customer {\"name\": \"bob\"}".into());

    let mut late = finding(
        answer,
        "desk-7",
        vec![
            proof(118, source(desk, 118), Kind::UserMessage, None, &["complaint"], &[]),
            proof(121, source(desk, 131), Kind::ToolCall, Some("search_orders"), &[], &["answered"]),
        ],
    );
    late.decided = DecidedBy::Deadline;
    late.owed = Some("an answer to the complaint of step 118, by 2026-05-02T10:00:03Z".into());

    let mut open = finding(
        receipt,
        "desk-7",
        vec![proof(40, source(desk, 44), Kind::ToolCall, Some("charge_card"), &["payment(17)"], &[])],
    );
    open.decided = DecidedBy::End;
    (open.step, open.source, open.kind, open.tool) = (140, source(desk, 150), Kind::AssistantMessage, None);
    open.binding = vec![("n".into(), Value::Integer(17))];
    open.owed = Some("eventually receipt(17)".into());

    let mut accepted = finding(
        greeting,
        "desk-8",
        vec![
            proof(1, source(desk, 151), Kind::AssistantMessage, None, &["greeting"], &[]),
            proof(6, source(desk, 156), Kind::AssistantMessage, None, &["greeting"], &[]),
        ],
    );
    accepted.suppressed = Some("The script of the desk greets twice on purpose.".into());

    let holds = outcome(Verdict::Satisfied);
    let undecided = outcome(Verdict::Inconclusive);
    let session = |name: &str, file: &str, steps: u32, outcomes: [PropertyOutcome; 5]| SessionReport {
        name: name.into(),
        file: file.into(),
        steps,
        outcomes: outcomes.to_vec(),
        gaps: Vec::new(),
    };
    let mut sessions = vec![
        session("s1", shop, 11, [broken(9, 2), holds, holds, holds, holds]),
        session("s2", shop, 5, [holds, broken(3, 1), holds, undecided, holds]),
        session("desk-7", desk, 140, [holds, holds, broken(121, 1), broken(140, 1), holds]),
        session(
            "desk-8",
            desk,
            9,
            [holds, holds, holds, holds, PropertyOutcome { verdict: Verdict::Satisfied, ..broken(6, 1) }],
        ),
        session("desk-9", desk, 3, [holds, holds, undecided, holds, holds]),
    ];
    sessions.extend((10..17).map(|number| session(&format!("desk-{number}"), desk, 20 + number, [holds; 5])));

    Report {
        policy: "shopper".into(),
        noise: Vec::new(),
        origin: ReportOrigin {
            fingerprint: Some("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".into()),
            command: Some("lictor audit --policy shopper.yaml shop.jsonl 'logs/help desk.jsonl'".into()),
        },
        files: vec![
            FileReport { name: shop.into(), format: Format::Native, events: 16 },
            FileReport { name: desk.into(), format: Format::OpenaiChat, events: 1_432 },
        ],
        sessions,
        findings: vec![first, second, third, late, open, accepted],
        faults: vec![
            Fault {
                file: shop.into(),
                line: 12,
                column: Some(5),
                code: "json.duplicate_key",
                message: "the key `tool` stands twice in one object; keep one of them".into(),
            },
            Fault {
                file: desk.into(),
                line: 160,
                column: None,
                code: "decode.unknown_record",
                message: "this record is no message; leave it out or name its format with `--input-format`".into(),
            },
        ],
        known: 3,
        properties,
        ..Report::default()
    }
}

/// Texts that try to become something else: a script, a tag, a line, an escape sequence, a link, a call by name.
pub(crate) const ATTACKS: [&str; 10] = [
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "]]></failure><failure message='owned'/>",
    "line\u{2028}break\u{2029}and\u{85}more\nlines\r\n",
    "\u{1b}[2J\u{1b}[31mred\u{7}\u{0}\u{9b}1m",
    "a | b `c` ``d`` **e** [f](javascript:alert(1)) @somebody #1 <!-- ",
    "\u{202e}drowssap\u{202c} \u{feff}\u{e0041}\u{fffe}\u{ffff}",
    "{{data}} {{script}} ${x} %s {0} \\u003cscript\\u003e",
    "' onmouseover='document.title=\"owned\"' x='",
    "constructor",
];

/// Every text of the report is one of the attacks.
pub(crate) fn hostile() -> Report {
    let mut report = Report { policy: ATTACKS[0].into(), known: 1, ..Report::default() };
    report.origin.command = Some(ReportOrigin::quote_command(ATTACKS));
    report.origin.fingerprint = Some(ATTACKS[0].into());
    for attack in ATTACKS {
        let mut property = property(attack, Severity::High, attack, attack);
        property.source = Some(attack.into());
        property.remedy = Some(attack.into());
        report.properties.push(Arc::new(property));
    }
    for (place, attack) in ATTACKS.into_iter().enumerate() {
        let line = u32::try_from(place).unwrap();
        let kind = Kind::Other(attack.into());
        let mut proof = proof(line, source(attack, line), kind, Some(attack), &[attack], &[attack]);
        proof.content = Some(attack.into());
        let mut finding = finding(&report.properties[place], attack, vec![proof]);
        finding.binding = vec![(attack.into(), Value::text(attack)), (attack.into(), Value::Bool(true))];
        finding.owed = Some(attack.into());
        finding.suppressed = place.is_multiple_of(2).then(|| attack.into());
        report.findings.push(finding);
        report.files.push(FileReport { name: attack.into(), format: Format::Native, events: u64::MAX });
        report.sessions.push(SessionReport {
            name: attack.into(),
            file: attack.into(),
            steps: line,
            outcomes: vec![broken(line, 1); ATTACKS.len()],
            gaps: vec![Gap {
                cause: GapCause::Missing,
                first: 2,
                last: i64::from(line) + 2,
                source: Source { file: attack.into(), line, record: 0 },
            }],
        });
        let fault = Fault { file: attack.into(), line, column: Some(1), code: "json.syntax", message: attack.into() };
        report.faults.push(fault);
    }
    report
}

/// Pseudo-random numbers, equal in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from((self.0 >> 33) % u64::from(bound)).unwrap()
    }
}

/// Thirty properties on this many sessions.
pub(crate) fn large(sessions: u32) -> Report {
    let packs = ["gdpr", "agent-safety", "desk"];
    let duties =
        ["consent", "erasure", "minimal-data", "approval", "receipt", "handoff", "answer", "budget", "log", "tone"];
    let levels = [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Info];
    let mut properties = Vec::new();
    for (number, pack) in packs.iter().enumerate() {
        for (place, duty) in duties.iter().enumerate() {
            let mut property = property(
                &format!("{pack}/{duty}-comes-first"),
                levels[(number + place) % 5],
                &format!("Before anything else happens, {duty} has been settled with the person concerned."),
                &format!("always forall p. uses(p) -> once {}(p)", duty.replace('-', "_")),
            );
            property.source = Some(format!("{pack} handbook, section {place}").into());
            property.remedy = Some(format!("Settle {duty} before the call, or do without the call.").into());
            properties.push(Arc::new(property));
        }
    }
    let mut report = Report { policy: "everything".into(), properties, ..Report::default() };
    let mut dice = Dice(7);
    let tools = ["lookup_customer", "send_email", "charge_card", "read_file", "web_search"];
    let mut lines = 0;
    for number in 0..sessions {
        let name = format!("conversation-{number:05}");
        let file = format!("logs/day-{:02}.jsonl", number / 1000);
        let steps = 12 + dice.below(180);
        let mut outcomes = Vec::new();
        for property in &report.properties {
            let roll = dice.below(300);
            if roll > 1 {
                outcomes.push(outcome(if roll < 9 { Verdict::Inconclusive } else { Verdict::Satisfied }));
                continue;
            }
            let early = 1 + dice.below(steps / 2);
            let late = early + 1 + dice.below(steps - early - 1);
            let tool = tools[usize::try_from(dice.below(5)).unwrap()];
            let (fact, lack) = (format!("uses(\"user-{number}\")"), format!("settled(\"user-{number}\")"));
            let witness = vec![
                proof(early, source(&file, lines + early), Kind::UserMessage, None, &[&fact], &[]),
                proof(late, source(&file, lines + late), Kind::ToolCall, Some(tool), &[&fact], &[&lack]),
            ];
            let mut finding = finding(property, &name, witness);
            finding.binding = vec![("p".into(), Value::text(format!("user-{number}")))];
            finding.suppressed = (dice.below(12) == 0).then(|| "The customer signed for it on paper.".into());
            report.findings.push(finding);
            outcomes.push(broken(late, 1));
        }
        report.sessions.push(SessionReport {
            name: name.into(),
            file: file.as_str().into(),
            steps,
            outcomes,
            gaps: Vec::new(),
        });
        match report.files.last_mut() {
            Some(last) if *last.name == *file => last.events += u64::from(steps),
            _ => {
                lines = 0;
                report.files.push(FileReport {
                    name: file.as_str().into(),
                    format: Format::Native,
                    events: u64::from(steps),
                });
            }
        }
        lines += steps;
    }
    report
}
