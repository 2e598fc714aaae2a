//! What an owner object says: a few lines of text, so that a person who looks into a bucket can read them.
//!
//! ```text
//! siltstone-owner 1
//! incarnation 00005f0c6f9d2b0e
//! life 0
//! claimed-at-ms 1764554400000
//! claimant 00000000000004d2
//! ```
//! Before this version it was the incarnation alone, in decimal digits: those are first lives, and when they began is not known.

use siltstone_core::Incarnation;
use std::fmt;

const FIRST_LINE: &str = "siltstone-owner 1";

/// An owner object's content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OwnerRecord {
    pub(crate) incarnation: Incarnation,
    /// How many owners there were before.
    pub(crate) life: u32,
    /// The claimant's clock; `None` in objects of the older form.
    pub(crate) claimed_at_ms: Option<i64>,
    /// A number that tells two claimants of the same incarnation apart.
    pub(crate) claimant: u64,
}

impl OwnerRecord {
    /// Reads an object's content; `Err` says what is wrong with it.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let text = std::str::from_utf8(bytes).map_err(|_| "it is no text".to_owned())?;
        if let Ok(incarnation) = text.parse() {
            return Ok(Self { incarnation: Incarnation(incarnation), life: 0, claimed_at_ms: None, claimant: 0 });
        }
        let mut lines = text.strip_suffix('\n').unwrap_or_default().split('\n');
        if lines.next() != Some(FIRST_LINE) {
            return Err(format!("it does not begin with {FIRST_LINE:?}"));
        }
        let mut value = |name: &str| {
            let line = lines.next().and_then(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.ok_or_else(|| format!("it has no line {name:?} where one belongs"))
        };
        let number = |name: &str, text: &str| u64::from_str_radix(text, 16).map_err(|_| format!("its {name} {text:?} is no number"));
        let incarnation = Incarnation(number("incarnation", value("incarnation")?)?);
        let life = value("life")?;
        let life = life.parse().map_err(|_| format!("its life {life:?} is no number"))?;
        let claimed_at_ms = value("claimed-at-ms")?;
        let claimed_at_ms = Some(claimed_at_ms.parse().map_err(|_| format!("its time {claimed_at_ms:?} is no number"))?);
        let claimant = number("claimant", value("claimant")?)?;
        let record = Self { incarnation, life, claimed_at_ms, claimant };
        // One text a record: signs, capitals, leading zeros and lines to spare are damage.
        if record.to_string() == text { Ok(record) } else { Err("it is not as it was written".to_owned()) }
    }
}

impl fmt::Display for OwnerRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}")?;
        writeln!(f, "incarnation {:016x}", self.incarnation.0)?;
        writeln!(f, "life {}", self.life)?;
        writeln!(f, "claimed-at-ms {}", self.claimed_at_ms.unwrap_or_default())?;
        writeln!(f, "claimant {:016x}", self.claimant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: OwnerRecord =
        OwnerRecord { incarnation: Incarnation(0x5f0c_6f9d_2b0e), life: 2, claimed_at_ms: Some(1_764_554_400_000), claimant: 1_234 };
    const VERSION_1: &str = "siltstone-owner 1\nincarnation 00005f0c6f9d2b0e\nlife 2\nclaimed-at-ms 1764554400000\nclaimant 00000000000004d2\n";

    #[test]
    fn version_1_is_written_and_read() {
        assert_eq!(RECORD.to_string(), VERSION_1);
        assert_eq!(OwnerRecord::parse(VERSION_1.as_bytes()), Ok(RECORD));
    }

    #[test]
    fn decimal_digits_alone_are_a_first_life() {
        let record = OwnerRecord::parse(b"18446744073709551615").expect("the older form");
        assert_eq!((record.incarnation, record.life, record.claimed_at_ms), (Incarnation(u64::MAX), 0, None));
    }

    #[test]
    fn whatever_is_cut_or_flipped_is_no_record_or_says_something_else() {
        let bytes = VERSION_1.as_bytes();
        for len in 0..bytes.len() {
            assert!(OwnerRecord::parse(&bytes[..len]).is_err(), "cut to {len} bytes");
        }
        for bit in 0..8 * bytes.len() {
            let mut damaged = bytes.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            if let Ok(record) = OwnerRecord::parse(&damaged) {
                assert_ne!(record, RECORD, "bit {bit}");
                assert_eq!(record.to_string().as_bytes(), damaged, "bit {bit}");
            }
        }
    }
}
