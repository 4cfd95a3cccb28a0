//! `lictor inspect`: what is in a log, and what each pack could judge of it.

use std::io::Write;

use lictor::audit::{AuditOptions, Inventory, ToolUse, take_inventory};
use lictor::event::write_time;
use lictor::judge::Judge;
use lictor::pack;
use lictor::report::escape_hidden;
use serde_json::{Map, Value, json};

use crate::args::{Document, InspectArgs};
use crate::commands::audit;
use crate::exit::Outcome;
use crate::ledger_log;
use crate::log_faults::{complain, complain_without_events};
use crate::policies;
use crate::render::paint::Paint;

/// How many arguments of a tool a line names.
const MAX_SHOWN_ARGUMENTS: usize = 6;

/// How many facts a line names that a pack misses.
const MAX_SHOWN_FACTS: usize = 8;

/// Prints what is in the logs.
pub(crate) fn run(args: &InspectArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let inspected = inspect(&args.traces, args.input_format.as_deref(), args.session_key.as_deref())?;
    match args.format {
        Document::Text => write_text(&inspected, out)?,
        Document::Json => writeln!(out, "{}", to_json(&inspected))?,
    }
    let is_whole = inspected.inventory.faults.is_empty();
    Ok(if is_whole { Outcome::Compliant } else { Outcome::Unjudged })
}

/// A log, and the packs that were tried on it.
pub(crate) struct InspectedLog {
    pub(crate) inventory: Inventory,
    /// Each pack with the number of its properties, in the order of the coverage.
    pub(crate) packs: Vec<(String, usize)>,
}

impl InspectedLog {
    /// Returns each pack with how many of its properties the log exercises.
    pub(crate) fn exercised(&self) -> impl Iterator<Item = (&str, usize, usize)> {
        self.packs
            .iter()
            .zip(&self.inventory.coverage)
            .map(|((name, count), coverage)| (name.as_str(), count - coverage.unexercised().count(), *count))
    }
}

/// Reads the logs, with every pack that comes with Lictor.
pub(crate) fn inspect(
    traces: &[String],
    input_format: Option<&str>,
    session_key: Option<&str>,
) -> anyhow::Result<InspectedLog> {
    let options = AuditOptions::default()
        .format(input_format.map(audit::format).transpose()?)
        .session_key(session_key.map(Into::into));
    let inputs = ledger_log::find_inputs(traces, options.input_limits())?;
    let (mut packs, mut judges) = (Vec::new(), Vec::new());
    for pack in pack::packs() {
        let policy = policies::load(Some(&pack.name), &[])?;
        packs.push((pack.name.to_string(), policy.properties.len()));
        judges.push(Judge::new(&policy).map_err(|problems| policies::unusable(&problems))?);
    }
    let inventory = take_inventory(&inputs, &options, &mut judges).inspect_err(complain_without_events)?;
    complain(&inventory.faults);
    audit::note_unused_key(session_key, &inventory.files);
    Ok(InspectedLog { inventory, packs })
}

