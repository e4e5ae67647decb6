//! The file of standing permissions that outlive a session: read by everybody, appended to under its lock.

use crate::base::WallNs;
use crate::ledger::{GrantBook, GrantEvent, GrantLine};
use crate::store::state::open_private;
use crate::store::{StateDir, StoreError};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;

/// The file of standing permissions.
#[derive(Clone, Debug)]
pub struct GrantFile {
    path: PathBuf,
}

impl GrantFile {
    /// Returns that of a state directory.
    pub fn of(state: &StateDir) -> Self {
        Self { path: state.path().join("grants.jsonl") }
    }

    /// Reads what stands there, without a lock: a line that is not whole is one that nobody was told of.
    pub fn read(&self) -> Result<GrantBook, StoreError> {
        let mut bytes = Vec::new();
        match File::open(&self.path) {
            Ok(mut file) => file.read_to_end(&mut bytes).map_err(|error| self.failed("read", error))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(error) => return Err(self.failed("read", error)),
        };
        Ok(book(whole(&bytes)))
    }

    /// Appends what `choose` makes of the file as it stands, synced; nothing where it says so.
    ///
    /// A last line that is not whole is kept aside first, and that is recorded.
    pub fn append(
        &self,
        at: WallNs,
        choose: impl FnOnce(&GrantBook) -> Result<Option<GrantEvent>, String>,
    ) -> Result<(), StoreError> {
        let mut file = open_private(&self.path)?;
        file.lock().map_err(|error| self.failed("lock", error))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(|error| self.failed("read", error))?;
        let kept = whole(&bytes);
        let chosen = choose(&book(kept)).map_err(|why| StoreError::said("use", &self.path, why))?;
        let torn = &bytes[kept.len()..];
        let mut lines = Vec::new();
        if !torn.is_empty() {
            self.keep_aside(torn, at)?;
            let bytes = u64::try_from(torn.len()).unwrap_or(u64::MAX);
            lines.push(GrantLine::new(at, GrantEvent::Recovered { bytes }));
        }
        lines.extend(chosen.map(|event| GrantLine::new(at, event)));
        if lines.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        for line in &lines {
            let line = serde_json::to_vec(line)
                .map_err(|error| StoreError::said("write", &self.path, error.to_string()))?;
            text.extend(line);
            text.push(b'\n');
        }
        let end = u64::try_from(kept.len()).unwrap_or(u64::MAX);
        let written = file
            .set_len(end)
            .and_then(|()| file.seek(SeekFrom::Start(end)))
            .and_then(|_| file.write_all(&text))
            .and_then(|()| file.sync_data());
        written.map_err(|error| {
            // What is half written must not stand before a later line.
            let _ = file.set_len(end);
            self.failed("write", error)
        })
    }

    fn keep_aside(&self, torn: &[u8], at: WallNs) -> Result<(), StoreError> {
        let aside = self.path.with_extension(format!("torn-{}", at.0));
        let mut file = open_private(&aside)?;
        file.write_all(torn).map_err(|error| StoreError::io("write", &aside, error))
    }

    fn failed(&self, operation: &'static str, error: std::io::Error) -> StoreError {
        StoreError::io(operation, &self.path, error)
    }
}

/// Returns the whole lines.
fn whole(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    &bytes[..end]
}

fn book(bytes: &[u8]) -> GrantBook {
    GrantBook::read(&String::from_utf8_lossy(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::RequestKey;
    use crate::ledger::{Channel, Redacted, UserGrant};

    fn file(dir: &tempfile::TempDir) -> GrantFile {
        GrantFile::of(&StateDir::open(dir.path().join("state")).unwrap())
    }

    fn issue(file: &GrantFile, id: &str, uses: Option<u32>) {
        let grant = UserGrant {
            id: id.to_owned(),
            from: RequestKey::new("r"),
            channel: Channel::Cli,
            says: Redacted::default(),
            binding: "b".to_owned(),
            uses,
            expires: None,
        };
        file.append(WallNs(1), |_| Ok(Some(GrantEvent::GrantIssued(grant)))).unwrap();
    }

    #[test]
    fn a_permission_is_used_no_more_often_than_it_says_however_many_ask_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(&dir);
        issue(&file, "g", Some(3));
        let spent: usize = std::thread::scope(|scope| {
            let spend = || file.append(WallNs(2), |book| book.spend("g", WallNs(2))).is_ok();
            let all: Vec<_> = (0..12).map(|_| scope.spawn(spend)).collect();
            all.into_iter().map(|one| usize::from(one.join().unwrap())).sum()
        });
        assert_eq!(spent, 3);
    }

    #[test]
    fn a_torn_last_line_is_kept_aside_and_said() {
        let dir = tempfile::tempdir().unwrap();
        let file = file(&dir);
        issue(&file, "g1", None);
        let mut torn = std::fs::read(&file.path).unwrap();
        torn.extend(b"{\"v\":1,\"at\":");
        std::fs::write(&file.path, &torn).unwrap();
        assert!(file.read().unwrap().bad().is_empty());
        issue(&file, "g2", None);
        let book = file.read().unwrap();
        assert_eq!((book.rows().len(), book.bad().len()), (2, 0));
        assert!(std::fs::read_to_string(&file.path).unwrap().contains("\"recovered\""));
        let aside = std::fs::read_dir(file.path.parent().unwrap()).unwrap().flatten();
        assert!(aside.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().contains("torn")));
    }
}
