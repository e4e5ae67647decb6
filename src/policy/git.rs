//! The git commands that only read, each with its own option rule.
//!
//! A repository's configuration can make them run programs; they are taken for reading only because writes to `.git` are a floor.

use super::table::{Reads, long};

struct Sub {
    name: &'static str,
    flags: &'static str,
    values: &'static str,
    long: &'static [&'static str],
    long_values: &'static [&'static str],
    /// Whether `-5` is a number of commits.
    numeric: bool,
}

const SUB: Sub = Sub { name: "", flags: "", values: "", long: &[], long_values: &[], numeric: false };

const LOG: Sub = Sub {
    name: "log",
    flags: "psuwbzirEFPRtcmU",
    values: "nSGL",
    long: &[
        "--oneline",
        "--stat",
        "--shortstat",
        "--numstat",
        "--dirstat",
        "--name-only",
        "--name-status",
        "--summary",
        "--graph",
        "--decorate",
        "--no-decorate",
        "--all",
        "--branches",
        "--tags",
        "--remotes",
        "--patch",
        "--no-patch",
        "--abbrev-commit",
        "--abbrev",
        "--reverse",
        "--merges",
        "--no-merges",
        "--first-parent",
        "--follow",
        "--word-diff",
        "--color",
        "--no-color",
        "--cached",
        "--staged",
        "--merge-base",
        "--ignore-space-change",
        "--ignore-all-space",
        "--ignore-blank-lines",
        "--relative",
        "--raw",
        "--quiet",
        "--exit-code",
        "--check",
        "--left-right",
        "--cherry-pick",
        "--cherry-mark",
        "--no-ext-diff",
        "--no-textconv",
        "--minimal",
        "--patience",
        "--histogram",
        "--topo-order",
        "--date-order",
        "--pretty",
        "--find-renames",
        "--find-copies",
        "--no-renames",
        "--source",
        "--full-index",
        "--binary",
        "--boundary",
        "--no-notes",
        "--invert-grep",
        "--all-match",
        "--regexp-ignore-case",
        "--text",
        "--ita-invisible-in-index",
        "--compact-summary",
        "--function-context",
        "--no-prefix",
        "--expand-tabs",
        "--no-walk",
        "--do-walk",
        "--unified",
        "--diff-filter",
        "--diff-algorithm",
        "--format",
        "--max-count",
        "--since",
        "--until",
        "--after",
        "--before",
        "--author",
        "--committer",
        "--grep",
        "--date",
        "--skip",
        "--min-parents",
        "--max-parents",
        "--inter-hunk-context",
        "--no-mailmap",
        "--mailmap",
        "--no-show-signature",
        "--combined-all-paths",
        "--cc",
        "--pickaxe-all",
        "--pickaxe-regex",
    ],
    long_values: &[
        "--max-count",
        "--since",
        "--until",
        "--after",
        "--before",
        "--author",
        "--committer",
        "--grep",
        "--skip",
        "--date",
    ],
    numeric: true,
};

