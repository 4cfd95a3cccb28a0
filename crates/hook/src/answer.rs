//! Decides on a hook call and answers it.

use lictor_event::{Event, Kind};
use lictor_judge::finding::Finding;
use lictor_judge::guidance::{Obligation, write_note};
use lictor_logic::Time;
use lictor_warden::{RefusedInput, Warden, WardenError};

use crate::call::HookCall;
use crate::client::{HookClient, HookOptions};
use crate::decision::HookDecision;
use crate::hook::Hook;
use crate::reply::{HookReply, block_members, hook_output, note_to_user};
use crate::{claude, codex};

/// Decides on a hook call and returns the reply to the client. The decision is recorded before this returns.
pub fn answer_call(
    client: HookClient,
    options: HookOptions,
    call: &HookCall,
    warden: &mut Warden,
    now: Time,
) -> Result<HookReply, WardenError> {
    if call.hook == Hook::PostToolUse {
        settle_approval(call, warden, now)?;
    }
    let before = warden.obligations(&call.session)?;
    let mut decision = match &call.event {
        Some(event) => {
            let capabilities = client.capabilities(call.hook, options);
            Some(HookDecision::from_answer(&warden.decide_within(capabilities, event, Some(now))?))
        }
        None => None,
    };
    if let Some(decision) = &mut decision {
        tell_owed(client, call, &before, decision, warden, now)?;
    }
    Ok(match (call.hook, &decision) {
        (Hook::Stop, _) => return answer_stop(call, decision.as_ref(), warden, now),
        (_, None) => HookReply::empty(),
        (Hook::PreToolUse, Some(decision)) if client == HookClient::Claude => claude::answer_before_call(decision),
        (Hook::PreToolUse, Some(decision)) => codex::answer_before_call(decision),
        (Hook::PostToolUse, Some(decision)) if client == HookClient::Claude => {
            claude::answer_after_call(call, decision)
        }
        (Hook::PostToolUse, Some(decision)) => codex::answer_after_call(decision),
        (Hook::PermissionRequest, Some(decision)) => answer_permission(client, decision),
        (Hook::SubagentStop, Some(decision)) if !call.is_kept_going && decision.is_stopped() => {
            HookReply::json(block_members(&decision.message))
        }
        (Hook::UserPromptSubmit, Some(decision)) => answer_prompt(decision),
        (Hook::SessionStart, Some(decision)) if decision.action != "forward" => {
            HookReply::json(hook_output("SessionStart", [("additionalContext", decision.message.clone().into())]))
        }
        (Hook::SubagentStop | Hook::SessionStart | Hook::SessionEnd | Hook::Quiet, Some(_)) => HookReply::empty(),
    })
}

/// Returns the reply when no decision could be made: a denial with the reason. Without a call even the kind of hook is
/// unknown.
pub fn answer_failure(client: HookClient, call: Option<&HookCall>, reason: &str) -> HookReply {
    let Some(call) = call else { return HookReply::stop(reason) };
    match (client, call.hook) {
        // A stop is allowed on failure, or the agent would loop forever.
        (_, Hook::Stop | Hook::SubagentStop | Hook::SessionStart | Hook::SessionEnd | Hook::Quiet) => {
            note_to_user(reason)
        }
        (_, Hook::UserPromptSubmit) => HookReply::json(block_members(reason)),
        (HookClient::Claude, Hook::PreToolUse) => claude::deny_call(reason),
        (HookClient::Codex, Hook::PreToolUse) => codex::deny_call(reason),
        (HookClient::Claude, Hook::PostToolUse) => claude::withhold_result(call, reason),
        (HookClient::Codex, Hook::PostToolUse) => HookReply::json(block_members(reason)),
        (HookClient::Claude, Hook::PermissionRequest) => claude::deny_permission(reason),
        (HookClient::Codex, Hook::PermissionRequest) => codex::deny_permission(reason),
    }
}

/// Records the approval of a call that waited for one: it has a result, so the user allowed it in the client.
fn settle_approval(call: &HookCall, warden: &mut Warden, now: Time) -> Result<(), WardenError> {
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

/// Adds the open obligations to what the model reads: all with a prompt of the user, and at a call those that it opened.
/// What a hook says stays in the conversation, so nothing is said twice between two prompts.
fn tell_owed(
    client: HookClient,
    call: &HookCall,
    before: &[Obligation],
    decision: &mut HookDecision,
    warden: &mut Warden,
    now: Time,
) -> Result<(), WardenError> {
    let can_tell = match call.hook {
        Hook::UserPromptSubmit | Hook::PostToolUse => true,
        // Codex takes context before a call for a failure.
        Hook::PreToolUse => client == HookClient::Claude,
        _ => false,
    };
    if !can_tell || !matches!(decision.action.as_str(), "forward" | "steer") {
        return Ok(());
    }
    let mut told = warden.obligations(&call.session)?;
    if call.hook != Hook::UserPromptSubmit {
        told.retain(|obligation| !obligation.is_among(before));
    }
    if let Some(note) = write_note(&told, &[]) {
        decision.advise(&note);
        warden.record_told(&told, now)?;
    }
    Ok(())
}

/// Answers a stop. The last message may violate a property, and the session may have open obligations: either keeps the
/// agent going once. The second stop is allowed, with a note to the user.
fn answer_stop(
    call: &HookCall,
    last_message: Option<&HookDecision>,
    warden: &mut Warden,
    now: Time,
) -> Result<HookReply, WardenError> {
    let mut reasons: Vec<String> =
        last_message.filter(|decision| decision.is_stopped()).map(|it| it.message.clone()).into_iter().collect();
    let owed = warden.owed(&call.session)?;
    if !owed.is_empty() {
        reasons.push(format_owed(&owed));
    }
    if reasons.is_empty() {
        return Ok(HookReply::empty());
    }
    let reason = reasons.join("\n");
    if call.is_kept_going {
        return Ok(note_to_user(&reason));
    }
    warden.refuse(&RefusedInput::new("hook.stop", call.input.to_string().as_bytes()), Some(now))?;
    Ok(HookReply::json(block_members(&reason)))
}

/// Returns the open obligations as text for the model.
fn format_owed(owed: &[Finding]) -> String {
    let mut lines = vec!["Do this before you stop:".to_owned()];
    for finding in owed {
        lines.push(format!("{}: {}", finding.property.id, finding.property.says.trim()));
        lines.extend(finding.owed.as_ref().map(|words| format!("- owed: {words}")));
        lines
            .extend(finding.property.remedy.as_ref().map(|remedy| format!("- what would be right: {}", remedy.trim())));
    }
    lines.join("\n")
}

/// Answers a prompt of the user. A prompt cannot be rewritten, only withheld from the model.
fn answer_prompt(decision: &HookDecision) -> HookReply {
    match decision.action.as_str() {
        "forward" => HookReply::empty(),
        "steer" => {
            HookReply::json(hook_output("UserPromptSubmit", [("additionalContext", decision.message.clone().into())]))
        }
        _ => HookReply::json(block_members(&decision.message)),
    }
}

/// Answers a permission request: the client may ask the user, unless a property denies the call.
fn answer_permission(client: HookClient, decision: &HookDecision) -> HookReply {
    match client {
        _ if !decision.is_stopped() => HookReply::empty(),
        HookClient::Claude => claude::deny_permission(&decision.message),
        HookClient::Codex => codex::deny_permission(&decision.message),
    }
}
