//! One transcript, several plays: what must not depend on chunking, on waking, or on recording.

use super::golden;
use super::play::{Cue, Manner, Play};
use super::transcript::Transcript;
use bytes::Bytes;
use hunkgate::base::Leg;
use hunkgate::engine::Input;

/// Plays a transcript as it stands and in every variation; returns what the plain play leaves behind.
pub(crate) fn hold(transcript: &Transcript, seed: u64) -> Result<String, String> {
    let plain = play(transcript, Manner::default())?;
    let journal = listed(&plain);
    let again = |manner: Manner, law: &str| {
        let play = play(transcript, manner).map_err(|what| format!("{law}: {what}"))?;
        if listed(&play) == journal { Ok(()) } else { Err(format!("{law}: the journal differs")) }
    };
    again(Manner { cuts: Some(seed), ..Manner::default() }, "with bytes cut and glued")?;
    again(Manner { wakes: true, ..Manner::default() }, "with spurious wake-ups")?;
    unrecorded(transcript, &plain)?;
    Ok(golden::of(&plain))
}

fn play(transcript: &Transcript, manner: Manner) -> Result<Play, String> {
    let mut play = Play::new(transcript, manner);
    play.run(transcript)?;
    Ok(play)
}

fn listed(play: &Play) -> Vec<String> {
    play.world.journal.iter().map(|entry| format!("{:?} {:?}", entry.log, entry.record)).collect()
}

/// With recording off, every line that was passed on is passed on byte for byte, in the order in which it was said.
fn unrecorded(transcript: &Transcript, plain: &Play) -> Result<(), String> {
    if transcript.has("recorded only") {
        return Ok(());
    }
    let mut play = Play::new(transcript, Manner::default());
    play.world.unrecorded = Some("no state directory".to_owned());
    for cue in &plain.lived {
        match cue {
            Cue::Pass(ms) => play.world.pass(*ms),
            Cue::Feed(input) => play.world.feed(Input::clone(input)),
        }
    }
    for (from, to) in [(Leg::Editor, Leg::Agent), (Leg::Agent, Leg::Editor)] {
        let heard: Vec<Bytes> = play.world.heard(to).iter().map(|frame| frame.bytes.clone()).collect();
        let mut rest = heard.iter();
        for line in &plain.forwarded[from.index()] {
            if !rest.any(|heard| heard == line) {
                return Err(format!(
                    "with recording off, a line is not passed on, or out of order: {}",
                    String::from_utf8_lossy(line)
                ));
            }
        }
    }
    Ok(())
}
