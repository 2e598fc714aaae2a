//! Our WordPiece against the `tokenizers` crate's, with the built-in model's vocabulary: on real lines, and on text made to be hard.

use super::*;
use crate::static_model::built_in_pieces;
use flate2::read::GzDecoder;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use tokenizers::Tokenizer;

/// One real line in so many is compared.
const EVERY: usize = 16;

fn reference(pieces: &[&str]) -> Tokenizer {
    let mut vocabulary: Map<String, Value> = pieces.iter().enumerate().map(|(id, piece)| ((*piece).to_owned(), json!(id))).collect();
    vocabulary.insert("[UNK]".to_owned(), json!(pieces.len()));
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": vocabulary},
    });
    Tokenizer::from_bytes(serde_json::to_vec(&tokenizer).unwrap()).unwrap()
}

struct Both {
    ours: WordPiece,
    theirs: Tokenizer,
    pieces: u32,
}

impl Both {
    fn new() -> Self {
        let pieces = built_in_pieces();
        Self { ours: WordPiece::new(pieces.iter().copied()), theirs: reference(&pieces), pieces: pieces.len() as u32 }
    }

    fn check(&self, text: &str) {
        let mut out = Vec::new();
        self.ours.cut(text, usize::MAX, &mut Scratch::default(), &mut out);
        out.iter_mut().filter(|id| **id == UNKNOWN).for_each(|id| *id = self.pieces);
        assert_eq!(out, self.theirs.encode_fast(text, false).unwrap().get_ids(), "{text:?}");
    }
}

#[test]
fn pieces_are_those_of_the_reference_on_real_lines() {
    let both = Both::new();
    let shared = std::env::var_os("SILTSTONE_SHARED").map_or_else(|| PathBuf::from("../../shared"), PathBuf::from).join("data");
    let lines = File::open(shared.join("vectors_entries.jsonl.gz")).expect("the shared test data is there: SILTSTONE_SHARED names its folder");
    let mut compared = 0;
    for line in BufReader::new(GzDecoder::new(lines)).lines().step_by(EVERY) {
        let entry: Value = serde_json::from_str(&line.unwrap()).unwrap();
        both.check(entry["body"].as_str().unwrap());
        compared += 1;
    }
    assert!(compared > 2_000, "{compared} lines");
}

#[test]
fn pieces_are_those_of_the_reference_on_hard_text() {
    let both = Both::new();
    let long = "x".repeat(100) + " " + &"y".repeat(101);
    let hard = [
        "",
        " \t\r\n\u{b}\u{c}",
        "Größe überschritten; naïve CAFÉ, ﬁne Ⅷ ½ ™",
        "İstanbul ŞİŞLİ ǅ ß ẞ Σίσυφος",
        "数据库拒绝连接 데이터베이스 データベース接続 ไม่สามารถ קשר اتصال",
        "a\u{0}b\u{7f}c\u{200b}d\u{ad}e\u{fffd}f\u{feff}g\u{e000}h\u{1b}[31mred\u{1b}[0m",
        "e\u{301}e\u{308}\u{301} \u{301}alone a\u{20dd}",
        "«quoted» “curly” … — ‰ § ¶ € £ ¥ + < = > ^ ` | ~ $",
        "😀 👩‍👩‍👧 𝒳 𠀀",
        "\u{a0}\u{2003}\u{3000}wide\u{2028}\u{2029}spaces\u{85}x",
        "[CLS] [UNK] ## ##ing a##b",
        &long,
    ];
    hard.iter().for_each(|text| both.check(text));
    // Every character of scripts that are old enough: the reference's tables are of an earlier Unicode, and call later marks letters.
    for char in (0..0x590).chain(0x1e00..0x20c0).chain(0x2100..0x2e00).filter_map(char::from_u32) {
        both.check(&format!("ab{char}cd {char}"));
    }
}
