//! A model's `config.json`: what is used of it, checked.

use serde::Deserialize;

/// Bounds that keep a foreign file from asking for more memory than there is; the largest published model of this kind is within them.
const HIDDEN_MAX: usize = 4_096;
const LAYERS_MAX: usize = 64;
const TOKENS_MAX: usize = 1 << 20;

/// What is wrong with it.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConfigError {
    #[error("it is no configuration of a BERT model: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the model is of type {0:?}, and only \"bert\" is supported")]
    Architecture(String),
    #[error("its activation is {0:?}, and only \"gelu\" is supported")]
    Activation(String),
    #[error("its position embeddings are {0:?}, and only \"absolute\" is supported")]
    Positions(String),
    #[error("its {field} is {found}, which cannot be")]
    Number { field: &'static str, found: usize },
}

/// The shape of a model.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Config {
    model_type: String,
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
    pub(super) hidden_size: usize,
    pub(super) intermediate_size: usize,
    pub(super) num_attention_heads: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) max_position_embeddings: usize,
    pub(super) type_vocab_size: usize,
    pub(super) vocab_size: usize,
    pub(super) layer_norm_eps: f64,
}

fn absolute() -> String {
    "absolute".to_owned()
}

impl Config {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ConfigError> {
        let config: Self = serde_json::from_slice(bytes)?;
        if config.model_type != "bert" {
            return Err(ConfigError::Architecture(config.model_type));
        }
        if config.hidden_act != "gelu" {
            return Err(ConfigError::Activation(config.hidden_act));
        }
        if config.position_embedding_type != "absolute" {
            return Err(ConfigError::Positions(config.position_embedding_type));
        }
        let numbers = [
            ("hidden_size", config.hidden_size, HIDDEN_MAX),
            ("intermediate_size", config.intermediate_size, 8 * HIDDEN_MAX),
            ("num_attention_heads", config.num_attention_heads, config.hidden_size),
            ("num_hidden_layers", config.num_hidden_layers, LAYERS_MAX),
            ("max_position_embeddings", config.max_position_embeddings, TOKENS_MAX),
            ("type_vocab_size", config.type_vocab_size, TOKENS_MAX),
            ("vocab_size", config.vocab_size, TOKENS_MAX),
        ];
        for (field, found, most) in numbers {
            if found == 0 || found > most {
                return Err(ConfigError::Number { field, found });
            }
        }
        if !config.hidden_size.is_multiple_of(config.num_attention_heads) {
            return Err(ConfigError::Number { field: "num_attention_heads", found: config.num_attention_heads });
        }
        if !(config.layer_norm_eps > 0.0 && config.layer_norm_eps < 1.0) {
            return Err(ConfigError::Number { field: "layer_norm_eps", found: 0 });
        }
        Ok(config)
    }
}
