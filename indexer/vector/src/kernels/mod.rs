//! The inner loops over vectors, once for each instruction set, chosen at run time.
//!
//! Codes are bytes, a row padded with zeros to [`CODE_LANES`]; their dot products are whole numbers and the same at every level. Full vectors are
//! little-endian bytes as they lie in the file; their sums go over [`LANES`] lanes (element `i` to lane `i % LANES`, each step one fused multiply
//! and add, lanes added as `reduce` does), so that a score has the same bits on every CPU (RK-1).
//!
//! Not done here: metrics, scales and rows. A kernel knows two slices, no more.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod half;
mod scalar;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod kernels_test;

pub(crate) use half::{half_of, single_of};

use crate::error::VectorError;
use std::sync::atomic::{AtomicU8, Ordering};

/// Bytes of an AVX-512 register: rows of codes are padded to a multiple of it, so that kernels have no tails.
pub const CODE_LANES: usize = 64;

/// A register's worth of codes, aligned so that a load never crosses a cache line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C, align(64))]
pub struct Lanes(pub [i8; CODE_LANES]);

impl Lanes {
    /// All zero.
    pub const ZERO: Self = Self([0; CODE_LANES]);
}

/// Lanes of a sum over a full vector: four AVX-512 registers, so that no step waits for the one before.
pub const LANES: usize = 64;

/// An instruction set that kernels exist for, from the plainest to the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Level {
    /// Plain Rust: any CPU.
    Scalar = 1,
    /// AVX2, FMA and F16C.
    Avx2 = 2,
    /// AVX-512 F and BW.
    Avx512 = 3,
    /// AVX-512 F and BW with VNNI.
    Avx512Vnni = 4,
}

impl Level {
    /// Every level there is, the plainest first.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Avx2, Self::Avx512, Self::Avx512Vnni];

    /// A short name for logs and test output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Avx512Vnni => "avx512-vnni",
        }
    }

    /// The levels that this CPU has, the plainest first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|level| level.is_available())
    }

    /// Whether this CPU has the instructions.
    #[cfg(target_arch = "x86_64")]
    #[must_use]
    pub fn is_available(self) -> bool {
        let avx512 = || is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw");
        match self {
            Self::Scalar => true,
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c"),
            Self::Avx512 => avx512(),
            Self::Avx512Vnni => avx512() && is_x86_feature_detected!("avx512vnni"),
        }
    }

    /// Whether this CPU has the instructions.
    #[cfg(not(target_arch = "x86_64"))]
    #[must_use]
    pub fn is_available(self) -> bool {
        self == Self::Scalar
    }

    /// Must only be called for a level that this CPU has.
    fn kernels(self) -> &'static Kernels {
        match self {
            Self::Scalar => &scalar::KERNELS,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => &avx2::KERNELS,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => &avx512::KERNELS,
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => &avx512::KERNELS_VNNI,
            #[cfg(not(target_arch = "x86_64"))]
            _ => &scalar::KERNELS,
        }
    }
}

/// One instruction set's kernels. Only to be had through [`Kernels::at`] and [`active`], which check the CPU.
pub struct Kernels {
    level: Level,
    dot_codes: unsafe fn(&[Lanes], &[Lanes]) -> i32,
    dot_f32: unsafe fn(&[f32], &[u8]) -> f32,
    dot_f16: unsafe fn(&[f32], &[u8]) -> f32,
    l2_f32: unsafe fn(&[f32], &[u8]) -> f32,
    l2_f16: unsafe fn(&[f32], &[u8]) -> f32,
}

/// The level in use, 0 until the first use.
static ACTIVE: AtomicU8 = AtomicU8::new(0);

/// The kernels in use: the best that this CPU has, unless [`force_level`] chose others.
#[inline]
#[must_use]
pub fn active() -> &'static Kernels {
    // Relaxed: every table gives the same answers, so it does not matter when another thread sees a change.
    match ACTIVE.load(Ordering::Relaxed) {
        0 => choose(),
        level => Level::ALL[usize::from(level) - 1].kernels(),
    }
}

