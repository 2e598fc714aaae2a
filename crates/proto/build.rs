//! Compiles the protocol files without protoc.

use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = ["common", "ingest", "search", "admin"].map(|name| format!("siltstone/v1/{name}.proto"));
    let mut compiler = protox::Compiler::new(["proto"])?;
    compiler.include_imports(true).include_source_info(true).open_files(&files)?;
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("siltstone.bin"), compiler.encode_file_descriptor_set())?;
    tonic_prost_build::configure().bytes(".siltstone.v1.LogEntry.body").compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}
