//! Observing a root through the store's own door: what it costs, what it leaves behind, and many observers at once.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "these tests are about files")]

#[path = "capture/costs.rs"]
mod costs;
#[path = "capture/crowds.rs"]
mod crowds;
#[path = "capture/site.rs"]
mod site;
