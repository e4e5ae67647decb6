//! How much is kept, for whom, and the sweep of what deleted sessions left behind.

use crate::base::{RootId, SessionId, WallNs};
use crate::config::Config;
use crate::host::ancestry::refuse_agents;
use crate::host::clock::Clock;
use crate::review::{Problem, ProblemKind};
use crate::store::{SessionOnDisk, StateDir, Stock, StoreError};
use crate::surface::{RootStockShape, StockShape, SweptShape, UserShape};
use std::path::Path;

/// Says what is kept in a state directory, and touches nothing; what could be swept is told as well.
pub fn stock(state: &Path, config: &Config) -> StockShape {
    let state = StateDir::unopened(state);
    let (sessions, plan) = (state.sessions(), state.plan());
    let stocks = state.stocks();
    let trash = state.trash_bytes();
    let dropped = stocks.iter().filter(|stock| plan.drop.contains(&stock.root));
    let bytes = trash + dropped.map(Stock::bytes).sum::<u64>();
    let roots = stocks.into_iter().map(|stock| root_shape(stock, &sessions, config.store.max_size)).collect();
    let given_up = given_up(&sessions, config, Clock::start().now().wall).map(user).collect();
    StockShape {
        state_dir: state.path().to_owned(),
        cap: config.store.max_size,
        roots,
        swept: SweptShape {
            dry_run: true,
            sessions: given_up,
            trash,
            pins: plan.unpin,
            roots: plan.drop,
            bytes,
        },
    }
}

/// Returns the sessions that `[store] keep` gives up: nobody holds them, their ledgers have not grown for so long, and
/// their roots are there. What is on a disk that is away is kept.
fn given_up<'s>(
    sessions: &'s [SessionOnDisk],
    config: &Config,
    now: WallNs,
) -> impl Iterator<Item = &'s SessionOnDisk> {
    const DAY: i64 = 24 * 3_600 * 1_000_000_000;
    let kept_ns = config.store.keep_days.and_then(|days| i64::try_from(days).ok()?.checked_mul(DAY));
    sessions.iter().filter(move |session| {
        let old = kept_ns.is_some_and(|kept_ns| session.grew.0.saturating_add(kept_ns) < now.0);
        let is_there = |roots: &[(RootId, String)]| roots.iter().all(|(_, path)| Path::new(path).is_dir());
        old && session.live.is_none() && session.header.as_ref().is_ok_and(|header| is_there(&header.roots))
    })
}

/// Deletes the sessions that `[store] keep` gives up. One that somebody takes meanwhile is left.
pub(crate) fn give_up(state: &StateDir, config: &Config) -> Result<Vec<SessionOnDisk>, StoreError> {
    let mut gone = Vec::new();
    if config.store.keep_days.is_some() {
        let sessions = state.sessions();
        for session in given_up(&sessions, config, Clock::start().now().wall) {
            if state.holder(&session.key).is_none() {
                state.delete_session(&session.key)?;
                gone.push(session.clone());
            }
        }
    }
    Ok(gone)
}

/// Deletes the sessions that `[store] keep` gives up, and sweeps what deleted sessions left behind. Refused where an
/// agent's process asks for it.
pub fn sweep(state: &Path, config: &Config) -> Result<StockShape, Problem> {
    let mut found = stock(state, config);
    if !state.is_dir() {
        found.swept.dry_run = false;
        return Ok(found);
    }
    let trouble = |error| Problem::new(ProblemKind::Internal, format!("failed to {error}"));
    let dir = StateDir::open(state).map_err(trouble)?;
    refuse_agents(&dir, "sweep").map_err(|problem| problem.hint("--dry-run says what there is"))?;
    let given_up = give_up(&dir, config).map_err(trouble)?;
    let swept = dir.sweep().map_err(trouble)?;
    let gone = found.roots.iter().filter(|root| swept.drop.contains(&root.root));
    let bytes = found.swept.trash + gone.map(|root| root.bytes).sum::<u64>();
    found.swept = SweptShape {
        dry_run: false,
        sessions: given_up.iter().map(user).collect(),
        trash: found.swept.trash,
        pins: swept.unpin,
        roots: swept.drop,
        bytes,
    };
    Ok(found)
}

fn root_shape(stock: Stock, sessions: &[SessionOnDisk], cap: u64) -> RootStockShape {
    let users: Vec<_> = sessions.iter().filter(|session| stock.sessions.contains(&session.key)).collect();
    RootStockShape {
        path: users.iter().find_map(|session| path_of(session, &stock.root)),
        bytes: stock.bytes(),
        segments: stock.segments,
        packs: stock.packs,
        chain: stock.chain,
        at_cap: stock.objects() >= cap,
        sessions: users.into_iter().map(user).collect(),
        root: stock.root,
    }
}

fn path_of(session: &SessionOnDisk, root: &RootId) -> Option<String> {
    let header = session.header.as_ref().ok()?;
    header.roots.iter().find(|(id, _)| id == root).map(|(_, path)| path.clone())
}

fn user(session: &SessionOnDisk) -> UserShape {
    let named = session.header.as_ref().map(|header| header.session.clone());
    UserShape {
        session_id: named.unwrap_or_else(|_| SessionId::new(session.key.as_str())),
        key: session.key.clone(),
        connected: session.live.is_some(),
    }
}
