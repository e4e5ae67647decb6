//! The fold: total over whatever a journal holds, the same live and on replay, and honest about what was lost.

use hunkgate::base::{
    AgentId, BlobId, CallId, CommandId, CommentId, Digest, HunkId, ObservationNo, ProxyId, RepoPath, RootId,
    SessionId, SessionKey, TreeId, TurnNo, WallNs, WindowId,
};
use hunkgate::ledger::{
    Actor, Bound, CallFacts, Channel, Claim, ClaimBody, Closing, Command, Comment, Content, Decision, Event,
    FileState, Gap, Hi, Ledger, LineRange, Log, Loss, Mode, NoteState, Observation, Purpose, Reapplied,
    Record, Redacted, RevertIntent, ReviewState, RootHeader, RootKind, SessionHeader, SessionLedger, Skip,
    Source, ToolKind, Verb, Why, Window, loss_of,
};
use hunkgate::review::pending;
use proptest::prelude::*;

fn root() -> RootId {
    RootId::new("r")
}

fn key() -> SessionKey {
    SessionKey::new("k")
}

fn path() -> RepoPath {
    RepoPath::new("a").expect("a path")
}

fn person() -> Actor {
    Actor::person(Channel::Cli)
}

fn observed(no: u64) -> Event {
    let (at, tree) = (WallNs(i64::try_from(no).expect("small")), TreeId([7; 20]));
    let by = ProxyId::new("p0");
    Event::Observed(Observation::new(ObservationNo(no), at, at, by, Why::Activity, tree, None, Vec::new()))
}

fn opened() -> Event {
    Event::SessionOpened(SessionHeader {
        key: key(),
        session: SessionId::new("s"),
        agent: AgentId::new("agent"),
        agent_version: None,
        client: None,
        protocol: 1,
        cwd: "/w".to_owned(),
        roots: vec![(root(), "/w".to_owned())],
        parent: None,
    })
}

fn based(position: u64) -> Event {
    Event::BaseTaken {
        root: root(),
        position: ObservationNo(position),
        tree: TreeId([7; 20]),
        complete: true,
    }
}

fn rebased(position: u64) -> Event {
    Event::Rebased { root: root(), position: ObservationNo(position), tree: TreeId([7; 20]), actor: person() }
}

fn window(id: &str, proxy: &str) -> Window {
    let call = CallFacts {
        call: CallId::new(id),
        title: Redacted::default(),
        kind: ToolKind::Edit,
        read_only: false,
        asked: None,
    };
    Window {
        id: WindowId::new(id),
        proxy: ProxyId::new(proxy),
        session: key(),
        turn: Some(TurnNo(1)),
        purpose: Purpose::Call(call),
        opened: WallNs(1),
        lo: Bound::Soft,
        closed: None,
        parent: None,
    }
}

fn decision(hunk: &str, state: ReviewState) -> Decision {
    let file = FileState { mode: Mode::Regular, blob: BlobId([1; 20]), size: 4, content: Content::Kept };
    Decision {
        hunk: HunkId::new(hunk),
        state,
        fingerprint: Digest::new("f"),
        digest: Digest::new("d"),
        root: root(),
        path: path(),
        old_path: None,
        base: Some(file),
        seen: Some(file),
        left: Some(file),
        base_range: Some(LineRange { start: 1, end: 2 }),
        current_range: Some(LineRange { start: 1, end: 2 }),
        calls: Vec::new(),
        returned: 0,
    }
}

fn command(id: &str, verb: Verb, items: &[(&str, ReviewState)]) -> Event {
    let items = items.iter().map(|(hunk, state)| decision(hunk, *state)).collect();
    Event::Decided(Command { id: CommandId::new(id), verb, actor: person(), items })
}

fn accept(id: &str, hunk: &str) -> Event {
    command(id, Verb::Accept, &[(hunk, ReviewState::Accepted)])
}

fn reject(id: &str, hunk: &str) -> Event {
    command(id, Verb::Reject { reason: None }, &[(hunk, ReviewState::Rejected)])
}

