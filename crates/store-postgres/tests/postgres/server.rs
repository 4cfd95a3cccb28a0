//! A PostgreSQL server in a temporary folder, reached through a Unix socket; stopped when this process ends.
//!
//! A shell starts the server and waits for the end of its input, which comes when this process ends, also by a kill.
//! Then it stops the server and removes the folder. PostgreSQL refuses to run as root, so root runs it as the user
//! `postgres` or `nobody`.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// The script of the shell. It turns syncs off: these tests are not about durability.
const SERVER_SCRIPT: &str = r#"
"$1/initdb" --pgdata=data --auth=trust --username=postgres --encoding=UTF8 --no-locale --no-sync >initdb.log 2>&1 || {
    cat initdb.log >&2
    exit 1
}
cat >>data/postgresql.conf <<END
listen_addresses = ''
unix_socket_directories = '$PWD'
fsync = off
max_connections = 50
END
if [ -n "$2" ]; then
    cat >>data/postgresql.conf <<END
listen_addresses = '127.0.0.1'
port = $2
ssl = on
ssl_cert_file = '$PWD/certificate.pem'
ssl_key_file = '$PWD/key.pem'
END
fi
"$1/pg_ctl" --pgdata=data --log=server.log --wait start >pg_ctl.log 2>&1 || {
    cat pg_ctl.log server.log >&2
    exit 1
}
echo ready
read -r _
"$1/pg_ctl" --pgdata=data --mode=immediate stop >pg_ctl.log 2>&1
rm -rf "$PWD"
"#;

/// A running server.
pub(crate) struct TestServer {
    folder: PathBuf,
    programs: PathBuf,
    user: Option<(u32, u32)>,
    shell: Child,
    /// The port on loopback, if there is one.
    port: String,
}

impl TestServer {
    /// Starts a server. Without PostgreSQL it prints why and returns none, but panics on a build server.
    pub(crate) fn start() -> Option<TestServer> {
        TestServer::start_with(None)
    }

    /// Starts a server that listens on loopback too, with this certificate and its private key in PEM.
    pub(crate) fn start_with_tls(certificate: &str, key: &str) -> Option<TestServer> {
        TestServer::start_with(Some((certificate, key)))
    }

    fn start_with(tls: Option<(&str, &str)>) -> Option<TestServer> {
        match TestServer::try_start(tls) {
            Ok(server) => Some(server),
            Err(reason) => {
                assert!(std::env::var_os("CI").is_none_or(|ci| ci != "true"), "no PostgreSQL to test with: {reason}");
                // Written directly, because the test harness would capture it.
                let message = format!("\nSKIPPED: a test of the store in PostgreSQL: {reason}\n");
                std::io::stderr().write_all(message.as_bytes()).unwrap();
                None
            }
        }
    }

    fn try_start(tls: Option<(&str, &str)>) -> Result<TestServer, String> {
        let programs =
            find_or_install_programs().ok_or("no `initdb` was found\nhint: install the package `postgresql`")?;
        let folder = TempDir::new().map_err(|error| error.to_string())?.keep();
        let user = match run_program("id", &["-u"]).as_deref() {
            Some("0") => {
                Some(find_unprivileged_user().ok_or("there is no user `postgres` or `nobody` to run PostgreSQL as")?)
            }
            _ => None,
        };
        if let Some((user, group)) = user {
            chown(&folder, Some(user), Some(group)).map_err(|error| error.to_string())?;
        }
        let mut port = String::new();
        if let Some((certificate, key)) = tls {
            port = write_certificate(&folder, user, certificate, key).map_err(|error| error.to_string())?.to_string();
        }
        let mut command = Command::new("sh");
        command.args(["-c", SERVER_SCRIPT, "sh"]).arg(&programs).arg(&port);
        as_user(&mut command, user, &folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = command.spawn().map_err(|error| error.to_string())?;
        let mut line = String::new();
        let output = shell.stdout.take().ok_or("the shell has no output")?;
        BufReader::new(output).read_line(&mut line).map_err(|error| error.to_string())?;
        match line.trim() {
            "ready" => Ok(TestServer { folder, programs, user, shell, port }),
            _ => Err("the server did not start; see its output above".into()),
        }
    }

    /// Returns the folder of the socket.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the port on loopback.
    pub(crate) fn port(&self) -> &str {
        &self.port
    }

    pub(crate) fn address(&self) -> String {
        format!("host={} user=postgres dbname=postgres", self.folder.display())
    }

    /// Stops the server as if it had crashed, and starts it again: every connection breaks at once.
    pub(crate) fn crash_and_restart(&self) {
        let mut command = Command::new(self.programs.join("pg_ctl"));
        command.args(["--pgdata=data", "--log=server.log", "--mode=immediate", "--wait", "restart"]);
        let status = as_user(&mut command, self.user, &self.folder).stdout(Stdio::null()).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _ = self.shell.wait();
    }
}

/// Writes the certificate and the key so that the server accepts them, and returns a free port.
fn write_certificate(folder: &Path, user: Option<(u32, u32)>, certificate: &str, key: &str) -> std::io::Result<u16> {
    for (name, text) in [("certificate.pem", certificate), ("key.pem", key)] {
        let path = folder.join(name);
        std::fs::write(&path, text)?;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
        if let Some((user, group)) = user {
            chown(&path, Some(user), Some(group))?;
        }
    }
    std::net::TcpListener::bind("127.0.0.1:0")?.local_addr().map(|address| address.port())
}

fn as_user<'a>(command: &'a mut Command, user: Option<(u32, u32)>, folder: &Path) -> &'a mut Command {
    if let Some((user, group)) = user {
        command.uid(user).gid(group);
    }
    command.current_dir(folder).env_remove("PGDATA").env_remove("PGPORT")
}

fn find_unprivileged_user() -> Option<(u32, u32)> {
    ["postgres", "nobody"].into_iter().find_map(|name| {
        let number = |flag| run_program("id", &[flag, name])?.parse().ok();
        Some((number("-u")?, number("-g")?))
    })
}

/// Returns the folder of the server programs, which distributions leave out of the search path.
fn find_or_install_programs() -> Option<PathBuf> {
    find_programs().or_else(|| {
        // On a build server the test may install packages.
        let is_ours = std::env::var_os("CI").is_some_and(|ci| ci == "true");
        is_ours.then(|| run_program("apt-get", &["install", "--yes", "postgresql"]))?;
        find_programs()
    })
}

fn find_programs() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    folders.extend(run_program("pg_config", &["--bindir"]).map(PathBuf::from));
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    folders.extend(versions.map(|version| version.path().join("bin")));
    // A link to `initdb` alone would not find its neighbors.
    let real = |folder: PathBuf| Some(folder.join("initdb").canonicalize().ok()?.parent()?.to_path_buf());
    folders.into_iter().filter_map(real).find(|folder| folder.join("pg_ctl").exists())
}

/// Returns the output of a program, if it succeeds.
fn run_program(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
}
