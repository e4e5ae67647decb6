//! What a frame means to us: closed, and the same for every protocol version.

use crate::acp::arguments::Arguments;
use crate::base::{CallId, SessionId};
use crate::wire::IdToken;

/// What a frame means to us. Everything else is [`Fact::Other`] and passes.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    // ── editor → agent ──
    /// `initialize`.
    Initialize {
        /// The version the client offers.
        offered: u32,
        /// Who the client says it is.
        client: Option<Peer>,
        /// What the client can do.
        capabilities: ClientCapabilities,
    },
    /// `session/new`, `session/load`, `session/resume`, `session/fork`.
    SessionAsked {
        /// Which of them.
        how: Opening,
        /// The session named; `None` for `new`.
        session: Option<SessionId>,
        /// `cwd`, as sent.
        cwd: Option<String>,
        /// `additionalDirectories`.
        directories: Vec<String>,
    },
    /// `session/close` or `session/delete`.
    SessionEndAsked {
        /// The session.
        session: SessionId,
        /// True for `session/delete`.
        delete: bool,
    },
    /// `session/set_mode`, or `session/set_config_option` of the mode.
    SetMode {
        /// The session.
        session: SessionId,
        /// The mode id.
        mode: String,
    },
    /// `session/prompt`.
    Prompt {
        /// The session.
        session: SessionId,
        /// The first non-empty text block, at most its first 4 KiB; empty when there is none.
        text: String,
    },
    /// `session/cancel`.
    Cancel {
        /// The session.
        session: SessionId,
    },

    // ── agent → editor ──
    /// `session/request_permission`.
    Permission {
        /// The session.
        session: SessionId,
        /// The call it is about; v2 subjects of other types have none.
        call: Option<CallUpdate>,
        /// Its title, for the record.
        title: String,
        /// The options as offered.
        options: Vec<PermissionOption>,
    },
    /// `fs/write_text_file`.
    FsWrite {
        /// The session.
        session: SessionId,
        /// Absolute path.
        path: String,
        /// The whole file.
        content: String,
    },
    /// `terminal/create`.
    TerminalCreate {
        /// The session.
        session: SessionId,
        /// Command and arguments, for the record.
        command: String,
    },
    /// `terminal/wait_for_exit`, `terminal/kill`, `terminal/release`: its answer means that the terminal ended.
    TerminalEnding {
        /// The session.
        session: SessionId,
        /// The terminal.
        terminal: String,
    },
    /// `session/update` with a tool call.
    Call {
        /// The session.
        session: SessionId,
        /// What it says of the call.
        update: CallUpdate,
    },
    /// `session/update` with a piece of the user's message: an echo or a replay; may hold our note.
    UserMessage {
        /// The session.
        session: SessionId,
    },
    /// `session/update` with the agent's commands.
    Commands {
        /// The session.
        session: SessionId,
    },
    /// `session/update` with a new mode (`current_mode_update`, or a config option of category mode).
    Mode {
        /// The session.
        session: SessionId,
        /// The mode id.
        mode: String,
    },
    /// `session/update` that a child session works for this one.
    Subagent {
        /// The parent.
        session: SessionId,
        /// The child.
        child: SessionId,
    },
    /// v2 `state_update`.
    State {
        /// The session.
        session: SessionId,
        /// What it says.
        state: TurnState,
    },
    /// v2 `replay_complete`.
    ReplayComplete {
        /// The session.
        session: SessionId,
    },
    /// Any other `session/update`: the one that comes often. Its session is read where somebody asks for it.
    Update,

    // ── responses, read by the method of their request ──
    /// To `initialize`.
    Initialized {
        /// The version in force.
        version: u32,
        /// Who the agent says it is.
        agent: Option<Peer>,
    },
    /// To `session/new` or `session/fork`: the id. To `session/load`, `session/resume`: no id.
    SessionReady {
        /// The new session's id.
        session: Option<SessionId>,
        /// Its mode, when it says one.
        mode: Option<String>,
    },
    /// v1, to `session/prompt`: the turn is over.
    PromptEnded {
        /// `end_turn`, `cancelled`, `refusal`, ….
        stop: String,
    },
    /// v2, to `session/prompt`: the message was inserted.
    PromptInserted,
    /// To `session/request_permission`.
    PermissionAnswered {
        /// The option chosen; `None` when it was cancelled.
        option: Option<String>,
    },
    /// To `elicitation/create`: what was put in, by key.
    FormFilled {
        /// What was put in.
        content: Vec<(String, String)>,
    },
    /// To `elicitation/create`: it was not sent off.
    FormLeft {
        /// Whether the person declined, rather than went away.
        declined: bool,
    },
    /// To `terminal/create`.
    TerminalCreated {
        /// Its id.
        terminal: String,
    },

    // ── both ways ──
    /// `$/cancel_request`.
    CancelRequest {
        /// The request it names.
        request: IdToken,
    },
    /// An error response, to whatever request.
    Failed {
        /// Its code.
        code: i64,
    },
    /// Nothing that concerns us.
    Other,
}