fn undo(id: &str, undoes: &str, hunk: &str, state: ReviewState) -> Event {
    command(id, Verb::Undo { undoes: CommandId::new(undoes) }, &[(hunk, state)])
}

fn redo(id: &str, redoes: &str, hunk: &str, state: ReviewState) -> Event {
    command(id, Verb::Redo { redoes: CommandId::new(redoes) }, &[(hunk, state)])
}

fn sent(note: &str, commands: &[&str]) -> Event {
    let commands = commands.iter().map(|id| CommandId::new(*id)).collect();
    Event::NoteSent {
        note: note.to_owned(),
        commands,
        comments: Vec::new(),
        reapplied: Vec::new(),
        denials: Vec::new(),
    }
}

fn records(events: Vec<Event>) -> Vec<Record> {
    (1..).zip(events).map(|(at, event)| Record { at: WallNs(at), event }).collect()
}

fn session_of(events: Vec<Event>) -> Ledger {
    let mut ledger = Ledger::default();
    ledger.replay(&Log::Session(key()), &records(events), &[]);
    ledger
}

fn known(ledger: &Ledger) -> &SessionLedger {
    ledger.session(&key()).expect("a session")
}

#[test]
fn the_latest_decision_that_is_not_taken_back_is_in_force() {
    use ReviewState::{Accepted, Rejected, Unreviewed};
    let check = |events: Vec<Event>, state: ReviewState, undoable: Option<&str>, redoable: Option<&str>| {
        let ledger = session_of(events.clone());
        let decisions = known(&ledger).decisions();
        let id = |command: Option<&Command>| command.map(|command| command.id.as_str().to_owned());
        assert_eq!(known(&ledger).state(&HunkId::new("h")), state, "{events:?}");
        assert_eq!(id(decisions.undoable().next()).as_deref(), undoable, "{events:?}");
        assert_eq!(id(decisions.redoable().next()).as_deref(), redoable, "{events:?}");
    };
    let (a, r) = (accept("1", "h"), reject("2", "h"));
    check(vec![a.clone()], Accepted, Some("1"), None);
    check(vec![a.clone(), r.clone()], Rejected, Some("2"), None);
    let u = undo("3", "2", "h", Accepted);
    check(vec![a.clone(), r.clone(), u.clone()], Accepted, Some("1"), Some("2"));
    let uu = undo("4", "1", "h", Unreviewed);
    check(vec![a.clone(), r.clone(), u.clone(), uu.clone()], Unreviewed, None, Some("1"));
    let back = redo("5", "1", "h", Accepted);
    check(vec![a.clone(), r.clone(), u.clone(), uu.clone(), back.clone()], Accepted, Some("1"), Some("2"));
    let fresh = accept("6", "other");
    check(vec![a.clone(), r.clone(), u.clone(), uu, back, fresh], Accepted, Some("6"), None);
    let again = redo("7", "2", "h", Rejected);
    check(vec![a.clone(), r.clone(), u, again.clone()], Rejected, Some("2"), None);
    check(vec![a.clone(), undo("3", "9", "h", Unreviewed)], Accepted, Some("1"), None);
    check(vec![a.clone(), a], Accepted, Some("1"), None);
}

#[test]
fn a_command_that_is_undone_in_part_keeps_the_rest() {
    let both = [("h", ReviewState::Rejected), ("i", ReviewState::Rejected)];
    let ledger = session_of(vec![
        command("1", Verb::Reject { reason: None }, &both),
        undo("2", "1", "h", ReviewState::Unreviewed),
    ]);
    assert_eq!(known(&ledger).state(&HunkId::new("h")), ReviewState::Unreviewed);
    assert_eq!(known(&ledger).state(&HunkId::new("i")), ReviewState::Rejected);
    let told = pending(&ledger, &key()).expect("a note");
    assert_eq!(told.len(), 1);
    assert_eq!(told.commands, [CommandId::new("1"), CommandId::new("2")]);
}

