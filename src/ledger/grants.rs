//! Standing permissions that outlive a session: the lines of their file, and the fold of them.

use crate::base::{RequestKey, WallNs};
use crate::ledger::{Channel, Redacted};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The version of the lines that this program writes and reads.
const VERSION: u32 = 1;

/// A standing permission for whoever works in one workspace, in any session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserGrant {
    /// Its id.
    pub id: String,
    /// The request that it came from.
    pub from: RequestKey,
    /// Through which door it was given.
    pub channel: Channel,
    /// What it allows, for people.
    pub says: Redacted,
    /// The digest of exactly what it allows, and where.
    pub binding: String,
    /// How often it allows; without limit when absent.
    pub uses: Option<u32>,
    /// Until when.
    pub expires: Option<WallNs>,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "data")]
pub enum GrantEvent {
    /// It was given.
    GrantIssued(UserGrant),
    /// It allowed once.
    GrantUsed {
        /// Which.
        grant: String,
    },
    /// It was taken back.
    GrantRevoked {
        /// Which.
        grant: String,
        /// Why.
        reason: String,
    },
    /// The last line was torn: it was kept aside.
    Recovered {
        /// Its bytes.
        bytes: u64,
    },
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantLine {
    /// The version of its shape.
    pub v: u32,
    /// When it was written.
    pub at: WallNs,
    /// What it says.
    pub event: GrantEvent,
}

impl GrantLine {
    /// Makes a line of the version in use.
    pub fn new(at: WallNs, event: GrantEvent) -> Self {
        Self { v: VERSION, at, event }
    }
}

/// A permission with what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantRow {
    /// When it was given.
    pub at: WallNs,
    /// What.
    pub grant: UserGrant,
    /// How often it allowed, where that is counted.
    pub used: u32,
    /// Why it was taken back, when it was.
    pub revoked: Option<String>,
}

/// A line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    /// 1-based.
    pub line: u64,
    /// Why.
    pub reason: String,
    /// As it stands.
    pub text: String,
}

/// The fold of the file. With one line that cannot be used no permission counts, until a person has repaired it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantBook {
    rows: Vec<GrantRow>,
    bad: Vec<BadLine>,
}

impl GrantBook {
    /// Folds the text of a file, all of it whole lines.
    pub fn read(text: &str) -> Self {
        let mut book = Self::default();
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let number = u64::try_from(at).unwrap_or(u64::MAX).saturating_add(1);
            match parse(line) {
                Ok(line) => book.apply(line),
                Err(reason) => {
                    let text = line.to_owned();
                    book.bad.push(BadLine { line: number, reason, text });
                }
            }
        }
        book
    }

    /// Takes in one line.
    pub fn apply(&mut self, line: GrantLine) {
        match line.event {
            GrantEvent::GrantIssued(grant) => {
                self.rows.push(GrantRow { at: line.at, grant, used: 0, revoked: None });
            }
            GrantEvent::GrantUsed { grant } => {
                if let Some(row) = self.row_mut(&grant) {
                    row.used += 1;
                }
            }
            GrantEvent::GrantRevoked { grant, reason } => {
                if let Some(row) = self.row_mut(&grant) {
                    row.revoked = Some(reason);
                }
            }
            GrantEvent::Recovered { .. } => {}
        }
    }

    fn row_mut(&mut self, id: &str) -> Option<&mut GrantRow> {
        self.rows.iter_mut().find(|row| row.grant.id == id)
    }

    /// Returns the permission that allows exactly this now.
    pub fn covering(&self, binding: &str, now: WallNs) -> Option<&UserGrant> {
        let fits = |row: &&GrantRow| row.grant.binding == binding && row.is_live(now);
        self.rows.iter().filter(|_| self.bad.is_empty()).find(fits).map(|row| &row.grant)
    }

    /// Returns what is to be written when a permission is used once: nothing where uses are not counted. Else why it does not
    /// count any more.
    pub fn spend(&self, id: &str, now: WallNs) -> Result<Option<GrantEvent>, String> {
        if let Some(bad) = self.bad.first() {
            return Err(format!("line {} cannot be read", bad.line));
        }
        let row = self.rows.iter().find(|row| row.grant.id == id).filter(|row| row.is_live(now));
        let row = row.ok_or("it is over")?;
        Ok(row.grant.uses.map(|_| GrantEvent::GrantUsed { grant: id.to_owned() }))
    }

    /// Returns every permission that was ever given, the oldest first.
    pub fn rows(&self) -> &[GrantRow] {
        &self.rows
    }

    /// Returns the lines that cannot be used.
    pub fn bad(&self) -> &[BadLine] {
        &self.bad
    }
}

