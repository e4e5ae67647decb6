//! Where configuration and state live. The environment is handed in, so that nothing here depends on the machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Looks a variable of the environment up.
pub type Env<'e> = &'e dyn Fn(&str) -> Option<OsString>;

/// Finds the state directory: the flag, `HUNKGATE_STATE_DIR`, `$XDG_STATE_HOME/hunkgate`, `~/.local/state/hunkgate`.
///
/// `None` where none of them is given: the proxy then forwards and records nothing. A relative flag or variable of ours is taken
/// from `cwd`; a relative XDG variable is ignored, as its specification says.
pub fn state_dir(flag: Option<&Path>, env: Env<'_>, cwd: &Path) -> Option<PathBuf> {
    let given = flag.map(Path::to_path_buf).or_else(|| variable(env, "HUNKGATE_STATE_DIR"));
    given
        .map(|path| cwd.join(path))
        .or_else(|| Some(base(env, "XDG_STATE_HOME", ".local/state")?.join("hunkgate")))
}

/// Finds the user's configuration file: `$XDG_CONFIG_HOME/hunkgate/config.toml`, `~/.config/hunkgate/config.toml`.
pub fn config_file(env: Env<'_>) -> Option<PathBuf> {
    Some(base(env, "XDG_CONFIG_HOME", ".config")?.join("hunkgate/config.toml"))
}

/// The name of a repository's own file.
pub const PROJECT_FILE: &str = ".hunkgate.toml";

fn base(env: Env<'_>, xdg: &str, beneath_home: &str) -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let home = || variable(env, "HOME").filter(absolute).map(|home| home.join(beneath_home));
    variable(env, xdg).filter(absolute).or_else(home)
}

fn variable(env: Env<'_>, name: &str) -> Option<PathBuf> {
    env(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(flag: Option<&str>, vars: &[(&str, &str)]) -> Option<PathBuf> {
        let env =
            |name: &str| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        state_dir(flag.map(Path::new), &env, Path::new("/here"))
    }

    #[test]
    fn the_flag_beats_our_variable_beats_xdg_beats_home() {
        let all = [("HUNKGATE_STATE_DIR", "/v"), ("XDG_STATE_HOME", "/x"), ("HOME", "/h")];
        assert_eq!(found(Some("f"), &all), Some("/here/f".into()));
        assert_eq!(found(None, &all), Some("/v".into()));
        assert_eq!(found(None, &all[1..]), Some("/x/hunkgate".into()));
        assert_eq!(found(None, &all[2..]), Some("/h/.local/state/hunkgate".into()));
    }

    #[test]
    fn without_any_of_them_there_is_no_state_directory() {
        assert_eq!(found(None, &[]), None);
        assert_eq!(found(None, &[("HOME", ""), ("XDG_STATE_HOME", "relative")]), None);
    }
}
