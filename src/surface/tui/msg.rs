//! What the terminal UI is told, and what it wants done.

use super::keys::Stroke;
use crate::review::{Answer, Ask};
pub(super) use crate::surface::ink::{FileText, Inked, Wanted};

/// Something happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Msg {
    /// A key.
    Key(Stroke),
    /// Text was pasted.
    Paste(String),
    /// The left button went down at a column and a row.
    Click(u16, u16),
    /// The wheel turned: rows, negative for up.
    Wheel(i32),
    /// The screen has another size: columns and rows.
    Resize(u16, u16),
    /// An ask was answered.
    Answered(Tag, Box<Answer>),
    /// A file was read and its text coloured.
    Read(Box<FileText>),
    /// The journals grew by something that moves the queue.
    Moved,
    /// The agent asked for something, or somebody answered.
    Requested,
    /// The editor came back: what is to be said, where something is.
    Edited(Option<String>),
    /// The process is asked to end.
    Terminate,
}

/// Something is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Cmd {
    /// Ask the session.
    Ask(Tag, Ask),
    /// Read a file as it stands and colour it.
    Read(Box<Wanted>),
    /// Open the person's editor.
    Edit {
        /// The file, absolute; escaped where it is not UTF-8.
        path: String,
        /// Base64 of the exact bytes beneath the root, and the root, where the path is not UTF-8.
        exact: Option<(String, String)>,
        /// 1-based.
        line: u32,
    },
    /// Leave.
    Quit,
}

/// What an answer answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// The queue.
    Queue,
    /// What is in force.
    Status,
    /// A decision, an undo or a redo.
    Decision,
    /// A comment, made or settled.
    Comment,
    /// Everything about one hunk.
    Explain,
    /// What the agent will be told.
    Note,
    /// What waits for the person's answer.
    Pending,
    /// The person's answer.
    Response,
}
