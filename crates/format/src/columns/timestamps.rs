//! Timestamps: `unit exponent u8 · first zigzag varint · difference width u8 · differences in units, zigzag, as byte planes`.
//!
//! The unit is the power of ten that all differences share: logs have milliseconds or seconds, not nanoseconds.

use super::{get_planes, put_planes, width_of};
use crate::wire::{DecodeError, Reader, put_varint, unzigzag, zigzag};

/// Nanoseconds, microseconds, milliseconds, seconds.
const UNIT_EXPONENTS: [u32; 4] = [9, 6, 3, 0];

pub(crate) fn put_timestamps(out: &mut Vec<u8>, timestamps_ns: &[i64]) {
    let Some(first) = timestamps_ns.first() else { return };
    let deltas = || timestamps_ns.windows(2).map(|pair| pair[1].wrapping_sub(pair[0]));
    let divides = |exponent: &u32| deltas().all(|delta| delta % 10_i64.pow(*exponent) == 0);
    let exponent = UNIT_EXPONENTS.into_iter().find(divides).unwrap_or(0);
    let units = deltas().map(|delta| zigzag(delta / 10_i64.pow(exponent))).collect::<Vec<_>>();
    let width = width_of(units.iter().copied().max().unwrap_or(0));
    out.push(exponent as u8);
    put_varint(out, zigzag(*first));
    out.push(width);
    put_planes(out, &units, width);
}

/// Reads `count` timestamps.
pub(crate) fn get_timestamps(reader: &mut Reader<'_>, count: usize) -> Result<Vec<i64>, DecodeError> {
    let Some(differences) = count.checked_sub(1) else { return Ok(Vec::new()) };
    let exponent = u32::from(reader.u8()?);
    if !UNIT_EXPONENTS.contains(&exponent) {
        return Err(reader.corrupt("an unknown unit of time"));
    }
    let unit = 10_i64.pow(exponent);
    let mut timestamp = unzigzag(reader.varint()?);
    let width = reader.u8()?;
    let units = get_planes(reader, differences, width)?;
    let mut timestamps = Vec::with_capacity(count);
    timestamps.push(timestamp);
    timestamps.extend(units.into_iter().map(|delta| {
        timestamp = timestamp.wrapping_add(unzigzag(delta).wrapping_mul(unit));
        timestamp
    }));
    Ok(timestamps)
}
