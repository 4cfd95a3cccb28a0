//! `lictor serve` runs the gateway; `lictor approvals` answers pending approvals.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use lictor::json::Json;
use lictor::policy::{Mode, Policy, PredictSettings, Response};
use lictor_gateway::{Config, GatewayParts, Journal, KeyHash, PolicySource, Uri};
use lictor_logic::Span;

use crate::args::{ApprovalsArgs, CONTROL_KEY_VARIABLE, ServeArgs, find_unknown_variables};
use crate::complaint;
use crate::exit::Outcome;
use crate::{policies, wardens};

/// The shortest control key; shorter ones could be guessed.
const MIN_CONTROL_KEY_CHARACTERS: usize = 16;

/// The timeout of sessions that are only in memory, so that they do not fill it. A conversation that continues after
/// that is judged again from its history.
const IDLE_IN_MEMORY: Span = Span(6 * 3_600_000_000_000);

/// Runs the gateway until it gets a signal to stop.
pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<Outcome> {
    let policy = policies::load(args.policy.as_deref(), &[])?;
    let config = config(args)?;
    let watched = if args.watch { files(&policy) } else { Vec::new() };
    comment_on_config(&config, &policy);
    let variables = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in find_unknown_variables("serve", variables) {
        complaint::warn(&format!("{name} is no option of lictor serve and has no effect"));
    }
    let (store, ledger) = wardens::open_stores(&args.warden, Duration::ZERO)?;
    if ledger.is_none() {
        complaint::warn("no --log: decisions are not recorded; use this for trials only");
    }
    let mut warden = wardens::options(&args.warden, &policy);
    if args.warden.state.is_none() && warden.idle.is_none() {
        warden.idle = Some(IDLE_IN_MEMORY);
        complaint::note(&format!(
            "no --state: sessions are in memory, at most {} of them, and end after 6 hours without a request (--idle)",
            config.limits.sessions
        ));
    }
    let mut parts = GatewayParts::new(policy, store);
    parts.ledger = ledger;
    parts.guard = wardens::guard_options(&args.warden);
    parts.warden = warden;
    let (asked, begun_with) = (args.policy.clone(), section(args.policy.as_deref())?);
    let source: PolicySource = Box::new(move || {
        let policy = policies::load(asked.as_deref(), &[]).map_err(|error| format!("{error:#}"))?;
        match section(asked.as_deref()) {
            Ok(section) if section == begun_with => Ok(policy),
            Ok(_) => Err(format!(
                "the section `gateway` of {} has changed, and that needs a restart\nhint: restart the gateway, or put the \
                 section back and load the policy again",
                file(asked.as_deref())
            )),
            Err(error) => Err(format!("{error:#}")),
        }
    });
    if config.shadow {
        complaint::warn("shadow mode: everything is judged and recorded, and nothing is stopped");
    }
    let journal = if args.quiet { Journal::silent() } else { Journal::new(std::io::stderr()) };
    let upstream = config.upstream.to_string();
    let listening = |address| complaint::note(&format!("listening on {address}, forwarding to {upstream}"));
    lictor_gateway::serve(config, parts, Some(source), watched, journal, listening)?;
    Ok(Outcome::Compliant)
}

/// Prints notes and warnings about settings that are likely mistakes.
fn comment_on_config(config: &Config, policy: &Policy) {
    for upstream in [Some(&config.upstream), config.messages_upstream.as_ref()].into_iter().flatten() {
        if upstream.path().trim_end_matches('/').ends_with("/v1") {
            complaint::note(&format!(
                "the upstream {upstream} ends in /v1: for requests whose path begins with /v1, it is not added again"
            ));
        }
    }
    let mut enforced = policy.properties.iter().filter(|property| property.mode == Mode::Enforce);
    let asking = enforced.find(|property| property.respond == Response::Ask);
    let foreseeing = policy.predict.as_ref().filter(|predict| predict.call_response() == Some(Response::Ask));
    let asking = asking
        .map(|property| format!("the property {}", property.id))
        .or_else(|| foreseeing.map(|_| "the section `predict`".to_owned()));
    if let Some(asking) = asking.filter(|_| config.control_keys.is_empty()) {
        complaint::warn(&format!(
            "{asking} asks a person, but no person can answer: the gateway has no control key\nhint: set \
             {CONTROL_KEY_VARIABLE}, or `control_keys` in the section `gateway`"
        ));
    }
}

/// Returns the file with the section `gateway`.
fn file(policy: Option<&str>) -> &str {
    policy.unwrap_or("lictor.yaml")
}

/// Reads the section `gateway` of the policy file, if there is one.
fn section(policy: Option<&str>) -> anyhow::Result<Option<Json>> {
    let path = Path::new(file(policy));
    if !path.is_file() {
        return Ok(None);
    }
    Policy::read_section(path, "gateway").map_err(|problems| anyhow!("{problems}"))
}

