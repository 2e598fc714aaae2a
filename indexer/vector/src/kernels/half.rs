//! Half precision (IEEE 754 binary16) to and from single precision, without the CPU's help.

/// The value of a half: exact, as every half is a single.
#[inline]
pub(crate) fn single_of(half: u16) -> f32 {
    let sign = u32::from(half & 0x8000) << 16;
    let exponent = u32::from(half >> 10 & 0x1f);
    let fraction = u32::from(half & 0x3ff);
    match exponent {
        // Zero, or a subnormal: a whole number of 2^-24.
        0 => f32::from_bits(sign | (fraction as f32 * f32::from_bits((127 - 24) << 23)).to_bits()),
        31 => f32::from_bits(sign | 0xff << 23 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 127 - 15) << 23 | fraction << 13),
    }
}

/// The half that has exactly this value, if there is one. Infinities and NaN have none here: no vector holds them.
#[inline]
pub(crate) fn half_of(single: f32) -> Option<u16> {
    let bits = single.to_bits();
    let sign = (bits >> 16 & 0x8000) as u16;
    let magnitude = f32::from_bits(bits & 0x7fff_ffff);
    // Below the smallest normal half, 2^-14, halves are whole numbers of 2^-24; the product is exact.
    if magnitude < f32::from_bits((127 - 14) << 23) {
        let steps = magnitude * f32::from_bits((127 + 24) << 23);
        return (steps.fract() == 0.0).then_some(sign | steps as u16);
    }
    let exponent = (bits >> 23 & 0xff) + 15 - 127;
    (exponent < 31 && bits & 0x1fff == 0).then_some(sign | (exponent as u16) << 10 | (bits >> 13 & 0x3ff) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_half_comes_back() {
        for half in 0..=u16::MAX {
            let single = single_of(half);
            if single.is_finite() {
                assert_eq!(half_of(single), Some(half), "{single}");
            } else {
                assert_eq!(half_of(single), None);
            }
        }
    }

    #[test]
    fn what_lies_between_two_halves_has_none() {
        for single in [1.000_1, 65_520.0, 1e-9, f32::MIN_POSITIVE, 0.1, -3.0e38] {
            assert_eq!(half_of(single), None, "{single}");
        }
        assert_eq!(half_of(65_504.0), Some(0x7bff));
        assert_eq!(half_of(-1.5), Some(0xbe00));
    }
}
