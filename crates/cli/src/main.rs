//! The binary `lictor`.

use std::process::ExitCode;

/// An audit allocates small strings on one thread and frees them on another, which this allocator does well.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(lictor_cli::main(std::env::args_os(), std::io::stdout().lock()))
}
