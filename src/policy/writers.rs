//! What a command writes, by what its words say: over-approximated, for the floors.

use super::arg::Arg;
use super::reach::Invocation;

/// Returns the files that a command is said to write, as they are named.
pub(super) fn written(it: &Invocation) -> Vec<String> {
    let first = &it.argv[0];
    let operands = || it.argv[1..].iter().filter(|arg| !arg.is_option());
    let mut written: Vec<String> = Vec::new();
    let everything: &[&str] = &[
        "tee", "touch", "mkdir", "rm", "rmdir", "truncate", "shred", "unlink", "mkfifo", "mknod", "rimraf",
        "sponge", "patch", "ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "gzip", "gunzip", "xz", "unxz",
        "bzip2", "bunzip2", "zstd", "unzstd",
    ];
    if first.names_any(everything) {
        written.extend(operands().flat_map(Arg::texts));
    }
    if first.names_any(&["chmod", "chown", "chgrp"]) {
        written.extend(operands().skip(1).flat_map(Arg::texts));
    }
    if first.names_any(&["cp", "mv", "ln", "install", "rsync", "gcp", "gmv"]) {
        written.extend(operands().next_back().into_iter().flat_map(Arg::texts));
    }
    if first.names("mv") {
        written.extend(operands().flat_map(Arg::texts));
    }
    if first.names_any(&["sed", "gsed", "perl", "ruby"]) && in_place(it) {
        written.extend(operands().flat_map(Arg::texts).filter(|text| !text.contains([' ', ';'])));
    }
    if first.names_any(&["tar", "bsdtar", "unzip", "7z", "cpio"]) {
        written.extend(unpacked(it));
    }
    if first.names_any(&["split", "csplit"]) {
        written.extend(operands().skip(1).flat_map(Arg::texts));
    }
    let tools = [
        "curl", "wget", "tar", "bsdtar", "unzip", "cp", "mv", "ln", "install", "sort", "shuf", "git", "7z",
        "aria2c", "gcc", "cc", "csplit",
    ];
    if first.names_any(&tools) {
        written.extend(named_by_option(it));
    }
    written.extend(
        it.argv[1..].iter().flat_map(Arg::texts).filter_map(|text| {
            first.names("dd").then(|| text.strip_prefix("of=").map(str::to_owned)).flatten()
        }),
    );
    written
}

/// Returns the files that an archive is said to be unpacked to: what is named beside the archive.
fn unpacked(it: &Invocation) -> Vec<String> {
    let words: Vec<String> = it.argv[1..].iter().map(Arg::text).collect();
    let mode = words.first().map(|word| word.trim_start_matches('-').to_owned()).unwrap_or_default();
    let unpacks = it.argv[0].names_any(&["unzip", "cpio"])
        || mode.contains('x')
        || words.iter().any(|word| word == "--extract" || word == "--get" || word == "-x");
    let named = it.argv[1..].iter().filter(|arg| !arg.is_option());
    // The mode of an old `tar xf`, and the archive.
    let skipped = 1 + usize::from(words.first().is_some_and(|word| !word.starts_with('-')) && unpacks);
    let skipped = if it.argv[0].names_any(&["unzip", "cpio"]) { 1 } else { skipped };
    if unpacks { named.skip(skipped).flat_map(Arg::texts).collect() } else { Vec::new() }
}

/// Returns the files that options name which say where to write: `-o x`, `-ox`, `--output=x`, and long ones cut short.
fn named_by_option(it: &Invocation) -> Vec<String> {
    const SHORT: &[&str] = &["-o", "-O", "-t", "-C", "-d", "-P"];
    const LONG: &[&str] = &["--output", "--output-document", "--target-directory", "--directory"];
    let long = |name: &str| name.len() > 3 && LONG.iter().any(|known| known.starts_with(name));
    let mut named = Vec::new();
    for pair in it.argv[1..].windows(2) {
        let name = pair[0].text();
        // Of bundled letters the last one takes the value.
        let bundled = name.starts_with('-') && !name.starts_with("--") && name.len() > 2;
        let last = bundled.then(|| format!("-{}", name.chars().next_back().unwrap_or_default()));
        if SHORT.contains(&name.as_str())
            || last.is_some_and(|it| SHORT.contains(&it.as_str()))
            || long(&name)
        {
            named.extend(pair[1].texts());
        }
    }
    for text in it.argv[1..].iter().flat_map(Arg::texts) {
        let glued = SHORT.iter().find_map(|short| text.strip_prefix(short)).filter(|rest| !rest.is_empty());
        named.extend(glued.map(str::to_owned));
        named.extend(text.split_once('=').filter(|(name, _)| long(name)).map(|(_, value)| value.to_owned()));
    }
    named
}

fn in_place(it: &Invocation) -> bool {
    it.argv[1..].iter().flat_map(Arg::texts).any(|text| {
        text.starts_with("--in-place")
            || (text.starts_with('-') && !text.starts_with("--") && text.contains('i'))
    })
}