#[test]
fn what_is_pending_follows_from_what_was_told() {
    let check = |events: Vec<Event>, says: Option<&str>| {
        let ledger = session_of(events.clone());
        let text = pending(&ledger, &key()).map(|pending| pending.text("n"));
        match says {
            None => assert_eq!(text, None, "{events:?}"),
            Some(says) => {
                assert!(text.as_deref().is_some_and(|text| text.contains(says)), "{text:?} {events:?}")
            }
        }
    };
    let (delivered, returned) =
        (Event::NoteDelivered { note: "n".to_owned() }, Event::NoteReturned { note: "n".to_owned() });
    let resumed = Event::SessionResumed { proxy: ProxyId::new("p1") };
    let r = reject("1", "h");
    let u = undo("2", "1", "h", ReviewState::Unreviewed);
    let told = || vec![r.clone(), sent("n", &["1"]), delivered.clone()];
    let with = |mut events: Vec<Event>, more: &[Event]| {
        events.extend_from_slice(more);
        events
    };
    check(vec![accept("1", "h")], None);
    check(vec![r.clone()], Some("rejected"));
    check(vec![r.clone(), sent("n", &["1"])], None);
    check(vec![r.clone(), sent("n", &["1"]), returned], Some("rejected"));
    check(vec![r.clone(), sent("n", &["1"]), resumed.clone()], Some("rejected"));
    check(with(told(), &[resumed]), None);
    check(vec![r.clone(), u.clone()], None);
    check(with(told(), std::slice::from_ref(&u)), Some("restored"));
    check(with(told(), &[u.clone(), redo("3", "1", "h", ReviewState::Rejected)]), None);
    check(with(told(), &[reject("3", "h")]), Some("rejected"));
    check(with(told(), &[u, accept("3", "h")]), None);
}

#[test]
fn open_turns_and_notes_on_their_way_end_with_their_process() {
    let ledger = session_of(vec![
        opened(),
        Event::TurnStarted { turn: TurnNo(1) },
        sent("n", &[]),
        Event::SessionResumed { proxy: ProxyId::new("p2") },
    ]);
    let known = known(&ledger);
    assert_eq!((known.current_turn(), known.next_turn()), (None, TurnNo(2)));
    assert_eq!(known.notes()[0].state, NoteState::Returned);
}

#[test]
fn a_proxy_that_is_gone_closes_its_windows_and_no_others() {
    let mut ledger = Ledger::default();
    let events = vec![
        Event::ProxyJoined { proxy: ProxyId::new("p0"), pid: 1 },
        Event::WindowOpened(window("w0", "p0")),
        Event::WindowOpened(window("w1", "p1")),
        Event::ProxyLeft { proxy: ProxyId::new("p0"), lost: true },
    ];
    ledger.replay(&Log::Root(root()), &records(events), &[]);
    let open: Vec<_> = ledger.open_windows(&key()).map(|(_, window)| window.id.as_str().to_owned()).collect();
    assert_eq!(open, ["w1"]);
    let chain = ledger.chain(&root()).expect("a chain");
    let closed = chain.window(&WindowId::new("w0")).and_then(|window| window.closed);
    assert_eq!(closed, Some(Closing { at: WallNs(4), hi: Hi::Lost }));
}

#[test]
fn a_window_said_again_is_sharpened_and_stays_closed() {
    let mut again = window("w0", "p0");
    again.lo = Bound::Hard;
    let closing = Closing { at: WallNs(9), hi: Hi::Reported };
    let events = vec![
        Event::WindowOpened(window("w0", "p0")),
        Event::WindowClosed { window: WindowId::new("w0"), closing },
        Event::WindowOpened(again),
        Event::WindowOpened(window("w0", "another")),
        Event::WindowClosed { window: WindowId::new("nobody"), closing },
    ];
    let mut ledger = Ledger::default();
    ledger.replay(&Log::Root(root()), &records(events), &[]);
    let chain = ledger.chain(&root()).expect("a chain");
    let known = chain.window(&WindowId::new("w0")).expect("a window");
    assert_eq!((known.lo, known.closed, chain.odd()), (Bound::Hard, Some(closing), 2));
}

