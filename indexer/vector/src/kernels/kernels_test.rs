//! Every vector kernel against its plain twin.

use super::{CODE_LANES, Kernels, Lanes, Level, force_level, half_of};
use proptest::collection::vec;
use proptest::prelude::*;

type Sum = fn(&Kernels, &[f32], &[u8]) -> f32;

fn plain() -> &'static Kernels {
    Kernels::at(Level::Scalar).expect("plain kernels run anywhere")
}

fn every() -> impl Iterator<Item = &'static Kernels> {
    Level::available().filter_map(Kernels::at)
}

fn dimension() -> impl Strategy<Value = usize> {
    prop_oneof![1..200_usize, Just(384), Just(64), Just(63), Just(65)]
}

/// Halves, so that both precisions hold them.
fn pair() -> impl Strategy<Value = (Vec<f32>, Vec<f32>)> {
    let element = || (-2_000..2_000_i32).prop_map(|step| step as f32 / 1_024.0);
    dimension().prop_flat_map(move |dimension| (vec(element(), dimension), vec(element(), dimension)))
}

#[test]
fn the_levels_that_ran_are_printed() {
    let names: Vec<_> = Level::available().map(Level::as_str).collect();
    let absent: Vec<_> = Level::ALL.iter().filter(|level| !level.is_available()).map(|level| level.as_str()).collect();
    println!("kernels: ran at {names:?}, absent on this CPU {absent:?}");
    assert!(!names.is_empty());
}

#[test]
fn a_level_that_the_cpu_lacks_is_refused() {
    for level in Level::ALL {
        assert_eq!(force_level(Some(level)).is_ok(), level.is_available());
    }
    force_level(None).unwrap();
}

#[test]
fn the_largest_codes_do_not_overflow() {
    let row = [Lanes([127; CODE_LANES]); crate::DIMENSION_MAX / CODE_LANES];
    let negative = [Lanes([-127; CODE_LANES]); crate::DIMENSION_MAX / CODE_LANES];
    for kernels in every() {
        assert_eq!(kernels.dot_codes(&row, &row), 127 * 127 * crate::DIMENSION_MAX as i32);
        assert_eq!(kernels.dot_codes(&negative, &row), -127 * 127 * crate::DIMENSION_MAX as i32);
        assert_eq!(kernels.dot_codes(&negative, &negative), 127 * 127 * crate::DIMENSION_MAX as i32);
    }
}

proptest! {
    #[test]
    fn codes_have_one_dot_product_at_every_level(a in vec(-127..=127_i8, 0..700), b in vec(-127..=127_i8, 0..700)) {
        let lanes = |codes: Vec<i8>| codes.as_chunks::<CODE_LANES>().0.iter().copied().map(Lanes).collect::<Vec<_>>();
        let (a, b) = (lanes(a), lanes(b));
        for kernels in every() {
            prop_assert_eq!(kernels.dot_codes(&a, &b), plain().dot_codes(&a, &b), "dot_codes at {:?}", kernels.level());
        }
    }

    #[test]
    fn full_vectors_have_the_same_bits_at_every_level((query, row) in pair()) {
        let singles: Vec<u8> = row.iter().flat_map(|element| element.to_le_bytes()).collect();
        let halves: Vec<u8> = row.iter().filter_map(|element| half_of(*element)).flat_map(u16::to_le_bytes).collect();
        let sums: [(&str, Sum, &[u8]); 4] = [
            ("dot_f32", Kernels::dot_f32, &singles), ("dot_f16", Kernels::dot_f16, &halves),
            ("l2_f32", Kernels::l2_f32, &singles), ("l2_f16", Kernels::l2_f16, &halves),
        ];
        for (name, sum, bytes) in sums {
            for kernels in every() {
                let (got, expected) = (sum(kernels, &query, bytes), sum(plain(), &query, bytes));
                prop_assert_eq!(got.to_bits() & 0x7fff_ffff, expected.to_bits() & 0x7fff_ffff, "{} at {:?}: {} {}", name, kernels.level(), got, expected);
            }
        }
        let exact: f64 = query.iter().zip(&row).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        prop_assert!((f64::from(plain().dot_f16(&query, &halves)) - exact).abs() <= 1e-5 * (1.0 + exact.abs()) * query.len() as f64);
    }
}
