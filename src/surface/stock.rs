//! How much is kept, for whom, and what is swept.

use super::text::{self, Style};
use crate::base::{RootId, SessionId, SessionKey};
use serde::Serialize;
use std::path::PathBuf;

/// What `hunkgate gc` found and did. Sizes are bytes on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StockShape {
    /// Where it lies.
    pub state_dir: PathBuf,
    /// Bytes of a root's contents and trees above which content of new paths is not kept (`[store] max_size`).
    pub cap: u64,
    /// Each root that is kept, or was until now.
    pub roots: Vec<RootStockShape>,
    /// What went, or would go.
    pub swept: SweptShape,
}

/// What is kept of one root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RootStockShape {
    /// Its name on disk.
    pub root: RootId,
    /// Where it is, as far as a kept session says so.
    pub path: Option<String>,
    /// All bytes.
    pub bytes: u64,
    /// Contents and trees that are not packed yet.
    pub segments: u64,
    /// Packs; those that the repository holds too cost nothing.
    pub packs: u64,
    /// The journal that processes share.
    pub chain: u64,
    /// Whether segments and packs have reached the cap.
    pub at_cap: bool,
    /// The sessions that keep it.
    pub sessions: Vec<UserShape>,
}

/// A session that keeps a root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UserShape {
    /// Its id, or its name on disk where the header cannot be read.
    pub session_id: SessionId,
    /// Its name on disk.
    pub key: SessionKey,
    /// Whether a process holds it.
    pub connected: bool,
}

/// What deleted sessions left behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SweptShape {
    /// Whether nothing was touched.
    pub dry_run: bool,
    /// Sessions that `[store] keep` gives up.
    pub sessions: Vec<UserShape>,
    /// Bytes of deleted sessions that were not gone yet.
    pub trash: u64,
    /// Pins of sessions that are no longer there, by root.
    pub pins: Vec<(RootId, SessionKey)>,
    /// Roots that no session names and nobody looks at.
    pub roots: Vec<RootId>,
    /// Bytes of the trash and of these roots.
    pub bytes: u64,
}

impl StockShape {
    /// Writes it for people.
    pub fn text(&self, style: &Style) -> String {
        let mut said = format!("{}\n", self.state_dir.display());
        for root in &self.roots {
            said += &self.root_text(root);
        }
        if self.roots.is_empty() {
            said += "  nothing is kept\n";
        }
        said + &self.swept_text() + &self.hint(style)
    }

    fn root_text(&self, root: &RootStockShape) -> String {
        let name = text::harmless(root.path.as_deref().unwrap_or(root.root.as_str()));
        let full = if root.at_cap { ", reached: content of new paths is not kept" } else { "" };
        let sizes = [("packs", root.packs), ("segments", root.segments), ("chain", root.chain)];
        let sizes: Vec<_> = sizes.iter().map(|(what, bytes)| format!("{what} {}", size(*bytes))).collect();
        let mut said = format!("  {name}: {} ({})\n", size(root.bytes), sizes.join(", "));
        said += &format!("    cap {}{full}\n", size(self.cap));
        for user in &root.sessions {
            let how = if user.connected { "connected" } else { "kept" };
            said += &format!("    {how}: session {}\n", text::harmless(user.session_id.as_str()));
        }
        if root.sessions.is_empty() {
            said += "    no kept session names it\n";
        }
        said
    }

    fn swept_text(&self) -> String {
        let swept = &self.swept;
        let gone = swept.sessions.iter().map(|user| text::harmless(user.session_id.as_str()));
        let verb = if swept.dry_run { "would delete" } else { "deleted" };
        let deleted: String =
            gone.map(|name| format!("{verb} session {name}: [store] keep is over\n")).collect();
        deleted + &self.left_behind()
    }

    fn left_behind(&self) -> String {
        let swept = &self.swept;
        if swept.trash == 0 && swept.pins.is_empty() && swept.roots.is_empty() {
            return "nothing to sweep: only what deleted sessions leave behind is swept\n".to_owned();
        }
        let verb = if swept.dry_run { "would sweep" } else { "swept" };
        let (pins, roots) = (swept.pins.len(), swept.roots.len());
        let said = [text::count(pins, "pin"), text::count(roots, "root")].join(" and ");
        format!("{verb} {said} of deleted sessions, {}\n", size(swept.bytes))
    }

    fn hint(&self, style: &Style) -> String {
        let full = self.roots.iter().any(|root| root.at_cap);
        let hint = "`hunkgate sessions delete ID` gives up a session; [store] max_size moves the cap";
        if full { format!("{}\n", style.faint(hint)) } else { String::new() }
    }
}

/// Writes a number of bytes for people.
pub(super) fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut whole, mut tenths, mut unit) = (bytes, 0, 0);
    while whole >= 1024 && unit + 1 < UNITS.len() {
        (whole, tenths, unit) = (whole / 1024, whole % 1024 * 10 / 1024, unit + 1);
    }
    if unit == 0 || whole >= 100 {
        format!("{whole} {}", UNITS[unit])
    } else {
        format!("{whole}.{tenths} {}", UNITS[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_at_a_glance() {
        let said = [0, 1023, 1024, 1536, 10 << 30, u64::MAX].map(size);
        assert_eq!(said[..5], ["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "10.0 GiB"]);
        assert!(said[5].ends_with(" TiB"));
    }
}