#[cold]
fn choose() -> &'static Kernels {
    let best = Level::available().last().unwrap_or(Level::Scalar);
    ACTIVE.store(best as u8, Ordering::Relaxed);
    best.kernels()
}

/// Makes this process use `level`, for tests and benchmarks; `None` goes back to the best one.
///
/// # Errors
/// [`VectorError::LevelMissing`] when this CPU lacks the instructions.
pub fn force_level(level: Option<Level>) -> Result<(), VectorError> {
    if let Some(level) = level.filter(|level| !level.is_available()) {
        return Err(VectorError::LevelMissing { level: level.as_str() });
    }
    ACTIVE.store(level.map_or(0, |level| level as u8), Ordering::Relaxed);
    Ok(())
}

impl Kernels {
    /// The kernels of `level`, when this CPU has the instructions.
    #[must_use]
    pub fn at(level: Level) -> Option<&'static Self> {
        level.is_available().then(|| level.kernels())
    }

    /// Which instruction set these are for.
    #[must_use]
    pub fn level(&self) -> Level {
        self.level
    }

    /// The dot product of two rows of codes. No code is −128, so sums of up to [`crate::DIMENSION_MAX`] products fit.
    ///
    /// Rows of two lengths are compared as far as both go.
    #[inline]
    #[must_use]
    pub fn dot_codes(&self, a: &[Lanes], b: &[Lanes]) -> i32 {
        // SAFETY: a table is given out only where the CPU has its instructions (`at`, `choose`, `force_level`).
        unsafe { (self.dot_codes)(a, b) }
    }

    /// The dot product of a query and a row of little-endian f32.
    ///
    /// # Panics
    /// When the row has another dimension.
    #[inline]
    #[must_use]
    pub fn dot_f32(&self, query: &[f32], row: &[u8]) -> f32 {
        assert!(row.len() == query.len() * 4, "a row has the query's dimension");
        // SAFETY: as in `dot_codes`.
        unsafe { (self.dot_f32)(query, row) }
    }

    /// The dot product of a query and a row of little-endian f16.
    ///
    /// # Panics
    /// When the row has another dimension.
    #[inline]
    #[must_use]
    pub fn dot_f16(&self, query: &[f32], row: &[u8]) -> f32 {
        assert!(row.len() == query.len() * 2, "a row has the query's dimension");
        // SAFETY: as in `dot_codes`.
        unsafe { (self.dot_f16)(query, row) }
    }

    /// The squared Euclidean distance of a query and a row of little-endian f32.
    ///
    /// # Panics
    /// When the row has another dimension.
    #[inline]
    #[must_use]
    pub fn l2_f32(&self, query: &[f32], row: &[u8]) -> f32 {
        assert!(row.len() == query.len() * 4, "a row has the query's dimension");
        // SAFETY: as in `dot_codes`.
        unsafe { (self.l2_f32)(query, row) }
    }

    /// The squared Euclidean distance of a query and a row of little-endian f16.
    ///
    /// # Panics
    /// When the row has another dimension.
    #[inline]
    #[must_use]
    pub fn l2_f16(&self, query: &[f32], row: &[u8]) -> f32 {
        assert!(row.len() == query.len() * 2, "a row has the query's dimension");
        // SAFETY: as in `dot_codes`.
        unsafe { (self.l2_f16)(query, row) }
    }
}

/// The sum of all lanes: halves are folded onto each other until one lane is left.
#[inline]
fn reduce(mut lanes: [f32; LANES]) -> f32 {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            lanes[lane] += lanes[lane + width];
        }
        width /= 2;
    }
    lanes[0]
}

/// Asks the CPU to load the row that begins at `row` into its cache. Changes no result.
#[inline]
pub(crate) fn prefetch(row: &[Lanes]) {
    #[cfg(target_arch = "x86_64")]
    for line in row {
        // SAFETY: a prefetch reads nothing, and the address is that of a reference.
        unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(line.0.as_ptr()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = row;
}
