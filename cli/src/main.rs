//! The program `ringside`; everything it does is in the library beside it.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(std::env::args_os())
}