/// Writes it as text. Names of the log are escaped, so that none moves the cursor or forges a line.
fn write_text(inspected: &InspectedLog, out: &mut dyn Write) -> anyhow::Result<()> {
    let (inventory, paint) = (&inspected.inventory, Paint::for_stdout());
    for file in &inventory.files {
        writeln!(out, "{}: {}, {} {}", escape_hidden(&file.name), file.format, file.events, name_events(file.events))?;
    }
    let times = inventory.times.map_or("no event has a time".to_owned(), |(first, last)| {
        format!("from {} to {}", write_time(first), write_time(last))
    });
    let (sessions, events) = (inventory.sessions, inventory.events);
    let (session_noun, event_noun) = (if sessions == 1 { "session" } else { "sessions" }, name_events(events));
    writeln!(out, "{sessions} {session_noun}, {events} {event_noun}, {times}\n")?;
    writeln!(out, "{}", paint.bold("kinds"))?;
    for (kind, count) in &inventory.kinds {
        writeln!(out, "  {:<24}{count:>8}", escape_hidden(kind))?;
    }
    if !inventory.tools.is_empty() {
        // A column is as wide as its longest entry, and apart from the next.
        let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
        let width = longest(&mut inventory.tools.keys().map(|name| escape_hidden(name).chars().count() + 2)).max(32);
        let room = longest(&mut inventory.tools.values().map(|tool| describe_effects(tool).len() + 2)).max(28);
        let indented = width + 2;
        let head = format!("{:<indented$}{:>8}{:>8}  {:<room$}arguments", "tools", "calls", "failed", "effects");
        writeln!(out, "\n{}", paint.bold(&head))?;
        for (name, tool) in &inventory.tools {
            let (effects, arguments, name) = (describe_effects(tool), list_arguments(tool), escape_hidden(name));
            let line = format!("  {name:<width$}{:>8}{:>8}  {effects:<room$}{arguments}", tool.calls, tool.failures);
            writeln!(out, "{}", line.trim_end())?;
        }
    }
    if !inventory.facts.is_empty() {
        writeln!(out, "\n{}", paint.bold("facts that the log states"))?;
        for (fact, count) in &inventory.facts {
            writeln!(out, "  {:<24}{count:>8}", escape_hidden(fact))?;
        }
    }
    writeln!(out, "\n{}", paint.bold("packs, by what could be judged"))?;
    for ((name, exercised, count), coverage) in inspected.exercised().zip(&inventory.coverage) {
        let facts = coverage.unexercised().flat_map(|gap| &gap.missing).map(|missing| missing.fact.as_str());
        let needs = coverage.lacking().flat_map(|gap| &gap.lacking).map(|fact| fact.as_str());
        let mut missing: Vec<&str> = facts.chain(needs).collect();
        missing.sort_unstable();
        missing.dedup();
        let shown = missing.iter().take(MAX_SHOWN_FACTS).copied().collect::<Vec<_>>().join(", ");
        let more = if missing.len() > MAX_SHOWN_FACTS { ", …" } else { "" };
        let lacking = if missing.is_empty() { String::new() } else { format!("; not in the log: {shown}{more}") };
        writeln!(out, "  {name:<24}{exercised:>3} of {count} properties{lacking}")?;
        for gap in coverage.lacking() {
            let needs: Vec<String> = gap.lacking.iter().map(|fact| format!("`{fact}`")).collect();
            writeln!(out, "    not judged: {} needs {}", gap.property.id, needs.join(" or "))?;
        }
    }
    let unknown = inventory.tools.values().filter(|tool| tool.effects.is_none()).count();
    if unknown > 0 {
        writeln!(
            out,
            "\n{unknown} tools have unknown effects: state them under `tools:` (lictor init --from LOG lists them)"
        )?;
    }
    Ok(())
}

fn name_events(count: u64) -> &'static str {
    if count == 1 { "event" } else { "events" }
}

/// Returns the effects of a tool in words.
fn describe_effects(tool: &ToolUse) -> String {
    match tool.effects {
        Some(effects) if effects.is_empty() => "none".to_owned(),
        Some(effects) => effects.names().collect::<Vec<_>>().join(", "),
        None => "unknown".to_owned(),
    }
}

fn list_arguments(tool: &ToolUse) -> String {
    let shown: Vec<_> = tool.arguments.keys().take(MAX_SHOWN_ARGUMENTS).map(|name| escape_hidden(name)).collect();
    let more = if tool.arguments.len() > MAX_SHOWN_ARGUMENTS { ", …" } else { "" };
    shown.join(", ") + more
}

fn to_json(inspected: &InspectedLog) -> Value {
    let inventory = &inspected.inventory;
    let files: Vec<Value> = inventory
        .files
        .iter()
        .map(|file| json!({"name": *file.name, "format": file.format.name(), "events": file.events}))
        .collect();
    let tool = |(name, tool): (&lictor::json::Text, &ToolUse)| {
        let effects = tool.effects.map(|effects| effects.names().collect::<Vec<_>>());
        let arguments: Map<String, Value> =
            tool.arguments.iter().map(|(name, count)| (name.to_string(), json!(count))).collect();
        json!({"name": name.as_str(), "calls": tool.calls, "failures": tool.failures, "effects": effects,
               "defined": tool.is_defined, "arguments": arguments})
    };
    let pack = |((name, exercised, count), coverage): ((&str, usize, usize), &lictor::audit::LogCoverage)| {
        let unexercised: Vec<&str> = coverage.unexercised().map(|gap| gap.property.id.as_str()).collect();
        let lacking: Map<String, Value> =
            coverage.lacking().map(|gap| (gap.property.id.to_string(), json!(gap.lacking))).collect();
        json!({"name": name, "properties": count, "exercised": exercised, "unexercised": unexercised,
               "lacking": lacking})
    };
    json!({
        "lictor": 1,
        "kind": "inventory",
        "files": files,
        "sessions": inventory.sessions,
        "events": inventory.events,
        "times": inventory.times.map(|(first, last)| [write_time(first), write_time(last)]),
        "kinds": inventory.kinds.iter().map(|(name, count)| (name.to_string(), json!(count))).collect::<Map<_, _>>(),
        "tools": inventory.tools.iter().map(tool).collect::<Vec<_>>(),
        "facts": inventory.facts.iter().map(|(name, count)| (name.to_string(), json!(count))).collect::<Map<_, _>>(),
        "packs": inspected.exercised().zip(&inventory.coverage).map(pack).collect::<Vec<_>>(),
        "faults": inventory.faults.len(),
    })
}