/// Folds a chain of six observations with a skip at a line, and a session on it.
fn damaged(skip: Skip, session: Vec<Event>) -> Ledger {
    let mut ledger = Ledger::default();
    let lost_at = skip.line;
    let chain: Vec<Event> = (0..6).filter(|no| *no + 1 != lost_at).map(observed).collect();
    ledger.replay(&Log::Root(root()), &records(chain), &[skip]);
    ledger.replay(&Log::Session(key()), &records(session), &[]);
    ledger
}

#[test]
fn damage_degrades_what_came_after_the_base_and_a_rebase_clears_it() {
    let check = |line: u64, session: Vec<Event>, degraded: bool| {
        let skip = Skip { loss: Loss::Root(root()), line, reason: "torn".to_owned() };
        let ledger = damaged(skip, session.clone());
        let why = ledger.degraded(&key(), &root());
        assert_eq!(why.is_some(), degraded, "line {line}, {session:?}: {why:?}");
        assert_eq!(ledger.skips(&key()).is_empty(), !degraded, "line {line}, {session:?}");
    };
    check(4, vec![opened(), based(1)], true);
    check(2, vec![opened(), based(4)], false);
    check(2, vec![opened(), based(1)], true);
    check(4, vec![opened(), based(1), rebased(5)], false);
    check(6, vec![opened(), based(1), rebased(2)], true);
}

#[test]
fn a_chain_that_was_begun_anew_is_not_taken_for_the_one_that_holds_the_base() {
    let mut ledger = Ledger::default();
    ledger.replay(&Log::Root(root()), &records(vec![observed(0), observed(1)]), &[]);
    let based =
        Event::BaseTaken { root: root(), position: ObservationNo(1), tree: TreeId([8; 20]), complete: true };
    ledger.replay(&Log::Session(key()), &records(vec![opened(), based]), &[]);
    assert!(ledger.degraded(&key(), &root()).is_some_and(|why| why.contains("the base is lost")));
}

#[test]
fn a_root_whose_last_look_failed_is_degraded_until_one_succeeds() {
    let gap = Gap { at: WallNs(9), reason: "moved".to_owned(), why: Why::Activity };
    let mut ledger = Ledger::default();
    ledger.replay(&Log::Root(root()), &records(vec![observed(0), observed(1), Event::Gap(gap)]), &[]);
    ledger.replay(&Log::Session(key()), &records(vec![opened(), based(1)]), &[]);
    assert!(ledger.degraded(&key(), &root()).is_some_and(|why| why.contains("moved")));
    ledger.replay(&Log::Root(root()), &records(vec![observed(2)]), &[]);
    assert_eq!(ledger.degraded(&key(), &root()), None);
}

#[test]
fn what_cannot_be_read_of_a_session_degrades_it_until_every_root_is_rebased() {
    let check = |kind: Option<&str>, then: Vec<Event>, degraded: bool, listed: usize| {
        let log = Log::Session(key());
        let mut ledger = Ledger::default();
        ledger.replay(&Log::Root(root()), &records((0..6).map(observed).collect()), &[]);
        ledger.replay(&log, &records(vec![opened(), based(1)]), &[]);
        ledger.skip(&log, Skip { loss: loss_of(&log, kind), line: 3, reason: "torn".to_owned() });
        for record in records(then) {
            ledger.apply(&log, &record);
        }
        assert_eq!(ledger.degraded_roots(&key()).len(), usize::from(degraded), "{kind:?}");
        assert_eq!(ledger.skips(&key()).len(), listed, "{kind:?}");
    };
    check(Some("base_taken"), vec![], true, 1);
    check(Some("base_taken"), vec![rebased(5)], false, 0);
    check(None, vec![], true, 1);
    check(Some("decided"), vec![], false, 1);
    check(Some("commented"), vec![rebased(5)], false, 0);
}

fn ids(prefix: &'static str) -> impl Strategy<Value = String> {
    (0..4u8).prop_map(move |number| format!("{prefix}{number}"))
}

fn state() -> impl Strategy<Value = ReviewState> {
    prop_oneof![Just(ReviewState::Unreviewed), Just(ReviewState::Accepted), Just(ReviewState::Rejected)]
}

