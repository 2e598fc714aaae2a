//! Search by meaning, end to end: vectors come by themselves, rank patterns and rows, stand beside words, survive a kill, and give way to another
//! model's.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use support::{Server, cli_with};

/// Lives that end by a kill while patterns are embedded, sealed, and a second model fills.
const LIVES: u64 = 8;

const KINDS: [(&str, &str); 6] = [
    ("postgres", "FATAL: sorry, too many clients already, connection rejected from 10.0.0.{}"),
    ("postgres", "connection to database refused by 10.1.0.{}, giving up"),
    ("checkout", "order {} placed in 31 ms"),
    ("checkout", "user {} signed in from a new device"),
    ("cache", "evicted {} keys, memory is at its limit"),
    ("web", "GET /healthz 200 {}"),
];

fn lines(each: u64) -> Vec<u8> {
    let mut text = String::new();
    for number in 0..each {
        for (at, (deployment, body)) in KINDS.iter().enumerate() {
            let timestamp_ms = 1_700_000_000_000 + number * 1_000 + at as u64;
            let body = body.replace("{}", &number.to_string());
            writeln!(text, "{{\"timestamp_ms\":{timestamp_ms},\"namespace\":\"shop\",\"deployment\":\"{deployment}\",\"body\":\"{body}\"}}").unwrap();
        }
    }
    text.into_bytes()
}

