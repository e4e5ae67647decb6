//! What the host computes for the engine: an ask, answered from a snapshot of the ledger and the contents it names.

use crate::base::{RootId, SessionKey};
use crate::ledger::{
    BlameShape, Blobs, Cache, CommentShape, Hunk, Ledger, Listing, ListingShape, NameShape, ReviewState,
    RootKind, RootShape, SessionLedger, StatusShape, blame, listing,
};
use crate::review::cards::cards;
use crate::review::decide::plan_decide;
use crate::review::note::pending;
use crate::review::patch::{PatchFile, files_of, patch};
use crate::review::place::{comment, place, unknown_session};
use crate::review::prompt::queue_counts;
use crate::review::select::{Beneath, Scope, covered, hunk_named};
use crate::review::show::show;
use crate::review::undo::{plan_redo, plan_undo, plan_withdrawal};
use crate::review::{Answer, Ask, Computed, PatchText, Plan, Problem, ProblemKind, Selector};

/// Answers an ask, or plans what it would do. What only the engine knows (gate, policy, observers) is left to it.
pub fn compute(
    ledger: &Ledger,
    session: &SessionKey,
    ask: &Ask,
    blobs: &dyn Blobs,
    cache: &mut Cache,
) -> Computed {
    let computed = match ledger.session(session) {
        Some(known) => Desk { ledger, session, known, blobs }.answer(ask, cache),
        None => Err(unknown_session()),
    };
    computed.unwrap_or_else(|problem| Computed::Answer(Answer::Problem(problem)))
}

struct Desk<'a> {
    ledger: &'a Ledger,
    session: &'a SessionKey,
    known: &'a SessionLedger,
    blobs: &'a dyn Blobs,
}

