//! Learns the built-in model of injections and measures it: `cargo xtask injection`.
//!
//! Reads the lines of `injection/extract.py`. Every attack family is judged by a model that never saw it, nor what it
//! wants, nor a text that shares a fifth of its phrases; harmless texts by a model that never saw their source. The phrase
//! list of the pack `agent-safety` judges the same texts.

#![expect(clippy::print_stdout, reason = "an example prints what it measured")]

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::error::Error;
use std::time::Instant;

use lictor_json::Json;
use lictor_label::learnt::{ANY_FACT, LabelExample, LabelModel, LearnOptions, Share};
use lictor_recognise::TextReadings;
use regex::Regex;

/// Into how many parts the harmless sources are split.
const PARTS: usize = 4;

/// The share of words in a row that a text of the training may have in common with one of the test.
const MAX_SHARED: f64 = 0.2;

struct Text {
    text: String,
    source: String,
    family: Option<String>,
    payload: Option<String>,
}

/// What one model and the phrase list say about the texts of a family or source.
#[derive(Default)]
struct Tally {
    alone: Share,
    within: Share,
    phrases: Share,
    both: Share,
}

impl Tally {
    fn count_alone(&mut self, by_model: bool, by_phrases: bool) {
        count(&mut self.alone, by_model);
        count(&mut self.phrases, by_phrases);
        count(&mut self.both, by_model || by_phrases);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (corpus, pack) =
        (arguments.next().ok_or("the corpus is missing")?, arguments.next().ok_or("the pack is missing")?);
    let out = arguments.next();
    let texts = read_corpus(&corpus)?;
    let phrases = read_phrases(&std::fs::read_to_string(pack)?)?;
    let has_phrase = |text: &str| {
        let plain = TextReadings::new(text).join();
        phrases.iter().any(|phrase| phrase.is_match(&plain))
    };
    // Harmless texts are held out by document, and in other rounds by whole sources.
    let part_of = |text: &Text| blake3::hash(text.source.as_bytes()).as_bytes()[0] as usize % PARTS;
    let families: BTreeSet<&str> = texts.iter().filter_map(|text| text.family.as_deref()).collect();

    print_head(["attack family, held out", "alone", "within a page", "phrase list, alone", "either, alone"]);
    let mut total = Tally::default();
    let mut harmless: BTreeMap<&str, Tally> = BTreeMap::new();
    for (number, family) in families.iter().enumerate() {
        let part = number % PARTS;
        let apart: Vec<&Text> = texts.iter().filter(|text| text.family.as_deref() == Some(family)).collect();
        let apart = choose_payloads(apart);
        let wanted: HashSet<&str> = apart.iter().filter_map(|text| text.payload.as_deref()).collect();
        let shingles: Vec<HashSet<u64>> = apart.iter().map(|text| collect_shingles(&text.text)).collect();
        let kept = texts.iter().filter(|text| match &text.family {
            None => part_of(text) != part,
            Some(other) => {
                other != family
                    && !text.payload.as_deref().is_some_and(|payload| wanted.contains(payload))
                    && !is_shared(&text.text, &shingles)
            }
        });
        let model = LabelModel::train(&make_examples(kept), &options())?;
        let finds = |text: &str| model.score("injection", text).is_some_and(|score| score.probability >= 0.5);
        let carriers: Vec<&Text> = texts
            .iter()
            .filter(|text| text.family.is_none() && part_of(text) == part && text.text.len() > 1000)
            .collect();
        let mut tally = Tally::default();
        for (index, text) in apart.iter().enumerate() {
            tally.count_alone(finds(&text.text), has_phrase(&text.text));
            if let Some(carrier) = carriers.get(index * 7 % carriers.len().max(1)) {
                count(&mut tally.within, finds(&insert(&carrier.text, &text.text)));
            }
        }
        // Each document is held out in several rounds; the first of them counts.
        if number < PARTS {
            for text in texts.iter().filter(|text| text.family.is_none() && part_of(text) == part) {
                let tally = harmless.entry(kind_of(text)).or_default();
                tally.count_alone(finds(&text.text), has_phrase(&text.text));
            }
        }
        print_row(family, &tally);
        add(&mut total, &tally);
    }
    print_row("all", &total);
    let kinds: Vec<&str> = harmless.keys().copied().collect();
    for part in 0..PARTS {
        let is_apart =
            |text: &Text| kinds.iter().position(|kind| *kind == kind_of(text)).unwrap_or_default() % PARTS == part;
        let kept = texts.iter().filter(|text| text.family.is_some() || !is_apart(text));
        let model = LabelModel::train(&make_examples(kept), &options())?;
        for text in texts.iter().filter(|text| text.family.is_none() && is_apart(text)) {
            let found = model.score("injection", &text.text).is_some_and(|score| score.probability >= 0.5);
            count(&mut harmless.entry(kind_of(text)).or_default().within, found);
        }
    }
    println!();
    print_head(["harmless source", "document held out", "source held out", "phrase list", "either, document"]);
    let mut total = Tally::default();
    for (source, tally) in &harmless {
        print_row(source, tally);
        add(&mut total, tally);
    }
    print_row("all", &total);

    let model = LabelModel::train(&make_examples(texts.iter()), &options())?;
    measure_time(&model, &texts);
    if let Some(out) = out {
        std::fs::write(&out, model.to_text())?;
        println!("wrote {out}: {} bytes, {}", model.to_text().len(), model.hash());
    }
    Ok(())
}

/// Returns the source of a harmless text without its document.
fn kind_of(text: &Text) -> &str {
    text.source.split('/').next().unwrap_or_default()
}

fn options() -> LearnOptions {
    let mut options = LearnOptions::new("injection");
    let list = include_str!("../injection/requirements.txt").lines().filter(|line| line.contains("=="));
    options.sources = list.map(Into::into).chain(["texts written for it: injection/letters.py".into()]).collect();
    options.bits = 16;
    options.windows = vec![24, 72];
    options.max_false_positive_rate = Some(0.0075);
    options
}

fn make_examples<'a>(texts: impl Iterator<Item = &'a Text>) -> Vec<LabelExample> {
    let texts: Vec<&Text> = texts.collect();
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    for family in texts.iter().filter_map(|text| text.family.as_deref()) {
        *sizes.entry(family).or_default() += 1;
    }
    let examples = texts.iter().map(|text| {
        // A large family does not outweigh the others.
        let size = text.family.as_deref().and_then(|family| sizes.get(family)).copied();
        let weight = size.map_or(1.0, |size| (60.0 / size as f64).clamp(0.2, 2.0));
        LabelExample {
            text: text.text.clone(),
            group: text.family.as_ref().unwrap_or(&text.source).clone(),
            weight,
            labels: vec![(ANY_FACT.into(), text.family.is_some())],
        }
    });
    examples.collect()
}