fn import(server: &Server, each: u64) {
    let output = cli_with(&["import", "-", "--format", "ndjson"], Some(server.grpc), Some(&lines(each)));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn rows(server: &Server, args: &[&str]) -> Vec<Value> {
    let args: Vec<&str> = ["search", "-n", "shop", "-o", "json", "--wait-vectors"].iter().chain(args).copied().collect();
    server.ok(&args).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn models(server: &Server) -> Vec<Value> {
    server.ok(&["model", "list", "-o", "json"]).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn body(row: &Value) -> &str {
    row["body"].as_str().unwrap()
}

#[test]
fn rows_like_a_description_come_first_and_say_why() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    import(&server, 40);
    let found = rows(&server, &["near:\"the database refuses connections\"", "--limit", "50"]);
    assert_eq!(found.len(), 50);
    let is_database = |row: &Value| row["deployment"] == "postgres";
    assert!(
        found.iter().all(is_database),
        "the two patterns of the database come before all others: {:?}",
        found.iter().map(body).collect::<Vec<_>>()
    );
    // The newest rows of the nearest pattern come first.
    let first = &found[0];
    assert!(found[..40].iter().all(|row| row["pattern"] == first["pattern"]), "pattern by pattern");
    assert!(found[..40].windows(2).all(|pair| pair[0]["timestamp"].as_str() > pair[1]["timestamp"].as_str()), "the newest first");
    assert_eq!(first["pattern_count"], 40);
    assert!(first["similarity"].as_f64().unwrap() > 0.3 && first["words"] == 0.0, "{first}");
    assert!((first["score"].as_f64().unwrap() - first["similarity"].as_f64().unwrap()).abs() < 1e-6, "vectors alone: {first}");

    // Filters hold; one row a pattern.
    let collapsed = rows(&server, &["near:\"the database refuses connections\" -deployment:postgres", "--collapse", "pattern"]);
    assert_eq!(collapsed.len(), 4);
    assert!(!collapsed.iter().any(is_database));
    let narrowed = rows(&server, &[&format!("pattern:{}", first["pattern"].as_str().unwrap()), "--limit", "100"]);
    assert_eq!(narrowed.len(), 40, "a pattern's id narrows");

    // Patterns by meaning.
    let text = server.ok(&["patterns", "-n", "shop", "*", "--near", "running out of \"memory\"", "-o", "json", "--wait-vectors"]);
    let patterns: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((patterns.len(), patterns[0]["count"].as_u64()), (6, Some(40)));
    assert!(patterns[0]["pattern"].as_str().unwrap().contains("memory is at its limit"), "{text}");
    assert!(patterns.windows(2).all(|pair| pair[0]["similarity"].as_f64() >= pair[1]["similarity"].as_f64()), "{text}");
    assert!(server.ok(&["patterns", "-n", "shop", "*", "--near", "memory"]).starts_with("LIKE "));
}

#[test]
fn words_stand_beside_vectors_and_questions_are_understood() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    import(&server, 20);
    let both = rows(&server, &["near:\"database trouble\" refused", "--limit", "5"]);
    assert!(both.iter().all(|row| body(row).contains("refused") && row["words"].as_f64().unwrap() > 0.0), "words narrow and rank: {both:?}");
    let asked = rows(&server, &["why are there too many database clients?", "--collapse", "pattern", "--limit", "3"]);
    assert!(body(&asked[0]).contains("too many clients already"), "{asked:?}");
    assert!(asked[0]["words"].as_f64().unwrap() > 0.0 && asked[0]["similarity"].as_f64().unwrap() > 0.0, "{asked:?}");
    assert_eq!(asked.len(), 3, "a question lets everything through, and ranks it");
    let explained = server.ok(&["explain", "-n", "shop", "near:\"database trouble\" refused"]);
    assert!(explained.contains("near:\"database trouble\" refused") && explained.contains("words and vectors"), "{explained}");
    for args in
        [&["count", "near:x"][..], &["histogram", "near:x"], &["search", "near:x", "--order", "newest"], &["search", "x", "--collapse", "pattern"]]
    {
        let output = server.cli(&[&args[..1], &["-n", "shop"], &args[1..]].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let unknown = server.cli(&["search", "-n", "shop", "near:\"12345\"", "--limit", "1"]);
    assert!(unknown.status.success(), "{}", String::from_utf8_lossy(&unknown.stderr));
}

#[test]
fn vectors_survive_a_kill_and_each_pattern_is_embedded_once() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    import(&server, 10);
    let before = rows(&server, &["near:\"orders of customers\"", "--limit", "60"]);
    assert_eq!(models(&server)[0]["vectors"], 6);
    server.kill();
    let server = Server::start(data.path(), &["--chunk-age-ms-max", "1", "--seal-wait-ms-max", "1"]);
    assert_eq!(rows(&server, &["near:\"orders of customers\"", "--limit", "60"]), before, "the same order, whatever was sealed meanwhile (RK-1)");
    import(&server, 12);
    let after = rows(&server, &["near:\"orders of customers\"", "--limit", "200"]);
    assert_eq!(after.len(), 132);
    let known = models(&server);
    assert_eq!((known.len(), known[0]["vectors"].as_u64(), known[0]["serves"].as_bool()), (1, Some(6), Some(true)), "{known:?}");
}

#[test]
fn a_second_model_fills_while_the_first_serves_and_takes_over_when_told() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    import(&server, 5);
    let first = rows(&server, &["near:\"database refuses connections\"", "--limit", "1"]);
    let built_in = models(&server)[0]["id"].as_str().unwrap().to_owned();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../embedder/tests/data/tiny-bert");
    let folder = folder.canonicalize().unwrap();
    let id = server.ok(&["model", "add", folder.to_str().unwrap(), "--wait"]).trim().to_owned();
    let known = models(&server);
    let of = |known: &[Value], id: &str| known.iter().find(|model| model["id"] == id).unwrap().clone();
    assert_eq!((of(&known, &id)["vectors"].as_u64(), of(&known, &id)["serves"].as_bool()), (Some(6), Some(false)), "{known:?}");
    assert_eq!(rows(&server, &["near:\"database refuses connections\"", "--limit", "1"]), first, "the first serves on");
    let queries = data.path().join("queries");
    let judged = format!("database is down\n{{\"query\": \"refused\", \"judged\": {{{:?}: 2}}}}\n", first[0]["pattern"].as_str().unwrap());
    std::fs::write(&queries, judged).unwrap();
    let compared = server.ok(&["model", "compare", &built_in, &id, "-n", "shop", "--queries", queries.to_str().unwrap(), "-o", "json"]);
    let compared: Vec<Value> = compared.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (compared.len(), compared[2]["judged"].as_u64(), compared[2]["overlap"].as_f64()),
        (3, Some(1), Some(1.0)),
        "six patterns, all in both"
    );
    assert!(compared[1]["ndcg"][0].as_f64().unwrap() > 0.3 && compared[0]["ndcg"].is_null(), "{compared:?}");
    let unknown = server.cli(&["search", "-n", "shop", "near:x", "--model", "nobody+p1"]);
    assert!(!unknown.status.success() && String::from_utf8_lossy(&unknown.stderr).contains("nobody+p1"));
    let refused = server.cli(&["model", "remove", &built_in]);
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("serves"), "the model that serves stays");
    server.ok(&["model", "use", &id]);
    let second = rows(&server, &["near:\"database refuses connections\"", "--limit", "1"]);
    assert_ne!(second[0]["similarity"], first[0]["similarity"], "scores are the second model's");
    server.ok(&["model", "remove", &built_in]);
    assert_eq!(models(&server).len(), 1);
    server.kill();
    let server = Server::start(data.path(), &[]);
    assert_eq!(rows(&server, &["near:\"database refuses connections\"", "--limit", "1"]), second, "also after a kill");

    for (path, wanted) in [("/nowhere/at/all", "cannot be read"), ("relative", "absolute path"), ("", "absolute path")] {
        let output = server.cli(&["model", "add", path]);
        assert_eq!(output.status.code(), Some(2), "{path}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(wanted), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for command in ["use", "remove"] {
        let output = server.cli(&["model", command, "nobody+p1"]);
        assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("nobody+p1"), "{command}");
    }
}

