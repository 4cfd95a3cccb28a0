//! The command `lictor` as a function, for the binary and the Python package.
//!
//! A run reads the arguments, executes one command, and turns its outcome into an exit code. This crate decides
//! nothing: everything that a command prints was returned by a library. Data goes to standard output, messages to
//! standard error.

mod args;
mod commands;
mod complaint;
mod exit;
mod formulas;
mod judge;
mod labelers;
mod ledger_log;
mod log_faults;
mod log_sessions;
mod policies;
mod render;
mod subject_names;
mod trace;
mod wardens;

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};

use crate::args::{Command, LearnCommand};
use crate::exit::Outcome;
use crate::policies::UnusablePolicy;

pub use crate::ledger_log::{FoundLogs, find_logs};

/// Runs the command and returns its exit code. The first argument is the name of the program. Data goes to `out`,
/// messages to standard error.
pub fn main(arguments: impl IntoIterator<Item = OsString>, mut out: impl Write) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let args = match args::parse(arguments.iter().cloned()) {
        Ok(args) => args,
        Err(error) => {
            if let Some(list) = args::requested_list(&error) {
                return match writeln!(out, "{}", list.join("\n")) {
                    Ok(()) => Outcome::Compliant.code(),
                    Err(_) => Outcome::Unjudged.code(),
                };
            }
            // Clap returns help and version as errors as well; it prints each to the right stream.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(Outcome::Unjudged.code());
        }
    };
    let mut out = BufWriter::new(out);
    let result = run(&args.command, &arguments, &mut out).and_then(|outcome| {
        out.flush()?;
        Ok(outcome)
    });
    match result {
        Ok(outcome) => outcome.code(),
        // The reader closed the pipe: no error message, but no success either.
        Err(error) if is_broken_pipe(&error) => Outcome::Unjudged.code(),
        Err(error) => {
            // Output before the failure is still valid; an error while writing it cannot be reported anywhere.
            let _ = out.flush();
            // The problems of a policy begin with their level and code, and need no other head.
            match error.downcast_ref::<UnusablePolicy>() {
                Some(problems) => complaint::say(&problems.to_string()),
                None => complaint::error(&complaint::describe(&error)),
            }
            Outcome::Unjudged.code()
        }
    }
}

fn run(command: &Command, arguments: &[OsString], out: &mut dyn Write) -> anyhow::Result<Outcome> {
    match command {
        Command::Eval(args) => commands::eval::run(args, out),
        Command::Explain(args) => commands::explain::run(args, out),
        Command::Check(args) => commands::check::run(args, out),
        Command::Patterns(args) => commands::patterns::run(args, out),
        Command::Audit(args) => commands::audit::run(args, arguments, out),
        Command::Label(args) => commands::label::run(args, out),
        Command::Guard(args) => commands::guard::run(args, out),
        Command::Serve(args) => commands::serve::run(args),
        Command::Approvals(args) => commands::serve::approvals(args, out),
        Command::Hook(args) => commands::hook::run(args, out),
        Command::Mcp(args) => commands::mcp::run(args),
        Command::Diff(args) => commands::diff::run(args, out),
        Command::Test(args) => commands::test::run(args, out),
        Command::Packs(args) => commands::packs::run(args, out),
        Command::Export(args) => commands::export::run(args, out),
        Command::Import(args) => commands::import::run(args, out),
        Command::Learn(args) => match &args.command {
            LearnCommand::Labels(args) => commands::learn_labels::run(args, out),
            LearnCommand::Chain(args) => commands::learn_chain::run(args, out),
            LearnCommand::Calibration(args) => commands::learn_calibration::run(args, out),
        },
        Command::Predict(args) => commands::predict::run(args, out),
        Command::Schema(args) => commands::schema::run(args, out),
        Command::Inspect(args) => commands::inspect::run(args, out),
        Command::Init(args) => commands::init::run(args, out),
        Command::Demo(args) => commands::demo::run(args, out),
        Command::Verify(args) => commands::verify::run(args, out),
        Command::Log(args) => commands::log::run(args, out),
        Command::Erase(args) => commands::erase::run(args, out),
        Command::Replay(args) => commands::replay::run(args, out),
    }
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
