//! The inner loops over blocks and lists, once for each instruction set, chosen at run time.
//!
//! Not done here: containers and sets. A kernel knows 2,048 bits or two short lists, no more.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

#[cfg(test)]
mod kernels_test;

use super::{BitmapError, Block, LIST_MAX, Run};
use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction set that kernels exist for, from the plainest to the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Level {
    /// Plain Rust: any CPU.
    Scalar = 1,
    /// AVX2 and POPCNT.
    Avx2 = 2,
    /// AVX-512 F and BW, and POPCNT.
    Avx512 = 3,
    /// AVX-512 F and BW with VPOPCNTDQ, VBMI and VBMI2 (a CPU with one of these has all).
    Avx512Popcnt = 4,
}

impl Level {
    /// Every level there is, the plainest first.
    pub const ALL: [Self; 4] = [Self::Scalar, Self::Avx2, Self::Avx512, Self::Avx512Popcnt];

    /// A short name for logs and test output.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Avx512Popcnt => "avx512-popcnt",
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
        let avx512 = || is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("popcnt");
        match self {
            Self::Scalar => true,
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt"),
            Self::Avx512 => avx512(),
            Self::Avx512Popcnt => {
                avx512()
                    && is_x86_feature_detected!("avx512vpopcntdq")
                    && is_x86_feature_detected!("avx512vbmi")
                    && is_x86_feature_detected!("avx512vbmi2")
            }
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
            Self::Avx512Popcnt => &avx512::KERNELS_POPCNT,
            #[cfg(not(target_arch = "x86_64"))]
            _ => &scalar::KERNELS,
        }
    }
}

/// One instruction set's kernels. Only to be had through [`Kernels::at`], which checks the CPU.
pub struct Kernels {
    level: Level,
    and: unsafe fn(&Block, &Block, &mut Block) -> u32,
    or: unsafe fn(&Block, &Block, &mut Block) -> u32,
    and_not: unsafe fn(&Block, &Block, &mut Block) -> u32,
    count: unsafe fn(&Block) -> u32,
    and_count: unsafe fn(&Block, &Block) -> u32,
    list_and: unsafe fn(&[u16], &[u16], &mut [u16]) -> usize,
    list_and_not: unsafe fn(&[u16], &[u16], &mut [u16]) -> usize,
    list_and_count: unsafe fn(&[u16], &[u16]) -> u32,
    probe: unsafe fn(&[u16], &Block, bool, &mut [u16]) -> usize,
    probe_count: unsafe fn(&[u16], &Block) -> u32,
    count_runs: unsafe fn(&Block, &[Run]) -> u32,
}

/// Offsets that [`Kernels::list_and`] may scribble on past its result: it writes each candidate before it knows whether it stays.
pub const LIST_SLACK: usize = 1;

/// The level that sets use, 0 until the first use.
static ACTIVE: AtomicU8 = AtomicU8::new(0);

/// The kernels that sets use: the best that this CPU has, unless [`force_level`] chose others.
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

/// Makes every set of this process use `level`, for tests and benchmarks; `None` goes back to the best one.
///
/// # Errors
/// [`BitmapError::LevelMissing`] when this CPU lacks the instructions.
pub fn force_level(level: Option<Level>) -> Result<(), BitmapError> {
    if let Some(level) = level.filter(|level| !level.is_available()) {
        return Err(BitmapError::LevelMissing { level: level.as_str() });
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

    /// `out = a & b`; how many bits that is.
    #[inline]
    pub fn and(&self, a: &Block, b: &Block, out: &mut Block) -> u32 {
        // SAFETY: a table is given out only where the CPU has its instructions (`at`, `choose`, `force_level`).
        unsafe { (self.and)(a, b, out) }
    }

    /// `out = a | b`; how many bits that is.
    #[inline]
    pub fn or(&self, a: &Block, b: &Block, out: &mut Block) -> u32 {
        // SAFETY: as in `and`.
        unsafe { (self.or)(a, b, out) }
    }

    /// `out = a & !b`; how many bits that is.
    #[inline]
    pub fn and_not(&self, a: &Block, b: &Block, out: &mut Block) -> u32 {
        // SAFETY: as in `and`.
        unsafe { (self.and_not)(a, b, out) }
    }

    /// How many bits `block` has.
    #[inline]
    #[must_use]
    pub fn count(&self, block: &Block) -> u32 {
        // SAFETY: as in `and`.
        unsafe { (self.count)(block) }
    }

    /// How many bits both have.
    #[inline]
    #[must_use]
    pub fn and_count(&self, a: &Block, b: &Block) -> u32 {
        // SAFETY: as in `and`.
        unsafe { (self.and_count)(a, b) }
    }

    /// Writes what two ascending lists of offsets share to `out`, ascending; how many that is.
    ///
    /// # Panics
    /// When `out` is shorter than the shorter list and [`LIST_SLACK`].
    #[inline]
    pub fn list_and(&self, a: &[u16], b: &[u16], out: &mut [u16]) -> usize {
        assert!(out.len() >= a.len().min(b.len()) + LIST_SLACK, "the result's room is too short");
        // SAFETY: as in `and`.
        unsafe { (self.list_and)(a, b, out) }
    }

    /// Writes the offsets of `a` that are not in `b` to `out`, ascending; how many that is.
    ///
    /// # Panics
    /// When `out` is shorter than `a` and [`LIST_SLACK`].
    #[inline]
    pub fn list_and_not(&self, a: &[u16], b: &[u16], out: &mut [u16]) -> usize {
        assert!(out.len() >= a.len() + LIST_SLACK, "the result's room is too short");
        // SAFETY: as in `and`.
        unsafe { (self.list_and_not)(a, b, out) }
    }

    /// How many offsets two ascending lists share.
    #[inline]
    #[must_use]
    pub fn list_and_count(&self, a: &[u16], b: &[u16]) -> u32 {
        // SAFETY: as in `and`.
        unsafe { (self.list_and_count)(a, b) }
    }

    /// Writes the offsets of an ascending list whose bit in `block` is `keep` to `out`, ascending; how many that is.
    ///
    /// # Panics
    /// When `out` is shorter than the list and [`LIST_SLACK`].
    #[inline]
    pub fn probe(&self, list: &[u16], block: &Block, keep: bool, out: &mut [u16]) -> usize {
        assert!(out.len() >= list.len() + LIST_SLACK, "the result's room is too short");
        // SAFETY: as in `and`.
        unsafe { (self.probe)(list, block, keep, out) }
    }

    /// How many offsets of an ascending list are set in `block`.
    #[inline]
    #[must_use]
    pub fn probe_count(&self, list: &[u16], block: &Block) -> u32 {
        // SAFETY: as in `and`.
        unsafe { (self.probe_count)(list, block) }
    }

    /// How many offsets of `runs` are set in `block`.
    #[inline]
    #[must_use]
    pub fn count_runs(&self, block: &Block, runs: &[Run]) -> u32 {
        // SAFETY: as in `and`.
        unsafe { (self.count_runs)(block, runs) }
    }
}