fn verb() -> impl Strategy<Value = Verb> {
    prop_oneof![
        Just(Verb::Accept),
        Just(Verb::Reject { reason: None }),
        ids("c").prop_map(|id| Verb::Undo { undoes: CommandId::new(id) }),
        ids("c").prop_map(|id| Verb::Redo { redoes: CommandId::new(id) }),
    ]
}

fn commands() -> impl Strategy<Value = Command> {
    (ids("c"), verb(), proptest::collection::vec((ids("h"), state()), 0..4)).prop_map(|(id, verb, items)| {
        let items = items.into_iter().map(|(hunk, state)| decision(&hunk, state)).collect();
        Command { id: CommandId::new(id), verb, actor: person(), items }
    })
}

fn chain_event() -> impl Strategy<Value = Event> {
    let closing = Closing { at: WallNs(5), hi: Hi::Reported };
    prop_oneof![
        (0..5u64).prop_map(observed),
        Just(Event::Gap(Gap { at: WallNs(1), reason: "gone".to_owned(), why: Why::Activity })),
        (ids("w"), ids("p")).prop_map(|(id, proxy)| Event::WindowOpened(window(&id, &proxy))),
        ids("w").prop_map(|id| {
            let Purpose::Call(facts) = window(&id, "p0").purpose else { unreachable!("windows of calls") };
            Event::WindowRefined { window: WindowId::new(id), facts }
        }),
        ids("w").prop_map(move |id| Event::WindowClosed { window: WindowId::new(id), closing }),
        ids("w").prop_map(|id| Event::Claimed(Claim {
            session: key(),
            turn: None,
            call: CallId::new(id),
            at: WallNs(1),
            path: path(),
            body: ClaimBody::Location,
            source: Source::Location,
        })),
        ids("p").prop_map(|id| Event::ProxyJoined { proxy: ProxyId::new(id), pid: 1 }),
        ids("p").prop_map(|id| Event::ProxyLeft { proxy: ProxyId::new(id), lost: true }),
        ids("s").prop_map(|id| Event::SessionJoined(member(&id))),
        Just(Event::RootOpened(RootHeader {
            root: root(),
            path: None,
            kind: RootKind::Git,
            dev_ino: (1, 2)
        })),
    ]
}

fn member(id: &str) -> hunkgate::ledger::Member {
    let (agent, session) = (AgentId::new("agent"), SessionId::new(id));
    hunkgate::ledger::Member { key: SessionKey::derive(&agent, &session), session, agent, parent: None }
}

fn session_event() -> impl Strategy<Value = Event> {
    let turn = || (0..4u32).prop_map(TurnNo);
    prop_oneof![
        Just(opened()),
        ids("p").prop_map(|id| Event::SessionResumed { proxy: ProxyId::new(id) }),
        (0..5u64).prop_map(based),
        (0..5u64).prop_map(rebased),
        turn().prop_map(|turn| Event::TurnStarted { turn }),
        turn().prop_map(|turn| Event::TurnEnded { turn, stop: "end_turn".to_owned() }),
        ids("m").prop_map(|mode| Event::ModeChanged { mode }),
        ids("gate").prop_map(|gate| Event::GateReleased { gate, how: "reviewed".to_owned(), channel: None }),
        commands().prop_map(Event::Decided),
        ids("c").prop_map(|id| {
            let (command, hunks) = (CommandId::new(id), Vec::new());
            Event::RejectPending { command, hunks, reason: None, force: false, actor: person() }
        }),
        ids("c").prop_map(|id| {
            Event::RejectSettled { command: CommandId::new(id), outcome: "done".to_owned() }
        }),
        commands().prop_map(|command| Event::RevertIntended(RevertIntent { command, files: Vec::new() })),
        ids("c").prop_map(|id| Event::RevertDone { command: CommandId::new(id), files: Vec::new() }),
        (ids("n"), ids("c")).prop_map(|(note, id)| sent(&note, &[&id])),
        ids("n").prop_map(|note| Event::NoteDelivered { note }),
        ids("n").prop_map(|note| Event::NoteReturned { note }),
        ids("x").prop_map(|id| Event::Commented(Comment {
            id: CommentId::new(id),
            root: root(),
            path: path(),
            lines: LineRange { start: 1, end: 2 },
            anchor: None,
            excerpt: String::new(),
            body: "b".to_owned(),
            author: person(),
        })),
        ids("h").prop_map(|id| {
            let (ask, about) = ("show".to_owned(), hunkgate::ledger::Redactor::new([0; 32]).redact(&id));
            Event::Visited(hunkgate::ledger::Visit { actor: person(), ask, about, turned_away: None })
        }),
        ids("h").prop_map(|id| Event::PersonTold { hunks: vec![HunkId::new(id)] }),
        (ids("h"), 1..3u32).prop_map(|(id, times)| Event::Reapplied {
            items: vec![Reapplied { hunk: HunkId::new(id), path: "a".to_owned(), lines: None, times }],
        }),
        ids("x").prop_map(|id| Event::CommentResolved { comment: CommentId::new(id), actor: person() }),
        Just(Event::SessionClosed { why: "closed".to_owned() }),
    ]
}

