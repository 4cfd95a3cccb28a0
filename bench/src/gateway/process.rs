//! A measured process: its processor time and its memory, including those of its children.

use std::collections::HashMap;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// The timeouts for the start and the end of a process.
const BEGIN: Duration = Duration::from_secs(300);
const END: Duration = Duration::from_secs(10);

/// A process that listens on a port of this machine; it is stopped when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    pub(super) port: u16,
}

impl Process {
    /// Starts a process and waits until it listens.
    pub(super) fn start(mut command: Command, port: u16) -> Result<Process, String> {
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().map_err(|error| format!("cannot start {:?}: {error}", command.get_program()))?;
        let mut process = Process { child, port };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Ok(Some(status)) = process.child.try_wait() {
                return Err(format!("{:?} ended before it listened ({status})", command.get_program()));
            }
            if begun.elapsed() > BEGIN {
                return Err(format!("{:?} does not listen after {} s", command.get_program(), BEGIN.as_secs()));
            }
            sleep(Duration::from_millis(20));
        }
        Ok(process)
    }

    /// Returns the processor time so far in seconds.
    pub(super) fn cpu(&self) -> f64 {
        let ticks = rustix::param::clock_ticks_per_second().max(1) as f64;
        self.members().iter().map(|stat| stat.ticks as f64 / ticks).sum()
    }

    /// Returns the resident memory in bytes.
    pub(super) fn resident(&self) -> u64 {
        self.members().iter().map(|stat| stat.pages * rustix::param::page_size() as u64).sum()
    }

    /// Returns the process and its descendants.
    fn members(&self) -> Vec<Stat> {
        let all: HashMap<u32, Stat> = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|pid| Some((pid, Stat::of(pid)?)))
            .collect();
        let is_member = |mut pid: u32| {
            while let Some(stat) = all.get(&pid) {
                if pid == self.child.id() {
                    return true;
                }
                pid = stat.parent;
            }
            false
        };
        all.iter().filter(|(pid, _)| is_member(**pid)).map(|(_, stat)| *stat).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let group = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let kill = |signal: Signal| group.map(|group| kill_process_group(group, signal));
        let _ = kill(Signal::TERM);
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < END {
            sleep(Duration::from_millis(20));
        }
        // Also those whose parent has ended.
        let _ = kill(Signal::KILL);
        let _ = self.child.wait();
    }
}

/// The statistics of a process from the system.
#[derive(Clone, Copy, Debug)]
struct Stat {
    parent: u32,
    ticks: u64,
    pages: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Stat> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The program name may contain any character, but it ends with the last parenthesis.
        let (_, fields) = text.rsplit_once(')')?;
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let number = |place: usize| fields.get(place)?.parse::<u64>().ok();
        Some(Stat { parent: u32::try_from(number(1)?).ok()?, ticks: number(11)? + number(12)?, pages: number(21)? })
    }
}

/// Returns a free port.
pub(super) fn free_port() -> Result<u16, std::io::Error> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// Returns the load average of the last minute.
pub(super) fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}
