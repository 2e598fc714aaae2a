//! The command line: what `--help` teaches.

use clap::{Args, Parser, Subcommand, ValueEnum};
use siltstone_metadata_cli::{MetadataCommand, TlsArgs};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Log search for Kubernetes: by meaning, by words with exact counts, and by patterns, each within one namespace's walls.
#[derive(Parser, Debug)]
#[command(name = "siltstone", version, max_term_width = 110, subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "Start here:  siltstone demo      (sample logs, example queries, then a server to try more on)\n\
Exit codes:  0 done, 1 failed, 2 usage.   Logs of the program itself: RUST_LOG=info.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Writes sample logs, imports them, shows example queries, and keeps serving.
    Demo(DemoArgs),
    /// Runs every role in one process on a directory; with --group, every role but the metadata group.
    Dev(DevArgs),
    /// Reads logs from files or standard input: plain text, NDJSON or Parquet, also gzip and zstd. Repeating an import adds nothing twice.
    Import(crate::commands::import::ImportArgs),
    /// Finds entries: the best matches of words, those most like what is asked (near:"…", or a question), or the newest.
    Search(SearchArgs),
    /// Counts the entries that match: exact.
    Count(CountArgs),
    /// Shows the patterns that matching entries fall into, with counts, first and last seen.
    Patterns(PatternsArgs),
    /// Counts matches by time.
    Histogram(HistogramArgs),
    /// Shows matching entries as they arrive.
    Tail(TailArgs),
    /// Shows how a query is understood and would be answered.
    Explain(CountArgs),
    /// Shows what a server holds, namespace by namespace.
    Status(StatusArgs),
    /// Shows and changes the models that search by meaning uses.
    #[command(subcommand)]
    Model(ModelCommand),
    /// Runs a member of the metadata group, and shows and changes the group.
    #[command(subcommand)]
    Metadata(MetadataCommand),
}

/// Where the server is.
#[derive(Args, Debug, Clone)]
pub(crate) struct ServerArgs {
    /// The server's gRPC address.
    #[arg(long, env = "SILTSTONE_SERVER", default_value = "127.0.0.1:7070", global = false, value_name = "ADDR")]
    pub server: String,
    /// The token that says who you are.
    #[arg(long, env = "SILTSTONE_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub token: Option<String>,
}

/// How answers are printed.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// For people.
    Table,
    /// One JSON object a line (one in all for count).
    Json,
    /// Bodies alone, byte for byte.
    Raw,
}

/// What a query looks at.
#[derive(Args, Debug, Clone)]
pub(crate) struct QueryArgs {
    /// The query, for example: deployment:checkout severity>=warn "connection refused" -retry
    #[arg(value_name = "QUERY", default_value = "*", allow_hyphen_values = true)]
    pub query: String,
    /// A namespace to look in. May be repeated. There is no default.
    #[arg(long, short, value_name = "NS", required = true)]
    pub namespace: Vec<String>,
    /// Only entries since then: 15m, 2h, 7d ago, or 2026-01-31, 2026-01-31T08:00:00Z.
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Only entries before then, written like --since.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// An answer must cover this commit token (import prints one), or fail.
    #[arg(long, value_name = "TOKEN", default_value = "", hide_default_value = true)]
    pub min_commit: String,
    /// Where the order is by meaning: wait until every matching pattern has a vector, for 30 s at most.
    #[arg(long)]
    pub wait_vectors: bool,
    /// Where the order is by meaning: rank by this model's vectors, not by those of the model that serves.
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    pub model: String,
    /// How the answer is printed.
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Args, Debug)]
pub(crate) struct SearchArgs {
    #[command(flatten)]
    pub query: QueryArgs,
    /// Entries at most.
    #[arg(long, short, default_value_t = 20, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
    /// Best matches of the words first, or newest first. Without words the newest come first anyway.
    #[arg(long, value_enum)]
    pub order: Option<OrderArg>,
    /// Where the order is by meaning: one entry a pattern.
    #[arg(long, value_enum)]
    pub collapse: Option<CollapseArg>,
    /// Print the numbers of entries' vectors, too (with --output json).
    #[arg(long)]
    pub with_vectors: bool,
    #[command(flatten)]
    pub vectors: VectorArgs,
}

