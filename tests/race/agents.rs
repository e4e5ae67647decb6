//! What real agents were measured to do (the design's page on ACP, "the message against the write"; docs/testing.md).

use super::op::Input;
use super::stage::ROOT;
use serde_json::{Value, json};

/// One agent's manners. Times in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) name: &'static str,
    /// From the first message of an edit to its write; negative: the write comes first.
    pub(crate) edit: (i64, i64),
    /// The same for a command.
    pub(crate) shell: (i64, i64),
    /// From the answer to a permission request to the write; `None`: it never asks.
    pub(crate) asks: Option<(u64, u64)>,
    /// Whether it announces its calls as pending: they do not run yet.
    pub(crate) pending: bool,
    /// When it tells its input.
    pub(crate) input: Input,
    /// Whether it tells edits as whole files.
    pub(crate) whole: bool,
    /// What it tells of the text that it overwrites with a whole file.
    pub(crate) overwrites: Overwrites,
    /// From the last write to the end of a call.
    pub(crate) end: (u64, u64),
    /// Whether it has the client write, where the client can.
    pub(crate) client: bool,
    /// Most calls at once. Who ran three, the most that was tried, may run four.
    pub(crate) parallel: u64,
    /// What shows that its reads only read.
    pub(crate) reads: Reads,
}

/// What an agent tells of the text that it overwrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overwrites {
    /// It tells it with the new one.
    Told,
    /// It tells it when it has written.
    Afterwards,
    /// It is not known to; three in ten do not.
    Sometimes,
    /// Never: it writes over whatever stands there.
    Never,
    /// It overwrites no file: it patches.
    Patches,
}

/// What a read says beside its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Nothing: by its kind alone it may be a command.
    Bare,
    /// Its arguments, which have nothing to write with.
    Arguments,
    /// The tool's name, at this place of `_meta`.
    Meta(&'static [&'static str], &'static str),
    /// The tool's name as the title.
    Title(&'static str),
    /// The tool's name before the id.
    Id(&'static str),
    /// The command that it is.
    Command,
}

impl Reads {
    pub(crate) fn tell(self, update: &mut Value) {
        match self {
            Self::Bare => update["rawInput"] = json!({}),
            Self::Arguments | Self::Id(_) => {}
            Self::Command => update["rawInput"] = json!({"command": ["bash", "-lc", "cat f0"], "cwd": ROOT}),
            Self::Meta(path, tool) => {
                let value = path.iter().rev().fold(json!(tool), |value, name| json!({ (*name): value }));
                update["_meta"] = value;
            }
            Self::Title(tool) => update["title"] = json!(tool),
        }
    }

    /// Returns the id of a read.
    pub(crate) fn id(self, id: String) -> String {
        match self {
            Self::Id(tool) => format!("{tool}__{id}"),
            Self::Bare | Self::Arguments | Self::Command | Self::Meta(..) | Self::Title(_) => id,
        }
    }
}

const fn agent(name: &'static str, edit: (i64, i64), shell: (i64, i64), end: (u64, u64)) -> Agent {
    Agent {
        name,
        edit,
        shell,
        asks: Some((1, 36)),
        pending: false,
        input: Input::Announced,
        whole: false,
        overwrites: Overwrites::Sometimes,
        end,
        client: false,
        parallel: 4,
        reads: Reads::Bare,
    }
}

/// The rows of the measurement.
pub(crate) const AGENTS: [Agent; 13] = [
    Agent {
        input: Input::Before(160, 280),
        asks: Some((8, 35)),
        reads: Reads::Meta(&["claudeCode", "toolName"], "Read"),
        overwrites: Overwrites::Afterwards,
        pending: true,
        ..agent("claude", (286, 435), (380, 500), (2, 10))
    },
    Agent {
        asks: None,
        parallel: 2,
        reads: Reads::Command,
        overwrites: Overwrites::Patches,
        ..agent("codex, full access", (-5, -1), (-150, -100), (3, 5))
    },
    Agent {
        asks: Some((40, 75)),
        parallel: 2,
        reads: Reads::Command,
        overwrites: Overwrites::Patches,
        ..agent("codex", (34, 62), (-150, -30), (10, 30))
    },
    Agent {
        asks: Some((1, 15)),
        parallel: 2,
        reads: Reads::Command,
        overwrites: Overwrites::Patches,
        ..agent("zed codex", (-1, 1), (-150, -145), (1, 6))
    },
    Agent {
        reads: Reads::Id("read_file"),
        whole: true,
        overwrites: Overwrites::Told,
        client: true,
        parallel: 1,
        asks: Some((2, 96)),
        ..agent("gemini", (1, 10), (12, 64), (2, 9))
    },
    Agent {
        whole: true,
        overwrites: Overwrites::Told,
        input: Input::WithWrite,
        asks: Some((3, 24)),
        reads: Reads::Title("read"),
        pending: true,
        ..agent("opencode", (55, 316), (245, 350), (20, 130))
    },
    Agent {
        reads: Reads::Meta(&["toolName"], "read_file"),
        whole: true,
        overwrites: Overwrites::Told,
        client: true,
        input: Input::Before(17, 32),
        asks: Some((18, 51)),
        pending: true,
        ..agent("qwen", (360, 1700), (560, 600), (2, 7))
    },
    Agent {
        client: true,
        input: Input::Before(5, 15),
        asks: None,
        reads: Reads::Arguments,
        pending: true,
        ..agent("kimi", (390, 1670), (400, 450), (1, 5))
    },
    Agent {
        asks: Some((5, 20)),
        reads: Reads::Arguments,
        pending: true,
        ..agent("copilot", (3, 10), (15, 30), (1, 11))
    },
    Agent {
        asks: None,
        reads: Reads::Arguments,
        overwrites: Overwrites::Afterwards,
        pending: true,
        ..agent("pi", (-1, 18), (10, 25), (1, 5))
    },
    Agent {
        reads: Reads::Meta(&["tool_name"], "read_file"),
        overwrites: Overwrites::Patches,
        asks: Some((6, 36)),
        ..agent("vibe", (-6, 11), (50, 70), (20, 130))
    },
    Agent {
        client: true,
        reads: Reads::Title("read_text_file"),
        overwrites: Overwrites::Never,
        input: Input::Before(-1, 6),
        asks: Some((12, 20)),
        pending: true,
        ..agent("fast-agent", (360, 930), (350, 370), (1, 270))
    },
    Agent {
        asks: None,
        reads: Reads::Arguments,
        overwrites: Overwrites::Patches,
        ..agent("openhands", (-10, 10), (34, 259), (2, 12))
    },
];
