//! Facts to credit: who changed a path in one step of the chain, and on what evidence (ledger.md §4).
//!
//! First match wins: our own revert, mediated, verified by claims, a return to bytes that stood there before, sole,
//! ordered, contested, in turn, external. False attribution is the worst bug there is: in doubt a change goes down.

use crate::base::{SessionKey, TurnNo, WallNs};
use crate::diff::Text;
use crate::ledger::explain::{Claimed, explain};
use crate::ledger::moment::Moment;
use crate::ledger::suspect::{FactIndex, Suspect};
use crate::ledger::{CallKey, Claim, ClaimBody, Credit, Grade, ToolKind};
use std::collections::BTreeSet;

/// How long a text has been composed at least when the message that tells it comes.
const COMPOSED_MS: i64 = 1;
/// A window that ends so little after a look began ended with it, in nanoseconds.
const WITH_THE_LOOK: i64 = 1_000;

/// Everything that the credit of one step depends on. Equal inputs give equal credits.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each read in one place")]
pub(super) struct Evidence {
    /// When.
    pub moment: Moment,
    /// When the look was complete.
    pub looked: WallNs,
    /// Those that could have written.
    pub suspects: Vec<Suspect>,
    /// Those that could have and name other paths, with the texts that they tell of those: what one names may be another
    /// name of this path.
    pub elsewhere: Vec<Suspect>,
    /// The turn that ran.
    pub turn: Option<RunningTurn>,
    /// It passed through us: the whole change is credited so.
    pub mediated: Option<Credit>,
    /// What passed through us to this path from a suspect's call, by the suspect's position: a claim like any other.
    pub passed: Vec<(usize, ClaimBody)>,
    /// The suspects whose text for this path passed through us, at whatever time.
    pub tellers: BTreeSet<usize>,
    /// The path changed before with nothing open that could have written it.
    pub background: bool,
    /// The base was read too late to know.
    pub base_unknown: bool,
    /// HEAD moved in the step and the content is the new HEAD's.
    pub vcs: bool,
    /// The bytes came from, or went to, where a call says that it moved them.
    pub moved: bool,
    /// The path is gone after the step.
    pub gone: bool,
    /// Calls whose background work may still be at it, after everything closed.
    pub lingering: Vec<CallKey>,
}

/// What the texts of a step say of those who told theirs.
#[derive(Debug, Default)]
struct Aside {
    /// The suspects whose writing came after the step.
    unwritten: BTreeSet<usize>,
    /// Those that name another path, and whose text came here.
    strays: Vec<usize>,
}

/// A turn that ran when a change happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunningTurn {
    /// Its session.
    pub session: SessionKey,
    /// Its number.
    pub turn: Option<TurnNo>,
    /// Whether it is a turn of the session that is listed, or of one of its children.
    pub ours: bool,
}

/// One stretch of a step: the text at its end, and whose it is. The last stretch ends in the step's own after-text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stretch {
    /// The text at its end; `None` for the last.
    pub text: Option<Text>,
    /// Whose it is.
    pub credit: Credit,
    /// No claim tells it.
    pub untold: bool,
}

impl Evidence {
    /// Takes the call away from what passed through us: the text was composed on what nobody observed, and may hold what
    /// somebody else wrote.
    pub(super) fn disown(&mut self) {
        if let Some(credit) = &mut self.mediated {
            credit.calls.clear();
            credit.grade = Grade::InTurn;
        }
    }

    /// Says whether the step met nothing that could have written it: what the background set is made of.
    pub(super) fn is_background(&self) -> bool {
        self.suspects.is_empty() && self.mediated.is_none() && !self.vcs
    }

    /// Returns those that could have written and had not ended before.
    pub(super) fn able(&self) -> impl Iterator<Item = (&SessionKey, Option<TurnNo>, Option<&CallKey>)> {
        self.suspects
            .iter()
            .filter(|suspect| !suspect.ended_before(self.moment.earliest))
            .map(|suspect| (&suspect.session, suspect.turn, suspect.key.as_ref()))
    }

    /// Says whether claims have to be looked up in the texts.
    pub(super) fn needs_texts(&self, index: &FactIndex) -> bool {
        let may_stray = !self.suspects.is_empty() && !self.elsewhere.is_empty();
        self.mediated.is_none() && (may_stray || !self.claims(index).is_empty())
    }

