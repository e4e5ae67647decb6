//! **Job.** What happened to the files, and what a person decided about it: facts that are only ever appended, and answers computed from them.
//!
//! **Words.** [`Event`] and [`Record`], [`Ledger`], [`Observation`], [`Window`], [`Claim`], [`Credit`], [`Hunk`], [`Decision`], [`Listing`].
//!
//! **Laws.**
//! 1. [`Ledger::apply`] is the only writer, and replay equals live state (`laws::recovery`).
//! 2. Every changed line has exactly one credit, and no call that tells what it writes is credited with another's line
//!    (`laws::attribution_laws`); nor across proxies (`laws::two_proxies`).
//! 3. Accepting changes no byte; rejecting all restores the base; an undo gives bytes and authors back
//!    (`laws::decision_laws`).
//! 4. A comment follows its lines or is outdated (`laws::decision_laws::a_comment_follows_its_lines_or_is_outdated`).
//! 5. An empty [`Cache`] gives the same answers, and a kept one computes only what moved (`laws::cases`).
//! 6. Redacting twice is redacting once, and only what was redacted is journaled of what an agent says it does
//!    (`redact::tests::redacting_twice_is_redacting_once`).
//!
//! ```text
//! suspect ─┐ who could have written, by time and path        explain: claims → stretches of a step
//! moment  ─┴─ history (steps of a path) ── attribution (the ladder) ── carry (authors) ── draft ── study ── listing
//! ```
//!
//! **Uses.** `base`, `diff`.
//!
//! **Not here.** Reading or writing files and journals (`store`); deciding what to ask or tell the agent (`review`).

mod anchor;
mod approval;
mod approved;
mod attribution;
mod blame;
mod blobs;
mod carry;
mod chain;
mod claim;
mod comment;
mod content;
mod decision;
mod decisions;
mod draft;
mod event;
mod explain;
mod flood;
mod fold;
mod folded;
mod grants;
mod history;
mod hunk;
mod kin;
mod listing;
mod locate;
mod mediated;
mod moment;
mod observation;
mod past;
mod redact;
mod session;
mod shape;
mod shaping;
mod slots;
mod standing;
mod study;
mod suspect;
mod tally;
mod told;
mod view;
mod window;

pub use approval::{
    Approval, Asking, Assessment, ContentShape, Decider, EffectShape, Evidence, FileDigest, Grant,
    GrantScope, ModelShape, OptionShape, Outcome, Settlement,
};
pub use blame::blame;
pub use blobs::Blobs;
pub use chain::{Chain, PlacedGap, Presence};
pub use claim::{Claim, ClaimBody, ClaimText, Source};
pub use comment::Comment;
pub use decision::{
    ByteEdit, Command, Decision, FilePlan, LineRange, Method, RevertFile, RevertIntent, RevertOutcome,
    RevertResult, ReviewState, Verb, Wanted,
};
pub use decisions::Decisions;
pub use event::{
    Actor, Channel, Event, Log, Member, RECORD_VERSION, Reapplied, Record, RootHeader, RootKind,
    SessionHeader, Visit, Who,
};
pub use fold::{Ledger, loss_of};
pub use grants::{BadLine, GrantBook, GrantEvent, GrantLine, GrantRow, UserGrant};
pub use hunk::{EntrySide, entry_id, fingerprint, hunk_id, shown_digest};
pub use kin::Kin;
pub use listing::listing;
pub use locate::{LocateError, Located, locate};
pub use observation::{Change, Content, FileState, Flags, Gap, Mode, Observation, Stamps, Why};
pub use redact::{Redacted, Redactor};
pub use session::{
    Base, CommentRow, NoteRow, NoteState, NoticeRow, PendingReject, PermissionRow, SessionLedger, TurnRow,
};
pub use shape::{
    AuthorLinesShape, BlameLineShape, BlameShape, CallRefShape, CommentShape, DecidedShape, DegradedShape,
    EntryShape, EvidenceShape, GateShape, HistoryShape, HunkShape, IntegrityShape, ItemShape, ListingShape,
    LostShape, NameShape, ParentShape, PolicyShape, QueueShape, RangeShape, RootShape, SessionRowShape,
    SessionsShape, ShownShape, SkipShape, StatusShape, SupersededShape,
};
pub use shaping::{last_line, named_path, path_text, readable};
pub use standing::{DeniedRequest, Standing, StandingRequest, StandingState};
pub use study::Cache;
pub use view::{
    AuthorLines, BlameLine, CallKey, CallRow, CommentView, Credit, Entry, Grade, Hunk, Listing, Loss,
    OtherSession, RootRow, Side, Skip,
};
pub use window::{Bound, CallFacts, Closing, Hi, Purpose, ToolKind, Window};
