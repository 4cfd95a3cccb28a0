//! What is in a log, before any policy judges it: files, sessions, kinds of events, tools with what they do.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use lictor_decode::Fault;
use lictor_decode::input::Input;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_judge::Judge;
use lictor_logic::Time;
use lictor_policy::effect::{Effects, each_definition, guess_from_definition, guess_from_name};

use crate::coverage::SeenFacts;
use crate::log_reading::{LogReading, read_events};
use crate::report::FileReport;
use crate::{AuditError, AuditOptions, LogCoverage};

/// The most argument names that are kept for a tool.
const MAX_ARGUMENTS: usize = 50;

/// The most tools, facts and kinds that are told apart.
const MAX_NAMES: usize = 10_000;

/// What is in some logs.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Inventory {
    /// The files, with their formats.
    pub files: Vec<FileReport>,
    /// How many sessions there are.
    pub sessions: usize,
    /// How many events there are.
    pub events: u64,
    /// The first and the last time of an event.
    pub times: Option<(Time, Time)>,
    /// How many events there are of each kind, by its name.
    pub kinds: BTreeMap<Text, u64>,
    /// The tools that were called or answered, in the order in which they were first seen.
    pub tools: IndexMap<Text, ToolUse>,
    /// The facts that the log itself states, by their names.
    pub facts: BTreeMap<Text, u64>,
    /// The places that could not be read.
    pub faults: Vec<Fault>,
    /// For each judge, what the logs do not put to the test.
    pub coverage: Vec<LogCoverage>,
}

/// How a tool is used.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolUse {
    /// How often it was called.
    pub calls: u64,
    /// How often it was answered.
    pub results: u64,
    /// How often the answer was an error.
    pub failures: u64,
    /// How often each argument was given.
    pub arguments: IndexMap<Text, u64>,
    /// What it does, by its definition in the log, else by its name; none if neither tells.
    pub effects: Option<Effects>,
    /// Whether the log has a definition of it.
    pub is_defined: bool,
}

/// Reads the inputs once, and marks what each judge could judge of them.
pub fn take_inventory(inputs: &[Input], options: &AuditOptions, judges: &mut [Judge]) -> Result<Inventory, AuditError> {
    let mut inventory = Inventory::default();
    let mut seen: Vec<SeenFacts> = judges.iter().map(SeenFacts::new).collect();
    // Only facts matter here, so that one state serves all sessions.
    let mut states: Vec<_> = judges.iter_mut().map(Judge::start).collect();
    let LogReading { files, sessions, faults } = read_events(inputs, options, |_, event| {
        inventory.add(&event);
        for ((judge, state), seen) in judges.iter_mut().zip(&mut states).zip(&mut seen) {
            judge.advance(state, &event)?;
            seen.note(judge, &event);
        }
        Ok(())
    })?;
    (inventory.files, inventory.sessions, inventory.faults) = (files, sessions, faults);
    inventory.tools.retain(|_, tool| tool.calls + tool.results > 0);
    inventory.coverage = judges.iter().zip(seen).map(|(judge, seen)| seen.into_coverage(judge, 0)).collect();
    Ok(inventory)
}

impl Inventory {
    fn add(&mut self, event: &Event) {
        self.events += 1;
        if let Some(time) = event.time {
            let (first, last) = self.times.unwrap_or((time, time));
            self.times = Some((first.min(time), last.max(time)));
        }
        // As properties see it: a turn that a program wrote is none of the user's.
        count_name(&mut self.kinds, event.judged_kind().name());
        let labels = event.labels.iter().map(Text::as_str);
        labels.chain(event.facts.iter().map(|fact| &*fact.name)).for_each(|name| count_name(&mut self.facts, name));
        match &event.kind {
            Kind::ToolCall | Kind::ToolResult => self.add_use(event),
            Kind::ToolDefinitions => {
                if let Some(tools) = event.more.get("tools") {
                    each_definition(tools, &mut |name, definition| self.define(name, definition));
                }
            }
            _ => {}
        }
    }

    fn add_use(&mut self, event: &Event) {
        let Some(tool) = event.tool.as_deref().and_then(|name| self.tool(name)) else { return };
        if event.kind == Kind::ToolResult {
            tool.results += 1;
            tool.failures += u64::from(event.failed);
            return;
        }
        tool.calls += 1;
        let arguments = event.args.as_ref().and_then(|args| args.value()).and_then(Json::as_object);
        for (name, _) in arguments.into_iter().flat_map(|object| object.iter()) {
            if let Some(count) = tool.arguments.get_mut(name.as_str()) {
                *count += 1;
            } else if tool.arguments.len() < MAX_ARGUMENTS {
                tool.arguments.insert(Text::from(name.as_str()), 1);
            }
        }
    }

    /// Notes the definition of a tool, which may never be called.
    fn define(&mut self, name: &str, definition: &Json) {
        if let Some(tool) = self.tool(name).filter(|tool| !tool.is_defined) {
            tool.is_defined = true;
            tool.effects = guess_from_definition(name, definition);
        }
    }

    fn tool(&mut self, name: &str) -> Option<&mut ToolUse> {
        if !self.tools.contains_key(name) {
            if self.tools.len() >= MAX_NAMES {
                return None;
            }
            let unused = ToolUse { effects: guess_from_name(name), ..ToolUse::default() };
            self.tools.insert(Text::from(name), unused);
        }
        self.tools.get_mut(name)
    }
}

fn count_name(counts: &mut BTreeMap<Text, u64>, name: &str) {
    if let Some(count) = counts.get_mut(name) {
        *count += 1;
    } else if counts.len() < MAX_NAMES {
        counts.insert(Text::from(name), 1);
    }
}
