//! Whether a shell text only reads, told by a tiny grammar that refuses everything it does not know.
//!
//! Beside it, with the opposite error, stands what it may reach ([`Reach`]) and the floors that this meets. Both start from
//! the same plan; where they disagree, a person is asked.

use super::floor::{Floor, Level, Met, floors};
use super::place::{Class, Context};
use super::plan::{Beyond, Joint, Plan, Redirect, Simple};
use super::reach::{Reach, carried};
use super::table;
use std::collections::BTreeSet;

/// Text that can be allowed is at most this long.
const LONGEST: usize = 8 * 1024;
/// Text is looked into for floors up to this length.
const READABLE: usize = 2 << 20;
/// Characters that open something, in a text that can be allowed.
const OPENERS: usize = 64;

/// A shell text with what was found out about it.
#[derive(Debug)]
pub struct Classified {
    pub(crate) reach: Reach,
    /// The text's own simple commands, each with what stands against taking it for reading.
    pub parts: Vec<Part>,
    /// The floors it meets, the strongest first.
    pub floors: Vec<Met>,
    /// What keeps the text as a whole from being understood; for people.
    pub obstacles: Vec<String>,
}

/// One of the text's own simple commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// As written, in one line.
    pub text: String,
    /// The command and its arguments, when every one is spelled out.
    pub argv: Option<Vec<String>>,
    /// Whether it redirects into a file, and whether every file lies inside.
    pub redirects: Redirects,
    /// Variables that it assigns.
    pub assigns: Vec<String>,
    /// Why it is not taken for reading; `None` when it is.
    pub against: Option<String>,
}

impl Part {
    /// Returns the command behind a wrapper that changes only how long, or how eagerly, it runs.
    pub(crate) fn carried(&self) -> Option<Self> {
        let argv = self.argv.as_ref().filter(|argv| {
            argv.first().is_some_and(|name| matches!(name.as_str(), "timeout" | "nice" | "stdbuf"))
        })?;
        let inner = argv.get(carried(argv)?..).filter(|inner| !inner.is_empty())?;
        Some(Self { argv: Some(inner.to_vec()), ..self.clone() })
    }
}

/// Where a command's redirects lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Redirects {
    /// Nowhere but to `/dev/null`, other descriptors and here-documents.
    Harmless,
    /// To or from files beneath the roots.
    Inside,
    /// Anywhere else.
    Elsewhere,
}

/// Finds out about a shell text. Needs no more stack than any other function, whatever the text.
pub fn classify(text: &str, context: &Context<'_>) -> Classified {
    let readable = if text.len() > READABLE { "" } else { text };
    let reach = Reach::of(readable, context);
    let mut obstacles: Vec<String> = gate(text).into_iter().map(str::to_owned).collect();
    obstacles.extend(reach.plan.beyond.iter().map(|beyond| beyond.says().to_owned()));
    let floors = floors(&reach, context);
    let mut places = Places::at(context);
    // What is too long to be allowed needs no word on each of its parts.
    let told = if text.len() > LONGEST { 0 } else { reach.own };
    let own: Vec<Simple> = reach.plan.simple[..told].to_vec();
    if reach.own == 0 {
        obstacles.push("holds no command".to_owned());
    }
    let parts = own.iter().enumerate().map(|(at, simple)| {
        let ends_pipeline = own.get(at + 1).is_none_or(|next| next.joint != Joint::Pipe);
        places.part(simple, ends_pipeline, context)
    });
    Classified { parts: parts.collect(), floors, obstacles, reach }
}

/// Returns why a text cannot even be considered.
fn gate(text: &str) -> Option<&'static str> {
    let unseen = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || (c.is_whitespace() && !c.is_ascii())
            || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e000}'..='\u{f8ff}' | '\u{fff9}'..='\u{fffd}' | '\u{e0000}'..='\u{e0fff}')
    };
    if text.len() > LONGEST {
        return Some("is longer than 8 KiB");
    }
    if text.chars().any(unseen) {
        return Some("holds characters that cannot be seen");
    }
    let openers = text.bytes().filter(|byte| matches!(byte, b'(' | b'{' | b'[' | b'`')).count();
    (openers > OPENERS).then_some("opens more than 64 brackets")
}

impl Classified {
    /// Returns the plan.
    pub fn plan(&self) -> &Plan {
        &self.reach.plan
    }

    /// Says whether every part only reads and nothing stands in the way of understanding.
    pub fn only_reads(&self) -> bool {
        self.obstacles.is_empty() && self.parts.iter().all(|part| part.against.is_none())
    }

    /// Returns the strongest floor that was met.
    pub fn level(&self) -> Level {
        self.floors.iter().map(|met| met.floor.level()).max().unwrap_or_default()
    }

