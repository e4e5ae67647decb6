//! How much is kept, for whom, and the sweep of what deleted sessions left behind.

use crate::base::{RootId, SessionId};
use crate::config::Config;
use crate::host::ancestry::proxy_above;
use crate::review::{Problem, ProblemKind};
use crate::store::{SessionOnDisk, StateDir, Stock};
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
    StockShape {
        state_dir: state.path().to_owned(),
        cap: config.store.max_size,
        roots,
        swept: SweptShape { dry_run: true, trash, pins: plan.unpin, roots: plan.drop, bytes },
    }
}

/// Sweeps what deleted sessions left behind. Refused where an agent's process asks for it.
pub fn sweep(state: &Path, config: &Config) -> Result<StockShape, Problem> {
    let mut found = stock(state, config);
    if !state.is_dir() {
        found.swept.dry_run = false;
        return Ok(found);
    }
    let trouble = |error| Problem::new(ProblemKind::Internal, format!("failed to {error}"));
    let dir = StateDir::open(state).map_err(trouble)?;
    let ours = i32::try_from(std::process::id()).unwrap_or_default();
    if proxy_above(&dir, ours).is_some() {
        let message = "a process that an agent started may not sweep";
        return Err(Problem::new(ProblemKind::Conflict, message).hint("--dry-run says what there is"));
    }
    let swept = dir.sweep().map_err(trouble)?;
    let gone = found.roots.iter().filter(|root| swept.drop.contains(&root.root));
    let bytes = found.swept.trash + gone.map(|root| root.bytes).sum::<u64>();
    found.swept =
        SweptShape { dry_run: false, trash: found.swept.trash, pins: swept.unpin, roots: swept.drop, bytes };
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
