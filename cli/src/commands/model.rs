//! model list, add, use, remove.

use super::compare::compare;
use crate::args::{ModelAddArgs, ModelCommand, ModelIdArgs, ModelListArgs, ModelUseArgs, Output};
use crate::client::Client;
use crate::failure::Failure;
use crate::output::{Screen, grouped};
use serde_json::json;
use siltstone_proto::v1::{AddModelRequest, ListModelsRequest, ModelStatus, RemoveModelRequest, UseModelRequest};
use std::time::Duration;

/// Between two looks at how far the vectors are.
const LOOK_PAUSE: Duration = Duration::from_millis(500);

pub(crate) async fn model(command: &ModelCommand, screen: &mut Screen) -> Result<(), Failure> {
    match command {
        ModelCommand::List(args) => list(args, screen).await,
        ModelCommand::Add(args) => add(args, screen).await,
        ModelCommand::Compare(args) => compare(args, screen).await,
        ModelCommand::Use(args) => serve(args, screen).await,
        ModelCommand::Remove(args) => remove(args, screen).await,
    }
}

async fn list(args: &ModelListArgs, screen: &mut Screen) -> Result<(), Failure> {
    let models = Client::connect(&args.server).await?.admin().list_models(ListModelsRequest {}).await?.into_inner().models;
    if args.output == Output::Json {
        return models.iter().try_for_each(|model| {
            screen.json(&json!({
                "id": model.id, "dimension": model.dimension, "source": model.source, "serves": model.serves, "vectors": model.vectors,
                "vector_bytes": model.vector_bytes, "patterns_waiting": model.patterns_waiting, "is_complete": model.is_complete,
            }))
        });
    }
    let width = models.iter().map(|model| model.id.len()).chain([5]).max().unwrap_or(5);
    screen.line(&format!("{:<width$} {:<8} {:>9} {:>12} {:>9} {:>9}  {}", "MODEL", "STATE", "DIMENSION", "VECTORS", "WAITING", "MB", "SOURCE"))?;
    for model in &models {
        screen.line(&format!(
            "{:<width$} {:<8} {:>9} {:>12} {:>9} {:>9.1}  {}",
            model.id,
            state_of(model),
            model.dimension,
            grouped(model.vectors),
            grouped(model.patterns_waiting),
            model.vector_bytes as f64 / 1e6,
            if model.source.is_empty() { "built in" } else { &model.source },
        ))?;
    }
    Ok(())
}

const fn state_of(model: &ModelStatus) -> &'static str {
    match (model.serves, model.is_complete) {
        (true, _) => "serving",
        (false, true) => "ready",
        (false, false) => "filling",
    }
}

async fn add(args: &ModelAddArgs, screen: &mut Screen) -> Result<(), Failure> {
    let client = Client::connect(&args.server).await?;
    let answer = client.admin().add_model(AddModelRequest { path: args.path.clone() }).await?.into_inner();
    let Some(model) = answer.model else { return Err(Failure::failed("add the model: the server's answer names none")) };
    screen.line(&model.id)?;
    screen.flush()?;
    if !args.wait {
        screen.note(&format!("its vectors are being made; see `siltstone model list`, then `siltstone model use {}`", model.id));
        return Ok(());
    }
    let progress = indicatif::ProgressBar::new_spinner();
    let started = std::time::Instant::now();
    loop {
        let models = client.admin().list_models(ListModelsRequest {}).await?.into_inner().models;
        let Some(now) = models.into_iter().find(|known| known.id == model.id) else {
            return Err(Failure::failed(format!("wait for model {}: it was removed meanwhile", model.id)));
        };
        if now.is_complete {
            progress.finish_and_clear();
            let seconds = started.elapsed().as_secs_f64();
            screen.note(&format!(
                "{} pattern vectors in {seconds:.1} s; `siltstone model use {}` makes queries use them",
                grouped(now.vectors),
                now.id
            ));
            return Ok(());
        }
        let rate = now.vectors as f64 / started.elapsed().as_secs_f64().max(0.001);
        progress.set_message(format!("{} patterns done, {} waiting, {rate:.0}/s", grouped(now.vectors), grouped(now.patterns_waiting)));
        progress.tick();
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}

async fn serve(args: &ModelUseArgs, screen: &mut Screen) -> Result<(), Failure> {
    let request = UseModelRequest { id: args.id.clone(), force: args.force };
    Client::connect(&args.server).await?.admin().use_model(request).await?;
    screen.note(&format!("queries use {} now", args.id));
    Ok(())
}

async fn remove(args: &ModelIdArgs, screen: &mut Screen) -> Result<(), Failure> {
    Client::connect(&args.server).await?.admin().remove_model(RemoveModelRequest { id: args.id.clone() }).await?;
    screen.note(&format!("{} and its vectors are gone", args.id));
    Ok(())
}