const SUBS: &[Sub] = &[
    Sub {
        name: "status",
        flags: "sbvuz",
        long: &[
            "--short",
            "--branch",
            "--porcelain",
            "--long",
            "--verbose",
            "--untracked-files",
            "--ignored",
            "--show-stash",
            "--ahead-behind",
            "--no-ahead-behind",
            "--no-renames",
            "--find-renames",
            "--column",
            "--no-column",
        ],
        ..SUB
    },
    LOG,
    Sub { name: "diff", ..LOG },
    Sub { name: "show", ..LOG },
    Sub {
        name: "rev-parse",
        flags: "q",
        long: &[
            "--show-toplevel",
            "--abbrev-ref",
            "--short",
            "--verify",
            "--git-dir",
            "--is-inside-work-tree",
            "--show-prefix",
            "--show-cdup",
            "--quiet",
            "--symbolic-full-name",
            "--absolute-git-dir",
            "--git-common-dir",
            "--is-bare-repository",
            "--is-inside-git-dir",
            "--symbolic",
            "--all",
            "--branches",
            "--tags",
            "--remotes",
            "--show-object-format",
        ],
        ..SUB
    },
    Sub {
        name: "ls-files",
        flags: "cdmosuztv",
        values: "x",
        long: &[
            "--cached",
            "--deleted",
            "--modified",
            "--others",
            "--ignored",
            "--stage",
            "--exclude-standard",
            "--full-name",
            "--error-unmatch",
            "--unmerged",
            "--killed",
            "--directory",
            "--no-empty-directory",
            "--eol",
            "--deduplicate",
        ],
        long_values: &["--exclude"],
        ..SUB
    },
    Sub {
        name: "blame",
        flags: "wMClsepntfb",
        values: "L",
        long: &[
            "--porcelain",
            "--line-porcelain",
            "--show-name",
            "--show-number",
            "--show-email",
            "--root",
            "--incremental",
            "--abbrev",
            "--date",
            "--since",
            "--color-lines",
            "--color-by-age",
        ],
        ..SUB
    },
    Sub {
        name: "branch",
        flags: "arvi",
        long: &[
            "--all",
            "--remotes",
            "--list",
            "--show-current",
            "--verbose",
            "--sort",
            "--format",
            "--color",
            "--no-color",
            "--no-column",
            "--column",
            "--ignore-case",
            "--contains",
            "--no-contains",
            "--merged",
            "--no-merged",
            "--points-at",
        ],
        ..SUB
    },
];

/// Says what a git command reads, when it is known to only read.
pub(super) fn reads(words: &[String]) -> Result<Reads, String> {
    let words = words.strip_prefix(&["--no-pager".to_owned()]).unwrap_or(words);
    let Some((name, rest)) = words.split_first() else { return Err("wants a command".to_owned()) };
    let Some(sub) = SUBS.iter().find(|sub| sub.name == name) else {
        return Err(format!("{name} is not known to only read"));
    };
    let operands = sub.operands(rest)?;
    let lists = rest.iter().any(|word| {
        let name = word.split('=').next().unwrap_or(word);
        ["--list", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at"].contains(&name)
    });
    if name == "branch" && !operands.is_empty() && !lists {
        return Err("branch with a name creates one".to_owned());
    }
    // A revision names files too, behind its colon.
    let path = |word: &String| match word.rsplit_once(':') {
        Some((_, path)) if !path.is_empty() => path.to_owned(),
        _ => word.clone(),
    };
    Ok(Reads { paths: operands.iter().filter(|word| !word.is_empty()).map(path).collect(), moves: None })
}

impl Sub {
    fn operands(&self, words: &[String]) -> Result<Vec<String>, String> {
        let (mut operands, mut at) = (Vec::new(), 0);
        while let Some(word) = words.get(at) {
            at += 1;
            if word == "--" {
                operands.extend_from_slice(&words[at..]);
                break;
            }
            if word == "-" || !word.starts_with('-') {
                operands.push(word.clone());
            } else if self.numeric && word[1..].bytes().all(|byte| byte.is_ascii_digit()) {
            } else {
                let taken = if word.starts_with("--") {
                    long(word, self.long, self.long_values)
                } else {
                    self.short(word)
                };
                if taken.ok_or_else(|| format!("{word} is not known to be harmless"))? {
                    let value = words.get(at).ok_or_else(|| format!("{word} wants a value"))?;
                    operands.extend((word == "-L").then(|| value.clone()));
                    at += 1;
                } else if let Some(lines) = word.strip_prefix("-L") {
                    operands.push(lines.to_owned());
                }
            }
        }
        Ok(operands)
    }

    fn short(&self, word: &str) -> Option<bool> {
        let cluster = &word[1..];
        for (at, c) in cluster.char_indices() {
            if self.values.contains(c) {
                return Some(at + c.len_utf8() == cluster.len());
            }
            if !self.flags.contains(c) {
                // -U3, -M90%, -C5 and -uno carry a number or a word.
                let rest = &cluster[at..];
                let numbered = at > 0 && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'%');
                let all_files = self.name == "status"
                    && cluster.starts_with('u')
                    && ["no", "normal", "all"].contains(&&cluster[1..]);
                let renames = matches!(self.name, "log" | "diff" | "show") && matches!(c, 'M' | 'C');
                if numbered || all_files {
                    return Some(false);
                }
                if renames {
                    continue;
                }
                return None;
            }
        }
        Some(false)
    }
}