    /// Returns what kind of effect it is.
    pub fn kind(&self) -> Kind {
        const NETWORK: &[&str] =
            &["curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "ftp", "telnet", "ping", "dig"];
        let met = |floors: &[Floor]| self.floors.iter().any(|met| floors.contains(&met.floor));
        let lost = [Beyond::TooMuch, Beyond::Unterminated];
        if met(&[Floor::OwnState, Floor::Control, Floor::Environment]) {
            Kind::Control
        } else if met(&[Floor::Secret, Floor::Exfiltration]) {
            Kind::Secret
        } else if met(&[Floor::WriteOutside, Floor::Destruction, Floor::Device]) {
            Kind::Outside
        } else if met(&[Floor::Socket, Floor::RemoteShell, Floor::ForeignCode])
            || self.reach.named(NETWORK).next().is_some()
        {
            Kind::Network
        } else if self.only_reads() {
            Kind::ReadOnly
        } else if self.parts.is_empty() || lost.iter().any(|it| self.reach.plan.beyond.contains(it)) {
            Kind::Unknown
        } else {
            Kind::Exec
        }
    }
}

/// What kind of effect something has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// It only reads, inside the workspace.
    ReadOnly,
    /// It writes files of the workspace.
    WorkspaceWrite,
    /// It runs something.
    Exec,
    /// It reaches outside the workspace.
    Outside,
    /// It talks to the network.
    Network,
    /// It touches secrets.
    Secret,
    /// It changes how programs behave.
    Control,
    /// It cannot be told.
    Unknown,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::ReadOnly,
        Self::WorkspaceWrite,
        Self::Exec,
        Self::Outside,
        Self::Network,
        Self::Secret,
        Self::Control,
        Self::Unknown,
    ];
}

/// The directories in which the next command may work, after the last one succeeded and after it failed.
pub(super) struct Places {
    succeeded: BTreeSet<String>,
    failed: BTreeSet<String>,
}

impl Places {
    pub(super) fn at(context: &Context<'_>) -> Self {
        let here: BTreeSet<String> = [context.cwd.clone()].into();
        Self { succeeded: here.clone(), failed: here }
    }

    /// Returns where the next command may work that follows so.
    pub(super) fn here(&self, joint: Joint) -> BTreeSet<String> {
        match joint {
            Joint::And => self.succeeded.clone(),
            Joint::Then | Joint::Or | Joint::Pipe => self.succeeded.union(&self.failed).cloned().collect(),
        }
    }

    /// Judges a part, and moves on to where the next one may work.
    pub(super) fn part(&mut self, simple: &Simple, ends_pipeline: bool, context: &Context<'_>) -> Part {
        let here = self.here(simple.joint);
        let reads = table::reads(&simple.words, context.git_reads);
        let moves = reads.as_ref().ok().and_then(|reads| reads.moves.clone());
        let redirects = simple.redirects.iter().map(|redirect| leads(redirect, &here, context));
        let redirects = redirects.max().unwrap_or(Redirects::Harmless);
        let against = match reads {
            _ if !simple.assigns.is_empty() => Some("assigns a variable".to_owned()),
            _ if redirects != Redirects::Harmless => Some("redirects into a file".to_owned()),
            Err(why) => Some(why),
            Ok(reads) => here.iter().find_map(|place| outside(&reads.paths, place, context)),
        };
        let mut gone = BTreeSet::new();
        for place in &here {
            let Some(path) = &moves else { break };
            let located = context.locate(place, path);
            gone.extend([Some(located.asked), located.real].into_iter().flatten());
        }
        let alone = simple.joint != Joint::Pipe && ends_pipeline;
        if simple.joint == Joint::And {
            self.failed.extend(here.iter().cloned());
        } else {
            self.failed.clone_from(&here);
        }
        self.succeeded = match (moves.is_some(), alone) {
            (true, true) => gone,
            // In a pipeline a `cd` moves a subshell, and in some shells the last member moves the shell itself.
            (true, false) => here.union(&gone).cloned().collect(),
            (false, _) => here,
        };
        Part {
            text: shown(simple),
            argv: simple.words.iter().map(super::plan::Word::fixed).collect(),
            redirects,
            assigns: simple.assigns.iter().map(|assign| assign.name.clone()).collect(),
            against,
        }
    }
}

/// Returns why reading these paths from a place cannot be allowed.
fn outside(paths: &[String], place: &str, context: &Context<'_>) -> Option<String> {
    let here = std::iter::once(".").chain(paths.iter().map(String::as_str));
    for path in here {
        let says = match context.locate(place, path).class {
            Class::Inside | Class::Control => continue,
            Class::Outside if path == "." => "works outside the workspace".to_owned(),
            Class::Outside => format!("{path} is outside the workspace"),
            Class::Secret => format!("{path} is a file of secrets"),
            Class::Ours => format!("{path} is hunkgate's own"),
        };
        return Some(says);
    }
    None
}

fn leads(redirect: &Redirect, here: &BTreeSet<String>, context: &Context<'_>) -> Redirects {
    let Some(target) = redirect.target.fixed() else { return Redirects::Elsewhere };
    let descriptor = !target.is_empty() && target.bytes().all(|byte| byte.is_ascii_digit()) || target == "-";
    match redirect.operator {
        "<<" => Redirects::Harmless,
        ">&" | "<&" if descriptor => Redirects::Harmless,
        ">" | ">>" | ">|" | "&>" | "&>>" | "<" if target == "/dev/null" => Redirects::Harmless,
        ">" | ">>" | ">|" | "&>" | "&>>" | "<" | ">&" => {
            let inside = |place: &String| context.locate(place, &target).class == Class::Inside;
            if here.iter().all(inside) { Redirects::Inside } else { Redirects::Elsewhere }
        }
        _ => Redirects::Elsewhere,
    }
}

pub(crate) fn shown(simple: &Simple) -> String {
    let assigns = simple.assigns.iter().map(|assign| format!("{}={}", assign.name, assign.value.raw));
    let words = simple.words.iter().map(|word| word.raw.clone());
    let redirects = simple.redirects.iter().map(|it| format!("{}{}", it.operator, it.target.raw));
    assigns.chain(words).chain(redirects).collect::<Vec<_>>().join(" ")
}
