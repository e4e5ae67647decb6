//! The demo, as the front page promises it.

use std::process::Command;

#[test]
fn the_demo_shows_a_turn_and_leaves_nothing_behind() {
    let scratch = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_hunkgate"));
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let output = command.env("TMPDIR", scratch.path()).arg("demo").output().unwrap();
    let (shown, trouble) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{shown}\n{trouble}");
    for promised in ["call_2", "external", "The rejected line is back", "Beside your words I was told:"] {
        assert!(shown.contains(promised), "{promised} is missing:\n{shown}");
    }
    assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "something was left behind");
}