#[test]
fn a_model_whose_files_are_gone_stops_no_other() {
    let (data, models_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = models_folder.path().join("tiny");
    std::fs::create_dir(&folder).unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../embedder/tests/data/tiny-bert");
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        std::fs::copy(fixture.join(file), folder.join(file)).unwrap();
    }
    let server = Server::start(data.path(), &[]);
    let id = server.ok(&["model", "add", folder.to_str().unwrap(), "--wait"]).trim().to_owned();
    server.kill();
    std::fs::remove_dir_all(&folder).unwrap();
    let server = Server::start(data.path(), &[]);
    import(&server, 3);
    let found = rows(&server, &["near:\"database refuses connections\"", "--limit", "1"]);
    assert!(found[0]["similarity"].is_number(), "the model that serves goes on: {found:?}");
    assert!(server.ok(&["model", "list"]).contains("filling"));
    let status = server.cli(&["status"]);
    assert!(String::from_utf8_lossy(&status.stderr).contains("cannot be read"), "{}", String::from_utf8_lossy(&status.stderr));

    // Added anew, its files are back: patterns that it knew before are not forgotten.
    server.ok(&["model", "remove", &id]);
    std::fs::create_dir(&folder).unwrap();
    for file in ["config.json", "tokenizer.json", "model.safetensors"] {
        std::fs::copy(fixture.join(file), folder.join(file)).unwrap();
    }
    for _ in 0..3 {
        assert_eq!(server.ok(&["model", "add", folder.to_str().unwrap(), "--wait"]).trim(), id);
        server.ok(&["model", "remove", &id]);
    }
    server.ok(&["model", "add", folder.to_str().unwrap(), "--wait"]);
    assert!(models(&server).iter().all(|model| model["vectors"] == 6 && model["is_complete"] == true));
}