impl Desk<'_> {
    fn answer(&self, ask: &Ask, cache: &mut Cache) -> Result<Computed, Problem> {
        let answer = match ask {
            Ask::Status => Answer::Status(self.status(&self.listing(cache))),
            Ask::Hunks { paths } => Answer::Listing(self.hunks(&self.listing(cache), paths)?),
            Ask::Show { id } => {
                let listing = self.listing(cache);
                Answer::Shown(Box::new(show(self.ledger, self.session, &listing, self.blobs, id)?))
            }
            Ask::Decide(decide) => {
                let listing = self.listing(cache);
                return plan_decide(self.scope(&listing), decide, self.blobs).map(planned);
            }
            Ask::Undo { .. } => return self.undo(cache).map(planned),
            Ask::Redo { .. } => return plan_redo(self.ledger, self.session, self.blobs).map(planned),
            Ask::Comment { path, line_start, line_end, body } => {
                let place = place(self.ledger, self.session, self.blobs, path)?;
                let comment = comment(self.blobs, place, (*line_start, *line_end), body)?;
                return Ok(Computed::Comment(Box::new(comment)));
            }
            Ask::Resolve { comment } => Answer::Resolved(self.resolved(comment)?),
            Ask::Note => Answer::Note(pending(self.ledger, self.session).map(|pending| pending.text("next"))),
            Ask::Diff { selector } => Answer::Diff(self.diff(&self.listing(cache), selector)?),
            Ask::Blame { path } => Answer::Blame(self.blame(path, cache)?),
            Ask::Cards { style } => {
                let made = cards(&self.listing(cache), self.ledger, self.blobs, *style);
                return Ok(Computed::Cards(Box::new(made)));
            }
            Ask::Rebase { .. } | Ask::Docket(_) | Ask::TurnedAway { .. } => {
                return Err(Problem::new(ProblemKind::Internal, "this is not computed from the ledger"));
            }
        };
        Ok(Computed::Answer(answer))
    }

    fn undo(&self, cache: &mut Cache) -> Result<Plan, Problem> {
        if !self.known.pending_rejects().is_empty()
            && let Some(plan) = plan_withdrawal(self.known, &self.listing(cache))
        {
            return Ok(plan);
        }
        plan_undo(self.ledger, self.session, self.blobs)
    }

    fn listing(&self, cache: &mut Cache) -> Listing {
        listing(self.ledger, self.session, self.blobs, cache)
    }

    fn scope<'a>(&'a self, listing: &'a Listing) -> Scope<'a> {
        Scope { ledger: self.ledger, session: self.session, listing }
    }

    fn hunks(&self, listing: &Listing, paths: &[String]) -> Result<ListingShape, Problem> {
        if paths.is_empty() {
            return Ok(ListingShape::from_listing(listing, self.ledger));
        }
        let asked = paths.iter().map(|path| Beneath::new(self.ledger, self.session, path));
        let asked: Vec<Beneath> = asked.collect::<Result<_, _>>()?;
        let mut listing = listing.clone();
        for (path, text) in asked.iter().zip(paths) {
            let listed = listing.hunks.iter().any(|hunk| path.holds_hunk(hunk));
            if !listed && !path.is_known(self.ledger, self.blobs) {
                let problem = Problem::new(ProblemKind::User, format!("no such path is tracked: `{text}`"));
                return Err(problem.hint("`hunkgate hunks` lists everything that changed"));
            }
        }
        listing.hunks.retain(|hunk| asked.iter().any(|path| path.holds_hunk(hunk)));
        listing.comments.retain(|view| asked.iter().any(|path| path.holds(&view.root, &view.path)));
        Ok(ListingShape::from_listing(&listing, self.ledger))
    }

    fn resolved(&self, id: &str) -> Result<CommentShape, Problem> {
        let comments = self.known.comments();
        let exact = comments.iter().find(|row| row.comment.id.as_str() == id);
        let named: Vec<_> = comments.iter().filter(|row| row.comment.id.as_str().starts_with(id)).collect();
        let row = match (exact, named.as_slice()) {
            (Some(row), _) => row,
            (None, [one]) if !id.is_empty() => one,
            (None, []) => {
                return Err(Problem::new(ProblemKind::User, format!("there is no comment `{id}`")));
            }
            (None, several) => {
                let ids: Vec<&str> = several.iter().take(8).map(|row| row.comment.id.as_str()).collect();
                let text = format!("the comment `{id}` is ambiguous: {}", ids.join(", "));
                return Err(Problem::new(ProblemKind::User, text));
            }
        };
        Ok(CommentShape { resolved: true, ..CommentShape::from_comment(row, self.ledger) })
    }

    /// The patch of what is selected; of rejected hunks too, by id, so that they can be applied again by hand.
    fn diff(&self, listing: &Listing, selector: &Selector) -> Result<PatchText, Problem> {
        let chosen = match selector {
            Selector::Ids(ids) => ids.iter().map(|id| hunk_named(listing, id)).collect::<Result<_, _>>()?,
            Selector::File(_)
            | Selector::Call(_)
            | Selector::Turn(_)
            | Selector::All
            | Selector::Rejected => covered(self.scope(listing), selector)?,
        };
        let (gone, there): (Vec<&Hunk>, Vec<&Hunk>) =
            chosen.into_iter().partition(|hunk| hunk.state == ReviewState::Rejected);
        let mut files = files_of(&listing.hunks, &there);
        files.extend(gone.into_iter().map(PatchFile::of_one));
        Ok(patch(&files, self.blobs))
    }

    fn blame(&self, path: &str, cache: &mut Cache) -> Result<BlameShape, Problem> {
        let place = place(self.ledger, self.session, self.blobs, path)?;
        let lines = blame((self.ledger, self.session), (&place.root, &place.path), self.blobs, cache);
        if lines.is_empty() && place.now.is_none_or(|now| now.size > 0) {
            return Err(Problem::new(ProblemKind::User, format!("there is no text at `{path}`")));
        }
        Ok(BlameShape::from_lines(&place.path, &lines))
    }

    fn status(&self, listing: &Listing) -> StatusShape {
        let header = self.known.header();
        let gaps = |root: &RootId| self.ledger.chain(root).map_or(0, |chain| chain.gaps().len());
        let gaps: usize = self.known.roots().iter().map(gaps).sum();
        StatusShape {
            session_id: self.ledger.raw_session(self.session).to_string(),
            agent: header
                .map(|header| NameShape {
                    name: header.agent.to_string(),
                    version: header.agent_version.clone(),
                })
                .unwrap_or_default(),
            client: NameShape {
                name: header.and_then(|header| header.client.clone()).unwrap_or_default(),
                version: None,
            },
            protocol: header.map(|header| header.protocol).unwrap_or_default(),
            mode: self.known.mode().map(str::to_owned),
            queue: queue_counts(self.ledger, self.session, &ListingShape::from_listing(listing, self.ledger)),
            roots: self.roots(),
            gaps: u32::try_from(gaps).unwrap_or(u32::MAX),
            notes_pending: u32::from(pending(self.ledger, self.session).is_some()),
            warnings: self.warnings(listing),
            ..StatusShape::default()
        }
    }

    fn roots(&self) -> Vec<RootShape> {
        let kind = |root: &RootId| match self.ledger.chain(root).and_then(|chain| chain.header()) {
            Some(header) => match header.kind {
                RootKind::Git => "git",
                RootKind::Plain => "plain",
            },
            None => "",
        };
        let shape = |root: &RootId| RootShape {
            root: self.ledger.root_path(root),
            kind: kind(root).to_owned(),
            observing: String::new(),
            because: None,
            watch_missed: 0,
            degraded: self.ledger.degraded(self.session, root),
        };
        self.known.roots().iter().map(shape).collect()
    }

    fn warnings(&self, listing: &Listing) -> Vec<String> {
        let mut warnings: Vec<String> = Vec::new();
        for (root, _) in self.known.bases().iter().filter(|(_, base)| !base.complete) {
            warnings.push(format!(
                "the base of {} was not complete when the prompt left",
                self.ledger.root_path(root)
            ));
        }
        for notice in self.known.notices() {
            if !warnings.contains(&notice.text) {
                warnings.push(notice.text.clone());
            }
        }
        if !listing.skips.is_empty() {
            warnings.push(format!(
                "{} could not be read",
                crate::review::counted(listing.skips.len(), "journal line")
            ));
        }
        warnings
    }
}

fn planned(plan: Plan) -> Computed {
    Computed::Plan(Box::new(plan))
}
