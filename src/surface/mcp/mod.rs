//! **Job.** The queue for agents that review: an MCP server over stdio.
//!
//! **Words.** [`Tools`], what can be called; [`Server`], what a client asks; the lines are `rmcp`'s.
//!
//! **Laws.**
//! 1. Every word is the agent's, whatever the parameters say (`surfaces::mcp::what_is_said_is_signed_by_the_agent`).
//! 2. Only what the configuration allows is decided (`surfaces::mcp::an_agent_decides_only_where_it_may`), and nothing of
//!    its own session (`processes::mcp::an_agent_comments_elsewhere_and_decides_nothing_of_its_own`).
//! 3. Bodies are cut, and say so (`surfaces::mcp::long_bodies_are_cut_and_say_so`).
//! 4. Bad input of a client that has said who it is ends nothing (`surfaces::mcp::what_cannot_be_read_ends_nothing`).
//! 5. Every request is answered in its order, also when the client closes its end at once
//!    (`surfaces::mcp::calls_are_answered_in_order_also_after_the_end`).
//! 6. Every call about a session is journaled with who made it, refusals too
//!    (`processes::mcp::an_agent_comments_elsewhere_and_decides_nothing_of_its_own`).
//!
//! **Uses.** `base`, `config`, `ledger` (shapes), `review` (asks and answers).
//!
//! **Not here.** Whose session it is (`host`); what a method's parameters mean (`methods`).

mod cut;
mod owed;
mod serve;
mod tools;
mod visit;

pub use serve::Server;
pub use tools::Tools;
