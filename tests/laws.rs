//! What must hold for every input, held by generated ones (testing.md, "Laws").

#[path = "laws/answers.rs"]
mod answers;
#[path = "laws/asking.rs"]
mod asking;
#[path = "laws/attribution_laws.rs"]
mod attribution_laws;
#[path = "laws/cases.rs"]
mod cases;
#[path = "laws/chronicle.rs"]
mod chronicle;
#[path = "laws/decision_laws.rs"]
mod decision_laws;
#[path = "laws/decisions.rs"]
mod decisions;
#[path = "laws/diff_laws.rs"]
mod diff_laws;
#[path = "laws/engine.rs"]
mod engine;
#[path = "laws/fold.rs"]
mod fold;
#[path = "laws/nasty.rs"]
mod nasty;
#[path = "laws/patches.rs"]
mod patches;
#[path = "laws/rivals.rs"]
mod rivals;
#[path = "laws/splits.rs"]
mod splits;
#[allow(dead_code, reason = "the transcripts use more of it")]
mod support;
#[path = "laws/transparency.rs"]
mod transparency;
#[path = "laws/two_proxies.rs"]
mod two_proxies;
#[path = "laws/world.rs"]
mod world;
