//! Shell completions and manual pages, from the one definition of the command line.

use super::cli::command;
use clap_complete::Shell;
use std::io::{self, Write};
use std::path::Path;

/// Writes what a shell completes.
pub fn completions(shell: Shell, out: &mut dyn Write) {
    clap_complete::generate(shell, &mut command(), "hunkgate", out);
}

/// Writes one page for each command into a directory, or the first one to `out`.
pub fn manual(directory: Option<&Path>, out: &mut dyn Write) -> io::Result<()> {
    match directory {
        Some(directory) => clap_mangen::generate_to(command(), directory),
        None => clap_mangen::Man::new(command()).render(out),
    }
}
