//! The arguments of `lictor serve` and `lictor approvals`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::WardenArgs;

#[derive(Args, Debug)]
#[command(after_help = SERVE_EXAMPLES)]
pub(crate) struct ServeArgs {
    /// The policy: a file, or names of packs with commas between them; without it lictor.yaml, if there is one here. A
    /// file may have a section `gateway:`; arguments count before it
    #[arg(short, long, value_name = "FILE|PACKS")]
    pub(crate) policy: Option<String>,

    /// The address of the model, such as `https://api.openai.com`
    #[arg(short, long, value_name = "URL")]
    pub(crate) upstream: Option<String>,

    /// The address for Anthropic Messages, where it is another
    #[arg(long, value_name = "URL")]
    pub(crate) messages_upstream: Option<String>,

    /// Certificates in PEM that the upstream may be known by, instead of those of the system
    #[arg(long, value_name = "FILE")]
    pub(crate) upstream_ca: Option<PathBuf>,

    /// Where to listen
    #[arg(short, long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,

    /// Speak TLS to clients, with this certificate in PEM
    #[arg(long, value_name = "FILE", requires = "private_key")]
    pub(crate) certificate: Option<PathBuf>,

    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) private_key: Option<PathBuf>,

    /// Stop nothing: judge and write down, and let everything go on as it came
    #[arg(long)]
    pub(crate) shadow: bool,

    /// Forward this path unjudged; `*` stands for any characters
    #[arg(long, value_name = "PATH")]
    pub(crate) forward: Vec<String>,

    /// How many seconds a call that waits for a person keeps its exchange open, before the model is told to wait
    #[arg(long, value_name = "SECONDS")]
    pub(crate) approval_wait: Option<u64>,

    /// Send spans to this OpenTelemetry collector (OTLP, JSON over HTTP)
    #[arg(long, value_name = "URL")]
    pub(crate) collector: Option<String>,

    /// Load the policy again when its files change; SIGHUP does so in any case
    #[arg(long)]
    pub(crate) watch: bool,

    /// Write no log of operation to standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) warden: WardenArgs,
}

const SERVE_EXAMPLES: &str = "\
Examples:
  lictor serve --policy shop.yaml --upstream https://api.openai.com --state gateway-state --log audit-log
  OPENAI_BASE_URL=http://127.0.0.1:8787/v1 my-agent
  ANTHROPIC_BASE_URL=http://127.0.0.1:8787 my-agent

The key of the endpoints under /lictor/ is read from LICTOR_CONTROL_KEY; without it, or a hash of it in the section
gateway:, those that change anything are closed.";

#[derive(Args, Debug)]
#[command(after_help = APPROVALS_EXAMPLES)]
pub(crate) struct ApprovalsArgs {
    /// The gateway
    #[arg(short, long, value_name = "URL", default_value = "http://127.0.0.1:8787")]
    pub(crate) gateway: String,

    /// Allow what waits under this id
    #[arg(long, value_name = "ID", conflicts_with = "deny", requires = "by")]
    pub(crate) allow: Option<String>,

    /// Deny what waits under this id
    #[arg(long, value_name = "ID", requires = "by")]
    pub(crate) deny: Option<String>,

    /// Who answers, for the record
    #[arg(long, value_name = "NAME")]
    pub(crate) by: Option<String>,
}

const APPROVALS_EXAMPLES: &str = "\
Examples:
  lictor approvals
  lictor approvals --allow 5f0c… --by ann

The control key of the gateway is read from LICTOR_CONTROL_KEY.";
