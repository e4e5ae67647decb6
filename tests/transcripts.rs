//! Every transcript under `tests/acp_transcripts/` is a test of its own (docs/testing.md).

mod support;

use std::fmt;
use std::path::Path;

/// What does not hold, shown as it is rather than quoted.
struct Broken(String);

fn transcript(path: &Path, bytes: Vec<u8>) -> datatest_stable::Result<()> {
    let transcript = support::transcript::Transcript::parse(&bytes).map_err(Broken)?;
    let seed = bytes.iter().fold(path.as_os_str().len() as u64, |seed, &byte| {
        seed.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    let left = support::variations::hold(&transcript, seed).map_err(Broken)?;
    golden(path, &left);
    Ok(())
}

/// Compares what a transcript leaves behind with the snapshot beside it.
fn golden(path: &Path, left: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(Path::new(env!("CARGO_MANIFEST_DIR")).join(path).with_file_name(""));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    settings.bind(|| insta::assert_snapshot!(name.as_ref(), left));
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

fn through_real_pipes(_: &Path, bytes: Vec<u8>) -> datatest_stable::Result<()> {
    let transcript = support::transcript::Transcript::parse(&bytes).map_err(Broken)?;
    support::real::hold(&transcript).map_err(Broken)?;
    Ok(())
}

/// A pattern of the transcripts that are tagged `also processes`.
fn tagged() -> String {
    format!("^({})$", support::real::tagged("also processes").join("|"))
}

datatest_stable::harness! {
    { test = transcript, root = "tests/acp_transcripts", pattern = r"\.acp$" },
    { test = through_real_pipes, root = "tests/acp_transcripts", pattern = tagged() },
}
