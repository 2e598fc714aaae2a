//! Sentence transformers of BERT's kind, from a folder: `config.json`, `tokenizer.json`, `model.safetensors`. Mean over a text's tokens, brought to
//! length one (Reimers and Gurevych, "Sentence-BERT", 2019).
//!
//! Padding and truncation that are baked into a `tokenizer.json` are overridden: texts are cut at [`TOKENS_MAX`] and padded to the longest of their
//! batch only, and a batch holds texts of nearly one length.
//!
//! Not here: other architectures and other poolings (refused, with what was found), downloads, and accelerators.

mod bert;
mod config;
mod gelu;
mod weights;

use crate::{EmbedError, Embedder, PATTERN_TEXT_RULE};
use bert::Bert;
use config::Config;
use serde::de::IgnoredAny;
use siltstone_core::ModelId;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use tokenizers::{Encoding, Tokenizer, TruncationParams};
use xxhash_rust::xxh3::Xxh3;

/// Tokens of a text that are read, marks of begin and end included. All but a few patterns are shorter, and time grows with the length.
pub const TOKENS_MAX: usize = 64;

/// Tokens of a batch, padding included: enough that matrices are well used, few enough that what lies between layers stays in the cache of a core
/// (1,024 tokens × 1,536 numbers × 4 bytes = 6 MiB for the widest layer of the usual small models).
const BATCH_TOKENS_MAX: usize = 1_024;

/// The files of a model.
pub struct TransformerFiles<'a> {
    /// `config.json`.
    pub config: &'a [u8],
    /// `tokenizer.json`.
    pub tokenizer: &'a [u8],
    /// `model.safetensors`.
    pub weights: &'a [u8],
}

/// A loaded transformer.
pub struct Transformer {
    id: ModelId,
    tokenizer: Tokenizer,
    bert: Bert,
}

impl Transformer {
    /// Loads a model from a folder, as [`Transformer::from_files`] does.
    ///
    /// # Errors
    /// [`EmbedError::Model`] also where a file cannot be read.
    pub fn open(name: &str, folder: &Path) -> Result<Self, EmbedError> {
        let read = |file: &str| {
            let path = folder.join(file);
            std::fs::read(&path).map_err(|error| EmbedError::Model {
                name: name.to_owned(),
                detail: format!(
                    "{} cannot be read ({error}): a model's folder has config.json, tokenizer.json and model.safetensors",
                    path.display()
                ),
            })
        };
        let (config, tokenizer, weights) = (read("config.json")?, read("tokenizer.json")?, read("model.safetensors")?);
        Self::from_files(name, &TransformerFiles { config: &config, tokenizer: &tokenizer, weights: &weights })
    }

    /// Loads a model. Its id is `NAME-DIGEST+pRULE`, where the digest is of the files: vectors of two models never meet, whatever their names.
    ///
    /// # Errors
    /// [`EmbedError::Model`], naming the file and what is wrong with it: damaged, cut off, of another architecture, with weights that are missing,
    /// not finite or of another shape than the configuration says, or with a tokenizer that knows more tokens than the weights.
    pub fn from_files(name: &str, files: &TransformerFiles<'_>) -> Result<Self, EmbedError> {
        let broken = |file: &str, detail: String| EmbedError::Model { name: name.to_owned(), detail: format!("{file}: {detail}") };
        let config = Config::parse(files.config).map_err(|error| broken("config.json", error.to_string()))?;
        let mut tokenizer = read_tokenizer(files.tokenizer).map_err(|error| broken("tokenizer.json", error))?;
        let tokens = tokenizer.get_vocab(true).values().max().map_or(0, |last| *last as usize + 1);
        if tokens == 0 || tokens > config.vocab_size {
            let detail = format!("it has {tokens} tokens and the model {}: they do not belong together", config.vocab_size);
            return Err(broken("tokenizer.json", detail));
        }
        tokenizer.with_padding(None);
        let truncation = TruncationParams { max_length: TOKENS_MAX.min(config.max_position_embeddings), ..TruncationParams::default() };
        tokenizer.with_truncation(Some(truncation)).map_err(|error| broken("tokenizer.json", error.to_string()))?;
        // Some damage shows only when a text is encoded.
        encode(&tokenizer, &["a text"]).map_err(|error| broken("tokenizer.json", error))?;
        let bert = Bert::load(&config, files.weights).map_err(|error| broken("model.safetensors", error.to_string()))?;

        let mut digest = Xxh3::new();
        for file in [files.config, files.tokenizer, files.weights] {
            digest.update(&(file.len() as u64).to_le_bytes());
            digest.update(file);
        }
        let id = format!("{name}-{:08x}+p{PATTERN_TEXT_RULE}", digest.digest() >> 32);
        let id = ModelId::new(&id).map_err(|error| EmbedError::Model { name: name.to_owned(), detail: error.to_string() })?;
        Ok(Self { id, tokenizer, bert })
    }

