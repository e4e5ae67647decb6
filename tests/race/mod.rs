//! The race harness (docs/testing.md): a scripted agent and a person write in the virtual world, whose every line says
//! who wrote it; what the engine answers is compared with the truth.

pub(crate) mod agents;
pub(crate) mod dice;
mod files;
mod judge;
pub(crate) mod op;
pub(crate) mod reason;
mod script;
pub(crate) mod stage;
pub(crate) mod table;
pub(crate) mod truth;
