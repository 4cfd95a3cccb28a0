//! Tasks: their states, and the artifacts that they make, whole or in chunks.

use std::collections::HashMap;

use super::push_event;
use crate::DecodedEvents;
use crate::chat::message_event;
use crate::content::Content;
use crate::conversation::Stamp;
use crate::openai_chat::truncation_fault;
use lictor_event::content_hash::{self, ContentHash};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// The prefix of every state name, since version 1.
const STATE_PREFIX: &str = "TASK_STATE_";

/// States in which a task still works.
const WORKING_STATES: [&str; 4] = ["submitted", "working", "unspecified", "unknown"];

/// Whether a value is a task.
pub(super) fn is_task(value: &Json) -> bool {
    value.text("id").is_some() && value.at("status.state").is_some()
}

/// The tasks of one file.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    all: HashMap<Text, A2aTask>,
    /// Artifacts that are still coming, in the order in which they began.
    open: Vec<Artifact>,
}

#[derive(Debug, Default)]
struct A2aTask {
    context: Option<Text>,
    state: Text,
    /// The hash of each artifact that became an event.
    artifacts: HashMap<Text, ContentHash>,
}

#[derive(Debug)]
struct Artifact {
    task: Text,
    event: Event,
    content: Content,
    stamp: Stamp,
    line: u32,
}

impl Tasks {
    /// Notes the context of a task.
    pub(super) fn note_context(&mut self, update: &Json, task: Option<&str>) {
        let context = update.text("contextId").or_else(|| update.text("sessionId"));
        if let (Some(task), Some(context)) = (task, context) {
            self.all.entry(task.into()).or_default().context = Some(context.into());
        }
    }

    /// The context of a task.
    pub(super) fn context(&self, task: Option<&str>) -> Option<Text> {
        self.all.get(task?)?.context.clone()
    }

    /// Takes a whole artifact.
    pub(super) fn take_artifact(
        &mut self,
        artifact: &Json,
        task: Option<&str>,
        stamp: &Stamp,
        out: &mut DecodedEvents,
    ) {
        let content = Content::from_json(artifact.get("parts").unwrap_or(&Json::Null), "\n");
        let event = Artifact::event(artifact, task);
        self.emit_artifact(
            Artifact { task: task.unwrap_or_default().into(), event, content, stamp: stamp.clone(), line: 0 },
            out,
        );
    }

    /// Takes an artifact, or the next chunk of one.
    pub(super) fn take_artifact_update(&mut self, update: &Json, stamp: &Stamp, out: &mut DecodedEvents) {
        let task = update.text("taskId");
        self.note_context(update, task);
        let Some(artifact) = update.get("artifact") else { return };
        let event = Artifact::event(artifact, task);
        let parts = artifact.get("parts").unwrap_or(&Json::Null);
        let place = self.open.iter().position(|open| Some(open.task.as_str()) == task && open.event.id == event.id);
        let is_more = update.get("append").and_then(Json::as_bool).unwrap_or(false);
        let place = match place {
            Some(place) if is_more => {
                self.open[place].content.add(parts, "");
                place
            }
            place => {
                // The artifact is sent anew: its content until now was still said.
                if let Some(place) = place {
                    let before = self.open.remove(place);
                    self.emit_artifact(before, out);
                }
                let task = task.unwrap_or_default().into();
                self.open.push(Artifact {
                    task,
                    event,
                    content: Content::from_json(parts, "\n"),
                    stamp: stamp.clone(),
                    line: 0,
                });
                self.open.len() - 1
            }
        };
        self.open[place].line = stamp.source.line;
        if update.get("lastChunk").and_then(Json::as_bool).unwrap_or(false) {
            let whole = self.open.remove(place);
            self.emit_artifact(whole, out);
        }
    }

    /// Emits the artifacts of a task that stops working.
    pub(super) fn end_artifacts(&mut self, task: Option<&str>, state: &str, out: &mut DecodedEvents) {
        if WORKING_STATES.contains(&state_name(state).as_str()) {
            return;
        }
        let (whole, open) =
            std::mem::take(&mut self.open).into_iter().partition(|open| Some(open.task.as_str()) == task);
        self.open = open;
        Vec::into_iter(whole).for_each(|artifact| self.emit_artifact(artifact, out));
    }

    /// Takes the state of a task, which is an event when it changes.
    pub(super) fn take_state(&mut self, task: Option<&str>, state: &str, stamp: &Stamp, out: &mut DecodedEvents) {
        let known = self.all.entry(task.unwrap_or_default().into()).or_default();
        if known.state == state {
            return;
        }
        known.state = state.into();
        let name = state_name(state);
        let mut event = Event::new(Kind::Other(format!("task_{name}").into()));
        event.id = task.map(Text::from);
        event.failed = matches!(name.as_str(), "failed" | "rejected");
        event.more.insert("state", state);
        push_event(event, known.context.clone(), stamp, out);
    }

    /// Emits the artifacts that never ended, each with a fault.
    pub(super) fn finish(&mut self, out: &mut DecodedEvents) {
        for artifact in std::mem::take(&mut self.open) {
            out.faults.push(truncation_fault(&artifact.stamp.source.file, artifact.line));
            self.emit_artifact(artifact, out);
        }
    }

    /// Emits an artifact, unless the same one is an event already.
    fn emit_artifact(&mut self, artifact: Artifact, out: &mut DecodedEvents) {
        let mut event = artifact.event;
        artifact.content.fill(&mut event);
        let task = self.all.entry(artifact.task).or_default();
        let hash = content_hash::extend_hash(&[0; 32], &event);
        if task.artifacts.insert(event.id.clone().unwrap_or_default(), hash) != Some(hash) {
            push_event(event, task.context.clone(), &artifact.stamp, out);
        }
    }
}

impl Artifact {
    /// Returns the event of an artifact: a message of the agent with an id of its own.
    fn event(artifact: &Json, task: Option<&str>) -> Event {
        let mut event = message_event(Kind::AssistantMessage, Content::default());
        event.labels.push("artifact".into());
        event.id = artifact.text("artifactId").map(Text::from);
        if let Some(task) = task {
            event.more.insert("task", task);
        }
        if let Some(name) = artifact.text("name") {
            event.more.insert("name", name);
        }
        event
    }
}

/// Returns the name of a state in the spelling of all versions: `input_required`.
fn state_name(state: &str) -> String {
    state.strip_prefix(STATE_PREFIX).unwrap_or(state).to_lowercase().replace('-', "_")
}
