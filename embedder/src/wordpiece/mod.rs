//! WordPiece, as BERT's uncased models cut text: clean, lower-case, strip accents, cut at spaces and punctuation, then the longest known pieces
//! (Devlin et al., "BERT", 2018; Schuster and Nakajima, "Japanese and Korean voice search", 2012).
//!
//! Not here: the special tokens that a transformer wants around a text, and names such as `[SEP]` written out in a text, which are text here.

mod normal;

use hashbrown::HashTable;
use normal::Normal;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// A word with more characters than this is unknown as a whole.
const WORD_CHARS_MAX: usize = 100;

/// What stands before a piece that goes on within a word.
const CONTINUES: &str = "##";

/// The place of a word that has no pieces.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// A vocabulary, ready to cut.
pub(crate) struct WordPiece {
    /// All pieces, one behind the other, without the marks of those that continue.
    text: Box<str>,
    /// Where each piece begins in `text`, and the end of the last.
    starts: Box<[u32]>,
    /// Pieces that begin a word, by hash.
    first: HashTable<u32>,
    /// Pieces that continue one.
    later: HashTable<u32>,
    piece_bytes_max: usize,
}

/// Buffers that are used again and again.
#[derive(Default)]
pub(crate) struct Scratch {
    word: String,
    word_chars: usize,
}

fn hash(piece: &str) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(piece.as_bytes());
    hasher.finish()
}

impl WordPiece {
    /// Takes a vocabulary: pieces in the order of their ids.
    pub(crate) fn new<'a>(pieces: impl IntoIterator<Item = &'a str>) -> Self {
        let mut text = String::new();
        let mut starts = vec![0_u32];
        let mut continues = Vec::new();
        let mut piece_bytes_max = 0;
        for piece in pieces {
            // "##" alone is itself.
            let tail = piece.strip_prefix(CONTINUES).filter(|tail| !tail.is_empty());
            let piece = tail.unwrap_or(piece);
            continues.push(tail.is_some());
            piece_bytes_max = piece_bytes_max.max(piece.len());
            text.push_str(piece);
            starts.push(text.len() as u32);
        }
        let (text, starts) = (text.into_boxed_str(), starts.into_boxed_slice());
        let mut first = HashTable::with_capacity(continues.len());
        let mut later = HashTable::with_capacity(continues.len());
        for (id, continues) in (0_u32..).zip(continues) {
            let table = if continues { &mut later } else { &mut first };
            table.insert_unique(hash(piece(&text, &starts, id)), id, |other| hash(piece(&text, &starts, *other)));
        }
        Self { text, starts, first, later, piece_bytes_max }
    }

    /// Appends the ids of the pieces of `text` to `out`, [`UNKNOWN`] for a word that cannot be cut into pieces; stops when `out` holds `limit`.
    pub(crate) fn cut(&self, text: &str, limit: usize, scratch: &mut Scratch, out: &mut Vec<u32>) {
        scratch.clear();
        let mut normal = Normal::new(text);
        while out.len() < limit {
            match normal.next() {
                Some(normal::Unit::Part(char)) => scratch.push(char),
                Some(normal::Unit::Break) => self.word(scratch, out),
                Some(normal::Unit::Alone(char)) => {
                    self.word(scratch, out);
                    scratch.push(char);
                    self.word(scratch, out);
                }
                None => {
                    self.word(scratch, out);
                    break;
                }
            }
        }
        out.truncate(limit);
    }

    /// Cuts the word that was gathered.
    fn word(&self, scratch: &mut Scratch, out: &mut Vec<u32>) {
        if scratch.word.is_empty() {
            return;
        }
        let before = out.len();
        let mut rest = scratch.word.as_str();
        let mut table = &self.first;
        if scratch.word_chars > WORD_CHARS_MAX {
            out.push(UNKNOWN);
            rest = "";
        }
        while !rest.is_empty() {
            match self.longest(table, rest) {
                Some((id, bytes)) => {
                    out.push(id);
                    rest = &rest[bytes..];
                    table = &self.later;
                }
                None => {
                    out.truncate(before);
                    out.push(UNKNOWN);
                    break;
                }
            }
        }
        scratch.clear();
    }

    /// The longest piece of `table` that `rest` begins with, and its bytes.
    fn longest(&self, table: &HashTable<u32>, rest: &str) -> Option<(u32, usize)> {
        let mut end = rest.len().min(self.piece_bytes_max);
        while end > 0 {
            if rest.is_char_boundary(end) {
                let candidate = &rest[..end];
                if let Some(id) = table.find(hash(candidate), |id| piece(&self.text, &self.starts, *id) == candidate) {
                    return Some((*id, end));
                }
            }
            end -= 1;
        }
        None
    }
}

fn piece<'a>(text: &'a str, starts: &[u32], id: u32) -> &'a str {
    &text[starts[id as usize] as usize..starts[id as usize + 1] as usize]
}

impl Scratch {
    fn push(&mut self, char: char) {
        self.word.push(char);
        self.word_chars += 1;
    }

    fn clear(&mut self) {
        self.word.clear();
        self.word_chars = 0;
    }
}

#[cfg(test)]
mod reference_test;

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&str], text: &str) -> Vec<String> {
        let pieces_of = WordPiece::new(pieces.iter().copied());
        let mut out = Vec::new();
        pieces_of.cut(text, usize::MAX, &mut Scratch::default(), &mut out);
        out.into_iter().map(|id| if id == UNKNOWN { "?".to_owned() } else { pieces[id as usize].to_owned() }).collect()
    }

    #[test]
    fn the_longest_piece_wins_and_a_word_without_pieces_is_unknown_as_a_whole() {
        let pieces = ["un", "##known", "##kno", "##wn", "unk", "[", "]", "a"];
        assert_eq!(cut(&pieces, "UNKNOWN"), ["?"]);
        assert_eq!(cut(&["un", "##known", "##kno"], "Unknown unkno unk"), ["un", "##known", "un", "##kno", "?"]);
        assert_eq!(cut(&pieces, "[a]a\u{0}a"), ["[", "a", "]", "?"]);
    }

    #[test]
    fn accents_controls_and_ideographs_go_as_in_the_reference() {
        let pieces = ["cafe", "日", "本", "ok", "¿", "i", "##̇"];
        assert_eq!(cut(&pieces, "CAFÉ\u{200b} cafe\u{301} 日本"), ["cafe", "cafe", "日", "本"]);
        assert_eq!(cut(&pieces, "o\u{7f}k\tok\u{a0}¿"), ["ok", "ok", "¿"]);
        assert_eq!(cut(&pieces, ""), Vec::<String>::new());
    }

    #[test]
    fn a_limit_cuts_and_a_long_word_is_unknown() {
        let pieces_of = WordPiece::new(["a", "##a"]);
        let mut out = Vec::new();
        pieces_of.cut(&"a ".repeat(10), 4, &mut Scratch::default(), &mut out);
        assert_eq!(out, [0; 4]);
        out.clear();
        pieces_of.cut(&"a".repeat(101), 1_000, &mut Scratch::default(), &mut out);
        assert_eq!(out, [UNKNOWN]);
        out.clear();
        pieces_of.cut(&"a".repeat(100), 7, &mut Scratch::default(), &mut out);
        assert_eq!(out, [0, 1, 1, 1, 1, 1, 1]);
    }
}
