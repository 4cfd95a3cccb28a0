//! Steering: tells the model what is owed, and takes tools out of the request whose calls would be stopped.
//!
//! Both follow from the state of the session, after the events of the request. The model is not asked anything, the client
//! sees nothing of it, and no event is made of it: each request is guided by the state as it is then.

use std::sync::Arc;

use bytes::Bytes;
use lictor_json::{Json, Text};
use lictor_judge::guidance::{CallSketch, Guidance, GuidanceQuery, UnavailableCall, write_note};
use lictor_policy::{Property, ShieldMode};
use lictor_wire::{ArgumentChoice, OfferedTool, Request, ToolRemoval};
use serde_json::{Map, Value, json};

use crate::exchange::{Life, Stop, unexpected};
use crate::step::{ExchangeStep, StepResult};

/// How many listed values of one tool are tried.
const MAX_TRIED_VALUES: usize = 16;

/// How many characters of the name of a tool or an argument records have.
const MAX_NAME_CHARACTERS: usize = 200;

/// The sketches of the tools on offer.
struct OfferSketches {
    sketches: Vec<CallSketch>,
    /// Where the sketches of each tool begin: one for each tried value, then that of the tool itself.
    starts: Vec<usize>,
}

/// What the state says about the tools on offer.
#[derive(Debug, Default)]
struct Unavailable {
    /// Tools, and values of arguments, that the client's definitions should not have.
    clients: Vec<UnavailableCall>,
    /// Tools of the vendor.
    vendors: Vec<UnavailableCall>,
}

impl Life {
    /// Returns the body of a request with what the model should know, and without the tools that it must not call.
    pub(crate) async fn guide(&self, request: &Request, body: Bytes) -> Result<Bytes, Stop> {
        let steering = self.options.steering;
        if !steering.is_active() {
            return Ok(body);
        }
        let offers = if steering.shield.is_some() { request.offered_tools() } else { Vec::new() };
        let OfferSketches { sketches, starts } = OfferSketches::new(&offers);
        if !steering.owed && sketches.is_empty() {
            return Ok(body);
        }
        let query = GuidanceQuery { owed: steering.owed, sketches };
        let guidance = match self.perform(ExchangeStep::Guide(Box::new(query))).await? {
            StepResult::Guidance(guidance) => *guidance,
            other => return Err(unexpected(&other)),
        };
        let unavailable = find_unavailable(&offers, &starts, &guidance);
        self.apply(body, &guidance, unavailable).await
    }

    /// Writes guidance into a request, and records it.
    async fn apply(&self, body: Bytes, guidance: &Guidance, unavailable: Unavailable) -> Result<Bytes, Stop> {
        let Unavailable { clients, vendors } = unavailable;
        let removal = match self.options.steering.shield {
            Some(ShieldMode::Remove) => remove(&clients),
            Some(ShieldMode::Name) | None => ToolRemoval::default(),
        };
        let shielded = if removal.is_empty() { None } else { removal.apply(self.api, &body) };
        let (body, named, removed) = match shielded {
            Some(shielded) => {
                let is_named = |call: &UnavailableCall| {
                    call.sketch.known.is_empty() && shielded.unanswered.contains(&call.sketch.tool)
                };
                let (named, removed): (Vec<_>, Vec<_>) = clients.into_iter().partition(is_named);
                // A tool that the client asked for in particular is removed as well, unless all had to stay.
                let also = named.iter().filter(|_| !shielded.has_none).cloned();
                let removed: Vec<UnavailableCall> = removed.into_iter().chain(also).collect();
                (Bytes::from(shielded.body), [named, vendors].concat(), removed)
            }
            None => (body, [clients, vendors].concat(), Vec::new()),
        };
        let note = write_note(&guidance.obligations, &named);
        let noted = note.and_then(|note| Request::with_note(self.api, &body, &note));
        let is_noted = noted.is_some();
        if !is_noted && removed.is_empty() {
            return Ok(body);
        }
        let (owed, named) = if is_noted { (&guidance.obligations[..], &named[..]) } else { (&[][..], &[][..]) };
        self.count(|counts| {
            counts.obligations_told += owed.len() as u64;
            counts.tools_removed += removed.len() as u64;
            counts.tools_named += named.len() as u64;
        });
        let mut record = Map::new();
        record.insert("type".into(), json!("steered"));
        record.insert("exchange".into(), json!(self.id));
        let owed: Vec<&str> = owed.iter().map(|obligation| obligation.property.id.as_str()).collect();
        record.insert("owed".into(), json!(owed));
        record.insert("removed".into(), removed.iter().map(describe).collect());
        record.insert("named".into(), named.iter().map(describe).collect());
        self.perform(ExchangeStep::Note(record)).await?;
        Ok(noted.map_or(body, Bytes::from))
    }
}

