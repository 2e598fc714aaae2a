use super::*;
use half::f16;
use serde_json::{Value, json};
use std::path::PathBuf;

struct Files {
    config: Vec<u8>,
    tokenizer: Vec<u8>,
    weights: Vec<u8>,
}

fn tiny() -> Files {
    let read = |name: &str| std::fs::read(Path::new("tests/data/tiny-bert").join(name)).unwrap();
    Files { config: read("config.json"), tokenizer: read("tokenizer.json"), weights: read("model.safetensors") }
}

impl Files {
    fn load(&self) -> Result<Transformer, EmbedError> {
        Transformer::from_files("tiny", &TransformerFiles { config: &self.config, tokenizer: &self.tokenizer, weights: &self.weights })
    }

    fn error(&self) -> String {
        let error = self.load().err().expect("it is refused");
        assert_eq!(error.kind(), siltstone_core::ErrorKind::Corrupt);
        error.to_string()
    }

    fn with_config(change: impl FnOnce(&mut Value)) -> Self {
        let mut files = tiny();
        let mut config: Value = serde_json::from_slice(&files.config).unwrap();
        change(&mut config);
        files.config = serde_json::to_vec(&config).unwrap();
        files
    }
}

/// Real lines that are embedded.
const LINES: usize = 48;

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn vectors_are_those_of_the_reference_alone_and_in_a_batch() {
    let model = tiny().load().unwrap();
    let reference: Vec<Value> = serde_json::from_slice(&std::fs::read("tests/data/tiny-bert/reference.json").unwrap()).unwrap();
    let texts: Vec<&str> = reference.iter().map(|case| case["text"].as_str().unwrap()).collect();
    let together = model.embed(&texts).unwrap();
    for ((case, text), vector) in reference.iter().zip(&texts).zip(together.chunks_exact(model.dimension())) {
        let wanted: Vec<f32> = case["vector"].as_array().unwrap().iter().map(|number| number.as_f64().unwrap() as f32).collect();
        let alone = model.embed(&[text]).unwrap();
        for ((found, alone), wanted) in vector.iter().zip(&alone).zip(&wanted) {
            assert!((found - wanted).abs() < 1e-5 && (alone - wanted).abs() < 1e-5, "{text}: {vector:?} and {alone:?}, not {wanted:?}");
        }
    }
}

#[test]
fn no_text_and_an_empty_text_are_answered() {
    let model = tiny().load().unwrap();
    assert!(model.embed(&[]).unwrap().is_empty());
    let vector = model.embed(&["", "a"]).unwrap();
    assert_eq!(vector.len(), 2 * model.dimension());
    assert!(vector.iter().all(|number| number.is_finite()));
}

#[test]
fn batches_hold_texts_of_one_length_within_the_bound() {
    let lengths = [3_usize, 60, 4, 64, 64, 2, 500];
    let owned: Vec<Vec<u32>> = lengths.iter().map(|length| vec![0; *length]).collect();
    let tokens: Vec<&[u32]> = owned.iter().map(Vec::as_slice).collect();
    assert_eq!(batch_length(&[5, 0, 2, 1, 3, 4, 6], &tokens), 6);
    let long = vec![0_u32; 5_000];
    assert_eq!(batch_length(&[0, 1], &[&long, &long]), 1);
}

#[test]
fn the_id_tells_models_of_one_name_apart() {
    let id = |files: &Files| files.load().unwrap().id().as_str().to_owned();
    let one = id(&tiny());
    assert!(one.starts_with("tiny-") && one.ends_with("+p1"), "{one}");
    assert_eq!(one, id(&tiny()));
    let mut other = tiny();
    let last = other.weights.len() - 1;
    other.weights[last] ^= 1;
    assert_ne!(one, id(&other));
}

#[test]
fn cut_and_damaged_files_are_errors_that_name_the_file() {
    let whole = tiny();
    for length in (0..whole.weights.len()).step_by(97).chain([whole.weights.len() - 1]) {
        let files = Files { weights: whole.weights[..length].to_vec(), ..tiny() };
        assert!(files.error().contains("model.safetensors"), "{length} bytes");
    }
    for length in (0..whole.tokenizer.len()).step_by(61) {
        assert!(Files { tokenizer: whole.tokenizer[..length].to_vec(), ..tiny() }.error().contains("tokenizer.json"), "{length} bytes");
    }
    for length in (0..whole.config.len() - 2).step_by(7) {
        assert!(Files { config: whole.config[..length].to_vec(), ..tiny() }.error().contains("config.json"), "{length} bytes");
    }
}

