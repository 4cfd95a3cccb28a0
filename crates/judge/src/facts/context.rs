//! What the labeler remembers of one session.

use std::collections::{BTreeMap, VecDeque};

use lictor_event::{Arguments, Event, Kind};
use lictor_json::Text;
use lictor_policy::effect::Effects;
use lictor_policy::expression::AnsweredCall;
use serde::{Deserialize, Serialize};

use super::effect::DefinedTools;
use super::prompt::Prompts;
use super::provenance::{Sayings, Who};
use super::whose::Whose;

/// How many calls may be open at once; the oldest is evicted for the next.
const MAX_OPEN_CALLS: usize = 1024;

/// How many erased persons are looked for in later texts.
const MAX_ERASED: usize = 256;

/// What the labeler remembers of one session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Context {
    /// Calls without a result yet.
    pub(super) open: VecDeque<(Text, AnsweredCall)>,
    pub(super) sayings: Sayings,
    /// Whose history the last event belongs to.
    pub(super) whose: Whose,
    pub(super) defined: DefinedTools,
    pub(super) prompts: Prompts,
    /// The purposes that the last message of the user named.
    pub(super) requested: Vec<Text>,
    /// The persons whose data was erased, by identifiers that only this session tells: customer numbers, names.
    pub(super) erased: Box<[Text]>,
    /// Whether events are missing, so that a result may answer an unknown call.
    pub(super) is_torn: bool,
}

/// What an event adds to the [`Context`] once it is part of the session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    /// The index of the open call that it answers.
    pub(super) answers: Option<usize>,
    /// The call that it opens.
    pub(super) opens: Option<(Text, AnsweredCall)>,
    pub(super) says: Vec<(Who, Text)>,
    /// The tools that it defines.
    pub(super) defines: Vec<(Text, Effects)>,
    /// The hash of the long message that it is.
    pub(super) prompt: Option<u64>,
    /// The purposes that it names as a message of the user.
    pub(super) requests: Option<Vec<Text>>,
    /// The persons whose data it erases.
    pub(super) erases: Vec<Text>,
    /// Whose history it belongs to, where some property asks.
    pub(crate) whose: Option<Whose>,
}

/// What the labeler remembers of one session, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedContext {
    open: Vec<SavedCall>,
    sayings: Sayings,
    whose: Whose,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    defined: BTreeMap<Text, Vec<Text>>,
    #[serde(default, skip_serializing_if = "Prompts::is_empty")]
    prompts: Prompts,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    requested: Vec<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    erased: Vec<Text>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_torn: bool,
}

/// A call without a result yet. Its arguments are JSON, or the text that could not be parsed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedCall {
    id: Text,
    tool: Text,
    args: Option<String>,
    unparsed: Option<Text>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_free_text: bool,
}

impl Context {
    pub(crate) fn sayings_size(&self) -> usize {
        self.sayings.size()
    }

    pub(crate) fn take_sayings(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sayings).to_bytes()
    }

    pub(crate) fn restore_sayings(&mut self, bytes: &[u8]) {
        self.sayings = Sayings::from_bytes(bytes).unwrap_or_else(Sayings::lost);
    }

    pub(crate) fn save(&self) -> SavedContext {
        let open = self.open.iter().map(|(id, call)| SavedCall {
            id: id.clone(),
            tool: call.tool.clone(),
            args: call.args.as_ref().and_then(Arguments::value).map(ToString::to_string),
            unparsed: match &call.args {
                Some(Arguments::Unparsed(text)) => Some(text.clone()),
                Some(Arguments::Value(_)) | None => None,
            },
            has_free_text: call.has_free_text,
        });
        SavedContext {
            open: open.collect(),
            sayings: self.sayings.clone(),
            whose: self.whose.clone(),
            defined: self.defined.save(),
            prompts: self.prompts.clone(),
            requested: self.requested.clone(),
            erased: self.erased.to_vec(),
            is_torn: self.is_torn,
        }
    }

    pub(crate) fn load(saved: &SavedContext) -> Context {
        let call = |saved: &SavedCall| {
            let value = saved.args.as_deref().and_then(|text| lictor_json::parse_str(text).ok()).map(Arguments::Value);
            let args = value.or_else(|| saved.unparsed.clone().map(Arguments::Unparsed));
            (saved.id.clone(), AnsweredCall { tool: saved.tool.clone(), args, has_free_text: saved.has_free_text })
        };
        let open = saved.open.iter().map(call).collect();
        Context {
            open,
            sayings: saved.sayings.clone(),
            whose: saved.whose.clone(),
            defined: DefinedTools::load(&saved.defined),
            prompts: saved.prompts.clone(),
            requested: saved.requested.clone(),
            erased: saved.erased.clone().into(),
            is_torn: saved.is_torn,
        }
    }
}

impl Context {
    /// Whose history the last event belongs to.
    pub(crate) fn whose(&self) -> &Whose {
        &self.whose
    }

    /// Returns the index of the open call that an event answers. Of several calls with one id it is the latest: an earlier
    /// one that was never answered must not count as answered by the result of another tool. A result that names its
    /// tool answers a call of that tool, if there is one.
    pub(super) fn answered_by(&self, event: &Event) -> Option<usize> {
        if event.kind != Kind::ToolResult {
            return None;
        }
        let id = event.id.as_ref()?;
        let of_tool = |call: &AnsweredCall| event.tool.as_ref().is_none_or(|tool| *tool == call.tool);
        let named = self.open.iter().rposition(|(open, call)| open == id && of_tool(call));
        named.or_else(|| self.open.iter().rposition(|(open, _)| open == id))
    }

    /// Returns the tool whose call a result answers.
    pub(crate) fn answered_tool(&self, event: &Event) -> Option<&str> {
        self.answered_by(event).and_then(|place| self.open.get(place)).map(|(_, call)| call.tool.as_str())
    }

    /// Notes that it is not known who said what so far.
    pub(crate) fn lose_sayings(&mut self) {
        self.sayings.miss();
    }

    /// Whether events are missing.
    pub(crate) fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// Notes that events are missing here: later events may refer to them.
    pub(crate) fn miss(&mut self) {
        self.is_torn = true;
        self.sayings.miss();
    }

    /// Remembers an event's notes for later events.
    pub(crate) fn remember(&mut self, notes: Notes) {
        if let Some(place) = notes.answers {
            self.open.remove(place);
        }
        if let Some(call) = notes.opens {
            if self.open.len() >= MAX_OPEN_CALLS {
                self.open.pop_front();
            }
            // Mostly one call is open at a time, and an audit keeps many sessions.
            if self.open.capacity() == 0 {
                self.open.reserve_exact(1);
            }
            self.open.push_back(call);
        }
        for (who, text) in notes.says {
            self.sayings.add(who, &text);
        }
        self.defined.extend(notes.defines);
        if let Some(prompt) = notes.prompt {
            self.prompts.add(prompt);
        }
        if let Some(requests) = notes.requests {
            self.requested = requests;
        }
        if !notes.erases.is_empty() {
            let mut erased = std::mem::take(&mut self.erased).into_vec();
            erased.extend(notes.erases);
            erased.sort_unstable();
            erased.dedup();
            erased.truncate(MAX_ERASED);
            self.erased = erased.into();
        }
        if let Some(whose) = notes.whose {
            self.whose = whose;
        }
    }
}
