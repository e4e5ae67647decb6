//! Signals of ours: passed on at once, then told to the engine's owner.

use crate::host::child::AgentPid;
use crate::host::event::{Event, Inbox};
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

/// Starts the thread that hears signals. Returns when it is listening.
pub(crate) fn start(agent: AgentPid, inbox: Inbox) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (ready, listening) = std::sync::mpsc::channel();
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        runtime.block_on(async move {
            let streams = (|| {
                Ok((
                    signal(SignalKind::hangup())?,
                    signal(SignalKind::interrupt())?,
                    signal(SignalKind::terminate())?,
                    signal(SignalKind::child())?,
                ))
            })();
            let (mut hangup, mut interrupt, mut terminate, mut child) = match streams {
                Ok(streams) => streams,
                Err(error) => return drop(ready.send(Err(error))),
            };
            let _ = ready.send(Ok(()));
            loop {
                let (name, which) = tokio::select! {
                    Some(()) = hangup.recv() => ("hangup", Signal::HUP),
                    Some(()) = interrupt.recv() => ("interrupt", Signal::INT),
                    Some(()) = terminate.recv() => ("terminate", Signal::TERM),
                    Some(()) = child.recv() => {
                        agent.reap_others();
                        continue;
                    }
                    else => return,
                };
                // First the word: the agent's end must not be taken for one of its own.
                inbox.put(Event::Signal { name, number: which.as_raw() });
                agent.signal(which);
            }
        });
    })?;
    listening.recv().unwrap_or_else(|_| Err(std::io::Error::other("the thread that hears signals died")))
}
