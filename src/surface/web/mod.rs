//! **Job.** The queue in a browser: a console on the loopback, with the documented routes for programs.
//!
//! **Words.** [`Console`], which listens; *door*, who is let in; *ticket*, the token in the address that is good once; *feed*, a
//! stream of what moves.
//!
//! ```text
//!  browser, program ─▶ door ─▶ routes ─▶ Doors (asks) ─▶ proxy's socket, or the files
//!          ▲                                │
//!          └────────── feed ◀── journals ◀──┘
//! ```
//!
//! **Laws.**
//! 1. Who has no token is told nothing (`surfaces::web::who_has_no_token_is_told_nothing`).
//! 2. No foreign page reaches it, by name or by port (`surfaces::web::no_foreign_page_is_served`,
//!    `processes::page::a_page_on_another_port_reads_and_decides_nothing_and_the_proxy_goes_on`).
//! 3. Nothing is served by a path of the worktree (`surfaces::web::no_id_is_a_path`).
//! 4. A process that an agent started decides nothing (`surfaces::web::an_agents_process_decides_nothing`).
//! 5. Bodies, connections and streams are bounded (`surfaces::web::what_is_too_much_is_refused`).
//! 6. A stream goes on where it was left (`surfaces::web::a_stream_goes_on_where_it_was_left`).
//!
//! **Uses.** `base`, `diff`, `ledger` (shapes), `review` (asks and answers).
//!
//! **Not here.** Carrying an ask out (`host`); what a method's parameters mean (`methods`).

mod door;
mod feed;
mod file;
mod page;
mod reading;
mod reply;
mod routes;
mod serve;

pub use serve::{Console, Opened};