/// How a session is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// `session/new`.
    New,
    /// `session/load`: history is replayed before the response.
    Load,
    /// `session/resume`: history may be replayed.
    Resume,
    /// `session/fork`: likewise.
    Fork,
}

/// Who a peer says it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Option<String>,
}

/// What the client says it can do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent capabilities of the protocol")]
pub struct ClientCapabilities {
    /// `fs.readTextFile`.
    pub fs_read: bool,
    /// `fs.writeTextFile`.
    pub fs_write: bool,
    /// `terminal`.
    pub terminal: bool,
    /// `elicitation.form`.
    pub elicitation_form: bool,
    /// `session.notices`.
    pub notices: bool,
}

/// What one message says of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallUpdate {
    /// The agent's id.
    pub call: CallId,
    /// Its title, when the message holds one.
    pub title: Option<String>,
    /// Its kind, as ACP's word.
    pub kind: Option<String>,
    /// Its status.
    pub status: Option<CallStatus>,
    /// What it says it writes. Tolerant: what cannot be read is no claim.
    pub claims: Vec<CallClaim>,
    /// The call that contains it (`_meta` parent id).
    pub parent: Option<CallId>,
    /// True where the content (input or tool name) proves that it cannot write; false is no proof of anything.
    pub read_only: bool,
    /// What its arguments say that were told in this message.
    pub arguments: Arguments,
    /// Terminals that it shows.
    pub terminals: Vec<String>,
}

/// The status of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallStatus {
    /// `pending`: it does not run yet, since its input is streamed or the person is asked.
    Pending,
    /// `in_progress`, v2 `paused`, and every word we do not know: not over.
    Open,
    /// `completed`.
    Completed,
    /// `failed`, v2 `cancelled`.
    Failed,
}

/// What a call says of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallClaim {
    /// The path as sent: absolute, or relative to the session's `cwd`.
    pub path: String,
    /// What it says.
    pub says: Said,
    /// Where it was read.
    pub from: ClaimedIn,
}

/// What a claim says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// Only the path.
    Location,
    /// A fragment is replaced.
    Fragment {
        /// By this…
        old: String,
        /// …this.
        new: String,
    },
    /// The whole file afterwards.
    Whole {
        /// Before, when it says so.
        old: Option<String>,
        /// After.
        new: String,
    },
    /// A diff whose texts may be fragments or whole files: the ledger tries both.
    Diff {
        /// Before; `None` on creation, and from some agents on overwrite.
        old: Option<String>,
        /// After.
        new: String,
    },
    /// It is deleted.
    Delete,
    /// It is moved.
    Move {
        /// Where to, as sent.
        to: String,
    },
}

/// Where a claim was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClaimedIn {
    /// A diff.
    Diff,
    /// `rawInput`.
    RawInput,
    /// `locations`.
    Location,
    /// A permission's payload.
    Permission,
}

/// One option of a permission request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionOption {
    /// The agent's id for it.
    pub id: String,
    /// `allow_once`, `allow_always`, `reject_once`, `reject_always`, or another word.
    pub kind: String,
}

/// v2: what `state_update` says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TurnState {
    /// Working.
    Running,
    /// Waits for the person.
    RequiresAction,
    /// Over.
    Idle {
        /// The stop reason.
        stop: String,
        /// What goes on in the background: the call of each item, where it names one.
        background: Vec<Option<CallId>>,
    },
    /// Anything else.
    Other,
}
