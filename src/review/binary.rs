//! Binary content in a git patch: `literal` hunks, stored uncompressed.

use std::fmt::Write as _;

const BASE85: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// Bytes in one line of a binary hunk.
const LINE: usize = 52;
/// Bytes in one stored block of deflate.
const BLOCK: usize = 65_535;

/// Writes the change from `before` to `after`, and back.
pub(super) fn binary_patch(before: &[u8], after: &[u8]) -> String {
    format!("GIT binary patch\n{}\n{}\n", literal(after), literal(before))
}

fn literal(bytes: &[u8]) -> String {
    let mut text = format!("literal {}\n", bytes.len());
    for line in stored(bytes).chunks(LINE) {
        text.push(length_digit(line.len()));
        line.chunks(4).for_each(|group| text.push_str(&base85(group)));
        text.push('\n');
    }
    text
}

fn length_digit(length: usize) -> char {
    let letters = ('A'..='Z').chain('a'..='z');
    letters.zip(1..).find(|(_, number)| *number == length).map_or('A', |(letter, _)| letter)
}

fn base85(group: &[u8]) -> String {
    let mut word = [0; 4];
    word[..group.len()].copy_from_slice(group);
    let mut rest = u32::from_be_bytes(word);
    let mut digits = [b'0'; 5];
    for digit in digits.iter_mut().rev() {
        *digit = BASE85[(rest % 85) as usize];
        rest /= 85;
    }
    let mut text = String::new();
    let _ = write!(text, "{}", digits.map(char::from).iter().collect::<String>());
    text
}

/// Wraps bytes as a zlib stream of stored blocks.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(BLOCK).peekable();
    if blocks.peek().is_none() {
        stream.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    stream.extend_from_slice(&adler32(bytes).to_be_bytes());
    stream
}

fn adler32(bytes: &[u8]) -> u32 {
    let (low, high) = bytes.iter().fold((1u32, 0u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    high << 16 | low
}
