//! Tasks: their states, and the artifacts that they make, whole or in chunks.

use std::collections::HashMap;

use super::push;
use crate::DecodedEvents;
use crate::chat::said;
use crate::content::Content;
use crate::conversation::Stamp;
use crate::openai_chat::truncated;
use lictor_event::content_hash::{self, ContentHash};
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};

/// What the name of every state begins with, since version 1.
const STATE: &str = "TASK_STATE_";

/// States in which a task still works.
const WORKING: [&str; 4] = ["submitted", "working", "unspecified", "unknown"];

/// Whether a value is a task.
pub(super) fn is_task(value: &Json) -> bool {
    value.text("id").is_some() && value.at("status.state").is_some()
}

/// The tasks of one file.
#[derive(Debug, Default)]
pub(super) struct Tasks {
    all: HashMap<Text, Task>,
    /// Artifacts that are still coming, in the order in which they began.
    open: Vec<Artifact>,
}

#[derive(Debug, Default)]
struct Task {
    context: Option<Text>,
    state: Text,
    /// What was told of each artifact.
    made: HashMap<Text, ContentHash>,
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
    pub(super) fn enter(&mut self, told: &Json, task: Option<&str>) {
        let context = told.text("contextId").or_else(|| told.text("sessionId"));
        if let (Some(task), Some(context)) = (task, context) {
            self.all.entry(task.into()).or_default().context = Some(context.into());
        }
    }

    /// The context of a task.
    pub(super) fn context(&self, task: Option<&str>) -> Option<Text> {
        self.all.get(task?)?.context.clone()
    }

    /// Takes an artifact that is whole.
    pub(super) fn artifact(&mut self, artifact: &Json, task: Option<&str>, stamp: &Stamp, out: &mut DecodedEvents) {
        let content = Content::of(artifact.get("parts").unwrap_or(&Json::Null), "\n");
        let event = Artifact::event(artifact, task);
        self.tell(
            Artifact { task: task.unwrap_or_default().into(), event, content, stamp: stamp.clone(), line: 0 },
            out,
        );
    }

    /// Takes an artifact, or the next chunk of one.
    pub(super) fn artifact_update(&mut self, update: &Json, stamp: &Stamp, out: &mut DecodedEvents) {
        let task = update.text("taskId");
        self.enter(update, task);
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
                // The same artifact anew: what it was until now has been said all the same.
                if let Some(place) = place {
                    let before = self.open.remove(place);
                    self.tell(before, out);
                }
                let task = task.unwrap_or_default().into();
                self.open.push(Artifact {
                    task,
                    event,
                    content: Content::of(parts, "\n"),
                    stamp: stamp.clone(),
                    line: 0,
                });
                self.open.len() - 1
            }
        };
        self.open[place].line = stamp.source.line;
        if update.get("lastChunk").and_then(Json::as_bool).unwrap_or(false) {
            let whole = self.open.remove(place);
            self.tell(whole, out);
        }
    }

    /// Tells the artifacts of a task that stops to work.
    pub(super) fn before_state(&mut self, task: Option<&str>, state: &str, out: &mut DecodedEvents) {
        if WORKING.contains(&name_of(state).as_str()) {
            return;
        }
        let (whole, open) =
            std::mem::take(&mut self.open).into_iter().partition(|open| Some(open.task.as_str()) == task);
        self.open = open;
        Vec::into_iter(whole).for_each(|artifact| self.tell(artifact, out));
    }

    /// Takes the state of a task, which is an event when it changes.
    pub(super) fn state(&mut self, task: Option<&str>, state: &str, stamp: &Stamp, out: &mut DecodedEvents) {
        let known = self.all.entry(task.unwrap_or_default().into()).or_default();
        if known.state == state {
            return;
        }
        known.state = state.into();
        let name = name_of(state);
        let mut event = Event::new(Kind::Other(format!("task_{name}").into()));
        event.id = task.map(Text::from);
        event.failed = matches!(name.as_str(), "failed" | "rejected");
        event.more.insert("state", state);
        push(event, known.context.clone(), stamp, out);
    }

    /// Tells the artifacts that never ended.
    pub(super) fn finish(&mut self, out: &mut DecodedEvents) {
        for artifact in std::mem::take(&mut self.open) {
            out.faults.push(truncated(&artifact.stamp.source.file, artifact.line));
            self.tell(artifact, out);
        }
    }

    /// Tells an artifact, unless it was told before and is the same.
    fn tell(&mut self, artifact: Artifact, out: &mut DecodedEvents) {
        let mut event = artifact.event;
        artifact.content.fill(&mut event);
        let task = self.all.entry(artifact.task).or_default();
        let print = content_hash::extend_hash(&[0; 32], &event);
        if task.made.insert(event.id.clone().unwrap_or_default(), print) != Some(print) {
            push(event, task.context.clone(), &artifact.stamp, out);
        }
    }
}

impl Artifact {
    /// An artifact is what the agent says, with its own id.
    fn event(artifact: &Json, task: Option<&str>) -> Event {
        let mut event = said(Kind::AssistantMessage, Content::default());
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

/// The name of a state, as all versions would write it: `input_required`.
fn name_of(state: &str) -> String {
    state.strip_prefix(STATE).unwrap_or(state).to_lowercase().replace('-', "_")
}
