//! The events of a session so far, to leave out what inputs repeat.
//!
//! Each call of a model repeats the conversation before it, so an input is compared with the events so far: messages in
//! their order, calls and answers by their ids (or, without ids, by tool and arguments) as often as they occur. Only
//! the rest is new. An input that holds nothing but an opening, instructions and a user's message, is compared with its
//! own trace only: in another trace the same words are said again.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use lictor_event::content_hash::{self, ContentHash};
use lictor_event::{Arguments, Event, Kind};
use lictor_json::{Json, Text};

/// The session so far.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Hashes by a key that no writer of a log can know.
    hash: RandomState,
    /// The places of each message, by its content, and by its content and trace.
    messages_by_hash: HashMap<u64, Vec<u32>>,
    message_count: u32,
    calls: Vec<KnownCall>,
    /// Calls by id, tool and arguments; by tool and arguments; by id alone.
    exact: HashMap<u64, Vec<usize>>,
    alike: HashMap<u64, Vec<usize>>,
    named: HashMap<Text, Vec<usize>>,
}

#[derive(Debug)]
struct KnownCall {
    /// The id in the log.
    given: Option<Text>,
    /// The id of the event.
    id: Option<Text>,
    tool: Option<Text>,
    /// Whether a model was seen to ask for it.
    asked: bool,
    /// Whether a tool was seen to run.
    run: bool,
    /// The index of the call's event; none if only the answer became one.
    event: Option<usize>,
    /// The index of the answer's event.
    answer: Option<usize>,
}

/// How far one input has been compared.
#[derive(Default)]
struct Comparison {
    /// The place in the conversation after the last message that was found.
    message: u32,
    /// How many calls or answers of each sort were found.
    found: HashMap<u64, usize>,
    /// The call after the last one that an answer without an id belongs to.
    unnamed: usize,
}

impl History {
    /// Emits the new events in the input of a model.
    pub(super) fn take_input(&mut self, input: Vec<Event>, trace: Option<&Text>, events: &mut Vec<Event>) {
        let opening = input.iter().all(|event| matches!(event.kind, Kind::SystemMessage | Kind::UserMessage));
        let mut comparison = Comparison::default();
        for event in input {
            match event.kind {
                Kind::ToolCall => self.repeat_call(event, &mut comparison, events),
                Kind::ToolResult => self.repeat_answer(event, &mut comparison, events),
                Kind::SystemMessage | Kind::ToolDefinitions => {
                    if !self.messages_by_hash.contains_key(&self.hash_content(&event, None)) {
                        self.add_message(event, trace, events);
                    }
                }
                _ => {
                    let content = self.hash_content(&event, if opening { trace } else { None });
                    let places = self.messages_by_hash.get(&content).map(Vec::as_slice).unwrap_or_default();
                    let next = places.partition_point(|place| *place < comparison.message);
                    match places.get(next) {
                        Some(place) => comparison.message = place + 1,
                        None => {
                            self.add_message(event, trace, events);
                            comparison.message = self.message_count;
                        }
                    }
                }
            }
        }
    }

    /// Emits the output of a model.
    pub(super) fn take_output(&mut self, output: Vec<Event>, trace: Option<&Text>, events: &mut Vec<Event>) {
        for event in output {
            match event.kind {
                Kind::ToolCall => {
                    // A streaming agent may run a tool before the model has finished asking.
                    let fits = |call: &KnownCall| call.given.is_none() || event.id.is_none() || call.given == event.id;
                    let seen = |call: &KnownCall| !call.asked && fits(call);
                    match self.find_alike(&event, seen).or_else(|| self.find_bare(&event, events)) {
                        Some(place) => self.complete_call(place, event, events),
                        None => self.add_requested_call(event, events),
                    }
                }
                // A tool that the model's provider runs answers within the output.
                Kind::ToolResult => {
                    let open =
                        |call: &KnownCall| call.answer.is_none() && (event.id.is_none() || call.given == event.id);
                    match self.calls.iter().rposition(open) {
                        Some(place) => self.take_answer(place, event, events),
                        None => self.repeat_answer(event, &mut Comparison::default(), events),
                    }
                }
                _ => self.add_message(event, trace, events),
            }
        }
    }

