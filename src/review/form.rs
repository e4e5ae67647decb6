//! A form that asks per hunk, a page of twelve at a time: its fields, and what was put into them.

use crate::base::{Digest, HunkId};
use crate::review::{Card, Piece};

/// Hunks on one page.
const PER_PAGE: usize = 12;
const ALL: &str = "all";
const REASON: &str = "reason";
const STOP: &str = "stop_asking";
const UNDECIDED: &str = "undecided";
const KEEP: &str = "keep";
const REVERT: &str = "revert";

/// One page of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormPage {
    /// What is asked, in a sentence or two.
    pub message: String,
    /// Its fields, sorted by key.
    pub fields: Vec<FormField>,
}

/// One field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormField {
    /// Its key in the answer.
    pub key: String,
    /// Its title.
    pub title: String,
    /// More about it.
    pub description: Option<String>,
    /// What can be put in.
    pub input: FormInput,
}

/// What can be put into a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormInput {
    /// One of these, by value and title; the first stands there already.
    Choice(Vec<(&'static str, &'static str)>),
    /// Words.
    Text,
    /// Yes or no.
    Flag,
}

/// What a person decided on one or several pages: each change as it was shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Kept.
    pub keep: Vec<(HunkId, Digest)>,
    /// To be put back.
    pub revert: Vec<(HunkId, Digest)>,
    /// The person's words for the agent.
    pub reason: Option<String>,
    /// Not to be asked again in this session.
    pub stop_asking: bool,
}

impl Chosen {
    /// Says whether anything was decided.
    pub fn decides(&self) -> bool {
        !self.keep.is_empty() || !self.revert.is_empty()
    }

    /// Takes in what was put into page `number` (from 0).
    pub fn fill(&mut self, cards: &[Card], number: usize, content: &[(String, String)]) {
        let of = |key: &str| content.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
        let all = of(ALL).filter(|value| *value != UNDECIDED);
        for (at, (_, piece)) in on_page(cards, number).enumerate() {
            let own = of(&hunk_key(at)).filter(|value| *value != UNDECIDED);
            let shown = (piece.id.clone(), piece.digest.clone());
            match own.or(all) {
                Some(KEEP) => self.keep.push(shown),
                Some(REVERT) => self.revert.push(shown),
                Some(_) | None => {}
            }
        }
        let reason = of(REASON).map(str::trim).filter(|reason| !reason.is_empty());
        self.reason = reason.map(str::to_owned).or(self.reason.take());
        self.stop_asking |= of(STOP) == Some("true");
    }
}

/// Makes page `number` (from 0); `None` behind the last.
pub fn page(cards: &[Card], number: usize) -> Option<FormPage> {
    let all = pieces(cards).count();
    let pages = all.div_ceil(PER_PAGE);
    if number >= pages {
        return None;
    }
    let choices = |undecided| vec![(UNDECIDED, undecided), (KEEP, "Keep"), (REVERT, "Revert")];
    let mut fields = vec![FormField {
        key: ALL.to_owned(),
        title: if pages > 1 { "All on this page".to_owned() } else { "All".to_owned() },
        description: Some("Counts for what is left undecided below.".to_owned()),
        input: FormInput::Choice(choices("As chosen below")),
    }];
    fields.extend(on_page(cards, number).enumerate().map(|(at, (card, piece))| FormField {
        key: hunk_key(at),
        title: format!("{}: {}", card.path, piece.place),
        description: (!piece.excerpt.is_empty()).then(|| piece.excerpt.clone()),
        input: FormInput::Choice(choices("Undecided")),
    }));
    if number + 1 == pages {
        fields.push(FormField {
            key: REASON.to_owned(),
            title: "Why (for the agent)".to_owned(),
            description: Some("Goes with your next prompt, beside what you revert.".to_owned()),
            input: FormInput::Text,
        });
        fields.push(FormField {
            key: STOP.to_owned(),
            title: "Do not ask again in this session".to_owned(),
            description: None,
            input: FormInput::Flag,
        });
    }
    Some(FormPage { message: message(cards, (all, number, pages)), fields })
}

