//! **Job.** What a frame means, for each protocol version, and the few frames we write ourselves.
//!
//! **Words.** [`Dialect`]; [`Fact`] with [`CallUpdate`] and [`CallClaim`]; [`Wanted`]; [`author`]; [`asking`]; [`Questions`].
//!
//! **Laws.**
//! 1. A field of the wrong type is an absent field, never a lost message
//!    (`dialect::tests::a_field_of_the_wrong_type_is_an_absent_field`).
//! 2. What we author parses as the SDK's types and loses nothing there
//!    (`author::tests::what_we_author_for_version_1_parses_as_the_types_of_the_sdk`, and so for version 2).
//! 3. What we rewrite keeps every byte that is not ours
//!    (`author::tests::a_note_goes_in_as_the_last_block_and_every_other_byte_stays`).
//! 4. Nobody is asked where a program could answer (`client::tests::nobody_is_asked_where_a_program_could_answer`).
//! 5. That a tool only reads is proven by the agent's own name for it, or by arguments that have nothing to write with; its
//!    kind alone proves nothing (`claim::tests::a_kind_proves_nothing_and_the_agents_own_name_that_a_tool_only_reads`,
//!    `arguments::tests::anything_else_is_no_readers`).
//!
//! **Uses.** `base`, `wire`.
//!
//! **Not here.** Which request a response answers (`router`); whether a claim is true (`ledger`).

mod arguments;
pub mod asking;
pub mod author;
mod call;
mod claim;
mod client;
mod dialect;
mod fact;
mod patch;
mod v1;
mod v2;
mod wanted;

pub use arguments::Arguments;
pub use client::{Questions, questions};
pub use dialect::{Dialect, read_answer, read_call, read_error};
pub use fact::{
    CallClaim, CallStatus, CallUpdate, ClaimedIn, ClientCapabilities, Fact, Opening, Peer, PermissionOption,
    Said, TurnState,
};
pub use wanted::{Offered, Wanted, WantedBy, WantedCommand, WantedForm, read_announced, read_wanted};