/// Keeps the texts of a family with every second payload, if it has payloads: the others are learnt from.
fn choose_payloads(texts: Vec<&Text>) -> Vec<&Text> {
    let payloads: BTreeSet<&str> = texts.iter().filter_map(|text| text.payload.as_deref()).collect();
    let chosen: HashSet<&str> = payloads.into_iter().step_by(2).collect();
    texts.into_iter().filter(|text| text.payload.as_deref().is_none_or(|payload| chosen.contains(payload))).collect()
}

/// Returns the hashes of every five words in a row.
fn collect_shingles(text: &str) -> HashSet<u64> {
    let words: Vec<String> = text
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let hash = |row: &[String]| {
        let hash = blake3::hash(row.join(" ").as_bytes());
        hash.as_bytes().iter().take(8).fold(0, |all, byte| all << 8 | u64::from(*byte))
    };
    words.windows(5).map(hash).collect()
}

fn is_shared(text: &str, others: &[HashSet<u64>]) -> bool {
    let own = collect_shingles(text);
    let shares =
        |other: &HashSet<u64>| own.intersection(other).count() as f64 > MAX_SHARED * own.len().min(other.len()) as f64;
    !own.is_empty() && others.iter().any(|other| !other.is_empty() && shares(other))
}

/// Returns a page with a text at the end of the line in its middle.
fn insert(page: &str, text: &str) -> String {
    let ends: Vec<usize> = page.match_indices('\n').map(|(place, _)| place + 1).collect();
    let place = ends.get(ends.len() / 2).copied().unwrap_or(0);
    format!("{}{text}\n{}", &page[..place], &page[place..])
}

