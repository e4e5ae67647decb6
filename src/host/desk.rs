//! Where a command on the command line gets its answer: from the session's proxy while one lives, else from the journals.

use crate::base::{ProxyId, SessionKey};
use crate::config::Config;
use crate::engine::Input;
use crate::host::ancestry::{may_decide, ourselves};
use crate::host::clock::Clock;
use crate::host::effects::{Effects, Place};
use crate::host::event::Inbox;
use crate::host::relay::Offline;
use crate::host::run::{draw_seed, settings, setup};
use crate::host::socket;
use crate::ledger::SessionHeader;
use crate::review::{Answer, Asked, Problem, ProblemKind};
use crate::store::{Holder, Lease, LeaseError, StateDir};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// How long a session is waited for that neither answers nor is free: another command, or a proxy that is ending.
const PATIENCE: Duration = Duration::from_secs(5);

/// Asks a session: its proxy where one lives, else its journals under its lease.
///
/// Whether this process may decide is found out here; what `asked` says of it does not count.
pub(crate) fn ask(state: &StateDir, config: &Config, mut asked: Asked) -> Answer {
    asked.may_decide = may_decide(state, &config.mcp_may, ourselves(), &asked);
    let start = Instant::now();
    loop {
        match try_ask(state, config, &asked) {
            Ok(answer) => return answer,
            Err(problem) if start.elapsed() >= PATIENCE => return Answer::Problem(problem),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Asks once; fails where trying again may help.
fn try_ask(state: &StateDir, config: &Config, asked: &Asked) -> Result<Answer, Problem> {
    let seed = match draw_seed() {
        Ok(seed) => seed,
        Err(error) => return Ok(internal(&error.to_string())),
    };
    let proxy = ProxyId::new(format!("command-{seed}"));
    let place = Place {
        state: state.clone(),
        settings: settings(config),
        proxy,
        socket: None,
        clock: Clock::start(),
        config: None,
    };
    match state.lease(&asked.session, &place.holder()) {
        Ok(lease) => Ok(offline(place, (config, seed), lease, asked)),
        Err(LeaseError::Held(Some(Holder { socket: Some(path), .. }))) => {
            socket::ask(&path, asked).map_err(|error| {
                Problem::new(ProblemKind::Internal, format!("the session's proxy does not answer: {error}"))
            })
        }
        Err(held @ LeaseError::Held(_)) => {
            Err(Problem::new(ProblemKind::Conflict, held.to_string()).hint("try again when it has ended"))
        }
        Err(LeaseError::Store(error)) => Ok(internal(&error.to_string())),
    }
}

/// Answers from the journals, with an engine that has no peers.
fn offline(place: Place, (config, seed): (&Config, String), lease: Lease, asked: &Asked) -> Answer {
    let header = match header_of(&place.state, &asked.session) {
        Ok(header) => header,
        Err(problem) => return Answer::Problem(problem),
    };
    let mut directories: Vec<String> = header.roots.iter().map(|(_, path)| path.clone()).collect();
    if directories.is_empty() {
        directories.push(header.cwd.clone());
    }
    let (sender, events) = channel();
    let inbox = Inbox::new(sender);
    let (proxy, clock) = (place.proxy.clone(), place.clock);
    let setup = setup("", config.clone(), (proxy, seed), Some(place.state.path()));
    let effects = match Effects::start(place, Some((asked.session.clone(), lease)), inbox.clone()) {
        Ok(effects) => effects,
        Err(error) => return internal(&error.to_string()),
    };
    let adopt = Input::Adopt { header: Box::new(header), directories };
    Offline { setup, events: (inbox, events), perform: Box::new(effects), clock }.answer(adopt, asked.clone())
}

fn header_of(state: &StateDir, session: &SessionKey) -> Result<SessionHeader, Problem> {
    let found = state.sessions().into_iter().find(|found| found.key == *session);
    let found = found.ok_or_else(|| Problem::new(ProblemKind::User, "there is no such session"))?;
    found.header.map_err(|why| {
        Problem::new(ProblemKind::Degraded, format!("the session's ledger cannot be read: {why}"))
    })
}

fn internal(message: &str) -> Answer {
    Answer::Problem(Problem::new(ProblemKind::Internal, message))
}
