//! hunkgate, an ACP proxy: what changed on disk, which tool call did it, and a reject that works.
//!
//! The map, in reading order. Imports only go up it; `tests/tidy.rs` holds the table of `docs/architecture.md`.
//!
//! ```text
//!  editor ⇄ host ⇄ agent            bytes:  wire → acp facts → router, session → policy → ledger events → actions
//!             │                      asks:   Ask → engine → Answer → surface
//!          engine  (pure: Input → Actions)
//! ```
//!
//! | words | wire | conversation | record | judgement | machine | world |
//! | --- | --- | --- | --- | --- | --- | --- |
//! | `base` | `wire` `acp` `router` | `session` | `diff` `ledger` | `policy` `review` | `engine` | `store` `surface` `host` |

pub mod acp;
pub mod base;
pub mod config;
pub mod diff;
pub mod engine;
pub mod host;
pub mod ledger;
pub mod policy;
pub mod review;
pub mod router;
pub mod session;
pub mod store;
pub mod surface;
pub mod wire;
