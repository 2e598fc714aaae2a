//! Decompression. What follows the first gzip member or zstd frame is read as well, as their tools do.

use crate::input::raw::{Raw, ReadFault};
use flate2::bufread::GzDecoder;
use std::fmt;
use std::io::{self, BufRead, Read};

/// How a source is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Not at all.
    None,
    /// gzip, RFC 1952.
    Gzip,
    /// Zstandard, RFC 8878.
    Zstd,
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "uncompressed",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        })
    }
}

impl Compression {
    /// How many bytes [`Self::of_start`] looks at.
    pub(crate) const START_BYTES: usize = 4;

    /// The compression of content that begins like this. Source: RFC 1952 section 2.3.1 (method 8 is the only one), RFC 8878 section 3.1.
    pub(crate) fn of_start(start: &[u8]) -> Self {
        match start {
            [0x1f, 0x8b, 8, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::None,
        }
    }
}

/// The decompressed bytes of a source.
pub(crate) enum Decompressed {
    Plain(Raw),
    /// `None` between two members, and after the last one.
    Gzip {
        member: Option<Box<GzDecoder<Raw>>>,
        rest: Option<Raw>,
    },
    Zstd(Box<zstd::stream::read::Decoder<'static, Raw>>),
    /// It failed: the failure is told when the reader gets there, once.
    Failed(Option<io::Error>),
}

impl Decompressed {
    pub(crate) fn new(mut raw: Raw) -> io::Result<(Self, Compression)> {
        let compression = Compression::of_start(raw.peek(Compression::START_BYTES)?);
        let decompressed = match compression {
            Compression::None => Self::Plain(raw),
            Compression::Gzip => Self::Gzip { member: None, rest: Some(raw) },
            Compression::Zstd => Self::Zstd(Box::new(zstd::stream::read::Decoder::with_buffer(raw)?)),
        };
        Ok((decompressed, compression))
    }
}

impl Read for Decompressed {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(raw) => raw.read(to),
            Self::Failed(fault) => fault.take().map_or(Ok(0), Err),
            Self::Zstd(decoder) => decoder.read(to).map_err(|error| explain(error, Compression::Zstd)),
            Self::Gzip { member, rest } => loop {
                if let Some(decoder) = member {
                    let read = decoder.read(to).map_err(|error| explain(error, Compression::Gzip))?;
                    if read > 0 || to.is_empty() {
                        return Ok(read);
                    }
                    *rest = member.take().map(|decoder| decoder.into_inner());
                }
                let Some(mut raw) = rest.take() else { return Ok(0) };
                if !has_next_member(&mut raw)? {
                    return Ok(0);
                }
                *member = Some(Box::new(GzDecoder::new(raw)));
            },
        }
    }
}

/// Whether another gzip member follows. Zeros behind the last one are padding, as tapes and block devices leave it.
fn has_next_member(raw: &mut Raw) -> io::Result<bool> {
    loop {
        let next = raw.peek(2)?;
        match next {
            [] => return Ok(false),
            [0x1f, 0x8b, ..] => return Ok(true),
            [0, ..] => {
                let zeros = next.iter().take_while(|&&byte| byte == 0).count();
                raw.consume(zeros);
                if raw.fill_buf()?.first().is_some_and(|&byte| byte != 0) {
                    return Err(garbage());
                }
            }
            [0x1f] => return Err(ReadFault::Truncated(Compression::Gzip).into()),
            _ => return Err(garbage()),
        }
    }
}

fn garbage() -> io::Error {
    ReadFault::Damaged(Compression::Gzip, "something else follows its end".to_owned()).into()
}

/// Tells damage from failure: the decompressors report both as errors of reading.
fn explain(error: io::Error, compression: Compression) -> io::Error {
    if error.get_ref().is_some_and(|inner| inner.is::<ReadFault>()) {
        return error;
    }
    match error.kind() {
        io::ErrorKind::UnexpectedEof => ReadFault::Truncated(compression).into(),
        // An error of the system has a code; what the decompressors make has none.
        _ if error.raw_os_error().is_none() => ReadFault::Damaged(compression, error.to_string()).into(),
        _ => error,
    }
}
