//! Writes what other engines judge: exported policies, traces, and our verdicts on them.
//!
//! `cargo xtask peers` runs it, and then the tests in `peers/`, which run the other engines on these files and compare.
//! Those tests depend on no crate of ours, since cargo would compile ours again for their workspace.

mod case;
mod corpus;
mod dialogues;
mod fact_policies;
mod random;

use std::error::Error;
use std::path::PathBuf;

use lictor_policy::pack::packs;
use serde_json::{Value, json};

use crate::case::{Language, PeerCase};
use crate::corpus::cases;
use crate::dialogues::{ATTACKS, CASES, Family, Register, dialogue};
use crate::random::Random;

/// Dialogues for each case, family and register.
const EACH: usize = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: write_peer_cases FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    let write = |name: &str, value: Value| {
        let path = folder.join(name);
        std::fs::write(&path, value.to_string()).map_err(|error| format!("{}: {error}", path.display()))
    };
    write("dialogues.json", judge_dialogues()?)?;
    write("packs.json", judge_packs()?)?;
    write("fact_policies.json", fact_policies::judge_all()?)?;
    write("corpus.json", judge_corpus()?)?;
    Ok(())
}

/// Returns the dialogues of each agent, for Rego.
fn judge_dialogues() -> Result<Value, String> {
    let mut written = Vec::new();
    for (place, case) in CASES.iter().enumerate() {
        let mut judged = PeerCase::parse(case.policy, Language::Rego, &[])?;
        let cells = ATTACKS.iter().flat_map(|family| [(*family, Register::Plain), (*family, Register::TwoTurns)]);
        for (cell, (family, register)) in cells.chain([(Family::Benign, Register::Plain)]).enumerate() {
            let mut random = Random::new((place * 100 + cell) as u64);
            for number in 0..EACH {
                let title = format!("{family:?} {register:?} {number}");
                let is_lawful = family == Family::Benign;
                judged.add_trace(&title, is_lawful, &dialogue(case, family, register, &mut random))?;
            }
        }
        written.push(judged.into_json());
    }
    Ok(Value::Array(written))
}

/// Returns the examples of all pages of all packs, for Rego: every operator that packs use, aggregates included.
fn judge_packs() -> Result<Value, String> {
    let mut written = Vec::new();
    for pack in packs() {
        for page in &pack.pages {
            let loaded = pack.policy(page).map_err(|problems| problems.to_string())?;
            let mut judged = PeerCase::new(loaded.policy, Language::Rego, &[])?;
            for trace in &page.traces {
                let lines: Vec<&str> = trace.lines.iter().map(|line| line.text.as_str()).collect();
                let title = format!("{}/{}: {}", pack.name, page.id, trace.title);
                judged.add_trace(&title, false, &lines.join("\n"))?;
            }
            written.push(judged.into_json());
        }
    }
    Ok(Value::Array(written))
}

/// Returns the results of Dogwood's own cases, and the reasons for which a case may be refused.
fn judge_corpus() -> Result<Value, String> {
    let results: Vec<Value> = cases()?.iter().map(corpus::DogwoodCase::judge).collect();
    Ok(json!({"reasons": lictor_translate::import::dogwood::REASONS, "cases": results}))
}
