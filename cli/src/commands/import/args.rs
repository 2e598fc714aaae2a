//! The arguments of `siltstone import`.

use crate::args::ServerArgs;
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use siltstone_core::Severity;
use siltstone_format::manifest::is_namespace_name;
use siltstone_import::{Format, ImportOptions, Mapping, VectorsFile};
use std::path::PathBuf;

#[derive(Args, Debug, Clone)]
pub(crate) struct ImportArgs {
    /// Files to read; - is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The namespace of entries that bring none. Without it, such entries are refused and counted.
    #[arg(long, short, value_name = "NS", default_value = "", hide_default_value = true)]
    pub namespace: String,
    /// The deployment of entries that bring none.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub deployment: String,
    /// The pod of entries that bring none.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub pod: String,
    /// The container of entries that bring none.
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub container: String,
    /// The severity of entries that bring none: trace, debug, info, warn, error, fatal.
    #[arg(long, value_name = "NAME")]
    pub severity: Option<String>,
    /// The format, where the file's name and content do not tell.
    #[arg(long, value_enum)]
    pub format: Option<FormatArg>,
    /// Which key fills a field: body=message, namespace=kubernetes.namespace_name. May be repeated; a list of keys is tried in order:
    /// body=msg,message.
    #[arg(long = "map", value_name = "FIELD=KEY")]
    pub maps: Vec<String>,
    /// A mapping file, TOML or JSON: each field a key or a list of keys.
    #[arg(long, value_name = "FILE")]
    pub mapping: Option<PathBuf>,
    /// Do not look for a timestamp at the start of a line of plain text.
    #[arg(long)]
    pub no_detect_timestamps: bool,
    /// Vectors made elsewhere, an NPY file of 16, 32 or 64 bit floats: row i belongs to the i-th record (line that is not blank) of the one FILE.
    #[arg(long, value_name = "FILE.npy")]
    pub vectors: Option<PathBuf>,
    /// The field that the vectors of --vectors get.
    #[arg(long, value_name = "NAME", default_value = "vector", requires = "vectors")]
    pub vector_field: String,
    /// A Parquet column of lists of floats that is a vector; the others become attributes. May be repeated. Without it, all of them are vectors.
    #[arg(long = "vector-column", value_name = "NAME")]
    pub vector_columns: Vec<String>,
    /// A name for standard input that you promise to give to the same content again: repeating the import then adds nothing twice.
    #[arg(long, value_name = "NAME")]
    pub source_id: Option<String>,
    /// Requests on their way at once.
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=48))]
    pub in_flight: u32,
    /// Exit with 1 when anything was refused.
    #[arg(long)]
    pub strict: bool,
    /// Print the summary as one JSON object.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// A format that can be asked for.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub(crate) enum FormatArg {
    /// Each line is a body.
    Text,
    /// Each line is a JSON object.
    Ndjson,
    /// Apache Parquet.
    Parquet,
}

impl ImportArgs {
    /// How sources are read.
    pub(crate) fn options(&self) -> Result<ImportOptions, Failure> {
        let mut mapping = match &self.mapping {
            None => Mapping::default(),
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("read --mapping {}: {error}", path.display())))?;
                Mapping::from_text(&text).map_err(|error| Failure::usage(format!("read --mapping {}: {error}", path.display())))?
            }
        };
        for map in &self.maps {
            mapping.assign(map).map_err(|error| Failure::usage(format!("read --map {map:?}: {error}")))?;
        }
        // Before anything is read: every entry would be refused.
        if !self.namespace.is_empty() && !is_namespace_name(&self.namespace) {
            return Err(Failure::usage(format!(
                "read --namespace {:?}: a namespace's name has 1 to 253 of a-z, 0-9, '-', '.', '_', a letter or digit at both ends, perhaps a cluster and '/' \
                 before it",
                self.namespace
            )));
        }
        let severity = match &self.severity {
            None => Severity::UNSPECIFIED,
            Some(name) => Severity::range_of_name(name)
                .map(|(first, _)| first)
                .ok_or_else(|| Failure::usage(format!("read --severity {name:?}: it is one of trace, debug, info, warn, error, fatal")))?,
        };
        let format = self.format.map(|format| match format {
            FormatArg::Text => Format::Text,
            FormatArg::Ndjson => Format::Ndjson,
            FormatArg::Parquet => Format::Parquet,
        });
        if self.vectors.is_some() && self.files.len() != 1 {
            return Err(Failure::usage("read --vectors: its rows belong to the records of one file; import the files one by one"));
        }
        let vectors = self.vectors.clone().map(|path| VectorsFile { path, field: self.vector_field.clone() });
        Ok(ImportOptions {
            format,
            mapping,
            namespace: self.namespace.clone(),
            deployment: self.deployment.clone(),
            pod: self.pod.clone(),
            container: self.container.clone(),
            severity,
            detect_timestamps: !self.no_detect_timestamps,
            vectors,
            vector_columns: (!self.vector_columns.is_empty()).then(|| self.vector_columns.clone()),
        })
    }
}