#[test]
fn damaged_cut_and_foreign_models_are_refused_when_added_and_noticed_when_loaded() {
    let (data, models_folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let folder = models_folder.path().join("tiny");
    std::fs::create_dir(&folder).unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../embedder/tests/data/tiny-bert");
    let sound = |file: &str| std::fs::read(fixture.join(file)).unwrap();
    let restore =
        || ["config.json", "tokenizer.json", "model.safetensors"].iter().for_each(|file| std::fs::write(folder.join(file), sound(file)).unwrap());
    let server = Server::start(data.path(), &[]);
    import(&server, 3);
    let weights = sound("model.safetensors");
    let mut not_finite = weights.clone();
    let last = not_finite.len() - 4;
    not_finite[last..].copy_from_slice(&f32::NAN.to_le_bytes());
    let other_architecture = String::from_utf8(sound("config.json")).unwrap().replace("\"bert\"", "\"roberta\"");
    for (file, bytes, wanted) in [
        ("model.safetensors", weights[..weights.len() / 2].to_vec(), "model.safetensors: it is damaged, cut off, or no safetensors file"),
        ("model.safetensors", b"PK\x03\x04 another file".to_vec(), "model.safetensors: it is damaged, cut off, or no safetensors file"),
        ("model.safetensors", not_finite, "a number that is not finite: the file is damaged"),
        ("tokenizer.json", sound("tokenizer.json")[..500].to_vec(), "tokenizer.json: it is no JSON"),
        ("config.json", other_architecture.into_bytes(), "the model is of type \"roberta\", and only \"bert\" is supported"),
    ] {
        restore();
        std::fs::write(folder.join(file), bytes).unwrap();
        let output = server.cli(&["model", "add", folder.to_str().unwrap()]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && said.contains(wanted), "{file}: {said}");
        assert_eq!(models(&server).len(), 1, "nothing was added: {said}");
    }
    restore();
    let id = server.ok(&["model", "add", folder.to_str().unwrap(), "--wait"]).trim().to_owned();
    server.kill();
    // Other weights under a known model's name would be another model's vectors (VE-1): what the files say decides.
    let mut other = sound("model.safetensors");
    let last = other.len() - 1;
    other[last] ^= 1;
    std::fs::write(folder.join("model.safetensors"), other).unwrap();
    let server = Server::start(data.path(), &[]);
    let refused = server.cli(&["search", "-n", "shop", "near:\"database trouble\"", "--model", &id]);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success() && said.contains("the files there are the model tiny-") && said.contains(&id), "{said}");
    assert!(rows(&server, &["near:\"database trouble\"", "--limit", "1"])[0]["similarity"].is_number(), "the one that serves goes on");
}

#[test]
fn kills_while_models_fill_lose_nothing_and_mix_nothing() {
    let data = tempfile::tempdir().unwrap();
    let tuning = ["--flush-interval-ms", "5", "--chunk-age-ms-max", "20", "--seal-wait-ms-max", "5", "--merge-fan-in", "2"];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../embedder/tests/data/tiny-bert").canonicalize().unwrap();
    let mut is_added = false;
    for life in 0..LIVES {
        let server = Server::start(data.path(), &tuning);
        // Other patterns in each life, so that there is always something to embed.
        let words = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"][life as usize];
        let mut text = String::new();
        for number in 0..60 {
            let kind = ["queue", "disk", "peer", "shard", "lease", "quota"][number % 6];
            writeln!(text, "{{\"namespace\":\"shop\",\"body\":\"{words} {kind} {} was slow for {number} ms\"}}", "very ".repeat(number / 6)).unwrap();
        }
        let addr = server.grpc;
        let importing = std::thread::spawn(move || cli_with(&["import", "-", "--format", "ndjson"], Some(addr), Some(text.as_bytes())));
        let output = importing.join().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        if life > 0 && !is_added {
            is_added = server.cli(&["model", "add", folder.to_str().unwrap()]).status.success();
        }
        // Anywhere between the first batch of a model and long after the last.
        std::thread::sleep(std::time::Duration::from_millis((life * 37) % 120));
        server.kill();
    }
    let server = Server::start(data.path(), &tuning);
    let near = |server: &Server| rows(server, &["near:\"the shard was slow\"", "--collapse", "pattern", "--limit", "1000"]);
    let first = near(&server);
    assert_eq!(first.len(), 60 * LIVES as usize, "every pattern is there, with a vector");
    assert!(first.iter().all(|row| row["similarity"].is_number()));
    let id = server.ok(&["model", "add", folder.to_str().unwrap(), "--wait"]).trim().to_owned();
    let known = models(&server);
    assert!(known.iter().all(|model| model["vectors"] == 60 * LIVES && model["is_complete"] == true), "one vector a pattern and model: {known:?}");
    server.ok(&["model", "use", &id]);
    let second = near(&server);
    server.kill();
    let server = Server::start(data.path(), &tuning);
    assert_eq!(near(&server), second, "the switch outlives a kill");
    let built_in = known.iter().find(|model| model["source"] == "").unwrap()["id"].as_str().unwrap().to_owned();
    server.ok(&["model", "use", &built_in]);
    assert_eq!(near(&server), first, "VE-1: what the first model ranked is untouched by the second");
}