    /// Divides a step among those who did it.
    pub(super) fn divide(&self, index: &FactIndex, before: &Text, after: &Text) -> Vec<Stretch> {
        if let Some(credit) = &self.mediated {
            return vec![Stretch { text: None, credit: credit.clone(), untold: false }];
        }
        let mut claims = self.claims(index);
        // What a call that failed told may be done in part; what left no line did not happen.
        claims.retain(|claim| {
            let failed = self.suspects.len() > 1 && self.suspects[claim.suspect].failed();
            !failed || !claim.body.left_nothing_in(after)
        });
        let came = |stray: &Suspect| {
            stray.claims.iter().any(|&number| index.claim(number).body.has_come(before, after))
        };
        let strays = (0..).zip(&self.elsewhere).filter(|(_, stray)| came(stray)).map(|(at, _)| at).collect();
        let aside = Aside { unwritten: self.unwritten(index, before, after), strays };
        let mut stretches: Vec<Stretch> = Vec::new();
        for found in explain(before, after, &claims) {
            let credit = match found.by.as_slice() {
                [] => self.rest(None, &aside),
                &[only]
                    if !found.laid
                        && (!before.is_empty() || found.text != *after)
                        && self.is_blind(only, index) =>
                {
                    self.blind(only, index, &aside)
                }
                by => self.claimed(by),
            };
            stretches.push(Stretch { text: Some(found.text), credit, untold: found.by.is_empty() });
        }
        match stretches.last_mut() {
            Some(last) if last.text.as_ref() == Some(after) => last.text = None,
            Some(_) | None => {
                let credit = self.rest(Some(index), &aside);
                stretches.push(Stretch { text: None, credit, untold: true });
            }
        }
        stretches
    }

    /// Credits a step as a whole, where its bytes cannot be had or are no text.
    pub(super) fn whole(&self, index: &FactIndex) -> Credit {
        if let Some(credit) = &self.mediated {
            return credit.clone();
        }
        let tells = |claim: &Claimed<'_>| matches!(claim.body, ClaimBody::Delete | ClaimBody::Move { .. });
        let by: BTreeSet<usize> =
            self.claims(index).iter().filter(|claim| tells(claim)).map(|claim| claim.suspect).collect();
        let by: Vec<usize> = by.into_iter().collect();
        if by.is_empty() { self.rest(Some(index), &Aside::default()) } else { self.claimed(&by) }
    }

    /// Credits what no claim explains.
    ///
    /// With `index`: a suspect that told the text it writes here has had all that is its own.
    fn rest(&self, index: Option<&FactIndex>, aside: &Aside) -> Credit {
        let passed = |suspect: &Suspect| {
            self.tellers
                .iter()
                .any(|&at| self.suspects.get(at).is_some_and(|teller| teller.key == suspect.key))
        };
        let gave_text = |suspect: &Suspect| {
            let Some(index) = index else { return true };
            let told =
                passed(suspect) || suspect.claims.iter().any(|&number| index.claim(number).body.gives_text());
            told && suspect.kind != ToolKind::Execute
        };
        let doubtful = self.background;
        let receives = |suspect: &&Suspect| {
            let only_removes = suspect.kind == ToolKind::Delete && !self.gone;
            let able = suspect.key.is_some() && !suspect.is_weak() && !gave_text(suspect) && !only_removes;
            let sure = suspect.claims_path() || !(doubtful || suspect.was_lost_before(self.looked));
            // An edit that does not even name the path must at least have had the whole step to itself.
            let whole =
                !suspect.kind.names_its_targets() || suspect.claims_path() || suspect.holds(&self.moment);
            let elsewhere = suspect.kind.names_its_targets()
                && !suspect.claims_path()
                && index.is_some_and(|index| index.has_claimed(suspect));
            able && sure && whole && !elsewhere && suspect.covers(&self.moment, self.looked)
        };
        match self.suspects.as_slice() {
            [] => self.nobody(),
            several if !aside.strays.is_empty() => {
                let strays = aside.strays.iter().filter_map(|&at| self.elsewhere.get(at));
                self.contested(&several.iter().chain(strays).collect::<Vec<_>>())
            }
            [only] => match Some(only).filter(receives) {
                Some(only) => self.named(Grade::Sole, only),
                None => self.nobody(),
            },
            several => self.among(several, receives, &aside.unwritten),
        }
    }

