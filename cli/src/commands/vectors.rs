//! What a query asks of entries' vectors: from a file or an address to the server's terms.

use crate::args::{MetricArg, VectorArgs, WayArg};
use crate::failure::Failure;
use siltstone_import::read_vector;
use siltstone_proto::v1::{Metric, SearchWay, VectorQuery};
use std::path::Path;

/// The server's terms; `None` where vectors are not asked for.
pub(super) fn vector_query(args: &VectorArgs) -> Result<Option<VectorQuery>, Failure> {
    let (values, like) = match (&args.vector, &args.like) {
        (None, None) => {
            let flags = [
                ("--vector-field", args.vector_field.is_some()),
                ("--within", args.within.is_some()),
                ("--metric", args.metric.is_some()),
                ("--vector-search", args.vector_search.is_some()),
            ];
            return match flags.iter().find(|(_, is_given)| *is_given) {
                Some((flag, _)) => Err(Failure::usage(format!("read {flag}: it goes with --vector FILE or --like ADDRESS"))),
                None => Ok(None),
            };
        }
        (Some(path), _) => (numbers_of(path)?, None),
        (None, Some(address)) => {
            let parsed = u64::from_str_radix(address, 16).ok().filter(|_| address.len() == 16);
            let help = || Failure::usage(format!("read --like {address:?}: an address has 16 hexadecimal digits, as search --output json prints it"));
            (Vec::new(), Some(parsed.ok_or_else(help)?))
        }
    };
    let metric = match args.metric {
        None => Metric::Unspecified,
        Some(MetricArg::Cosine) => Metric::Cosine,
        Some(MetricArg::L2) => Metric::L2,
        Some(MetricArg::Dot) => Metric::Dot,
    };
    let way = match args.vector_search {
        None => SearchWay::Unspecified,
        Some(WayArg::Exact) => SearchWay::Exact,
        Some(WayArg::Graph) => SearchWay::Graph,
    };
    let field = args.vector_field.clone().unwrap_or_default();
    Ok(Some(VectorQuery { field, values, like, metric: metric.into(), within: args.within, way: way.into() }))
}

fn numbers_of(path: &Path) -> Result<Vec<f32>, Failure> {
    let bytes = std::fs::read(path).map_err(|error| Failure::usage(format!("read --vector {}: {error}", path.display())))?;
    read_vector(&bytes).map_err(|detail| Failure::usage(format!("read --vector {}: {detail}", path.display())))
}
