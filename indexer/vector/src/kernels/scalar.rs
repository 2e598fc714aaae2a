//! Kernels in plain Rust: what every other level must equal, bit by bit.

use super::{Kernels, LANES, Lanes, Level, reduce, single_of};

pub(super) static KERNELS: Kernels = Kernels { level: Level::Scalar, dot_codes, dot_f32, dot_f16, l2_f32, l2_f16 };

pub(super) fn dot_codes(a: &[Lanes], b: &[Lanes]) -> i32 {
    a.iter().zip(b).flat_map(|(a, b)| a.0.iter().zip(&b.0)).map(|(a, b)| i32::from(*a) * i32::from(*b)).sum()
}

fn f32s(row: &[u8]) -> impl Iterator<Item = f32> {
    row.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes))
}

fn f16s(row: &[u8]) -> impl Iterator<Item = f32> {
    row.as_chunks::<2>().0.iter().map(|bytes| single_of(u16::from_le_bytes(*bytes)))
}

fn dot<I>(query: &[f32], row: I) -> f32
where
    I: Iterator<Item = f32>,
{
    let mut lanes = [0.0_f32; LANES];
    for (index, (a, b)) in query.iter().zip(row).enumerate() {
        lanes[index % LANES] = a.mul_add(b, lanes[index % LANES]);
    }
    reduce(lanes)
}

fn l2<I>(query: &[f32], row: I) -> f32
where
    I: Iterator<Item = f32>,
{
    let mut lanes = [0.0_f32; LANES];
    for (index, (a, b)) in query.iter().zip(row).enumerate() {
        let difference = a - b;
        lanes[index % LANES] = difference.mul_add(difference, lanes[index % LANES]);
    }
    reduce(lanes)
}

pub(super) fn dot_f32(query: &[f32], row: &[u8]) -> f32 {
    dot(query, f32s(row))
}

pub(super) fn dot_f16(query: &[f32], row: &[u8]) -> f32 {
    dot(query, f16s(row))
}

pub(super) fn l2_f32(query: &[f32], row: &[u8]) -> f32 {
    l2(query, f32s(row))
}

pub(super) fn l2_f16(query: &[f32], row: &[u8]) -> f32 {
    l2(query, f16s(row))
}
