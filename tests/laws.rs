//! What must hold for every input, held by generated ones (testing.md, "Laws").

#[path = "laws/nasty.rs"]
mod nasty;
#[path = "laws/transparency.rs"]
mod transparency;
