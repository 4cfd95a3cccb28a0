//! Calls that wait for a person, kept in the store: any gateway over it may be given the answer.

use lictor::event::{Event, Kind, parse_time};
use lictor::json::Json;
use lictor_store::{Change, Expected};
use lictor_warden::DELIVERY;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::gateway::Gateway;
use crate::judges::{Unavailable, now};
use crate::sessions::{Grant, hex, line, unavailable};

const PREFIX: &str = "gateway/waiting/";

/// How many are listed at most.
const MOST_LISTED: usize = 1000;

/// A call that waits for a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    pub(crate) tenant: String,
    pub(crate) session: String,
    /// By which the guard knows it.
    pub(crate) id: String,
    pub(crate) tool: Option<String>,
    /// The hash of its tool and its arguments.
    pub(crate) call: String,
    /// The call as it goes on, if it was rewritten.
    pub(crate) rewritten: Option<String>,
    pub(crate) until: Option<String>,
    /// The properties that a person is asked about.
    pub(crate) properties: Vec<String>,
}

/// What became of a call that a person was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answered {
    /// It may be made.
    Allowed,
    /// It may not.
    Denied,
    /// It was allowed, and judged again, and is stopped by something else now.
    StoppedAfterAll,
    /// Nobody waits for this answer, or not any more.
    TooLate,
}

impl Waiting {
    /// Keeps it, and gives the word by which a person answers.
    pub(crate) async fn keep(&self, gateway: &Gateway) -> Result<String, Unavailable> {
        let mut random = [0u8; 16];
        getrandom::fill(&mut random).map_err(|error| Unavailable { reason: error.to_string() })?;
        let token = hex(&random);
        let value = serde_json::to_vec(self).map_err(|error| Unavailable { reason: error.to_string() })?;
        let change = Change::put(format!("{PREFIX}{token}"), Expected::Absent, value);
        gateway.sessions.blocking(move |store| store.save(&[change])).await?.map_err(unavailable)?;
        Ok(token)
    }

    /// What waits under a word.
    pub(crate) async fn load(gateway: &Gateway, token: &str) -> Result<Option<Waiting>, Unavailable> {
        if !token.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(None);
        }
        let key = format!("{PREFIX}{token}");
        let stored = gateway.sessions.blocking(move |store| store.load(&key)).await?.map_err(unavailable)?;
        Ok(stored.and_then(|stored| serde_json::from_slice(&stored.value).ok()))
    }

    /// All that wait, without what was said. What nobody answered in time is forgotten.
    pub(crate) async fn list(gateway: &Gateway) -> Result<Vec<Value>, Unavailable> {
        let listed = gateway.sessions.blocking(|store| {
            let mut listed = Vec::new();
            for key in store.keys(PREFIX, None, MOST_LISTED)? {
                let Some(stored) = store.load(&key)? else { continue };
                match serde_json::from_slice::<Waiting>(&stored.value) {
                    Ok(waiting) if !waiting.is_late() => listed.push((key, waiting)),
                    // Somebody else may forget it at the same time.
                    _ => drop(store.save(&[Change::delete(key, Expected::Version(stored.version))])),
                }
            }
            Ok(listed)
        });
        let listed = listed.await?.map_err(unavailable)?;
        let shown = listed.into_iter().filter_map(|(key, waiting)| {
            let Waiting { tenant, session, tool, until, properties, .. } = waiting;
            let id = key.strip_prefix(PREFIX)?;
            Some(json!({
                "id": id, "tenant": tenant, "session": session, "tool": tool, "until": until, "properties": properties,
            }))
        });
        Ok(shown.collect())
    }

    fn is_late(&self) -> bool {
        self.until.as_deref().and_then(parse_time).is_some_and(|until| until < now())
    }

    /// Gives a person's answer.
    pub(crate) async fn answer(
        self,
        gateway: &Gateway,
        token: &str,
        by: &str,
        allow: bool,
    ) -> Result<Answered, Unavailable> {
        let mut event = Event::new(if allow { Kind::Approval } else { Kind::Denial });
        event.session = Some(self.session.as_str().into());
        event.id = Some(self.id.as_str().into());
        event.more.insert("by", Json::from(by));
        // Distinct from every other answer, so that it is never taken for one that was given before.
        let mut random = [0u8; 8];
        getrandom::fill(&mut random).map_err(|error| Unavailable { reason: error.to_string() })?;
        event.more.insert(DELIVERY, Json::from(u64::from_be_bytes(random).to_string().as_str()));
        let verdicts = gateway.judges.decide(&self.tenant, vec![event]).await?;
        let settled = verdicts.first().into_iter().flat_map(|verdict| &verdict.settled);
        let settled = settled.into_iter().find(|(id, _, _)| *id == self.id).cloned();
        let answered = match settled {
            None => Answered::TooLate,
            Some((_, action, rewritten)) if allow && action.goes_on() => {
                let rewritten = rewritten.as_ref().map(line).or(self.rewritten.clone());
                let grant = Grant { call: self.call.clone(), id: self.id.clone(), rewritten };
                loop {
                    let _turn = gateway.sessions.turn(&self.session).await;
                    let mut memory = gateway.sessions.load(&self.tenant, &self.session).await?;
                    memory.grant(grant.clone());
                    if gateway.sessions.save(&self.tenant, &self.session, &mut memory).await? {
                        break;
                    }
                }
                Answered::Allowed
            }
            Some(_) if allow => Answered::StoppedAfterAll,
            Some(_) => Answered::Denied,
        };
        Waiting::forget(gateway, token).await?;
        gateway.answered.notify_waiters();
        Ok(answered)
    }

    async fn forget(gateway: &Gateway, token: &str) -> Result<(), Unavailable> {
        let key = format!("{PREFIX}{token}");
        let forgotten = gateway.sessions.blocking(move |store| {
            let Some(stored) = store.load(&key)? else { return Ok(0) };
            store.save(&[Change::delete(key, Expected::Version(stored.version))])
        });
        forgotten.await?.map_err(unavailable)?;
        Ok(())
    }
}
