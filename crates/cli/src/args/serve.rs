//! The arguments of `lictor serve` and `lictor approvals`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

use super::WardenArgs;

#[derive(Args, Debug)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    /// Policy file, or comma-separated pack names; default: ./lictor.yaml, else the pack agent-safety
    ///
    /// The file may have a section `gateway:`; command-line arguments override it.
    #[arg(short, long, value_name = "FILE|PACKS", env = "LICTOR_POLICY", hide_env_values = true)]
    pub(crate) policy: Option<String>,

    /// URL of the model's API, such as `https://api.openai.com`
    #[arg(short, long, value_name = "URL", env = "LICTOR_UPSTREAM", hide_env_values = true)]
    pub(crate) upstream: Option<String>,

    /// URL of the API for Anthropic Messages, if it differs
    #[arg(long, value_name = "URL", env = "LICTOR_MESSAGES_UPSTREAM", hide_env_values = true)]
    pub(crate) messages_upstream: Option<String>,

    /// CA certificates (PEM) to trust for the upstream, instead of those of the system
    #[arg(long, value_name = "FILE", env = "LICTOR_UPSTREAM_CA", hide_env_values = true)]
    pub(crate) upstream_ca: Option<PathBuf>,

    /// Address to listen on; default: 127.0.0.1:8787
    #[arg(short, long, value_name = "ADDRESS:PORT", env = "LICTOR_LISTEN", hide_env_values = true)]
    pub(crate) listen: Option<SocketAddr>,

    /// TLS certificate for clients (PEM)
    #[arg(long, value_name = "FILE", requires = "private_key", env = "LICTOR_CERTIFICATE", hide_env_values = true)]
    pub(crate) certificate: Option<PathBuf>,

    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "certificate", env = "LICTOR_PRIVATE_KEY", hide_env_values = true)]
    pub(crate) private_key: Option<PathBuf>,

    /// Observe only: judge and record everything, and forward it unchanged
    #[arg(long, env = "LICTOR_SHADOW", hide_env_values = true, value_parser = BoolishValueParser::new())]
    pub(crate) shadow: bool,

    /// Forward this path unjudged; `*` matches any characters
    #[arg(long, value_name = "PATH", env = "LICTOR_FORWARD", hide_env_values = true, value_delimiter = ',')]
    pub(crate) forward: Vec<String>,

    /// Keep a request open for this many seconds while a call waits for approval; default: answer the model at once
    #[arg(long, value_name = "SECONDS", env = "LICTOR_APPROVAL_WAIT", hide_env_values = true)]
    pub(crate) approval_wait: Option<u64>,

    /// Send spans to this OpenTelemetry collector (OTLP, JSON over HTTP)
    #[arg(long, value_name = "URL", env = "LICTOR_COLLECTOR", hide_env_values = true)]
    pub(crate) collector: Option<String>,

    /// Reload the policy when its files change; SIGHUP reloads it in any case
    #[arg(long, env = "LICTOR_WATCH", hide_env_values = true, value_parser = BoolishValueParser::new())]
    pub(crate) watch: bool,

    /// Do not write the operation log to standard error
    #[arg(short, long, env = "LICTOR_QUIET", hide_env_values = true, value_parser = BoolishValueParser::new())]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) warden: WardenArgs,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  lictor serve --policy shop.yaml --upstream https://api.openai.com --state gateway-state --log audit-log
  OPENAI_BASE_URL=http://127.0.0.1:8787/v1 my-agent
  ANTHROPIC_BASE_URL=http://127.0.0.1:8787 my-agent

Each option can be set by the environment variable that is named with it; the command line wins. Flags take true or false.

LICTOR_CONTROL_KEY holds the key for the endpoints under /lictor/. Without it, and without control_keys in the section
gateway:, all of them but health, ready and metrics are closed.";

#[derive(Args, Debug)]
#[command(after_help = APPROVALS_EXAMPLES)]
pub(crate) struct ApprovalsArgs {
    /// URL of the gateway
    #[arg(
        short,
        long,
        value_name = "URL",
        default_value = "http://127.0.0.1:8787",
        env = "LICTOR_GATEWAY",
        hide_env_values = true
    )]
    pub(crate) gateway: String,

    /// Approve the step that is pending under this id
    #[arg(long, value_name = "ID", conflicts_with = "deny", requires = "by")]
    pub(crate) allow: Option<String>,

    /// Deny the step that is pending under this id
    #[arg(long, value_name = "ID", requires = "by")]
    pub(crate) deny: Option<String>,

    /// Name of the person who answers, for the record
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

const APPROVALS_EXAMPLES: &str = "\
Examples:
  lictor approvals
  lictor approvals --allow 5f0c… --by ann

LICTOR_CONTROL_KEY holds the control key of the gateway.";