#[test]
fn flipped_bits_are_errors_or_another_sound_model_and_nothing_panics() {
    // What the numbers of the weights should be, only whoever made them knows: their head alone is swept.
    let whole = tiny();
    let head = u64::from_le_bytes(whole.weights[..8].try_into().unwrap()) as usize + 8;
    let (mut refused, mut loaded) = (0, 0);
    let mut check = |files: Files| match files.load() {
        Ok(model) => {
            // An error is well; a panic is not.
            let _ = model.embed(&["the database", "refuses connections, again"]);
            loaded += 1;
        }
        Err(_) => refused += 1,
    };
    for bit in (0..head * 8).step_by(3) {
        let mut files = tiny();
        files.weights[bit / 8] ^= 1 << (bit % 8);
        check(files);
    }
    for bit in (0..whole.tokenizer.len() * 8).step_by(5) {
        let mut files = tiny();
        files.tokenizer[bit / 8] ^= 1 << (bit % 8);
        check(files);
    }
    for bit in 0..whole.config.len() * 8 {
        let mut files = tiny();
        files.config[bit / 8] ^= 1 << (bit % 8);
        check(files);
    }
    assert!(refused > 1_000, "{refused} refused, {loaded} loaded");
}

#[test]
fn foreign_models_are_refused_with_what_was_found() {
    assert!(Files::with_config(|config| config["model_type"] = json!("roberta")).error().contains("\"roberta\""));
    assert!(Files::with_config(|config| config["hidden_act"] = json!("silu")).error().contains("\"silu\""));
    assert!(Files::with_config(|config| config["position_embedding_type"] = json!("relative_key")).error().contains("\"relative_key\""));
    assert!(Files::with_config(|config| config["hidden_size"] = json!(16)).error().contains("where config.json says"));
    assert!(Files::with_config(|config| config["hidden_size"] = json!(1_u64 << 40)).error().contains("hidden_size"));
    assert!(Files::with_config(|config| config["num_attention_heads"] = json!(3)).error().contains("num_attention_heads"));
    assert!(Files::with_config(|config| config["num_hidden_layers"] = json!(3)).error().contains("encoder.layer.2"));
    assert!(Files::with_config(|config| config["vocab_size"] = json!(7)).error().contains("do not belong together"));
    assert!(Files { weights: b"PK\x03\x04 a zip".to_vec(), ..tiny() }.error().contains("no safetensors file"));
    assert!(Files { tokenizer: b"{}".to_vec(), ..tiny() }.error().contains("tokenizer.json"));
    let mut files = tiny();
    let last = files.weights.len();
    files.weights[last - 4..].copy_from_slice(&f32::NAN.to_le_bytes());
    assert!(files.error().contains("not finite"));
    let error = Transformer::open("gone", Path::new("tests/data/no-such-model")).err().unwrap().to_string();
    assert!(error.contains("config.json") && error.contains("cannot be read"), "{error}");
}

/// The folder of all-MiniLM-L6-v2: what `SILTSTONE_TEST_MODEL` names, or where `scripts/test-tools.sh` puts it.
fn real_model() -> Option<PathBuf> {
    let tools = || std::env::var_os("SILTSTONE_TOOLS").map_or_else(|| PathBuf::from("../target/tools"), PathBuf::from);
    match std::env::var_os("SILTSTONE_TEST_MODEL") {
        Some(folder) => Some(folder.into()),
        None => Some(tools().join("all-minilm-l6-v2")).filter(|folder| folder.exists()),
    }
}

#[test]
fn the_real_model_gives_the_reference_vectors_of_real_lines() {
    let Some(folder) = real_model() else {
        println!("not run: SILTSTONE_TEST_MODEL names no model's folder, and scripts/test-tools.sh has installed none");
        assert!(tiny().load().is_ok(), "the tiny model stands in");
        return;
    };
    println!("run with {}", folder.display());
    let model = Transformer::open("minilm", &folder).unwrap();
    assert_eq!(model.dimension(), 384);
    let shared = std::env::var_os("SILTSTONE_SHARED").map_or_else(|| PathBuf::from("../../shared"), PathBuf::from).join("data");
    let lines =
        std::fs::File::open(shared.join("vectors_entries.jsonl.gz")).expect("the shared test data is there: SILTSTONE_SHARED names its folder");
    let lines = std::io::BufRead::lines(std::io::BufReader::new(flate2::read::GzDecoder::new(lines)));
    let bodies: Vec<String> =
        lines.take(96).map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["body"].as_str().unwrap().to_owned()).collect();
    let reference = std::fs::read(shared.join("vectors.npy")).unwrap();
    let head = 10 + usize::from(u16::from_le_bytes([reference[8], reference[9]]));
    let reference: Vec<f32> =
        reference[head..].as_chunks::<2>().0.iter().take(LINES * 384).map(|number| f16::from_le_bytes(*number).to_f32()).collect();
    let found = model.embed(&bodies.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
    let mut cosines: Vec<f32> = found.chunks_exact(384).zip(reference.chunks_exact(384)).map(|(a, b)| cosine(a, b)).collect();
    cosines.sort_by(f32::total_cmp);
    // Addresses in some of the lines were replaced after their vectors were made: those differ.
    println!("cosine to the reference: least {}, quarter {}, median {}", cosines[0], cosines[LINES / 4], cosines[LINES / 2]);
    assert!(cosines[LINES / 4] > 0.9999, "{cosines:?}");
}
