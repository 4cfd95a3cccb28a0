//! The first half: what a request says is judged before it goes on.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use hyper::body::Incoming;
use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_judge::guard::Action;
use lictor_warden::{DELIVERY, EXCHANGE};
use lictor_wire::{Api, HistoryDiff, Request, Ruling, WireRefusal};

use super::ruling::Saved;
use super::{Exchange, Stop};
use crate::body::{self, Unread};
use crate::identity::SessionKey;
use crate::sessions::{Memory, Note};
use crate::telemetry::Outcome;
use crate::told::Told;
use crate::verdict::{Verdict, can_be_withheld};

/// How often a session's memory is tried to be saved that others save at the same time.
const MOST_TURNS: usize = 20;

/// Where in a body an application may say which session it is.
const IN_METADATA: [&str; 4] = ["lictor_session", "session_id", "conversation_id", "thread_id"];

/// Something new in a request.
struct Fresh {
    event: Event,
    /// The place of its item; none for what the request does not say itself.
    place: Option<usize>,
    /// By which it is known if it is said again.
    said: i64,
}

/// What goes on otherwise than it came.
#[derive(Debug)]
struct Changes {
    items: Vec<(usize, Ruling)>,
    /// Answers to calls that were denied, for a vendor who keeps the history.
    answers: Vec<(Text, String)>,
}

/// The exchange as its second half needs to know it.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) api: Api,
    pub(super) session: SessionKey,
    /// What is known of the session once the request was sent.
    pub(super) memory: Memory,
}

impl Exchange {
    /// An exchange with a model.
    pub(super) async fn judged(&mut self, api: Api, body: Incoming) -> Result<(), Stop> {
        let bytes = self.read(body).await?;
        let request = match Request::read(api, &bytes) {
            Ok(request) => request,
            Err(refused) => return Err(self.unreadable(400, &refused, bytes.to_vec()).await?),
        };
        if self.caller.principal.is_none() {
            self.caller.principal = request.hints.user.as_ref().map(ToString::to_string);
        }
        let session = self.session(&request);
        self.account.belongs_to(&self.caller.tenant, Some((session.name.clone(), session.origin)));
        let (memory, changes) = self.judge_request(&session, &request).await?;
        let onward = match changes.items.is_empty() && changes.answers.is_empty() {
            true => bytes,
            false => match request.answered(&changes.items, &changes.answers) {
                Ok(bytes) => Bytes::from(bytes),
                Err(refused) => return Err(self.unreadable(403, &refused, Vec::new()).await?),
            },
        };
        let response = self.ask_upstream(onward).await?;
        self.replied(Begun { api, session, memory }, response).await
    }

    /// The body, unpacked.
    async fn read(&mut self, body: Incoming) -> Result<Bytes, Stop> {
        let limits = self.gateway.config.limits;
        let (bytes, read) = body::read(body, limits.body, limits.body_idle).await;
        self.account.received(&bytes);
        let header = |name: &str| self.head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let sort = header("content-type").split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_json = matches!(sort.as_str(), "" | "application/json");
        let unpacked = match (read, is_json) {
            (Err(unread), _) => Err(unread),
            (Ok(()), false) => Err(Unread::Type),
            (Ok(()), true) => body::unpack(header("content-encoding"), &bytes, limits.body, limits.inflation),
        };
        match unpacked {
            Ok(bytes) => Ok(bytes),
            Err(unread) => {
                let told = Told::from(unread.told());
                self.refused(&told.code, bytes.to_vec()).await?;
                Err(Stop::Tell(Outcome::Refused, told))
            }
        }
    }

    /// Writes down that something cannot be read, and says so.
    pub(super) async fn unreadable(&self, status: u16, refused: &WireRefusal, bytes: Vec<u8>) -> Result<Stop, Stop> {
        self.refused(refused.code, bytes).await?;
        Ok(Stop::Tell(Outcome::Refused, Told::new(status, refused.code, refused.message.clone())))
    }

    fn session(&self, request: &Request) -> SessionKey {
        let hints = &request.hints;
        let named = IN_METADATA.iter().find_map(|key| hints.metadata.get(key).and_then(Json::as_str));
        let in_body = named.or(hints.conversation.as_deref());
        self.gateway.namer.session(&self.caller, &self.head.headers, in_body)
    }