    /// Emits a call of a tool that ran, unless the model's request for it is an event already; returns its index.
    pub(super) fn take_call(&mut self, event: Event, span: Option<&Text>, events: &mut Vec<Event>) -> usize {
        let waiting = |call: &KnownCall| !call.run && call.answer.is_none() && call.tool == event.tool;
        let found = match &event.id {
            Some(id) => {
                let named = self.named.get(id).map(Vec::as_slice).unwrap_or_default();
                let run = |&place: &usize| !self.calls[place].run && self.calls[place].tool == event.tool;
                let by_id = named.iter().copied().find(run);
                by_id.or_else(|| self.find_alike(&event, |call| waiting(call) && call.given.is_none()))
            }
            None => self.find_alike(&event, waiting).or_else(|| match event.args {
                Some(Arguments::Value(_)) => None,
                // Arguments that were not recorded, or not in JSON, cannot be compared.
                _ => self.calls.iter().position(waiting),
            }),
        };
        let place = match found {
            Some(place) => place,
            None => self.add_call(event, span, events),
        };
        self.calls[place].run = true;
        place
    }

    /// Emits the answer to a call. A repeated answer only adds content that the first one lacked: many tools record
    /// that they answered, and only the next input has the content.
    pub(super) fn take_answer(&mut self, place: usize, mut event: Event, events: &mut Vec<Event>) {
        let call = &mut self.calls[place];
        match call.answer {
            None => {
                call.answer = Some(events.len());
                event.id = call.id.clone().or(event.id);
                event.tool = event.tool.or_else(|| call.tool.clone());
                events.push(event);
            }
            Some(told) => {
                let told = &mut events[told];
                if told.text.is_none() && told.result.is_none() {
                    (told.text, told.result) = (event.text, event.result);
                    told.failed |= event.failed;
                }
            }
        }
    }

    /// Emits a call that a model asks for.
    fn add_requested_call(&mut self, event: Event, events: &mut Vec<Event>) {
        let place = self.add_call(event, None, events);
        self.calls[place].asked = true;
    }

    fn add_message(&mut self, event: Event, trace: Option<&Text>, events: &mut Vec<Event>) {
        let place = self.message_count;
        self.message_count += 1;
        self.messages_by_hash.entry(self.hash_content(&event, None)).or_default().push(place);
        if trace.is_some() {
            self.messages_by_hash.entry(self.hash_content(&event, trace)).or_default().push(place);
        }
        events.push(event);
    }

    fn repeat_call(&mut self, event: Event, comparison: &mut Comparison, events: &mut Vec<Event>) {
        let alike = self.hash_alike(&event);
        let place = match &event.id {
            Some(_) => {
                let key = self.hash_exact(&event);
                let found = comparison.found.entry(key).or_default();
                let known = self.exact.get(&key).and_then(|places| places.get(*found)).copied();
                *found += 1;
                let unnamed = |call: &KnownCall| call.given.is_none();
                known.or_else(|| self.find_alike(&event, unnamed)).or_else(|| self.find_bare(&event, events))
            }
            None => {
                let found = comparison.found.entry(alike).or_default();
                let known = self.alike.get(&alike).and_then(|places| places.get(*found)).copied();
                *found += 1;
                known
            }
        };
        match place {
            Some(place) => self.complete_call(place, event, events),
            None => self.add_requested_call(event, events),
        }
    }

    fn repeat_answer(&mut self, mut event: Event, comparison: &mut Comparison, events: &mut Vec<Event>) {
        let place = match &event.id {
            Some(id) => {
                let found = comparison.found.entry(self.hash.hash_one(("answer", id))).or_default();
                let place = self.named.get(id).and_then(|places| places.get(*found)).copied();
                *found += 1;
                place
            }
            None => {
                let fits = |call: &KnownCall| event.tool.is_none() || call.tool.is_none() || event.tool == call.tool;
                let next = self.calls.iter().skip(comparison.unnamed).position(fits);
                let place = next.map(|next| next + comparison.unnamed);
                comparison.unnamed = place.map_or(self.calls.len(), |place| place + 1);
                place
            }
        };
        match place {
            Some(place) => self.take_answer(place, event, events),
            // An answer to an unknown call: remembered, so that it becomes one event.
            None => {
                let (id, tool) = (event.id.take(), event.tool.clone());
                let answer = Some(events.len());
                let call =
                    KnownCall { given: id.clone(), id: id.clone(), tool, asked: true, run: true, event: None, answer };
                if let Some(id) = &id {
                    self.named.entry(id.clone()).or_default().push(self.calls.len());
                }
                self.calls.push(call);
                event.id = id;
                events.push(event);
            }
        }
    }

