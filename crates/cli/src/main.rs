//! The binary `lictor`.

use std::process::ExitCode;

/// An audit is little else than small texts that one thread makes and another gives back.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(lictor_cli::main(std::env::args_os(), std::io::stdout().lock()))
}