    /// Credits what one of several did. That one had ended before the last change is no word on what came before it in the
    /// same step: so only those are passed over that say that they read, or were heard of only when the command that had
    /// the whole step to itself had ended.
    fn among(
        &self,
        several: &[Suspect],
        receives: impl Fn(&&Suspect) -> bool,
        unwritten: &BTreeSet<usize>,
    ) -> Credit {
        let moment = &self.moment;
        let looked = WallNs(moment.floor.0.saturating_add(WITH_THE_LOOK));
        let reads = |one: &Suspect| {
            one.is_weak() && (one.ended_before(moment.earliest) || one.announced_after(moment.latest))
        };
        let command = |other: &&Suspect| !other.kind.names_its_targets() && receives(other);
        // Whoever names the path contradicts only one that does not.
        let before = |one: &Suspect| {
            let agrees = |other: &&Suspect| other.claims_path() || !one.claims_path();
            !one.kind.names_its_targets()
                && several.iter().filter(command).filter(agrees).any(|other| one.followed(other, moment))
        };
        let passed_over =
            |one: &Suspect| before(one) || one.ended_before(looked) || !one.claims_path() && reads(one);
        let written = several.iter().enumerate().filter(|(at, _)| !unwritten.contains(at));
        let remain: Vec<&Suspect> = written.map(|(_, one)| one).filter(|one| !passed_over(one)).collect();
        match remain.as_slice() {
            [] => self.nobody(),
            [only] => match Some(*only).filter(&receives) {
                Some(only) => self.named(Grade::Ordered, only),
                None => self.nobody(),
            },
            remain => self.contested(remain),
        }
    }

    /// Returns the suspects that told what they do to this path and of which nothing has come about by the end of the step:
    /// they wrote later; or wrote before the path was removed, which is no edit. A command may do more than it says.
    fn unwritten(&self, index: &FactIndex, before: &Text, after: &Text) -> BTreeSet<usize> {
        if self.suspects.len() < 2 {
            return BTreeSet::new();
        }
        let yet_to_come = |suspect: &Suspect| {
            let bodies = || suspect.claims.iter().map(|&number| &index.claim(number).body);
            let deletes = suspect.kind == ToolKind::Delete && !self.gone;
            let told = || bodies().filter(|body| **body != ClaimBody::Location);
            let absent =
                |body: &ClaimBody| body.is_yet_to_come(before, after) || self.gone && body.leaves_a_text();
            suspect.claims_path()
                && (deletes && told().next().is_none() || told().next().is_some() && told().all(absent))
        };
        let numbered = self.suspects.iter().enumerate();
        numbered
            .filter(|(_, one)| one.kind != ToolKind::Execute && yet_to_come(one))
            .map(|(at, _)| at)
            .collect()
    }

    /// Says whether a suspect told what it wrote and not over what, and told it only after the look before the step:
    /// somebody else may have written in between what it read and wrote back. A text told before that look holds
    /// nothing that was written after it.
    fn is_blind(&self, only: usize, index: &FactIndex) -> bool {
        let claims = || self.suspects[only].claims.iter().map(|&number| index.claim(number));
        let overwrites = |body: &ClaimBody| {
            matches!(body, ClaimBody::Whole { old: None, .. } | ClaimBody::Diff { old: None, .. })
        };
        let told = |claim: &&Claim| claim.body.gives_text();
        claims().any(|claim| overwrites(&claim.body))
            && claims()
                .filter(told)
                .all(|claim| overwrites(&claim.body) && claim.at > self.moment.floor.plus_ms(COMPOSED_MS))
    }

    /// Credits what a suspect overwrote without a look: a command has it like all that it writes, by being alone.
    fn blind(&self, only: usize, index: &FactIndex, aside: &Aside) -> Credit {
        if self.suspects[only].kind == ToolKind::Execute {
            return self.rest(Some(index), aside);
        }
        self.contested(&self.suspects.iter().collect::<Vec<_>>())
    }

    /// Credits lines that the claims of these suspects change.
    fn claimed(&self, by: &[usize]) -> Credit {
        let claimants: Vec<&Suspect> = by.iter().filter_map(|&at| self.suspects.get(at)).collect();
        if let [only] = claimants.as_slice() {
            return self.named(Grade::Verified, only);
        }
        let remain: Vec<&Suspect> =
            claimants.iter().copied().filter(|suspect| !suspect.ended_before(self.moment.earliest)).collect();
        match remain.as_slice() {
            [only] => self.named(Grade::Ordered, only),
            _ => self.contested(&claimants),
        }
    }