#[derive(Args, Debug)]
pub(crate) struct CountArgs {
    #[command(flatten)]
    pub query: QueryArgs,
    #[command(flatten)]
    pub vectors: VectorArgs,
}

/// What is asked of the vectors that came with entries.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct VectorArgs {
    /// Entries by the vectors that came with them, the nearest to this one first: an NPY file with one row, or a JSON list of numbers.
    #[arg(long, value_name = "FILE", conflicts_with = "like")]
    pub vector: Option<PathBuf>,
    /// The same, nearest to the vector of the entry at this address (search --output json prints addresses).
    #[arg(long, value_name = "ADDRESS")]
    pub like: Option<String>,
    /// The field of vectors, where there are several.
    #[arg(long, value_name = "NAME")]
    pub vector_field: Option<String>,
    /// Only entries whose distance is below this.
    #[arg(long, value_name = "DISTANCE", allow_hyphen_values = true)]
    pub within: Option<f32>,
    /// How vectors are compared: 1 - cosine, the Euclidean distance, or the negated inner product. Left out: cosine.
    #[arg(long, value_enum)]
    pub metric: Option<MetricArg>,
    /// How indexes are searched: every vector is compared, or by the graph. Left out: as the planner chooses (explain says how and why).
    #[arg(long, value_enum)]
    pub vector_search: Option<WayArg>,
}

/// How indexes over vectors are searched.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum WayArg {
    /// Every vector that the filter leaves is compared.
    Exact,
    /// By the graph, where there is one.
    Graph,
}

/// How vectors are compared.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum MetricArg {
    /// 1 - cosine.
    Cosine,
    /// The Euclidean distance.
    L2,
    /// The inner product, negated.
    Dot,
}

/// What is shown once.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum CollapseArg {
    /// The best entry of each pattern.
    Pattern,
}

/// Which entries come first.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum OrderArg {
    /// By BM25.
    Best,
    /// By time.
    Newest,
}

#[derive(Args, Debug)]
pub(crate) struct PatternsArgs {
    #[command(flatten)]
    pub query: QueryArgs,
    /// Those that are most like this come first: a description in plain words. The same as near:"TEXT" in the query.
    #[arg(long, value_name = "TEXT")]
    pub near: Option<String>,
    /// Patterns at most.
    #[arg(long, short, default_value_t = 20, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub limit: u32,
}

#[derive(Args, Debug)]
pub(crate) struct HistogramArgs {
    #[command(flatten)]
    pub query: QueryArgs,
    /// A bucket's width: 30s, 5m, 1h, 1d. Chosen to give some 40 buckets if left out.
    #[arg(long, value_name = "DURATION")]
    pub step: Option<String>,
}

#[derive(Args, Debug)]
pub(crate) struct TailArgs {
    #[command(flatten)]
    pub query: QueryArgs,
    /// Newest entries to begin with.
    #[arg(long, default_value_t = 10, value_name = "K", value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub backlog: u32,
}

