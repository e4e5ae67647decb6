//! **Job.** The queue on a terminal: one stream of hunks, decided with single keys.
//!
//! **Words.** [`Model`], the state; [`Msg`], what happened; [`Cmd`], what is to be done; [`view`], the state drawn; *leaf*, a
//! hunk or entry; *unit*, what one key decides: a leaf or a group that lies close together; *stop*, where one can stand; *stream*,
//! all units in one order, as blocks of known heights.
//!
//! ```text
//!  keyboard, journals, answers ─▶ Msg ─▶ Model::update ─▶ Cmd ─▶ asker, decider, reader, editor
//!                                          │
//!                                        view ─▶ screen
//! ```
//!
//! **Laws.**
//! 1. Nothing that anybody else chose reaches the terminal raw (`cells::tests::nothing_of_anybody_reaches_the_terminal_raw`).
//! 2. A decision names what was shown, by id and digest (`surfaces::tui::a_decision_quotes_what_was_shown`).
//! 3. What is in sight does not move when the queue does (`surfaces::tui::nothing_moves_under_the_reader`).
//! 4. Only what is in sight is drawn and coloured (`cargo bench --bench surface`).
//! 5. The terminal is left as it was found (`processes::terminal::the_terminal_is_as_it_was_after_a_panic`).
//!
//! **Uses.** `base`, `diff`, `ledger` (shapes), `review` (asks and answers).
//!
//! **Not here.** Carrying an ask out (`host`); lines for pipes and plain output (`text`).

mod cells;
mod decide;
mod keys;
mod leaf;
mod model;
mod msg;
mod pending;
mod rows;
mod run;
mod seen;
mod stream;
mod take;
mod texts;
mod theme;
mod tree;
mod update;
mod view;

pub use crate::surface::ink::{FileText, Ink, Inked, Inks, Wanted};
pub use keys::{Action, Keys, Stroke};
pub use model::{Model, Setup};
pub use msg::{Cmd, Msg, Tag};
pub use run::{Sitting, run};
pub use seen::Seen;
pub use theme::{Depth, Theme};
pub use view::view;
