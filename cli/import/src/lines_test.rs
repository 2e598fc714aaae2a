use super::*;
use proptest::prelude::*;
use std::io::Cursor;

/// Gives a few bytes at a time, so that every boundary is met.
struct Dripping<'a>(&'a [u8], usize);

impl Read for Dripping<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let len = self.0.len().min(self.1).min(to.len());
        to[..len].copy_from_slice(&self.0[..len]);
        self.0 = &self.0[len..];
        Ok(len)
    }
}

fn all(stream: impl Read) -> Vec<(Result<Vec<u8>, u64>, Place)> {
    let mut lines = Lines::new(stream);
    let mut found = Vec::new();
    while let Some((line, place)) = lines.next().unwrap() {
        found.push((
            match line {
                Line::Whole(line) => Ok(line.to_vec()),
                Line::TooLong { bytes } => Err(bytes),
            },
            place,
        ));
    }
    found
}

fn texts(bytes: &[u8]) -> Vec<Vec<u8>> {
    all(bytes).into_iter().map(|(line, _)| line.unwrap()).collect()
}

#[test]
fn line_ends_of_both_kinds_a_mark_at_the_start_and_no_end_at_the_end() {
    assert_eq!(texts(b"\xef\xbb\xbfone\r\n\ntwo\r\r\nthree"), [b"one".to_vec(), b"".to_vec(), b"two\r".to_vec(), b"three".to_vec()]);
    assert_eq!(texts(b"one\n"), [b"one".to_vec()]);
    assert_eq!(texts(b""), Vec::<Vec<u8>>::new());
    assert_eq!(texts(b"\xef\xbb\xbf"), Vec::<Vec<u8>>::new());
    assert_eq!(texts(b"\xef\xbb"), [b"\xef\xbb".to_vec()]);
}

#[test]
fn places_count_lines_and_bytes_with_the_mark() {
    let places: Vec<_> = all(&b"\xef\xbb\xbfab\r\n\nc"[..]).into_iter().map(|(_, place)| place).collect();
    let expected = [Place { number: 1, offset: 0, bytes: 7 }, Place { number: 2, offset: 7, bytes: 1 }, Place { number: 3, offset: 8, bytes: 1 }];
    assert_eq!(places, expected);
}

#[test]
fn the_longest_line_is_whole_and_one_byte_more_is_too_long() {
    for end in ["", "\n", "\r\n"] {
        for step in [usize::MAX, 100_000] {
            let fits = format!("{}{end}", "x".repeat(LINE_BYTES_MAX));
            assert_eq!(all(Dripping(fits.as_bytes(), step))[0].0.as_ref().map(Vec::len), Ok(LINE_BYTES_MAX));
            let exceeds = format!("{}{end}", "x".repeat(LINE_BYTES_MAX + 1));
            assert_eq!(all(Dripping(exceeds.as_bytes(), step))[0].0, Err(LINE_BYTES_MAX as u64 + 1));
        }
    }
}

#[test]
fn a_line_of_100_megabytes_passes_in_little_room() {
    const LONG_BYTES: u64 = 100_000_000;
    let stream = (&b"before\n"[..]).chain(io::repeat(b'x').take(LONG_BYTES)).chain(&b"\r\nafter\n"[..]);
    let mut lines = Lines::new(stream);
    assert_eq!(lines.next().unwrap().unwrap().0, Line::Whole(b"before"));
    let (line, place) = lines.next().unwrap().unwrap();
    assert_eq!(line, Line::TooLong { bytes: LONG_BYTES });
    assert_eq!(place, Place { number: 2, offset: 7, bytes: LONG_BYTES + 2 });
    assert_eq!(lines.next().unwrap().unwrap(), (Line::Whole(b"after"), Place { number: 3, offset: 7 + LONG_BYTES + 2, bytes: 6 }));
    assert!(lines.next().unwrap().is_none());
    assert!(lines.buffer_bytes() <= 4 * LINE_BYTES_MAX, "{}", lines.buffer_bytes());
}

#[test]
fn a_failure_comes_after_the_whole_lines_before_it() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
    }
    let mut lines = Lines::new(Cursor::new(b"one\nhal").chain(Failing));
    assert_eq!(lines.next().unwrap().unwrap().0, Line::Whole(b"one"));
    assert!(lines.next().is_err());
}

proptest! {
    #[test]
    fn the_way_the_bytes_arrive_changes_nothing(pieces in proptest::collection::vec("[a-c\r\n]{0,5}|\u{feff}", 0..20), step in 1usize..9) {
        let text = pieces.concat();
        let dripped = all(Dripping(text.as_bytes(), step));
        prop_assert_eq!(&dripped, &all(text.as_bytes()));
        let bytes: u64 = dripped.iter().map(|(_, place)| place.bytes).sum();
        let is_mark_alone = dripped.is_empty() && text == "\u{feff}";
        prop_assert!(bytes == text.len() as u64 || is_mark_alone);
        let stripped = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let expected: Vec<_> = stripped.split_inclusive('\n').map(|line| line.strip_suffix('\n').unwrap_or(line)).collect();
        let expected: Vec<_> = expected.iter().map(|line| line.strip_suffix('\r').unwrap_or(line).as_bytes().to_vec()).collect();
        let found: Vec<_> = dripped.into_iter().map(|(line, _)| line.unwrap()).collect();
        prop_assert_eq!(found, expected);
    }
}