fn count(share: &mut Share, hit: bool) {
    share.hits += usize::from(hit);
    share.of += 1;
}

fn add(total: &mut Tally, tally: &Tally) {
    let shares = [
        (&mut total.alone, tally.alone),
        (&mut total.within, tally.within),
        (&mut total.phrases, tally.phrases),
        (&mut total.both, tally.both),
    ];
    for (all, one) in shares {
        all.hits += one.hits;
        all.of += one.of;
    }
}

fn print_row(name: &str, tally: &Tally) {
    let cell = |share: Share| match share.value() {
        None => String::new(),
        Some(value) => {
            let (low, high) = share.interval();
            format!("{:5.1} % ({:.1} to {:.1})", value * 100.0, low * 100.0, high * 100.0)
        }
    };
    let [alone, within, phrases, both] = [tally.alone, tally.within, tally.phrases, tally.both].map(cell);
    println!("{name:28} {:>5}  {alone:23} {within:23} {phrases:23} {both}", tally.alone.of);
}

fn print_head(names: [&str; 5]) {
    let [name, alone, within, phrases, both] = names;
    println!("{name:28} {:>5}  {alone:23} {within:23} {phrases:23} {both}", "texts");
}

/// Prints how long short texts and all texts take, each the best of some rounds: other processes only add time.
#[expect(clippy::disallowed_methods, reason = "a measurement reads the clock")]
fn measure_time(model: &LabelModel, texts: &[Text]) {
    let short: Vec<&Text> = texts.iter().filter(|text| (150..250).contains(&text.text.len())).collect();
    let all: Vec<&Text> = texts.iter().collect();
    println!();
    for (texts, rounds) in [(short, 50), (all, 3)] {
        let bytes: usize = texts.iter().map(|text| text.text.len()).sum();
        let mut best = vec![f64::INFINITY; texts.len()];
        for _ in 0..rounds {
            for (text, best) in texts.iter().zip(&mut best) {
                let begin = Instant::now();
                std::hint::black_box(model.score("injection", &text.text));
                *best = best.min(begin.elapsed().as_nanos() as f64 / 1000.0);
            }
        }
        let count = texts.len().max(1);
        println!("{:.1} µs a text of {} bytes in the mean", best.iter().sum::<f64>() / count as f64, bytes / count);
    }
}

fn read_corpus(path: &str) -> Result<Vec<Text>, Box<dyn Error>> {
    let mut texts = Vec::new();
    let mut seen = HashSet::new();
    for line in std::fs::read_to_string(path)?.lines() {
        let json = lictor_json::parse_str(line)?;
        let field = |key: &str| json.get(key).and_then(Json::as_str).map(str::to_owned);
        let text = field("text").ok_or("a line without a text")?;
        if seen.insert(text.clone()) {
            let source = field("source").ok_or("a line without a source")?;
            texts.push(Text { text, source, family: field("family"), payload: field("payload") });
        }
    }
    Ok(texts)
}

/// Returns the patterns of the fact `tainted` in the page of the pack.
fn read_phrases(page: &str) -> Result<Vec<Regex>, Box<dyn Error>> {
    let lines = page.lines().filter_map(|line| line.trim().strip_prefix("- '/")?.strip_suffix("/i'"));
    let phrases: Vec<Regex> = lines.map(|pattern| Regex::new(&format!("(?i){pattern}"))).collect::<Result<_, _>>()?;
    if phrases.is_empty() { Err("the pack has no phrases".into()) } else { Ok(phrases) }
}
