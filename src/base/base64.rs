//! Base64 (RFC 4648, with padding): exact bytes inside JSON.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes bytes.
pub fn base64_encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word = group.iter().fold(0, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for place in 0..4 {
            let six = (word >> (18 - 6 * place)) & 63;
            let digit = ALPHABET.get(six as usize).filter(|_| place <= group.len());
            text.push(char::from(*digit.unwrap_or(&b'=')));
        }
    }
    text
}

/// Decodes text; `None` when it is no padded base64.
pub fn base64_decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(4) {
        return None;
    }
    let payload = digits.len() - digits.iter().rev().take(2).take_while(|digit| **digit == b'=').count();
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    for group in digits[..payload].chunks(4) {
        let mut word = 0u32;
        for digit in group {
            let six = ALPHABET.iter().position(|known| known == digit)?;
            word = word << 6 | u32::try_from(six).ok()?;
        }
        word <<= 6 * (4 - group.len());
        bytes.extend_from_slice(&word.to_be_bytes()[1..group.len()]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_vectors_of_the_rfc_hold() {
        let vectors = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")];
        for (bytes, text) in vectors {
            assert_eq!(base64_encode(bytes.as_bytes()), text);
            assert_eq!(base64_decode(text).as_deref(), Some(bytes.as_bytes()));
        }
        assert_eq!(base64_decode("Zg="), None);
        assert_eq!(base64_decode("Z!=="), None);
    }

    proptest! {
        #[test]
        fn bytes_survive_their_text_form(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert_eq!(base64_decode(&base64_encode(&bytes)), Some(bytes));
        }
    }
}