/// Returns the errors in the section `gateway` of a policy file.
pub(crate) fn mistakes(policy: &str) -> anyhow::Result<Vec<String>> {
    let Some(section) = section(Some(policy))? else { return Ok(Vec::new()) };
    let taken = Config::new(Uri::default()).take_over(&section);
    Ok(taken.err().unwrap_or_default().into_iter().map(|mistake| format!("{policy}: {mistake}")).collect())
}

/// Returns the configuration: the section of the policy file, overridden by the arguments.
fn config(args: &ServeArgs) -> anyhow::Result<Config> {
    let none = Uri::default();
    let mut config = Config::new(none.clone());
    let file = file(args.policy.as_deref());
    if let Some(section) = section(args.policy.as_deref())? {
        config.take_over(&section).map_err(|mistakes| anyhow!("{file}: {}", mistakes.join(&format!("\n{file}: "))))?;
    }
    if let Some(upstream) = &args.upstream {
        config.upstream = address("upstream", upstream)?;
    }
    if config.upstream == none {
        bail!(
            "where is the model?\nhint: give --upstream https://api.openai.com, or `gateway: {{upstream: …}}` in {file}"
        );
    }
    config.messages_upstream = match &args.messages_upstream {
        Some(upstream) => Some(address("messages-upstream", upstream)?),
        None => config.messages_upstream,
    };
    config.collector = match &args.collector {
        Some(collector) => Some(address("collector", collector)?),
        None => config.collector,
    };
    if let (Some(certificate), Some(key)) = (&args.certificate, &args.private_key) {
        config.tls = Some((certificate.clone(), key.clone()));
    }
    config.listen = args.listen.unwrap_or(config.listen);
    config.upstream_ca = args.upstream_ca.clone().or(config.upstream_ca);
    config.shadow |= args.shadow;
    if let Some(path) = args.forward.iter().find(|path| !path.starts_with('/')) {
        bail!("--forward {path}: a path starts with `/`\nhint: write it like `/v1/files*`, here or in LICTOR_FORWARD");
    }
    config.forward.extend(args.forward.iter().cloned());
    if let Some(seconds) = args.approval_wait {
        config.limits.approval = Duration::from_secs(seconds);
    }
    // An empty variable counts as unset. Files of secrets end with a line end.
    let key = std::env::var(CONTROL_KEY_VARIABLE).ok().map(|key| key.trim().to_owned());
    if let Some(key) = key.filter(|key| !key.is_empty()) {
        if key.len() < MIN_CONTROL_KEY_CHARACTERS {
            bail!(
                "{CONTROL_KEY_VARIABLE} has fewer than {MIN_CONTROL_KEY_CHARACTERS} characters\nhint: make one with `openssl rand -hex 32`"
            );
        }
        config.control_keys.push(KeyHash::of(&key));
    }
    private(&config)?;
    Ok(config)
}

/// Returns an error if other users can read the private key.
#[cfg(unix)]
fn private(config: &Config) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let Some((_, key)) = &config.tls else { return Ok(()) };
    let shown = key.display();
    let mode = std::fs::metadata(key).with_context(|| format!("{shown}: cannot be read"))?.permissions().mode();
    if mode & 0o007 != 0 {
        bail!("{shown}: the private key is readable by other users\nhint: chmod 600 {shown}");
    }
    Ok(())
}

#[cfg(not(unix))]
fn private(_: &Config) -> anyhow::Result<()> {
    Ok(())
}

/// Reads the URL of an option, which may come from its variable.
fn address(option: &str, text: &str) -> anyhow::Result<Uri> {
    let is_whole = |uri: &Uri| {
        let authority = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        authority && matches!(uri.scheme_str(), Some("http" | "https"))
    };
    text.parse::<Uri>().ok().filter(is_whole).with_context(|| {
        let variable = option.to_uppercase().replace('-', "_");
        format!("`{text}` is not a URL like https://api.openai.com\nhint: it is the value of --{option} or LICTOR_{variable}")
    })
}

/// Returns the files of a policy.
fn files(policy: &Policy) -> Vec<PathBuf> {
    let sources = policy.sources.iter().map(|source| PathBuf::from(&*source.file));
    let chain = policy.predict.as_ref().and_then(PredictSettings::chain_path);
    sources.chain(chain).filter(|path| path.is_file()).collect()
}

/// Lists the pending approvals, or answers one.
pub(crate) fn approvals(args: &ApprovalsArgs, out: &mut dyn Write) -> anyhow::Result<Outcome> {
    let key = std::env::var(CONTROL_KEY_VARIABLE).ok().filter(|key| !key.is_empty());
    let key = key.with_context(|| format!("the control key is read from {CONTROL_KEY_VARIABLE}, which is not set"))?;
    let by = args.by.as_deref().unwrap_or_default();
    let answer = match (&args.allow, &args.deny) {
        (Some(id), _) => Some((id.as_str(), true, by)),
        (None, Some(id)) => Some((id.as_str(), false, by)),
        (None, None) => None,
    };
    let said = lictor_gateway::approvals(&address("gateway", &args.gateway)?, &key, answer)?;
    writeln!(out, "{said}")?;
    Ok(Outcome::Compliant)
}
