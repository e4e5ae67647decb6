//! Cutting our notes out of text that comes back: echoes, replays, merged and split chunks.

use crate::review::note::{NOTE_BEGINS, NOTE_ENDS};

/// Bytes after which a note without an end is taken for ordinary text.
const LONGEST: usize = 256 * 1024;

/// Cuts every whole note out of a text; `None` when there is none.
pub fn strip(text: &str) -> Option<String> {
    let mut kept = text.to_owned();
    let mut from = 0;
    let mut cut = false;
    while let Some(begin) = begin(&kept, from) {
        match end(&kept[begin.after..], &begin.id) {
            Some(length) => {
                let rest = kept.split_off(begin.after + length);
                kept.truncate(begin.at);
                from = join(&mut kept, &rest);
                cut = true;
            }
            None => from = begin.after,
        }
    }
    cut.then_some(kept)
}

/// Cuts notes out of the consecutive chunks of one message. What went out before a note was recognised stays out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stripper {
    /// The note whose middle we are in.
    inside: Option<Inside>,
    /// The end of the last chunk, where it may be the beginning of a note.
    begun: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Inside {
    id: String,
    /// The end of what was dropped, where it may be the beginning of the last line.
    tail: String,
    dropped: usize,
}

impl Stripper {
    /// Takes the next chunk and returns what is left of it; `None` when nothing of it is ours.
    pub fn feed(&mut self, text: &str) -> Option<String> {
        if let Some(inside) = self.inside.take() {
            return Some(self.feed_inside(inside, text));
        }
        let begun = std::mem::take(&mut self.begun);
        if !begun.is_empty() {
            let whole = format!("{begun}{text}");
            if let Some(begin) = begin(&whole, 0).filter(|begin| begin.at == 0 && begin.after > begun.len()) {
                let rest = whole[begin.after..].to_owned();
                return Some(
                    self.feed_inside(Inside { id: begin.id, tail: String::new(), dropped: 0 }, &rest),
                );
            }
        }
        let stripped = strip(text);
        let rest = stripped.as_deref().unwrap_or(text);
        match begin(rest, 0) {
            Some(begin) => {
                let kept = rest[..begin.at].strip_suffix('\n').unwrap_or(&rest[..begin.at]).to_owned();
                let dropped = rest[begin.after..].to_owned();
                self.feed_inside(Inside { id: begin.id, tail: String::new(), dropped: 0 }, &dropped);
                Some(kept)
            }
            None => {
                self.begun = may_begin(rest).to_owned();
                stripped
            }
        }
    }

    /// Says whether the next chunk may hold the rest of a note.
    pub fn is_inside(&self) -> bool {
        self.inside.is_some() || !self.begun.is_empty()
    }

    /// Forgets a note that was begun: the message is over.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    fn feed_inside(&mut self, inside: Inside, text: &str) -> String {
        let whole = format!("{}{text}", inside.tail);
        if let Some(length) = end(&whole, &inside.id) {
            let rest = whole[length..].strip_prefix('\n').unwrap_or(&whole[length..]).to_owned();
            return self.feed(&rest).unwrap_or(rest);
        }
        let dropped = inside.dropped + text.len();
        if dropped <= LONGEST {
            let longest = NOTE_ENDS.len() + inside.id.len();
            let mut from = whole.len().saturating_sub(longest);
            while !whole.is_char_boundary(from) {
                from += 1;
            }
            self.inside = Some(Inside { tail: whole[from..].to_owned(), id: inside.id, dropped });
        }
        String::new()
    }
}

struct Begin {
    at: usize,
    after: usize,
    id: String,
}

/// Finds the first line of a note, at or after `from`.
fn begin(text: &str, from: usize) -> Option<Begin> {
    let mut from = from;
    while let Some(found) = text.get(from..)?.find(NOTE_BEGINS) {
        let at = from + found;
        let named = &text[at + NOTE_BEGINS.len()..];
        let length = named.find(|c: char| !is_of_id(c)).unwrap_or(named.len());
        if length > 0 && named[length..].starts_with(']') {
            let after = at + NOTE_BEGINS.len() + length + 1;
            return Some(Begin { at, after, id: named[..length].to_owned() });
        }
        from = at + 1;
    }
    None
}

/// Returns how many bytes of `text` belong to the note `id`, its last line included.
fn end(text: &str, id: &str) -> Option<usize> {
    let last = format!("{NOTE_ENDS}{id}]");
    text.find(&last).map(|at| at + last.len())
}

/// Joins what stood around a note: with it goes the line break that set it off. Returns where the rest begins.
fn join(kept: &mut String, rest: &str) -> usize {
    let rest = match (kept.strip_suffix('\n').map(str::len), kept.is_empty()) {
        (Some(length), _) => {
            kept.truncate(length);
            rest
        }
        (None, true) => rest.strip_prefix('\n').unwrap_or(rest),
        (None, false) => rest,
    };
    let at = kept.len();
    kept.push_str(rest);
    at
}

/// Returns the end of a text that may be the beginning of a note.
fn may_begin(text: &str) -> &str {
    let Some(at) = text.rfind('[') else { return "" };
    let tail = &text[at..];
    let named = tail.strip_prefix(NOTE_BEGINS).is_some_and(|id| id.chars().all(is_of_id));
    if named || NOTE_BEGINS.starts_with(tail) { tail } else { "" }
}

fn is_of_id(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTE: &str = "[hunkgate note n-1]\nI rejected src/a.rs\n[end of hunkgate note n-1]";

    #[test]
    fn a_note_is_cut_out_wherever_it_was_merged() {
        let check = |text: String, left: Option<&str>| assert_eq!(strip(&text).as_deref(), left, "{text:?}");
        check(NOTE.to_owned(), Some(""));
        check(format!("go on\n{NOTE}"), Some("go on"));
        check(format!("go on{NOTE}"), Some("go on"));
        check(format!("{NOTE}\ngo on"), Some("go on"));
        check(format!("a\n{NOTE}\nb"), Some("a\nb"));
        check(format!("a\n{NOTE}\nb\n{NOTE}\nc"), Some("a\nb\nc"));
        check("go on".to_owned(), None);
        check("[hunkgate note n-1] without an end".to_owned(), None);
        check("[hunkgate note ] is none".to_owned(), None);
    }

    #[test]
    fn the_end_of_another_note_ends_no_note() {
        let text = "[hunkgate note n-1]\n[end of hunkgate note n-2]\nrest";
        assert_eq!(strip(text), None);
    }

    #[test]
    fn a_split_note_is_dropped_over_every_chunking() {
        let text = format!("before {NOTE} after");
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let mut stripper = Stripper::default();
            let mut seen = String::new();
            for chunk in [&text[..at], &text[at..]] {
                seen.push_str(&stripper.feed(chunk).unwrap_or_else(|| chunk.to_owned()));
            }
            assert!(seen.starts_with("before ") && seen.ends_with(" after"), "{at}: {seen:?}");
            assert!(!seen.contains("rejected") && !seen.contains("end of"), "{at}: {seen:?}");
        }
    }

    #[test]
    fn text_without_a_note_passes_whatever_it_looks_like() {
        let mut stripper = Stripper::default();
        for chunk in ["see [hunkgate", " said", "[", "x]", "[hunkgate note ", "of yesterday]"] {
            assert_eq!(stripper.feed(chunk), None, "{chunk:?}");
        }
    }
}
