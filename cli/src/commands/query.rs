//! search, count, patterns, histogram, tail, explain.

use super::{spec_of, spec_with_vectors};
use crate::args::{CountArgs, HistogramArgs, OrderArg, Output, PatternsArgs, SearchArgs, TailArgs};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{self, Screen};
use siltstone_core::Clock;
use siltstone_proto::v1::{CountRequest, ExplainRequest, HistogramRequest, Order, PatternsRequest, SearchRequest, TailRequest};

pub(crate) async fn search(args: &SearchArgs, clock: &dyn Clock, screen: &mut Screen) -> Result<(), Failure> {
    let order = match args.order {
        None => Order::Unspecified,
        Some(OrderArg::Best) => Order::Best,
        Some(OrderArg::Newest) => Order::Newest,
    };
    let request = SearchRequest {
        spec: Some(spec_with_vectors(&args.query, &args.vectors, clock)?),
        limit: args.limit,
        order: order.into(),
        collapse_patterns: args.collapse.is_some(),
        with_vectors: args.with_vectors,
    };
    let answer = Client::connect(&args.query.server).await?.search().search(request).await?.into_inner();
    output::rows::print(screen, args.query.output, &answer.rows)?;
    if args.query.output == Output::Table {
        output::summary(screen, &format!("{} shown", output::counted(answer.rows.len() as u64, "entry", "entries")), answer.info.as_ref())?;
    } else if let Some(info) = &answer.info {
        output::degraded(screen, info);
    }
    Ok(())
}

pub(crate) async fn count(args: &CountArgs, clock: &dyn Clock, screen: &mut Screen) -> Result<(), Failure> {
    let request = CountRequest { spec: Some(spec_with_vectors(&args.query, &args.vectors, clock)?) };
    let answer = Client::connect(&args.query.server).await?.search().count(request).await?.into_inner();
    output::count::print(screen, args.query.output, &answer)
}

pub(crate) async fn patterns(args: &PatternsArgs, clock: &dyn Clock, screen: &mut Screen) -> Result<(), Failure> {
    let mut spec = spec_of(&args.query, clock)?;
    if let Some(near) = &args.near {
        spec.query = format!("{} {}", super::near_of(near), spec.query);
    }
    let request = PatternsRequest { spec: Some(spec), limit: args.limit };
    let answer = Client::connect(&args.query.server).await?.search().patterns(request).await?.into_inner();
    output::patterns::print(screen, args.query.output, &answer)
}

pub(crate) async fn histogram(args: &HistogramArgs, clock: &dyn Clock, screen: &mut Screen) -> Result<(), Failure> {
    let step_ns = match &args.step {
        None => 0,
        Some(text) => {
            let now_ns = clock.now_ns();
            let ago_ns = siltstone_query::parse_time(text, now_ns).map_err(|error| Failure::usage(format!("read --step {text:?}: {error}")))?;
            let step_ns = now_ns.saturating_sub(ago_ns);
            if step_ns <= 0 {
                return Err(Failure::usage(format!("read --step {text:?}: a step is a duration such as 30s, 5m or 1h")));
            }
            step_ns
        }
    };
    let request = HistogramRequest { spec: Some(spec_of(&args.query, clock)?), step_ns };
    let answer = Client::connect(&args.query.server).await?.search().histogram(request).await?.into_inner();
    output::histogram::print(screen, args.query.output, &answer)
}

pub(crate) async fn tail(args: &TailArgs, clock: &dyn Clock, screen: &mut Screen) -> Result<(), Failure> {
    let request = TailRequest { spec: Some(spec_of(&args.query, clock)?), backlog: args.backlog };
    let mut stream = Client::connect(&args.query.server).await?.search().tail(request).await?.into_inner();
    loop {
        let frame = tokio::select! {
            frame = stream.message() => frame?,
            _ = tokio::signal::ctrl_c() => return Ok(()),
        };
        let Some(frame) = frame else {
            return Err(Failure::failed("the server ended the tail: it is shutting down"));
        };
        output::rows::print(screen, args.query.output, &frame.rows)?;
        if frame.dropped > 0 {
            screen.note(&format!("{} left out: this terminal reads too slowly", output::counted(frame.dropped, "entry", "entries")));
        }
        screen.flush()?;
    }
}

pub(crate) async fn explain(args: &CountArgs, clock: &dyn Clock, screen: &mut Screen) -> Result<(), Failure> {
    let request = ExplainRequest { spec: Some(spec_with_vectors(&args.query, &args.vectors, clock)?) };
    let answer = Client::connect(&args.query.server).await?.search().explain(request).await?.into_inner();
    if args.query.output == Output::Json {
        return screen.json(&serde_json::json!({"canonical": answer.canonical, "plan": answer.plan}));
    }
    screen.line(&format!("understood as  {}", output::printable(answer.canonical.as_bytes())))?;
    screen.line("")?;
    answer.plan.trim_end().lines().try_for_each(|line| screen.line(&output::printable(line.as_bytes())))?;
    output::summary(screen, "explained", answer.info.as_ref())
}
