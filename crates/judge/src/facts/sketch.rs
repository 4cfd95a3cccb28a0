//! The facts of a call that is not made yet: only its tool and some of its arguments are known.
//!
//! INVARIANT: whatever the call turns out to be, each fact that it has is known or unknown here, and each fact that is
//! known here it has. So a violation that follows from these facts follows from the facts of every such call.

use lictor_event::{Arguments, Event, Kind};
use lictor_json::Object;
use lictor_policy::expression::EvaluationScope;

use super::values::value_of;
use super::{Context, FactFinder, Labels, Plan};
use crate::facts::record_plan::RecordPlan;
use crate::guidance::CallSketch;

impl FactFinder {
    /// Fills in the facts of a sketched call. With annotators, which may add any fact and state other purposes, only
    /// those of the tool itself are known.
    pub(crate) fn label_sketch(
        &mut self,
        plan: &Plan,
        context: &Context,
        sketch: &CallSketch,
        is_annotated: bool,
        labels: &mut Labels,
    ) {
        labels.clear();
        let wants = &plan.wants;
        let tool = self.tools.get(plan, &sketch.tool);
        labels.add(wants.tool_call, std::slice::from_ref(&tool.name));
        self.effects(plan, context, Some(&tool), labels);
        if is_annotated {
            (0..plan.names.len() as u32).for_each(|name| labels.doubt(name, Vec::new()));
            return;
        }
        let is_record = tool.records(plan).iter().any(RecordPlan::has_purposes);
        // As for calls that are made, purposes are looked up only where some property needs them.
        let stated = if plan.needs.purposes { &tool.purposes[..] } else { &[] };
        let requested = if is_record || !plan.needs.purposes { &[][..] } else { &context.requested };
        for purpose in stated.iter().chain(requested) {
            let value = [self.values.get(purpose)];
            labels.add(wants.purpose, &value);
            if let Some(declared) = plan.purposes.get(purpose) {
                labels.add(wants.declared, &value);
                labels.add(wants.legitimate.filter(|_| !declared.needs_consent), &value);
            }
        }
        for purpose in stated {
            let source = super::PurposeSource::Tool.name();
            labels.add(wants.purpose_from, &[self.values.get(purpose), self.values.get(source)]);
        }
        for (argument, value) in &sketch.known {
            if let (Some(name), Some(value)) = (wants.argument, value_of(value)) {
                labels.push(name, &[self.values.get(argument), value]);
            }
        }
        // The arguments that are not known may have any of these.
        let by_arguments = [
            wants.unparsed,
            wants.call_digest,
            wants.argument,
            wants.argument_from,
            wants.purpose,
            wants.purpose_from,
            wants.declared,
            wants.legitimate,
            wants.processes,
            wants.carries,
            wants.carries_secret,
            wants.necessary,
            wants.special,
            wants.discloses,
            wants.subject,
            wants.retained,
        ];
        by_arguments.into_iter().flatten().for_each(|name| labels.doubt(name, Vec::new()));
        let mut event = Event::new(Kind::ToolCall);
        event.tool = Some(sketch.tool.clone());
        let known: Object = sketch.known.iter().cloned().collect();
        event.args = Some(Arguments::Value(known.into()));
        let mut scope = EvaluationScope::new(&event);
        scope.is_sketch = true;
        tool.at_call.iter().for_each(|place| plan.cases[*place as usize].label(&scope, labels));
    }
}