    /// Completes a call of a tool's span with what the model's request has: the id, and the arguments if they are
    /// missing.
    fn complete_call(&mut self, place: usize, event: Event, events: &mut [Event]) {
        let (exact, alike) = (self.hash_exact(&event), self.hash_alike(&event));
        let call = &mut self.calls[place];
        call.asked = true;
        if let (None, Some(id)) = (&call.given, &event.id) {
            call.given = Some(id.clone());
            self.named.entry(id.clone()).or_default().push(place);
            self.exact.entry(exact).or_default().push(place);
        }
        if let Some(told) = call.event.and_then(|told| events.get_mut(told))
            && told.args.is_none()
        {
            told.args = event.args;
            self.alike.entry(alike).or_default().push(place);
            if event.id.is_some() && call.given == event.id {
                self.exact.entry(exact).or_default().push(place);
            }
        }
    }

    /// Emits a new call. One without an id gets the id of its span, or a number; a duplicate id gets a number after it.
    fn add_call(&mut self, mut event: Event, span: Option<&Text>, events: &mut Vec<Event>) -> usize {
        let place = self.calls.len();
        let given = event.id.take();
        if let Some(id) = &given {
            self.exact.entry(self.hash_call(Some(id), &event)).or_default().push(place);
            let named = self.named.entry(id.clone()).or_default();
            named.push(place);
            event.id = Some(match named.len() {
                1 => id.clone(),
                times => Text::from(format!("{id}#{times}")),
            });
        } else {
            event.id = span.cloned().or_else(|| Some(Text::from(format!("call-{}", place + 1))));
        }
        self.alike.entry(self.hash_alike(&event)).or_default().push(place);
        let (id, tool) = (event.id.clone(), event.tool.clone());
        let told = Some(events.len());
        self.calls.push(KnownCall { given, id, tool, asked: false, run: false, event: told, answer: None });
        events.push(event);
        place
    }

    /// Returns the first wanted call of the same tool with the same arguments.
    fn find_alike(&self, event: &Event, wanted: impl Fn(&KnownCall) -> bool) -> Option<usize> {
        let places = self.alike.get(&self.hash_alike(event))?;
        places.iter().copied().find(|&place| wanted(&self.calls[place]))
    }

    /// Returns the first call of the same id and tool whose event lacks arguments.
    fn find_bare(&self, event: &Event, events: &[Event]) -> Option<usize> {
        let places = self.named.get(event.id.as_ref()?)?;
        let is_bare = |place: &usize| {
            let call = &self.calls[*place];
            call.tool == event.tool && call.event.is_some_and(|told| events[told].args.is_none())
        };
        places.iter().copied().find(is_bare)
    }

    fn hash_content(&self, event: &Event, trace: Option<&Text>) -> u64 {
        // Pictures beside the words may be recorded in one place and left out in another.
        let text = event.text.as_deref().map(str::trim);
        let more = text.is_none().then(|| content_hash::hash_json(&Json::Object(event.more.clone())));
        self.hash.hash_one((&event.kind, text, more, trace))
    }

    fn hash_exact(&self, event: &Event) -> u64 {
        self.hash_call(event.id.as_ref(), event)
    }

    fn hash_alike(&self, event: &Event) -> u64 {
        self.hash_call(None, event)
    }

    fn hash_call(&self, id: Option<&Text>, event: &Event) -> u64 {
        self.hash.hash_one((id, &event.tool, event.args.as_ref().map(hash_arguments)))
    }
}

/// Whether two calls have the same arguments, however they are written.
pub(super) fn have_same_arguments(left: &Arguments, right: &Arguments) -> bool {
    hash_arguments(left) == hash_arguments(right)
}

fn hash_arguments(payload: &Arguments) -> ContentHash {
    match payload {
        Arguments::Value(value) => content_hash::hash_json(value),
        Arguments::Unparsed(text) => content_hash::hash_json(&Json::String(text.trim().into())),
    }
}
