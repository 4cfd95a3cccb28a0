//! Finds the personal data in every line of standard input, each a JSON string, and prints a JSON list of its spans:
//! start and end in characters, category, confidence, subject. With `--names` the names of persons come after
//! them. With `--time ROUNDS` it prints the best time of a round instead, in nanoseconds.
//!
//! `echo '"Write to ann@example.org"' | cargo run -q -p lictor-recognise --example find_spans`
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::io::{BufRead, Error};
use std::time::{Duration, Instant};

use lictor_json::{Json, parse_str};
use lictor_recognise::{CategorySpan, Recogniser, find_names};

fn main() -> Result<(), Error> {
    let mut texts = Vec::new();
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let value = parse_str(&line?).map_err(|error| Error::other(format!("line {}: {error}", number + 1)))?;
        let text = value.as_str().ok_or_else(|| Error::other(format!("line {}: not a JSON string", number + 1)))?;
        texts.push(text.to_owned());
    }
    let recogniser = Recogniser::builtin();
    let mut arguments = std::env::args().skip(1);
    let option = arguments.next();
    if option.as_deref() == Some("--time") {
        let rounds = arguments.next().and_then(|rounds| rounds.parse().ok()).unwrap_or(10);
        let best = (0..rounds).map(|_| time_round(&recogniser, &texts)).min().unwrap_or_default();
        println!("{}", best.as_nanos());
        return Ok(());
    }
    let with_names = option.as_deref() == Some("--names");
    for text in &texts {
        let names = if with_names { find_names(text) } else { Vec::new() };
        let spans = recogniser.spans(text);
        let spans: Vec<Json> = spans.iter().chain(&names).map(|span| describe_span(text, span)).collect();
        println!("{}", Json::Array(spans));
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "it measures time")]
fn time_round(recogniser: &Recogniser, texts: &[String]) -> Duration {
    let start = Instant::now();
    for text in texts {
        std::hint::black_box(recogniser.spans(text));
    }
    start.elapsed()
}

fn describe_span(text: &str, span: &CategorySpan) -> Json {
    let place = |bytes: usize| Json::from(text.get(..bytes).map_or(0, |head| head.chars().count()) as i64);
    Json::Array(vec![
        place(span.range.start),
        place(span.range.end),
        Json::from(span.category.as_str()),
        Json::from(span.confidence.name()),
        span.subject.as_ref().map_or(Json::Null, |subject| Json::from(subject.as_str())),
    ])
}
