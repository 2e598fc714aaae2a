//! One file a command; each turns arguments into calls and answers into output.

mod compare;
pub(crate) mod demo;
pub(crate) mod dev;
pub(crate) mod import;
pub(crate) mod model;
pub(crate) mod query;
pub(crate) mod status;
mod vectors;

use crate::args::{QueryArgs, VectorArgs};
use crate::failure::Failure;
use siltstone_core::Clock;
use siltstone_metadata_cli::MetadataCommand;
use siltstone_proto::v1::QuerySpec;

/// The commands of the metadata group, which are a crate of their own.
pub(crate) async fn metadata(command: &MetadataCommand) -> Result<(), Failure> {
    let outcome = siltstone_metadata_cli::run(command, &mut std::io::stdout()).await;
    outcome.map_err(|error| Failure { message: error.to_string(), exit_code: error.exit_code() })
}

/// What a query's arguments ask, with times made absolute.
pub(crate) fn spec_of(args: &QueryArgs, clock: &dyn Clock) -> Result<QuerySpec, Failure> {
    let now_ns = clock.now_ns();
    let time = |flag: &str, text: &Option<String>| match text {
        None => Ok(None),
        Some(text) => siltstone_query::parse_time(text, now_ns).map(Some).map_err(|error| Failure::usage(format!("read {flag} {text:?}: {error}"))),
    };
    Ok(QuerySpec {
        namespaces: args.namespace.clone(),
        query: args.query.clone(),
        start_ns: time("--since", &args.since)?,
        end_ns: time("--until", &args.until)?,
        min_commit: args.min_commit.clone(),
        wait_vectors: args.wait_vectors,
        model: args.model.clone(),
        vector: None,
    })
}

/// As [`spec_of`], with what is asked of entries' vectors.
pub(crate) fn spec_with_vectors(args: &QueryArgs, vectors: &VectorArgs, clock: &dyn Clock) -> Result<QuerySpec, Failure> {
    Ok(QuerySpec { vector: vectors::vector_query(vectors)?, ..spec_of(args, clock)? })
}

/// The part of a query that ranks by likeness to a text.
pub(crate) fn near_of(text: &str) -> String {
    format!("near:\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