impl GrantRow {
    /// Says whether it allows something at `now`. One for a time allows nothing before it was given: the clock was set back since,
    /// and nobody knows how long ago that was.
    pub fn is_live(&self, now: WallNs) -> bool {
        self.revoked.is_none()
            && self.grant.uses.is_none_or(|uses| self.used < uses)
            && self.grant.expires.is_none_or(|expires| self.at <= now && now < expires)
    }
}

fn parse(line: &str) -> Result<GrantLine, String> {
    let value: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    match value.get("v").and_then(Value::as_u64) {
        Some(version) if version == u64::from(VERSION) => {}
        _ => return Err("of another version".to_owned()),
    }
    serde_json::from_value(value).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issued(id: &str, uses: Option<u32>, expires: Option<WallNs>) -> GrantLine {
        let grant = UserGrant {
            id: id.to_owned(),
            from: RequestKey::new("r"),
            channel: Channel::Cli,
            says: Redacted::default(),
            binding: format!("b-{id}"),
            uses,
            expires,
        };
        GrantLine::new(WallNs(1), GrantEvent::GrantIssued(grant))
    }

    fn text(lines: &[GrantLine]) -> String {
        let line = |line: &GrantLine| serde_json::to_string(line).unwrap() + "\n";
        lines.iter().map(line).collect()
    }

    #[test]
    fn a_permission_ends_with_its_uses_its_time_or_when_it_is_taken_back() {
        let mut lines =
            vec![issued("g1", Some(1), None), issued("g2", None, Some(WallNs(10))), issued("g3", None, None)];
        let now = WallNs(9);
        let covers = |lines: &[GrantLine], id: &str, now: WallNs| {
            GrantBook::read(&text(lines)).covering(&format!("b-{id}"), now).is_some()
        };
        assert!(["g1", "g2", "g3"].iter().all(|id| covers(&lines, id, now)));
        assert!(!covers(&lines, "g2", WallNs(10)) && !covers(&lines, "g2", WallNs(0)));
        let used = GrantBook::read(&text(&lines)).spend("g1", now).unwrap().unwrap();
        lines.push(GrantLine::new(now, used));
        assert!(!covers(&lines, "g1", now));
        assert!(GrantBook::read(&text(&lines)).spend("g1", now).is_err());
        assert_eq!(GrantBook::read(&text(&lines)).spend("g3", now), Ok(None));
        let revoked = GrantEvent::GrantRevoked { grant: "g3".to_owned(), reason: "person".to_owned() };
        lines.push(GrantLine::new(now, revoked));
        assert!(!covers(&lines, "g3", now));
    }

    #[test]
    fn with_a_line_that_cannot_be_read_no_permission_counts() {
        let whole = text(&[issued("g1", None, None)]);
        for bad in ["{", "{\"v\":2}", "{\"v\":1,\"at\":1,\"event\":{\"kind\":\"grant_widened\",\"data\":{}}}"]
        {
            let book = GrantBook::read(&format!("{bad}\n{whole}"));
            assert_eq!((book.bad().len(), book.rows().len()), (1, 1), "{bad}");
            assert_eq!(book.bad()[0].text, bad);
            assert!(book.covering("b-g1", WallNs(2)).is_none() && book.spend("g1", WallNs(2)).is_err());
        }
    }
}
