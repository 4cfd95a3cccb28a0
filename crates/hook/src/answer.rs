//! A call of a hook, decided and answered.

use lictor_event::{Event, Kind};
use lictor_json::{Json, Text};
use lictor_judge::finding::Finding;
use lictor_judge::guard::Decision;
use lictor_logic::Time;
use lictor_warden::{Answer, RefusedInput, Warden, WardenError};

use crate::call::{Hook, HookCall};
use crate::client::{HookClient, HookOptions};
use crate::reply::{HookReply, blocked, noted, specific};
use crate::{claude, codex};

/// What was decided, as far as a client is told.
#[derive(Clone, Debug)]
pub(crate) struct Ruling {
    pub(crate) action: Text,
    /// What the model is told; never empty, since a client may take a *no* without a reason for a failure.
    pub(crate) message: String,
    /// The arguments with which a call may go on, if they are not those of the model.
    pub(crate) arguments: Option<Json>,
    /// The event as it may go on, if it is not as it was.
    pub(crate) rewritten: Option<Event>,
}

/// Decides on what a client asks, and says what it must be answered. What is answered is written down.
pub fn answer(
    client: HookClient,
    options: HookOptions,
    call: &HookCall,
    warden: &mut Warden,
    now: Time,
) -> Result<HookReply, WardenError> {
    if call.hook == Hook::PostToolUse {
        settle(call, warden, now)?;
    }
    let ruling = match &call.event {
        Some(event) => {
            let means = client.means(call.hook, options);
            Some(Ruling::of(warden.decide_within(means, event, Some(now))?))
        }
        None => None,
    };
    Ok(match (call.hook, &ruling) {
        (Hook::Stop, _) => return at_rest(call, ruling.as_ref(), warden, now),
        (_, None) => HookReply::silence(),
        (Hook::PreToolUse, Some(ruling)) if client == HookClient::Claude => claude::before(ruling),
        (Hook::PreToolUse, Some(ruling)) => codex::before(ruling),
        (Hook::PostToolUse, Some(ruling)) if client == HookClient::Claude => claude::behind(call, ruling),
        (Hook::PostToolUse, Some(ruling)) => codex::behind(ruling),
        (Hook::PermissionRequest, Some(ruling)) => permission(client, ruling),
        (Hook::SubagentStop, Some(ruling)) if !call.is_kept_going && ruling.is_stopped() => {
            HookReply::json(blocked(&ruling.message))
        }
        (Hook::UserPromptSubmit, Some(ruling)) => prompt(ruling),
        (Hook::SessionStart, Some(ruling)) if ruling.action != "forward" => {
            HookReply::json(specific("SessionStart", [("additionalContext", ruling.message.clone().into())]))
        }
        (Hook::SubagentStop | Hook::SessionStart | Hook::SessionEnd | Hook::Quiet, Some(_)) => HookReply::silence(),
    })
}

/// A call that waited for a person and has an answer was allowed: the client asked them.
fn settle(call: &HookCall, warden: &mut Warden, now: Time) -> Result<(), WardenError> {
    let Some(id) = call.event.as_ref().and_then(|event| event.id.clone()) else { return Ok(()) };
    if !warden.waits(&call.session, &id)? {
        return Ok(());
    }
    let mut approval = Event::new(Kind::Approval);
    approval.session = Some(call.session.clone());
    approval.id = Some(id);
    approval.more.insert("by", "the user");
    warden.decide(&approval, Some(now)).map(drop)
}

/// Before the model comes to rest: what it said last may be wrong, and it may still owe something. It is kept from
/// coming to rest once; then it is the person's turn.
fn at_rest(call: &HookCall, said: Option<&Ruling>, warden: &mut Warden, now: Time) -> Result<HookReply, WardenError> {
    let mut reasons: Vec<String> =
        said.filter(|said| said.is_stopped()).map(|it| it.message.clone()).into_iter().collect();
    let owed = warden.owed(&call.session)?;
    if !owed.is_empty() {
        reasons.push(debts(&owed));
    }
    if reasons.is_empty() {
        return Ok(HookReply::silence());
    }
    let reason = reasons.join("\n");
    if call.is_kept_going {
        return Ok(noted(&reason));
    }
    warden.refuse(&RefusedInput::new("hook.stop", call.input.to_string().as_bytes()), Some(now))?;
    Ok(HookReply::json(blocked(&reason)))
}

/// What is owed, in words.
fn debts(owed: &[Finding]) -> String {
    let mut lines = vec!["Something is still owed in this session:".to_owned()];
    for finding in owed {
        lines.push(format!("{}: {}", finding.property.id, finding.property.says.trim()));
        lines.extend(finding.owed.as_ref().map(|words| format!("- owed: {words}")));
        lines
            .extend(finding.property.remedy.as_ref().map(|remedy| format!("- what would be right: {}", remedy.trim())));
    }
    lines.join("\n")
}

/// What a person wrote. It cannot be changed, only kept from the model.
fn prompt(ruling: &Ruling) -> HookReply {
    match ruling.action.as_str() {
        "forward" => HookReply::silence(),
        "steer" => {
            HookReply::json(specific("UserPromptSubmit", [("additionalContext", ruling.message.clone().into())]))
        }
        _ => HookReply::json(blocked(&ruling.message)),
    }
}

/// The client wants to ask a person: it may, unless a property stands against it.
fn permission(client: HookClient, ruling: &Ruling) -> HookReply {
    match client {
        _ if !ruling.is_stopped() => HookReply::silence(),
        HookClient::Claude => claude::not_permitted(&ruling.message),
        HookClient::Codex => codex::not_permitted(&ruling.message),
    }
}

impl Ruling {
    /// What was decided; for a duplicate, what was decided before.
    fn of(answer: Answer) -> Ruling {
        let Decision { action, message, rewritten, .. } = &*answer.decision;
        let (action, rewritten) = (Text::new(action.name()), rewritten.as_deref().cloned());
        let arguments = rewritten.as_ref().and_then(|event| event.args.as_ref()?.value().cloned());
        let message = message.clone().filter(|text| !text.trim().is_empty());
        let message = message.unwrap_or_else(|| format!("The policy decided to {action} this step."));
        Ruling { action, message, arguments, rewritten }
    }

    fn is_stopped(&self) -> bool {
        !matches!(self.action.as_str(), "forward" | "steer" | "redact")
    }
}
