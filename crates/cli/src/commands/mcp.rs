//! `lictor mcp`: a proxy between a client and a server of the Model Context Protocol.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use lictor_mcp::{McpService, Relay, RelayOptions, serve};
use lictor_warden::Warden;
use tokio::net::TcpListener;

use crate::args::McpArgs;
use crate::complaint;
use crate::exit::Outcome;
use crate::policies;
use crate::wardens::{self, now};

/// Runs a server as a child process, or proxies one over HTTP.
pub(crate) fn run(args: &McpArgs) -> anyhow::Result<Outcome> {
    let session = args.session.clone().unwrap_or_else(|| format!("mcp-{:x}-{}", now().0, std::process::id()));
    let mut options = RelayOptions::new(name(args), session);
    options.methods = args.allow_method.clone();
    match &args.http {
        Some(upstream) => serve_http(upstream, args, options),
        None => run_server(args, options),
    }
}

/// Returns the name of the server: from the operator, or its file or host. The name that it claims is ignored.
fn name(args: &McpArgs) -> String {
    let file = || args.server.first().and_then(|file| Path::new(file).file_name()).map(|it| it.display().to_string());
    args.name.clone().or_else(|| args.http.clone()).or_else(file).unwrap_or_default()
}

fn open(args: &McpArgs) -> anyhow::Result<Warden> {
    let policy = policies::load(args.by.policy.as_deref(), &args.by.only)?;
    wardens::open(&args.warden, &policy, Duration::ZERO)
}

/// Runs a server as a child process, and exits with its exit code.
fn run_server(args: &McpArgs, options: RelayOptions) -> anyhow::Result<Outcome> {
    let mut warden = open(args)?;
    let mut relay = Relay::new(options);
    relay.approve(&mut warden, &args.approve, now())?;
    let (program, rest) = args.server.split_first().context("no server command given")?;
    let mut command = Command::new(program);
    command.args(rest);
    let status = lictor_mcp::run(command, relay, &mut warden, now, complaint::note);
    warden.close()?;
    let status = status.with_context(|| format!("cannot run `{program}`"))?;
    match status.code() {
        Some(0) => Ok(Outcome::Compliant),
        Some(code) => std::process::exit(code),
        None => anyhow::bail!("the server was killed by a signal"),
    }
}

/// Proxies a server over HTTP until the process ends.
fn serve_http(upstream: &str, args: &McpArgs, options: RelayOptions) -> anyhow::Result<Outcome> {
    let warden = open(args)?;
    let address = upstream.parse().with_context(|| format!("`{upstream}` is not an address"))?;
    let (hosts, approved) = (args.host.clone(), args.approve.clone());
    let service = McpService::new(address, options, hosts, approved, warden, now, complaint::note);
    let service = service.map_err(|reason| anyhow::anyhow!(reason))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(&args.listen).await;
        let listener = listener.with_context(|| format!("cannot listen at `{}`", args.listen))?;
        complaint::note(&format!("listening on http://{}, forwarding to {upstream}", listener.local_addr()?));
        tokio::select! {
            result = serve(Arc::new(service), listener) => result?,
            _ = tokio::signal::ctrl_c() => {}
        }
        anyhow::Ok(Outcome::Compliant)
    })
}