fn message(cards: &[Card], (all, number, pages): (usize, usize, usize)) -> String {
    let mut text = format!("{}. The cards above show them.", amount(all, cards.len()));
    if pages > 1 {
        text.push_str(&format!(" Page {} of {pages}: nothing is done before the last.", number + 1));
    }
    text.push_str(" What stays undecided stays on disk and in the queue.");
    text
}

/// Says how much there is to review.
pub(super) fn amount(changes: usize, files: usize) -> String {
    let noun = if changes == 1 { "change" } else { "changes" };
    let place = if files == 1 { "1 file".to_owned() } else { format!("{files} files") };
    format!("{changes} {noun} to review in {place}")
}

fn pieces(cards: &[Card]) -> impl Iterator<Item = (&Card, &Piece)> {
    cards.iter().flat_map(|card| card.pieces.iter().map(move |piece| (card, piece)))
}

fn on_page(cards: &[Card], number: usize) -> impl Iterator<Item = (&Card, &Piece)> {
    pieces(cards).skip(number * PER_PAGE).take(PER_PAGE)
}

fn hunk_key(at: usize) -> String {
    format!("hunk_{:02}", at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::{FileChange, Look};

    fn cards(sizes: &[usize]) -> Vec<Card> {
        let mut count = 0;
        let card = |(at, size): (usize, &usize)| Card {
            path: format!("f{at}"),
            absolute: format!("/w/f{at}"),
            change: FileChange::Changed,
            size: String::new(),
            line: Some(1),
            looks: Vec::new(),
            pieces: (0..*size)
                .map(|_| {
                    count += 1;
                    Piece {
                        id: HunkId::new(format!("h{count}")),
                        digest: Digest::new(format!("d{count}")),
                        place: "line 1".to_owned(),
                        excerpt: String::new(),
                        look: Look::Words(String::new()),
                    }
                })
                .collect(),
        };
        sizes.iter().enumerate().map(card).collect()
    }

    fn put(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn ids(chosen: &[(HunkId, Digest)]) -> Vec<&str> {
        chosen.iter().map(|(id, _)| id.as_str()).collect()
    }

    #[test]
    fn a_form_is_paged_at_twelve_and_every_hunk_is_on_one_page() {
        let cards = cards(&[10, 10, 5]);
        let pages: Vec<FormPage> = (0..).map_while(|number| page(&cards, number)).collect();
        assert_eq!(pages.len(), 3);
        let hunks =
            |page: &FormPage| page.fields.iter().filter(|field| field.key.starts_with("hunk_")).count();
        assert_eq!(pages.iter().map(hunks).collect::<Vec<_>>(), [12, 12, 1]);
        let keys: Vec<&str> = pages[2].fields.iter().map(|field| field.key.as_str()).collect();
        assert_eq!(keys, ["all", "hunk_01", "reason", "stop_asking"]);
        assert!(keys.is_sorted());
        assert!(pages[1].message.contains("Page 2 of 3"));
    }

    #[test]
    fn only_what_is_chosen_is_decided() {
        let cards = cards(&[3, 11]);
        let mut chosen = Chosen::default();
        chosen.fill(&cards, 0, &put(&[("hunk_01", "keep"), ("hunk_02", "undecided"), ("hunk_12", "revert")]));
        chosen.fill(&cards, 1, &put(&[("hunk_01", "odd"), ("hunk_07", "revert")]));
        assert_eq!((ids(&chosen.keep), ids(&chosen.revert)), (vec!["h1"], vec!["h12"]));
        assert!(chosen.decides() && !Chosen::default().decides());
    }

    #[test]
    fn all_counts_for_what_is_left_undecided() {
        let cards = cards(&[3]);
        let mut chosen = Chosen::default();
        let content = [("all", "revert"), ("hunk_02", "keep"), ("reason", " no "), ("stop_asking", "true")];
        chosen.fill(&cards, 0, &put(&content));
        assert_eq!((ids(&chosen.keep), ids(&chosen.revert)), (vec!["h2"], vec!["h1", "h3"]));
        assert_eq!((chosen.reason.as_deref(), chosen.stop_asking), (Some("no"), true));
    }
}
