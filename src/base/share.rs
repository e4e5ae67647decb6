//! A share between nothing and all, in thousandths: it can be compared and hashed, and is written as a number.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// A share between 0 and 1, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Share(u16);

impl Share {
    /// Reads a number from 0 to 1; `None` for any other, and for none at all.
    pub fn new(number: f64) -> Option<Self> {
        let inside = (0.0..=1.0).contains(&number);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it lies between 0 and 1000"
        )]
        inside.then(|| Self((number * 1000.0).floor() as u16))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", f64::from(self.0) / 1000.0)
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 1000.0)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = f64::deserialize(deserializer)?;
        Self::new(number).ok_or_else(|| serde::de::Error::custom("a number from 0 to 1 is wanted"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_from_nothing_to_all_is_a_share() {
        assert_eq!(Share::new(0.93).map(|share| share.to_string()).as_deref(), Some("0.93"));
        for odd in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Share::new(odd), None, "{odd}");
        }
        assert!(Share::new(0.0) < Share::new(1.0));
    }
}
