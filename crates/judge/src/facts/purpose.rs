//! The purposes that a call serves: those of its tool, those in its arguments, and those that the user asked for.

use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Text};

use super::context::Context;
use super::plan::Plan;
use super::record_plan::RecordPlan;
use super::tool::ToolFacts;

/// Who names a purpose of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PurposeSource {
    Tool,
    Argument,
    User,
}

impl PurposeSource {
    pub(super) fn name(self) -> &'static str {
        match self {
            PurposeSource::Tool => "tool",
            PurposeSource::Argument => "argument",
            PurposeSource::User => "user",
        }
    }
}

/// Returns the purposes of a call whose log names none, and who names each of them.
pub(super) fn find_purposes<'a>(
    plan: &Plan,
    context: &Context,
    event: &Event,
    tool: Option<&ToolFacts>,
    purposes: &'a mut Vec<Text>,
    sources: &mut Vec<PurposeSource>,
) -> &'a [Text] {
    purposes.clear();
    sources.clear();
    if !plan.needs.purposes || event.kind != Kind::ToolCall {
        return purposes;
    }
    let mut add = |purpose: &str, source: PurposeSource| {
        if !purposes.iter().any(|known| known == purpose) {
            purposes.push(purpose.into());
            sources.push(source);
        }
    };
    tool.iter().flat_map(|tool| &tool.purposes).for_each(|purpose| add(purpose, PurposeSource::Tool));
    // A tool that records a consent names its purpose without serving it.
    if tool.is_some_and(|tool| tool.records(plan).iter().any(RecordPlan::has_purposes)) {
        return purposes;
    }
    if let Some(args) = event.args.as_ref().and_then(Arguments::value) {
        for key in ["purpose", "purposes"] {
            match args.get(key) {
                Some(Json::String(purpose)) => add(purpose, PurposeSource::Argument),
                Some(Json::Array(list)) => {
                    list.iter().filter_map(Json::as_str).for_each(|purpose| add(purpose, PurposeSource::Argument));
                }
                _ => {}
            }
        }
    }
    context.requested.iter().for_each(|purpose| add(purpose, PurposeSource::User));
    purposes
}
