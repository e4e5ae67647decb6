//! Law 2, at the pending table: every request is answered once, and nothing of ours leaks.

use hunkgate::base::{Leg, Minter, Tick};
use hunkgate::router::{Answered, InFlight, Pending};
use hunkgate::wire::IdToken;
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    /// A peer asks with one of few ids, some of which look like ours.
    Ask(Leg, usize),
    /// We ask a peer.
    Originate(Leg),
    /// A peer answers one of those ids, or one of ours.
    Answer(Leg, usize),
    AnswerOurs(Leg, prop::sample::Index),
    /// We answer in place of a peer, or give a request of ours up.
    End(Leg, usize),
    Withdraw(Leg, prop::sample::Index),
    /// A peer is gone: all its questions end.
    Dies(Leg),
}

fn leg() -> impl Strategy<Value = Leg> {
    prop_oneof![Just(Leg::Editor), Just(Leg::Agent)]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (leg(), 0..IDS.len()).prop_map(|(leg, id)| Step::Ask(leg, id)),
        2 => leg().prop_map(Step::Originate),
        4 => (leg(), 0..IDS.len()).prop_map(|(leg, id)| Step::Answer(leg, id)),
        3 => (leg(), any::<prop::sample::Index>()).prop_map(|(leg, at)| Step::AnswerOurs(leg, at)),
        2 => (leg(), 0..IDS.len()).prop_map(|(leg, id)| Step::End(leg, id)),
        1 => (leg(), any::<prop::sample::Index>()).prop_map(|(leg, at)| Step::Withdraw(leg, at)),
        1 => leg().prop_map(Step::Dies),
    ]
}

const IDS: [&str; 5] = ["1", "\"1\"", "null", "\"hunkgate-s-1\"", "\"hunkgate-s-3\""];

fn request(number: usize) -> InFlight<usize> {
    InFlight { method: "m".into(), session: None, at: Tick::default(), payload: number }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_answered_once_and_nothing_of_ours_leaks(steps in proptest::collection::vec(step(), 0..60)) {
        let (mut pending, mut minter) = (Pending::new("s"), Minter::new("s"));
        let mut ended = Vec::new();
        let mut originated: Vec<(Leg, IdToken, usize)> = Vec::new();
        // A peer may take an id like ours after we did; what comes back under it is then ours first.
        let mut count = 0;
        for step in steps {
            match step {
                Step::Ask(from, id) => {
                    pending.asked(from, IdToken::new(IDS[id]), request(count));
                    count += 1;
                }
                Step::Originate(to) => {
                    let id = pending.originate(to, &mut minter, request(count));
                    prop_assert!(pending.is_ours(&id));
                    prop_assert!(pending.find(to.other(), &id).is_none(), "an id of the other peer in flight");
                    prop_assert!(originated.iter().all(|(_, known, _)| *known != id));
                    originated.push((to, id, count));
                    count += 1;
                }
                Step::Answer(from, id) => {
                    let id = IdToken::new(IDS[id]);
                    match pending.answered(from, &id) {
                        Answered::Theirs(it) => ended.push(it.payload),
                        Answered::Ours(it) => {
                            prop_assert!(originated.contains(&(from, id, it.payload)));
                            ended.push(it.payload);
                        }
                        Answered::Late | Answered::Duplicate | Answered::Unknown => {}
                    }
                }
                Step::AnswerOurs(from, at) if !originated.is_empty() => {
                    let (to, id, number) = originated[at.index(originated.len())].clone();
                    match pending.answered(from, &id) {
                        Answered::Ours(it) => {
                            prop_assert_eq!((to, it.payload), (from, number));
                            ended.push(number);
                        }
                        Answered::Theirs(it) => {
                            // The peer's own request with that text as its id.
                            prop_assert_ne!(it.payload, number);
                            ended.push(it.payload);
                        }
                        Answered::Late | Answered::Duplicate => {}
                        Answered::Unknown => prop_assert!(false, "an answer to us would be forwarded"),
                    }
                }
                Step::Withdraw(from, at) if !originated.is_empty() => {
                    let (_, id, _) = originated[at.index(originated.len())].clone();
                    ended.extend(pending.withdraw(from, &id).map(|it| it.payload));
                }
                Step::AnswerOurs(..) | Step::Withdraw(..) => {}
                Step::End(from, id) => {
                    let id = IdToken::new(IDS[id]);
                    let again = pending.find(from, &id).is_some();
                    let done = pending.end(from, &id);
                    prop_assert_eq!(done.is_some(), again);
                    ended.extend(done.map(|it| it.payload));
                }
                Step::Dies(from) => {
                    ended.extend(pending.end_all(from).into_iter().map(|(_, it)| it.payload));
                    prop_assert!(pending.iter().all(|(leg, _, _)| leg != from));
                }
            }
        }
        ended.extend(pending.iter().map(|(_, _, it)| it.payload));
        ended.extend(pending.iter_ours().map(|(_, _, it)| it.payload));
        ended.sort_unstable();
        prop_assert_eq!(ended, (0..count).collect::<Vec<_>>());
    }
}
