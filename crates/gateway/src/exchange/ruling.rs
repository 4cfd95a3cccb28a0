//! What becomes of what a model says and does.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use lictor_event::{Arguments, Event, Kind};
use lictor_judge::guard::Action;
use lictor_logic::Time;
use lictor_policy::Response;
use lictor_wire::{Ruling, SentItem};
use serde_json::json;
use tokio::time::Instant;

use super::ask::{Begun, number};
use super::{Exchange, Stop};
use crate::judges::{Unavailable, now};
use crate::sessions::{Grant, Memory, Note, line};
use crate::telemetry::Span;
use crate::under_way::UnderWay;
use crate::verdict::Verdict;
use crate::waiting::Waiting;

/// What the model is told of a call that a person has not allowed.
const DENIED: &str = "This step was not carried out: a person was asked, and did not allow it. Do not try it again.";

/// What the model is told of a call that could go on only rewritten or allowed, where it is not made here.
const FORESEEN: &str = "This step was not carried out: it could go on only rewritten or allowed by a person, and where it would be made nobody can do either.";

/// How often a call that waits is looked at, for answers that another gateway was given.
const LOOK: Duration = Duration::from_millis(500);

/// What was decided, and what is known of the session now.
#[derive(Debug)]
pub(super) struct Saved {
    pub(super) verdicts: Vec<Verdict>,
    pub(super) memory: Memory,
    /// Whether all goes on as it came, and that is remembered.
    pub(super) is_next: bool,
}

impl Exchange {
    /// Decides on events of the session; they are written down when this returns.
    pub(super) async fn decide(
        &self,
        session: &str,
        events: Vec<Event>,
        is_input: bool,
    ) -> Result<Vec<Verdict>, Unavailable> {
        let (from, about) = (now(), self.about(&events));
        let verdicts = self.gateway.judges.decide(&self.caller.tenant, events).await?;
        self.count(session, from, is_input, about, &verdicts);
        Ok(verdicts)
    }

    /// The same, and saves what is known of the session along with it: as `next` if all goes on as it came, otherwise it
    /// stays as it is; and that the exchange is under way. None if somebody else has changed the session meanwhile: nothing is
    /// decided then.
    pub(super) async fn decide_saving(
        &self,
        session: &str,
        events: Vec<Event>,
        is_input: bool,
        memory: &Memory,
        next: Option<Memory>,
    ) -> Result<Option<Saved>, Unavailable> {
        let (sessions, tenant) = (&self.gateway.sessions, &self.caller.tenant);
        let row = UnderWay::row(&self.gateway, &self.account)?;
        let is_put_down = row.is_some();
        let save = Arc::new(sessions.saving(session, memory, next, row)?);
        let (from, about) = (now(), self.about(&events));
        let decided = match self.gateway.judges.decide_saving(tenant, events, &save).await {
            Ok(Some(decided)) => decided,
            Ok(None) => {
                sessions.load_anew(tenant, session).await?;
                return Ok(None);
            }
            // Whoever asks again finds things as they were.
            Err(unavailable) => {
                UnderWay::look(&self.gateway, &self.account).await?;
                sessions.take_back(tenant, session, memory).await?;
                return Err(unavailable);
            }
        };
        if is_put_down {
            self.account.under_way.store(decided.version, Ordering::Relaxed);
        }
        self.count(session, from, is_input, about, &decided.verdicts);
        let (memory, is_next) = sessions.saved(session, &save, decided.all_forwarded, decided.version);
        Ok(Some(Saved { verdicts: decided.verdicts, memory, is_next }))
    }

    /// The kinds and ids of events, for spans.
    fn about(&self, events: &[Event]) -> Vec<(String, Option<String>)> {
        let about = |event: &Event| (event.kind.name().to_owned(), event.id.as_ref().map(ToString::to_string));
        match self.gateway.spans.are_wanted() {
            true => events.iter().map(about).collect(),
            false => Vec::new(),
        }
    }

    fn count(
        &self,
        session: &str,
        from: Time,
        is_input: bool,
        about: Vec<(String, Option<String>)>,
        verdicts: &[Verdict],
    ) {
        let gateway = &self.gateway;
        let changed = verdicts.iter().filter(|verdict| verdict.action != Action::Forward).count();
        self.account.decisions.fetch_add(verdicts.len() as u64, Ordering::Relaxed);
        self.account.changed.fetch_add(changed as u64, Ordering::Relaxed);
        if gateway.config.shadow {
            gateway.metrics.unchecked.fetch_add(changed as u64, Ordering::Relaxed);
        }
        for ((kind, id), verdict) in about.into_iter().zip(verdicts) {
            gateway.spans.add(self.span(session, (from, now()), is_input, kind, id, verdict));
        }
    }

