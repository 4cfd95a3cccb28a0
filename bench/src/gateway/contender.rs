//! The contenders: no proxy, a plain proxy, nginx, LiteLLM's proxy, and the gateway in several configurations.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::process::{Process, free_port};

/// The measured release, with the dependencies that its package names.
const LITELLM: &str = "litellm[proxy]==1.106.2";

/// The API key of clients; LiteLLM's proxy is configured with it.
pub(super) const KEY: &str = "sk-0c9f5d1e7a3b48269f04d8e6c2b1a7f35e90d4c8b6a217f3";

/// The variable with the path of the release build of `lictor`; `cargo xtask bench gateway` sets it.
const COMMAND: &str = "LICTOR_COMMAND";

/// A process that answers requests.
#[derive(Debug)]
pub(super) struct Contender {
    pub(super) name: &'static str,
    pub(super) process: Process,
}

/// A configuration of the gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeps {
    /// Sessions in memory, and no ledger: only deciding is measured.
    Nothing,
    /// Sessions in memory, and a ledger.
    Records,
    /// Sessions in a folder, and a ledger: the recommended configuration.
    Everything,
}

const UPSTREAM: &str = "no proxy";
pub(super) const PLAIN: &str = "plain proxy on hyper";
pub(super) const NGINX: &str = "nginx";
pub(super) const LITELLM_PROXY: &str = "LiteLLM's proxy";

impl Keeps {
    pub(super) const ALL: [Keeps; 3] = [Keeps::Nothing, Keeps::Records, Keeps::Everything];

    pub(super) fn name(self) -> &'static str {
        match self {
            Keeps::Nothing => "Lictor, gdpr, nothing kept",
            Keeps::Records => "Lictor, gdpr, ledger",
            Keeps::Everything => "Lictor, gdpr, ledger and sessions on disk",
        }
    }
}

/// Starts the model's server.
pub(super) fn upstream() -> Result<Contender, Box<dyn Error>> {
    let port = free_port()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["gateway-upstream", &port.to_string()]);
    Ok(Contender { name: UPSTREAM, process: Process::start(command, port)? })
}

/// Starts a proxy that only forwards.
pub(super) fn plain(upstream: u16) -> Result<Contender, Box<dyn Error>> {
    let port = free_port()?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["gateway-plain", &port.to_string(), &upstream.to_string()]);
    Ok(Contender { name: PLAIN, process: Process::start(command, port)? })
}

/// Starts the gateway with its files in a separate folder.
pub(super) fn lictor(upstream: u16, folder: &Path, keeps: Keeps) -> Result<Contender, Box<dyn Error>> {
    let Some(binary) = std::env::var_os(COMMAND) else {
        return Err(format!("{COMMAND} does not say where `lictor` is\nhint: run `cargo xtask bench gateway`").into());
    };
    let port = free_port()?;
    let mut command = Command::new(binary);
    command.args(["serve", "--quiet", "--policy", "gdpr", "--upstream", &format!("http://127.0.0.1:{upstream}")]);
    command.args(["--listen", &format!("127.0.0.1:{port}")]);
    if keeps == Keeps::Everything {
        command.arg("--state").arg(folder.join("sessions"));
    }
    if keeps != Keeps::Nothing {
        command.arg("--log").arg(folder.join("ledger"));
    }
    command.current_dir(folder).stderr(Stdio::null());
    Ok(Contender { name: keeps.name(), process: Process::start(command, port)? })
}

/// Starts nginx, with a worker for each core and keep-alive connections to the upstream.
pub(super) fn nginx(upstream: u16, folder: &Path) -> Result<Contender, Box<dyn Error>> {
    let port = free_port()?;
    let config = format!(
        "daemon off;\nworker_processes auto;\npid nginx.pid;\nerror_log stderr error;\n\
         events {{ worker_connections 4096; }}\n\
         http {{\n  access_log off;\n  keepalive_requests 100000000;\n\
         upstream model {{ server 127.0.0.1:{upstream}; keepalive 256; keepalive_requests 100000000; }}\n\
         server {{\n    listen 127.0.0.1:{port};\n    location / {{\n      proxy_pass http://model;\n\
         proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n    }}\n  }}\n}}\n"
    );
    std::fs::write(folder.join("nginx.conf"), config)?;
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder).args(["-e", "stderr", "-c", "nginx.conf"]);
    Ok(Contender { name: NGINX, process: Process::start(command, port)? })
}

/// Starts LiteLLM's proxy, with a worker for each core, in a Python environment that is created if it is missing.
pub(super) fn litellm(upstream: u16, folder: &Path) -> Result<Contender, Box<dyn Error>> {
    let binary = environment()?.join("bin/litellm");
    let port = free_port()?;
    let config = format!(
        "model_list:\n  - model_name: m\n    litellm_params:\n      model: openai/m\n      api_key: sk-bench\n      \
         api_base: http://127.0.0.1:{upstream}/v1\n"
    );
    std::fs::write(folder.join("litellm.yaml"), config)?;
    let workers = std::thread::available_parallelism().map_or(1, usize::from).to_string();
    let mut command = Command::new(binary);
    command.args(["--config", "litellm.yaml", "--host", "127.0.0.1", "--port", &port.to_string()]);
    command.args(["--num_workers", &workers, "--telemetry", "False"]);
    command.current_dir(folder).env("LITELLM_LOG", "ERROR").env("LITELLM_MASTER_KEY", KEY).stderr(Stdio::null());
    Ok(Contender { name: LITELLM_PROXY, process: Process::start(command, port)? })
}

/// Returns the environment of LiteLLM: next to the binary of the benchmarks, so that it is installed once.
fn environment() -> Result<PathBuf, Box<dyn Error>> {
    let this = std::env::current_exe()?;
    let target = this.ancestors().nth(2).ok_or("this program lies nowhere")?;
    let folder = target.join("litellm");
    if folder.join("bin/litellm").exists() {
        return Ok(folder);
    }
    eprintln!("installing {LITELLM} into {}, some minutes", folder.display());
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", LITELLM]))?;
    Ok(folder)
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.status().map_err(|error| format!("cannot start {command:?}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed ({status})").into()) }
}