fn any_record() -> impl Strategy<Value = (Log, Event)> {
    let log = prop_oneof![Just(Log::Root(root())), Just(Log::Session(key()))];
    (log, prop_oneof![chain_event(), session_event()])
}

proptest! {
    #[test]
    fn no_sequence_of_events_breaks_the_fold(events in proptest::collection::vec(any_record(), 0..60)) {
        let mut ledger = Ledger::default();
        for ((log, event), at) in events.into_iter().zip(1..) {
            let snapshot = ledger.clone();
            ledger.apply(&log, &Record { at: WallNs(at), event });
            drop(snapshot);
        }
        let _ = (ledger.degraded_roots(&key()), ledger.skips(&key()), pending(&ledger, &key()));
        if let Some(known) = ledger.session(&key()) {
            let decisions = known.decisions();
            for hunk in decisions.touched() {
                prop_assert!(!decisions.history_of(hunk).is_empty());
                prop_assert_eq!(known.state(hunk), decisions.in_force(hunk).map(|one| one.state).unwrap_or_default());
            }
        }
    }

    #[test]
    fn undoing_everything_leaves_nothing_decided(mut commands in proptest::collection::vec(commands(), 0..12)) {
        commands.retain(|command| matches!(command.verb, Verb::Accept | Verb::Reject { .. }));
        let mut ledger = Ledger::default();
        let log = Log::Session(key());
        for (at, command) in (1..).zip(commands) {
            ledger.apply(&log, &Record { at: WallNs(at), event: Event::Decided(command) });
        }
        let mut round = 0;
        while let Some(last) = ledger.session(&key()).and_then(|known| known.decisions().undoable().next().cloned()) {
            round += 1;
            prop_assert!(round < 100, "an undo is no longer undoable");
            let items = last.items.clone();
            let verb = Verb::Undo { undoes: last.id };
            let command = Command { id: CommandId::new(format!("u{round}")), verb, actor: person(), items };
            ledger.apply(&log, &Record { at: WallNs(99), event: Event::Decided(command) });
        }
        let in_force = ledger.session(&key()).map_or(0, |known| known.decisions().all_in_force().count());
        prop_assert_eq!(in_force, 0);
    }

    #[test]
    fn a_snapshot_does_not_move(events in proptest::collection::vec(any_record(), 1..40), at in any::<prop::sample::Index>()) {
        let at = at.index(events.len());
        let fold = |events: &[(Log, Event)]| {
            let mut ledger = Ledger::default();
            for (at, (log, event)) in (1..).zip(events) {
                ledger.apply(log, &Record { at: WallNs(at), event: event.clone() });
            }
            ledger
        };
        let mut ledger = fold(&events[..at]);
        let snapshot = ledger.clone();
        for (at, (log, event)) in (i64::try_from(at).expect("small") + 1..).zip(&events[at..]) {
            ledger.apply(log, &Record { at: WallNs(at), event: event.clone() });
        }
        prop_assert_eq!(snapshot, fold(&events[..at]));
        prop_assert_eq!(ledger, fold(&events));
    }
}