    fn span(
        &self,
        session: &str,
        (from, to): (Time, Time),
        is_input: bool,
        kind: String,
        id: Option<String>,
        verdict: &Verdict,
    ) -> Span {
        let parent = self.head.headers.get("traceparent").and_then(|value| value.to_str().ok()).and_then(|value| {
            let mut parts = value.split('-').skip(1);
            Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
        });
        Span {
            parent,
            from: from.0,
            to: to.0,
            is_input,
            kind,
            id,
            action: verdict.action,
            properties: verdict.properties.clone(),
            policy: self.gateway.judges.in_force().name.to_string(),
            session: session.to_owned(),
        }
    }

    /// Decides on all that a reply says and does, and says what becomes of it. What can be decided together is: it is
    /// written down once. If all goes on as it came, that the client gets it (`sent`) is remembered as well, which is said.
    pub(super) async fn rule_all(
        &self,
        begun: &Begun,
        events: &[Event],
        sent: &[Vec<SentItem>],
    ) -> Result<(Vec<Ruling>, bool), Stop> {
        let session = &begun.session.name;
        let numbered: Vec<Event> =
            events.iter().enumerate().map(|(place, event)| self.numbered(session, event, place)).collect();
        let saved = loop {
            let _turn = self.gateway.sessions.turn(session).await;
            let memory = self.gateway.sessions.load(&self.caller.tenant, session).await?;
            if !memory.granted.is_empty() || events.iter().any(asks_vendor) {
                break None;
            }
            let next = memory.after_reply(&begun.memory, sent);
            if let Some(saved) = self.decide_saving(session, numbered.clone(), false, &memory, Some(next)).await? {
                break Some(saved);
            }
        };
        let mut rulings = Vec::with_capacity(events.len());
        match saved {
            None => {
                for (place, event) in events.iter().enumerate() {
                    rulings.push(self.rule(session, event, place).await?);
                }
                Ok((rulings, false))
            }
            Some(saved) => {
                // Persons are asked about all calls at once, and all wait until the same time.
                let (until, mut asked) = (self.patience(), Vec::new());
                for (event, verdict) in numbered.iter().zip(&saved.verdicts) {
                    asked.push(self.ask_person(session, event, verdict).await?);
                }
                // What is allowed is spent when all are answered: whoever leaves before has got none of it.
                for token in asked.iter().flatten() {
                    self.wait(token, until).await?;
                }
                for ((event, verdict), asked) in numbered.iter().zip(&saved.verdicts).zip(asked) {
                    rulings.push(self.ruled(session, event, verdict, asked).await?);
                }
                Ok((rulings, saved.is_next))
            }
        }
    }

    /// Decides on something that a model said or did, the `place`th of the exchange, and says what becomes of it.
    pub(super) async fn rule(&self, session: &str, event: &Event, place: usize) -> Result<Ruling, Stop> {
        if event.kind == Kind::ToolCall
            && let Some(ruling) = self.granted(session, &call_hash(event)).await?
        {
            return Ok(ruling);
        }
        if asks_vendor(event)
            && let Some(ruling) = self.foreseen(session, event).await?
        {
            return Ok(ruling);
        }
        let event = self.numbered(session, event, place);
        match self.decide(session, vec![event.clone()], false).await?.first() {
            Some(verdict) => {
                let asked = self.ask_person(session, &event, verdict).await?;
                if let Some(token) = &asked {
                    self.wait(token, self.patience()).await?;
                }
                self.ruled(session, &event, verdict, asked).await
            }
            None => Err(Unavailable { reason: "the desk did not answer".to_owned() }.into()),
        }
    }

    /// The ruling on a call that the vendor will carry out once the client says so: if the call would be stopped, so is the
    /// question, since the next that is seen of it is its result.
    async fn foreseen(&self, session: &str, event: &Event) -> Result<Option<Ruling>, Stop> {
        let mut call = Event { kind: Kind::ToolCall, session: Some(session.into()), ..event.clone() };
        call.principal = call.principal.or_else(|| self.caller.principal.as_deref().map(Into::into));
        let bytes = line(&call).into_bytes();
        let preview = self.gateway.judges.preview(&self.caller.tenant, call).await?;
        if preview.response < Response::Redact || self.gateway.config.shadow {
            return Ok(None);
        }
        self.refused("policy.foreseen", bytes).await?;
        let text = match preview.message {
            Some(message) if preview.response == Response::Block => message,
            _ => FORESEEN.to_owned(),
        };
        Ok(Some(Ruling::Deny { text }))
    }

    /// The event with its number: that of the exchange, and its place in it.
    fn numbered(&self, session: &str, event: &Event, place: usize) -> Event {
        let mut hash = blake3::Hasher::new();
        hash.update(self.account.id.as_bytes());
        hash.update(&(place as u64).to_be_bytes());
        self.stamped(event.clone(), session, number(hash.finalize()))
    }