    /// Judges what is new in a request, and says what of it goes on otherwise than it came.
    async fn judge_request(&mut self, session: &SessionKey, request: &Request) -> Result<(Memory, Changes), Stop> {
        let gateway = std::sync::Arc::clone(&self.gateway);
        for _ in 0..MOST_TURNS {
            let _turn = gateway.sessions.turn(&session.name).await;
            let memory = gateway.sessions.load(&self.caller.tenant, &session.name).await?;
            if memory.is_new() {
                gateway.metrics.sessions_begun.fetch_add(1, Ordering::Relaxed);
            }
            let fold = memory.known.fold(request);
            if fold.known.len() > gateway.config.limits.items {
                return self.too_long().await;
            }
            let fresh = self.events_of(session, &memory, request, &fold);
            let events = fresh.iter().map(|fresh| fresh.event.clone()).collect();
            // Where something waits to be told, what is known of the session depends on more than what is decided.
            let next = memory.owes_nothing().then(|| memory.after_request(&fold.known));
            let Some(saved) = self.decide_saving(&session.name, events, true, &memory, next).await? else { continue };
            let Saved { verdicts, mut memory, is_next } = saved;
            let (mut changes, mut blocked) = (Vec::new(), None);
            for (fresh, verdict) in fresh.iter().zip(&verdicts) {
                if let Some(note) = self.unattached(&fresh.event, verdict) {
                    memory.note(note);
                }
                let Some(place) = fresh.place else { continue };
                match self.onward(&fresh.event, verdict) {
                    Ok(ruling) => changes.push((place, ruling)),
                    Err(told) => {
                        memory.refuse(fresh.said);
                        blocked = blocked.or(Some(told));
                    }
                }
            }
            if let Some(told) = blocked {
                // Nothing goes on, so nothing of the history is known to the model.
                if !gateway.sessions.save(&self.caller.tenant, &session.name, &mut memory).await? {
                    continue;
                }
                return Err(Stop::Tell(Outcome::Refused, told));
            }
            attach_notes(&mut memory, &fresh, &mut changes);
            changes.retain(|(_, ruling)| !ruling.is_forward());
            for (place, ruling) in &changes {
                if let Some(item) = request.items.get(*place) {
                    memory.alter(&item.hash, ruling);
                }
            }
            memory.keep_alterations(request, gateway.config.limits.items);
            if memory.alterations() > gateway.config.limits.items {
                return self.too_long().await;
            }
            self.alter_again(&memory, request, &mut changes);
            if is_next {
                return Ok((memory, Changes { items: changes, answers: Vec::new() }));
            }
            memory.goes_on(fold.known);
            // They are sent until the vendor has answered: a try that fails is tried again.
            let denied = memory.denied.clone();
            if gateway.sessions.save(&self.caller.tenant, &session.name, &mut memory).await? {
                let answers = denied.into_iter().filter(|_| !request.carries_history());
                let answers = answers.map(|(id, text)| (id.into(), text)).collect();
                return Ok((memory, Changes { items: changes, answers }));
            }
        }
        Err(Stop::Tell(Outcome::Failed, Told::new(503, "session.crowded", "others use the same session all the time")))
    }

    async fn too_long<T>(&self) -> Result<T, Stop> {
        let told = Told::new(413, "session.too_long", "the session has more items than the gateway remembers");
        self.refused(&told.code, Vec::new()).await?;
        Err(Stop::Tell(Outcome::Refused, told))
    }

    /// What the model is to be told about something that has no text to tell it with.
    fn unattached(&self, event: &Event, verdict: &Verdict) -> Option<Note> {
        let is_silent = verdict.action == Action::Steer && event.text.is_none() && !self.gateway.config.shadow;
        Some(Note { call: None, text: verdict.message.clone().filter(|_| is_silent)? })
    }