    fn run(&self, texts: &[&str]) -> Result<Vec<f32>, String> {
        let encoded = encode(&self.tokenizer, texts)?;
        let tokens: Vec<&[u32]> = encoded.iter().map(|encoding| encoding.get_ids()).collect();
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|text| tokens[*text].len());
        let dimension = self.bert.dimension();
        let mut vectors = vec![0.0; texts.len() * dimension];
        let mut rest = order.as_slice();
        while !rest.is_empty() {
            let (batch, later) = rest.split_at(batch_length(rest, &tokens));
            rest = later;
            // A text of no tokens at all keeps the zero vector.
            let batch: Vec<usize> = batch.iter().copied().filter(|text| !tokens[*text].is_empty()).collect();
            if batch.is_empty() {
                continue;
            }
            let found = self.bert.run(&batch.iter().map(|text| tokens[*text]).collect::<Vec<_>>()).map_err(|error| error.to_string())?;
            for (text, vector) in batch.iter().zip(found.chunks_exact(dimension)) {
                vectors[text * dimension..(text + 1) * dimension].copy_from_slice(vector);
            }
        }
        Ok(vectors)
    }
}

/// What a panic of the tokenizer means: the library panics on some damaged files, when it reads them or when it encodes.
const TOKENIZER_PANIC: &str = "it is damaged, or of a kind that the library cannot use";

/// Texts as tokens.
fn encode(tokenizer: &Tokenizer, texts: &[&str]) -> Result<Vec<Encoding>, String> {
    // A tokenizer is only read here, so a panic leaves nothing half done.
    match std::panic::catch_unwind(AssertUnwindSafe(|| tokenizer.encode_batch_fast(texts.to_vec(), true))) {
        Ok(encoded) => encoded.map_err(|error| error.to_string()),
        Err(_) => Err(TOKENIZER_PANIC.to_owned()),
    }
}

/// Reads a tokenizer: the JSON is checked before, and a panic is an error.
fn read_tokenizer(bytes: &[u8]) -> Result<Tokenizer, String> {
    serde_json::from_slice::<IgnoredAny>(bytes).map_err(|error| format!("it is no JSON: {error}"))?;
    match std::panic::catch_unwind(|| Tokenizer::from_bytes(bytes)) {
        Ok(Ok(tokenizer)) => Ok(tokenizer),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(TOKENIZER_PANIC.to_owned()),
    }
}

/// How many of the texts `order`, by rising length, make the next batch: as many as its tokens allow, padding included, and at least one.
fn batch_length(order: &[usize], tokens: &[&[u32]]) -> usize {
    let fitting = order.iter().enumerate().take_while(|(index, text)| (index + 1) * tokens[**text].len() <= BATCH_TOKENS_MAX);
    fitting.count().max(1)
}

impl Embedder for Transformer {
    fn id(&self) -> &ModelId {
        &self.id
    }

    fn dimension(&self) -> usize {
        self.bert.dimension()
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<f32>, EmbedError> {
        self.run(texts).map_err(|detail| EmbedError::Run { texts: texts.len(), detail })
    }
}

#[cfg(test)]
#[path = "transformer_test.rs"]
mod tests;
