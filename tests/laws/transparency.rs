//! Law 1, on the wire: what goes in comes out, byte for byte and in order.

use super::nasty;
use bytes::Bytes;
use hunkgate::base::{Leg, Tick};
use hunkgate::engine::{Action, Engine, Input, Setup};
use hunkgate::wire::{Piece, Splitter, head};
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    // 100 cases of 100 lines: ten thousand frames.
    #[test]
    fn frames_leave_the_wire_as_they_came(
        lines in proptest::collection::vec((nasty::line(), nasty::end()), 100),
        cuts in proptest::collection::vec(1usize..400, 1..60),
        tail in nasty::line(),
    ) {
        let lines: Vec<Vec<u8>> = lines.into_iter().map(|(line, end)| [&line, end].concat()).collect();
        let input = [lines.concat(), tail.clone()].concat();
        let mut splitter = Splitter::default();
        let (mut rest, mut out) = (input.as_slice(), Vec::new());
        for cut in cuts.iter().cycle() {
            let (chunk, after) = rest.split_at((*cut).min(rest.len()));
            splitter.push(chunk);
            while let Some(piece) = splitter.next_piece() {
                let Piece::Line(line) = piece else { panic!("an ordinary line is whole") };
                let _ = head(&line);
                out.push(line.to_vec());
            }
            rest = after;
            if rest.is_empty() { break }
        }
        prop_assert_eq!(out, lines);
        prop_assert_eq!(splitter.take_tail(), tail);
    }

    // 100 cases of 100 lines, through the whole engine, in both directions.
    #[test]
    fn frames_leave_the_engine_as_they_came_in_both_directions(
        lines in proptest::collection::vec((any::<bool>(), nasty::line(), nasty::end()), 100),
    ) {
        let mut engine = speaking();
        let (mut came, mut left) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
        for (number, (from_editor, line, end)) in (1u32..).zip(lines) {
            let line = Bytes::from([&line, end].concat());
            came[usize::from(from_editor)].push(line.clone());
            let input = if from_editor { Input::FromEditor(line) } else { Input::FromAgent(line) };
            for action in engine.step(Tick::default().plus_ms(number), input) {
                if let Action::Send { leg, bytes } = action {
                    left[usize::from(leg == Leg::Agent)].push(bytes);
                }
            }
        }
        prop_assert_eq!(left, came);
    }
}

/// An engine whose peers have agreed on version 1.
fn speaking() -> Engine {
    let mut engine = Engine::new(Setup::bare("proxy"));
    let asks = br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}"#;
    let says = br#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}"#;
    engine.step(Tick::default(), Input::FromEditor(Bytes::from_static(asks)));
    engine.step(Tick::default(), Input::FromAgent(Bytes::from_static(says)));
    engine
}
