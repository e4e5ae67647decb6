//! **Job.** The one machine: what happened goes in, what shall be done comes out, and nothing else is touched.
//!
//! **Words.** [`Input`], [`Action`], [`Leg`].
//!
//! **Uses.** Every room above it; the world never.
//!
//! **Not here.** Performing actions (`host`).

mod action;
mod approvals;
mod asking;
mod calls;
mod conversation;
mod decide;
mod desk;
mod docket;
mod ends;
mod enforce;
mod hold;
mod input;
mod lineage;
mod mediated;
mod question;
mod roots;
mod sight;
mod status;
mod step;
mod stir;
mod turn;
mod unsure;

pub use crate::base::Leg;
pub use action::{Action, Durability, Level, Notice};
pub use input::{Input, OpenedRoot, Sight};
pub use step::{Engine, Setup};