    /// The events of what is new: first that the history is not as it was.
    fn events_of(&self, session: &SessionKey, memory: &Memory, request: &Request, fold: &HistoryDiff) -> Vec<Fresh> {
        // What comes at the same place behind the same history is the same event, whichever gateway is asked and however
        // often, until the request has gone on or is refused: to say it again then is to ask again.
        let mut before = blake3::Hasher::new();
        before.update(&memory.place());
        let said = |place: usize, hash: &[u8]| {
            let mut said = before.clone();
            said.update(&(place as u64).to_be_bytes());
            said.update(hash);
            number(said.finalize())
        };
        let fresh = |event: Event, place: Option<usize>, said: i64| {
            let again = [said.to_be_bytes(), i64::from(memory.refusals(said)).to_be_bytes()].concat();
            Fresh { event: self.stamped(event, &session.name, number(blake3::hash(&again))), place, said }
        };
        let changed = fold.event().map(|event| {
            self.gateway.metrics.histories_changed.fetch_add(1, Ordering::Relaxed);
            let all: Vec<u8> = request.items.iter().flat_map(|item| item.hash).collect();
            fresh(event, None, said(usize::MAX, &all))
        });
        let items = fold.fresh.iter().filter_map(|(place, event)| {
            let item = request.items.get(*place)?;
            Some(fresh(event.clone(), Some(*place), said(*place, &item.hash)))
        });
        changed.into_iter().chain(items).collect()
    }

    /// An event with whose it is, and what tells it from another that says the same.
    pub(super) fn stamped(&self, mut event: Event, session: &str, number: i64) -> Event {
        event.session = Some(session.into());
        event.more.insert(DELIVERY, Json::from(number.to_string().as_str()));
        event.more.insert(EXCHANGE, Json::from(self.account.id.as_str()));
        if event.principal.is_none() {
            event.principal = self.caller.principal.as_deref().map(Text::from);
        }
        event
    }

    /// What becomes of something that a request says; an error if the request must not go on.
    fn onward(&self, event: &Event, verdict: &Verdict) -> Result<Ruling, Told> {
        if self.gateway.config.shadow {
            return Ok(Ruling::Forward);
        }
        match verdict.action {
            Action::Ask | Action::Block if !can_be_withheld(&event.kind) => {
                let code = if verdict.action == Action::Ask { "policy.waits" } else { "policy.blocked" };
                Err(Told::new(403, code, verdict.denial()))
            }
            Action::Steer => Ok(verdict.message.as_ref().map_or(Ruling::Forward, |text| with_note(event, text))),
            _ => Ok(verdict.ruling()),
        }
    }

    /// What went on otherwise than it came goes on so each time it is sent.
    fn alter_again(&self, memory: &Memory, request: &Request, changes: &mut Vec<(usize, Ruling)>) {
        for (place, item) in request.items.iter().enumerate() {
            if !changes.iter().any(|(known, _)| *known == place)
                && let Some(ruling) = memory.alteration(&item.hash)
            {
                changes.push((place, ruling));
            }
        }
        changes.sort_by_key(|(place, _)| *place);
    }
}

/// What the model is still to be told goes with the answers of tools that it is about, or with the last thing said.
fn attach_notes(memory: &mut Memory, fresh: &[Fresh], changes: &mut [(usize, Ruling)]) {
    for note in std::mem::take(&mut memory.notes) {
        let is_said = |fresh: &&Fresh| {
            matches!(fresh.event.kind, Kind::ToolResult | Kind::UserMessage) && fresh.event.text.is_some()
        };
        let is_about = |fresh: &&Fresh| note.call.is_some() && fresh.event.id.as_deref() == note.call.as_deref();
        let about = fresh.iter().filter(is_said).find(is_about).or_else(|| fresh.iter().rfind(is_said));
        let Some((event, Some(place))) = about.map(|fresh| (&fresh.event, fresh.place)) else {
            memory.notes.push(note);
            continue;
        };
        if let Some((_, ruling)) = changes.iter_mut().find(|(known, _)| *known == place) {
            *ruling = match &*ruling {
                Ruling::Forward => with_note(event, &note.text),
                Ruling::Rewrite(rewritten) => with_note(rewritten, &note.text),
                Ruling::Deny { text } => Ruling::Deny { text: format!("{text}\n\n{}", note.text) },
            };
        }
    }
}

/// The event with something for the model behind its text.
fn with_note(event: &Event, note: &str) -> Ruling {
    let mut event = event.clone();
    match &event.text {
        Some(text) => event.text = Some(format!("{text}\n\n{note}").into()),
        None => return Ruling::Forward,
    }
    Ruling::Rewrite(Box::new(event))
}

/// A number made of a hash, never negative.
pub(super) fn number(hash: blake3::Hash) -> i64 {
    let first = hash.as_bytes().iter().take(8).fold(0u64, |number, byte| (number << 8) | u64::from(*byte));
    i64::try_from(first >> 1).unwrap_or_default()
}