/// Models.
#[derive(Subcommand, Debug)]
pub(crate) enum ModelCommand {
    /// Shows the models, which one serves, and how far the vectors of each are.
    List(ModelListArgs),
    /// Loads a sentence transformer from a directory of the server, and makes its vectors while the present model serves on.
    Add(ModelAddArgs),
    /// Asks the queries of a file of two models, and shows how far the answers agree, and how good each is where they are judged.
    Compare(ModelCompareArgs),
    /// Makes queries use a model's vectors, once they are all there.
    Use(ModelUseArgs),
    /// Forgets a model that does not serve, and its vectors.
    Remove(ModelIdArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ModelListArgs {
    /// How the answer is printed.
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ModelAddArgs {
    /// A directory on the server with config.json, tokenizer.json and model.safetensors (BERT's kind, as all-MiniLM-L6-v2).
    #[arg(value_name = "DIR")]
    pub path: String,
    /// Wait until all its vectors are there, showing how far they are.
    #[arg(long)]
    pub wait: bool,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ModelCompareArgs {
    /// The ids of two models, as `siltstone model list` shows them.
    #[arg(value_name = "ID", num_args = 2, required = true)]
    pub ids: Vec<String>,
    /// Queries: one a line, or one JSON object a line: {"query": "…", "judged": {"PATTERN ID": 2, "PATTERN ID": 1}}.
    #[arg(long, value_name = "FILE")]
    pub queries: PathBuf,
    /// A namespace to look in. May be repeated.
    #[arg(long, short, value_name = "NS", required = true)]
    pub namespace: Vec<String>,
    /// How many patterns of each answer are compared.
    #[arg(long, short, default_value_t = 10, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub limit: u32,
    /// How the answer is printed.
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ModelUseArgs {
    /// The model's id, as `siltstone model list` shows it.
    #[arg(value_name = "ID")]
    pub id: String,
    /// Use it although some patterns have no vector of it yet: they rank by words alone.
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Args, Debug)]
pub(crate) struct ModelIdArgs {
    /// The model's id, as `siltstone model list` shows it.
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    /// How the answer is printed.
    #[arg(long, short, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    #[command(flatten)]
    pub server: ServerArgs,
}

#[derive(Args, Debug, Clone)]
pub(crate) struct DevArgs {
    /// Where everything is kept. Made if it does not exist. With --group and --store: only this process's lock.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Follows a metadata group of its own processes (siltstone metadata serve) instead of having one inside: HOST:PORT of its members, several with
    /// commas. Any that lives will do.
    #[arg(long, value_name = "ADDRS", value_delimiter = ',')]
    pub group: Vec<String>,
    /// What members of the group are met with.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// Where gRPC listens (search, ingest, OTLP). Port 0 chooses a free one.
    #[arg(long, default_value = "127.0.0.1:7070", value_name = "ADDR")]
    pub listen: SocketAddr,
    /// Where HTTP listens (OTLP at /v1/logs). Left out: gRPC's address with the next port, or a free one when gRPC's is 0.
    #[arg(long, value_name = "ADDR")]
    pub listen_http: Option<SocketAddr>,
    /// An object store other than DIR/objects: a directory, or s3://BUCKET/PREFIX?endpoint=URL&region=NAME.
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// A JSON file of tokens and what each may do. Needed for any address that is not loopback.
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    #[command(flatten)]
    pub tuning: TuningArgs,
}

/// How eager the roles are, for tests that want to see everything happen within moments. Left out: what suits a laptop.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct TuningArgs {
    /// The shortest time between two flushes.
    #[arg(long, hide = true, value_name = "MS")]
    pub flush_interval_ms: Option<u64>,
    /// Chunks are closed at this age.
    #[arg(long, hide = true, value_name = "MS")]
    pub chunk_age_ms_max: Option<u64>,
    /// Closed chunks are sealed at so many bytes of bodies.
    #[arg(long, hide = true, value_name = "BYTES")]
    pub seal_body_bytes_min: Option<u64>,
    /// Closed chunks are sealed after so long.
    #[arg(long, hide = true, value_name = "MS")]
    pub seal_wait_ms_max: Option<u64>,
    /// So many segments or packs of one size are merged.
    #[arg(long, hide = true, value_name = "N")]
    pub merge_fan_in: Option<usize>,
    /// What was retired is kept for so long.
    #[arg(long, hide = true, value_name = "MS")]
    pub gc_keep_ms: Option<i64>,
    /// The time between two rounds of garbage collection; each of them lists the store.
    #[arg(long, hide = true, value_name = "MS")]
    pub gc_round_ms: Option<u64>,
    /// A metadata group that does not answer is waited for so long.
    #[arg(long, hide = true, value_name = "MS")]
    pub group_patience_ms: Option<u64>,
    /// The metadata group takes a snapshot after so many entries of its log.
    #[arg(long, hide = true, value_name = "N")]
    pub snapshot_entries: Option<u64>,
}

#[derive(Args, Debug)]
pub(crate) struct DemoArgs {
    /// Where everything is kept.
    #[arg(long, value_name = "DIR", default_value = "siltstone-data")]
    pub data: PathBuf,
    /// Sample lines to write and import.
    #[arg(long, default_value_t = 200_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub lines: u64,
    /// Where gRPC listens.
    #[arg(long, default_value = "127.0.0.1:7070", value_name = "ADDR")]
    pub listen: SocketAddr,
    /// Stop after the example queries instead of serving on.
    #[arg(long)]
    pub once: bool,
}
