//! `lictor demo`: a shop's log audited by a policy, as `lictor audit` would do it.
//!
//! Log and policy are files like any others, and are read and judged like any others.

use std::fs::File;
use std::io::{BufWriter, Write};

use anyhow::Context;
use lictor::audit::{AuditOptions, audit};
use lictor::input::Input;
use lictor::judge::Judge;
use lictor::policy::{FileResolver, Policy};
use lictor::report;

use crate::args::DemoArgs;
use crate::exit::Outcome;
use crate::policies;
use crate::render::paint::Paint;

const POLICY: &str = include_str!("demo/shop.yaml");
const SESSIONS: &str = include_str!("demo/sessions.jsonl");

/// Audits the log, prints the findings and writes the HTML page. The exit code is 0 despite the findings.
pub(crate) fn run(args: &DemoArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let loaded = Policy::parse(POLICY, "shop.yaml", &FileResolver).map_err(|problems| anyhow::anyhow!("{problems}"))?;
    let mut judge = Judge::new(&loaded.policy).map_err(|problems| policies::unusable(&problems))?;
    let options = AuditOptions::default().content(true);
    let input = Input::from_bytes("sessions.jsonl", SESSIONS.as_bytes());
    let report = audit(&mut judge, &[input], &options, &())?;
    writeln!(out, "A shop's agent talked to six customers. Its log, judged by the shop's policy:\n")?;
    let colour = Paint::for_stdout().is_on();
    report::text::write(&report, report::text::TerminalStyle::default().colour(colour), out)?;
    let path = &args.output;
    let file = File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut page = BufWriter::new(file);
    report::html::write(&report, &mut page)?;
    page.flush().with_context(|| format!("cannot write {}", path.display()))?;
    writeln!(out, "\nThe same as a page for the browser: {}", path.display())?;
    Ok(Outcome::Compliant)
}
