//! Law 1, on the wire: what goes in comes out, byte for byte and in order.

use super::nasty;
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
}
