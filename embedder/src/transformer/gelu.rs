//! The GELU activation, exact to within rounding: `x · Φ(x)`, Φ the normal distribution (Hendrycks and Gimpel, 2016).
//!
//! The error function follows Abramowitz and Stegun, 7.1.26, whose error is below 1.5e-7; the exponential is a power of two by bits and a Taylor
//! polynomial for the rest. Plain arithmetic without branches, so that the compiler makes vectors of it: candle's own takes a quarter of a
//! model's time.

use candle_core::{CpuStorage, InplaceOp1, Layout, Result, bail};

/// Replaces every number of a contiguous tensor by its GELU.
pub(super) struct Gelu;

impl InplaceOp1 for Gelu {
    fn name(&self) -> &'static str {
        "gelu"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let (CpuStorage::F32(numbers), Some((from, to))) = (storage, layout.contiguous_offsets()) else {
            bail!("gelu wants contiguous f32");
        };
        numbers[from..to].iter_mut().for_each(|number| *number = gelu(*number));
        Ok(())
    }
}

fn gelu(x: f32) -> f32 {
    let scaled = (x * std::f32::consts::FRAC_1_SQRT_2).abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * scaled);
    let polynomial = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_8) * t - 0.284_496_74) * t + 0.254_829_6) * t;
    let erf = (1.0 - polynomial * exp_of_negative(-scaled * scaled)).copysign(x);
    0.5 * x * (1.0 + erf)
}

/// e^x for x ≤ 0, 0 far below; relative error some 1e-7.
fn exp_of_negative(x: f32) -> f32 {
    // e^-87 is the last normal number. Adding and taking away 1.5 · 2^23 rounds to a whole number.
    const ROUND: f32 = 12_582_912.0;
    let x = x.max(-87.0) * std::f32::consts::LOG2_E;
    let shifted = x + ROUND;
    let whole = shifted - ROUND;
    let rest = (x - whole) * std::f32::consts::LN_2;
    let series = 1.0 + rest * (1.0 + rest * (0.5 + rest * (1.0 / 6.0 + rest * (1.0 / 24.0 + rest * (1.0 / 120.0 + rest / 720.0)))));
    // The low bits of `shifted` are the whole number itself: with 127 added they are the exponent of its power of two.
    f32::from_bits(shifted.to_bits().wrapping_add(127) << 23) * series
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{Device, Tensor};

    #[test]
    fn it_is_candles_own_to_within_rounding() {
        let numbers: Vec<f32> = (-20_000..=20_000).map(|number| number as f32 / 1_000.0).chain([0.0, -0.0, 1e-30, 300.0, -300.0]).collect();
        let ours = Tensor::new(numbers.as_slice(), &Device::Cpu).unwrap();
        let theirs = ours.gelu_erf().unwrap().to_vec1::<f32>().unwrap();
        ours.inplace_op1(&Gelu).unwrap();
        for ((x, ours), theirs) in numbers.iter().zip(ours.to_vec1::<f32>().unwrap()).zip(theirs) {
            assert!((ours - theirs).abs() <= 4e-7 * x.abs().max(1.0), "{x}: {ours}, not {theirs}");
        }
    }

    #[test]
    fn a_tensor_in_pieces_is_refused() {
        let tensor = Tensor::new(&[[1.0_f32, 2.0], [3.0, 4.0]], &Device::Cpu).unwrap();
        assert!(tensor.t().unwrap().inplace_op1(&Gelu).is_err());
    }
}