    /// What becomes of something that a model said or did, and about which a person may have been `asked`.
    async fn ruled(
        &self,
        session: &str,
        event: &Event,
        verdict: &Verdict,
        asked: Option<String>,
    ) -> Result<Ruling, Stop> {
        if self.gateway.config.shadow {
            return Ok(Ruling::Forward);
        }
        if verdict.action == Action::Steer {
            self.remember_note(session, event, verdict).await?;
        }
        let Some(token) = asked else { return Ok(verdict.ruling()) };
        let still_waits = Waiting::load(&self.gateway, &token).await?.is_some();
        match self.granted(session, &call_hash(event)).await? {
            Some(ruling) => Ok(ruling),
            None if still_waits => Ok(Verdict { waits_as: Some(token), ..verdict.clone() }.ruling()),
            None => Ok(Ruling::Deny { text: DENIED.to_owned() }),
        }
    }

    /// Until when an exchange stays open for the answer of a person.
    fn patience(&self) -> Instant {
        Instant::now() + self.gateway.config.limits.approval
    }

    /// The ruling on a call that a person has allowed before: it was judged then, and is part of the trace.
    async fn granted(&self, session: &str, call: &str) -> Result<Option<Ruling>, Stop> {
        let gateway = &self.gateway;
        loop {
            let _turn = gateway.sessions.turn(session).await;
            // A person may have answered by way of another gateway.
            let mut memory = gateway.sessions.load_anew(&self.caller.tenant, session).await?;
            let Some(grant) = memory.spend(call) else { return Ok(None) };
            if !gateway.sessions.save(&self.caller.tenant, session, &mut memory).await? {
                continue;
            }
            let mut record = serde_json::Map::new();
            record.insert("type".into(), json!("carried_out"));
            record.insert("action".into(), json!("forward"));
            record.insert("exchange".into(), json!(self.account.id));
            gateway.judges.note(&self.caller.tenant, record).await?;
            return Ok(Some(ruling_of(&grant)));
        }
    }

    /// What the model is told about a step that went on, it is told with the next request.
    async fn remember_note(&self, session: &str, event: &Event, verdict: &Verdict) -> Result<(), Stop> {
        let Some(text) = verdict.message.clone() else { return Ok(()) };
        let gateway = &self.gateway;
        let note = Note { call: event.id.as_ref().map(ToString::to_string), text };
        loop {
            let _turn = gateway.sessions.turn(session).await;
            let mut memory = gateway.sessions.load(&self.caller.tenant, session).await?;
            memory.note(note.clone());
            if gateway.sessions.save(&self.caller.tenant, session, &mut memory).await? {
                return Ok(());
            }
        }
    }

    /// Asks a person about a call that must wait for one, and says by which id they answer.
    async fn ask_person(&self, session: &str, event: &Event, verdict: &Verdict) -> Result<Option<String>, Stop> {
        if self.gateway.config.shadow || verdict.action != Action::Ask {
            return Ok(None);
        }
        let waiting = Waiting {
            tenant: self.caller.tenant.clone(),
            session: session.to_owned(),
            id: verdict.waits_as.clone().unwrap_or_default(),
            tool: event.tool.as_ref().map(ToString::to_string),
            args: arguments(verdict.rewritten.as_ref().unwrap_or(event)),
            call: call_hash(event),
            rewritten: verdict.rewritten.as_ref().map(line),
            until: verdict.until.clone(),
            properties: verdict.properties.clone(),
        };
        Ok(Some(waiting.keep(&self.gateway).await?))
    }

    /// Waits until a person has answered, for as long as the exchange may stay open.
    async fn wait(&self, token: &str, until: Instant) -> Result<(), Stop> {
        while Instant::now() < until {
            // What is allowed now is not for whoever has gone: they may ask again.
            if self.is_gone() {
                return Err(Stop::Gone);
            }
            let answered = self.gateway.answered.notified();
            if Waiting::load(&self.gateway, token).await?.is_none() {
                break;
            }
            tokio::select! {
                () = answered => {}
                () = tokio::time::sleep(LOOK) => {}
                () = tokio::time::sleep_until(until) => {}
            }
        }
        Ok(())
    }
}

/// Whether a vendor asks the client if it may make a call.
fn asks_vendor(event: &Event) -> bool {
    matches!(&event.kind, Kind::Other(kind) if kind == "approval_request")
}

fn ruling_of(grant: &Grant) -> Ruling {
    let Some(line) = &grant.rewritten else { return Ruling::Forward };
    let event = lictor_json::parse_str(line).ok().as_ref().and_then(crate::verdict::event);
    event.map_or_else(|| Ruling::Deny { text: "[withheld]".to_owned() }, |event| Ruling::Rewrite(Box::new(event)))
}

/// The hash of a call's tool and arguments, by which an allowed call is known when it is made again.
fn call_hash(event: &Event) -> String {
    let mut hash = blake3::Hasher::new();
    hash.update(event.tool.as_deref().unwrap_or_default().as_bytes());
    hash.update(&[0]);
    hash.update(arguments(event).unwrap_or_default().as_bytes());
    hash.finalize().to_string()
}

fn arguments(event: &Event) -> Option<String> {
    event.args.as_ref().map(|args| match args {
        Arguments::Value(value) => value.to_string(),
        Arguments::Unparsed(text) => text.to_string(),
    })
}
