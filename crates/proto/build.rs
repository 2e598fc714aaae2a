//! Compiles the protocol files without protoc.

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let api = ["common", "ingest", "search", "admin"].map(|name| format!("siltstone/v1/{name}.proto"));
    let metadata = ["peers", "group"].map(|name| format!("siltstone/metadata/v1/{name}.proto"));
    compile("siltstone.bin", &api, &[".siltstone.v1.LogEntry.body"])?;
    let shared_bytes = ["AppendRequest.entries", "SnapshotPart.machine", "ProposeRequest.command", "SnapshotPiece.bytes", "Delta.command"];
    let shared_bytes = shared_bytes.map(|field| format!(".siltstone.metadata.v1.{field}"));
    compile("metadata.bin", &metadata, &shared_bytes)
}

fn compile<T>(descriptors: &str, files: &[String], shared_bytes: &[T]) -> Result<(), Box<dyn std::error::Error>>
where
    T: AsRef<str>,
{
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).include_source_info(true).open_files(files)?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join(descriptors), compiler.encode_file_descriptor_set())?;
    let configuration = shared_bytes.iter().fold(tonic_prost_build::configure(), |configuration, field| configuration.bytes(field));
    configuration.compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}
