//! A base that is read late: what changed meanwhile is of unknown base.

use super::*;
use crate::ledger::Event;
use crate::store::oracle::{Eye, Git, told};

/// Writes a file until its change is not older than an instant; returns when it changed.
fn passed(git: &Git, name: &str, instant: i64) -> i64 {
    loop {
        git.write(name, "x");
        let meta = git.top().join(name).metadata().unwrap();
        let changed = meta.ctime() * 1_000_000_000 + meta.ctime_nsec();
        if changed >= instant {
            return changed;
        }
    }
}

#[test]
fn what_changed_while_the_base_was_taken_is_of_unknown_base() {
    let git = Git::none();
    let began = passed(&git, "before", 0) + 1;
    let mut eye = Eye::on(&git);
    passed(&git, "meanwhile", began);
    let seen = eye.store.observe(Why::Base, &[], &|| WallNs(began), &ProxyId::new("test")).outcome.unwrap();
    assert_eq!(told(&seen), ["+meanwhile base_unknown"]);
    assert_eq!(told(&eye.look()), [""; 0]);
}

#[test]
fn what_changed_since_a_process_that_never_looked_came_is_of_unknown_base() {
    let git = Git::none();
    let began = passed(&git, "before", 0) + 1;
    let dead = Eye::on(&git);
    let left = Event::ProxyLeft { proxy: ProxyId::new("dead"), lost: true };
    dead.store.chain().append(&[Record { at: WallNs(began), event: left }], Durability::Written).unwrap();
    let late = passed(&git, "by the agent", began) + 1;
    let observed = dead.again().observe(Why::Listing, &[], &|| WallNs(late), &ProxyId::new("test"));
    assert_eq!(told(&observed.outcome.unwrap()), ["+by the agent base_unknown"]);
}