impl OfferSketches {
    fn new(offers: &[OfferedTool]) -> OfferSketches {
        let (mut sketches, mut starts) = (Vec::new(), Vec::new());
        for offer in offers {
            starts.push(sketches.len());
            let tool = CallSketch::new(offer.name.clone());
            sketches.extend(
                tried_values(offer).map(|(argument, value)| tool.clone().with(argument.clone(), value.clone())),
            );
            sketches.push(tool);
        }
        starts.push(sketches.len());
        OfferSketches { sketches, starts }
    }
}

/// A listed value with which every call would be stopped.
struct StoppedValue<'a> {
    argument: &'a Text,
    value: &'a Json,
    properties: &'a [Arc<Property>],
}

/// Returns the listed values of a tool that are tried; none if they are too many.
fn tried_values(offer: &OfferedTool) -> impl Iterator<Item = (&Text, &Json)> {
    let count: usize = offer.choices.iter().map(|choice| choice.values.len()).sum();
    let choices = if count <= MAX_TRIED_VALUES { &offer.choices[..] } else { &[] };
    choices.iter().flat_map(|choice| choice.values.iter().map(move |value| (&choice.argument, value)))
}

/// Returns the tools and values whose calls would be stopped for certain.
fn find_unavailable(offers: &[OfferedTool], starts: &[usize], guidance: &Guidance) -> Unavailable {
    let mut unavailable = Unavailable::default();
    for (offer, range) in offers.iter().zip(starts.windows(2)) {
        let Some((whole, values)) = guidance.stopping.get(range[0]..range[1]).and_then(<[_]>::split_last) else {
            continue;
        };
        let stopped: Vec<StoppedValue<'_>> = tried_values(offer)
            .zip(values)
            .filter(|(_, properties)| !properties.is_empty())
            .map(|((argument, value), properties)| StoppedValue { argument, value, properties })
            .collect();
        let tool = CallSketch::new(offer.name.clone());
        // Without a value that is left for an argument, no call can be made.
        let is_exhausted = |choice: &&ArgumentChoice| {
            choice.is_required
                && stopped.iter().filter(|value| *value.argument == choice.argument).count() == choice.values.len()
        };
        let exhausted = offer.choices.iter().find(is_exhausted);
        let properties: Vec<Arc<Property>> = match (whole.is_empty(), exhausted) {
            (false, _) => whole.clone(),
            (true, Some(choice)) => {
                let of_choice = stopped.iter().filter(|value| *value.argument == choice.argument);
                distinct(of_choice.flat_map(|value| value.properties))
            }
            (true, None) => Vec::new(),
        };
        let list = if offer.is_vendors { &mut unavailable.vendors } else { &mut unavailable.clients };
        if !properties.is_empty() {
            list.push(UnavailableCall { sketch: tool, properties });
            continue;
        }
        for StoppedValue { argument, value, properties } in stopped {
            let sketch = tool.clone().with(argument.clone(), value.clone());
            list.push(UnavailableCall { sketch, properties: properties.to_vec() });
        }
    }
    unavailable
}

fn distinct<'a>(properties: impl Iterator<Item = &'a Arc<Property>>) -> Vec<Arc<Property>> {
    let mut found: Vec<Arc<Property>> = Vec::new();
    for property in properties {
        if !found.iter().any(|known| known.id == property.id) {
            found.push(Arc::clone(property));
        }
    }
    found
}

/// Returns what is removed so that these calls cannot be made.
fn remove(calls: &[UnavailableCall]) -> ToolRemoval {
    let mut removal = ToolRemoval::default();
    for UnavailableCall { sketch, .. } in calls {
        match sketch.known.first() {
            None => removal.tools.push(sketch.tool.clone()),
            Some((argument, value)) => removal.values.push((sketch.tool.clone(), argument.clone(), value.clone())),
        }
    }
    removal
}

/// Returns a call as records have it. The values of arguments are content, so only the arguments are named.
fn describe(call: &UnavailableCall) -> Value {
    let properties: Vec<&str> = call.properties.iter().map(|property| property.id.as_str()).collect();
    // Names come from the client, and records have a size limit.
    let shorten = |name: &str| name.chars().take(MAX_NAME_CHARACTERS).collect::<String>();
    let mut described = json!({"tool": shorten(&call.sketch.tool), "properties": properties});
    if let Some((argument, _)) = call.sketch.known.first() {
        described["argument"] = json!(shorten(argument));
    }
    described
}