    fn named(&self, grade: Grade, suspect: &Suspect) -> Credit {
        let turn = suspect.turn.map(|turn| (suspect.session.clone(), turn));
        let calls = suspect.key.iter().cloned().collect();
        Credit { grade: self.at_best(grade), calls, candidates: Vec::new(), turn, vcs: self.vcs }.sound()
    }

    fn contested(&self, suspects: &[&Suspect]) -> Credit {
        let candidates: BTreeSet<CallKey> =
            suspects.iter().filter_map(|suspect| suspect.key.clone()).collect();
        let turn = self.numbered_turn();
        let candidates = candidates.into_iter().collect();
        let grade = self.at_best(Grade::Contested);
        Credit { grade, calls: Vec::new(), candidates, turn, vcs: self.vcs }
    }

    /// Credits what no call did: the turn, or nobody that we know of.
    pub(super) fn nobody(&self) -> Credit {
        let (grade, candidates) = match &self.turn {
            Some(turn) if turn.ours => (Grade::InTurn, Vec::new()),
            Some(_) => (Grade::External, Vec::new()),
            None => (Grade::External, self.lingering.clone()),
        };
        let turn = self.numbered_turn();
        Credit { grade: self.at_best(grade), calls: Vec::new(), candidates, turn, vcs: self.vcs }
    }

    fn numbered_turn(&self) -> Option<(SessionKey, TurnNo)> {
        let running = self.turn.as_ref()?;
        running.turn.map(|turn| (running.session.clone(), turn))
    }

    fn at_best(&self, grade: Grade) -> Grade {
        if self.base_unknown { Grade::BaseUnknown } else { grade }
    }

    /// Returns the claims of the suspects on the path, in the order in which they were received.
    fn claims<'a>(&'a self, index: &'a FactIndex) -> Vec<Claimed<'a>> {
        let mut numbered: Vec<(usize, usize)> = Vec::new();
        for (at, suspect) in self.suspects.iter().enumerate() {
            numbered.extend(suspect.claims.iter().map(|&number| (number, at)));
        }
        numbered.sort_unstable();
        let texts = numbered.into_iter().map(|(number, suspect)| {
            let body = &index.claim(number).body;
            // A call that deletes names what it deletes; beside another it has done so when it says that it has.
            let teller = &self.suspects[suspect];
            let deletes = teller.kind == ToolKind::Delete
                && *body == ClaimBody::Location
                && (self.suspects.len() == 1 || teller.succeeded());
            (suspect, if deletes { &ClaimBody::Delete } else { body })
        });
        let beside = self.suspects.len() > 1;
        let undone = |suspect: usize, body: &ClaimBody| {
            let takes_away = matches!(body, ClaimBody::Delete | ClaimBody::Move { .. });
            beside && takes_away && self.suspects[suspect].failed()
        };
        let passed = self.passed.iter().map(|(suspect, body)| (*suspect, body));
        let texts: Vec<(usize, &ClaimBody)> = texts
            .filter(|&(suspect, body)| self.can_be(&self.suspects[suspect], body) && !undone(suspect, body))
            .collect();
        // The same text told over what stood there says more than the text alone, and may leave lines to others.
        let told_over = |&(suspect, body): &(usize, &ClaimBody)| {
            let over = |(other, fuller): &(usize, &ClaimBody)| *other == suspect && fuller.tells_over(body);
            texts.iter().any(over)
        };
        let texts: Vec<_> = texts.iter().copied().filter(|claim| !told_over(claim)).collect();
        texts.into_iter().chain(passed).map(|(suspect, body)| Claimed { suspect, body }).collect()
    }

    fn can_be(&self, suspect: &Suspect, body: &ClaimBody) -> bool {
        match body {
            ClaimBody::Location => false,
            ClaimBody::Delete => self.gone,
            // The words of a command are no report: its move has to be seen.
            ClaimBody::Move { .. } if suspect.kind == ToolKind::Execute => self.moved,
            ClaimBody::Move { .. } => self.gone || self.moved,
            ClaimBody::Fragment { .. } | ClaimBody::Whole { .. } | ClaimBody::Diff { .. } => true,
        }
    }
}

impl Credit {
    /// Takes the calls away where the grade names none.
    fn sound(mut self) -> Self {
        if !self.grade.names_a_call() {
            self.calls.clear();
        }
        self
    }
}
