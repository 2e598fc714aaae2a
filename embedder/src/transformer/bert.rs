//! The layers of BERT (Devlin et al., 2018), on candle.

use super::config::Config;
use super::gelu::Gelu;
use super::weights::{Weights, WeightsError};
use candle_core::{D, Device, Result, Tensor};
use candle_nn::{LayerNorm, Linear, Module, ops::softmax_last_dim};

/// Added to the scores of padding before the softmax: no other score comes near.
const PADDING: f32 = -1e9;

/// A loaded model.
pub(super) struct Bert {
    words: Tensor,
    positions: Tensor,
    norm: LayerNorm,
    layers: Vec<Layer>,
    heads: usize,
    dimension: usize,
}

struct Layer {
    /// Query, key and value in one product.
    attention: Linear,
    joined: Linear,
    attention_norm: LayerNorm,
    widen: Linear,
    narrow: Linear,
    norm: LayerNorm,
}

/// Reads the parts of a model.
struct Reader<'a> {
    weights: Weights<'a>,
    hidden: usize,
    eps: f64,
}

impl Reader<'_> {
    fn linear(&self, name: &str, from: usize, to: usize) -> std::result::Result<Linear, WeightsError> {
        let weight = self.weights.tensor(&format!("{name}.weight"), &[to, from])?;
        Ok(Linear::new(weight, Some(self.weights.tensor(&format!("{name}.bias"), &[to])?)))
    }

    fn norm(&self, name: &str) -> std::result::Result<LayerNorm, WeightsError> {
        let weight = self.weights.tensor(&format!("{name}.weight"), &[self.hidden])?;
        Ok(LayerNorm::new(weight, self.weights.tensor(&format!("{name}.bias"), &[self.hidden])?, self.eps))
    }

    fn layer(&self, at: &str, inner: usize) -> std::result::Result<Layer, WeightsError> {
        let hidden = self.hidden;
        let (mut weights, mut biases) = (Vec::new(), Vec::new());
        for part in ["query", "key", "value"] {
            let linear = self.linear(&format!("{at}.attention.self.{part}"), hidden, hidden)?;
            weights.push(linear.weight().clone());
            biases.push(linear.bias().expect("it was given one").clone());
        }
        let joined = |parts: &[Tensor]| Tensor::cat(parts, 0).map_err(|error| WeightsError::Tensor { name: format!("{at}.attention.self"), error });
        Ok(Layer {
            attention: Linear::new(joined(&weights)?, Some(joined(&biases)?)),
            joined: self.linear(&format!("{at}.attention.output.dense"), hidden, hidden)?,
            attention_norm: self.norm(&format!("{at}.attention.output.LayerNorm"))?,
            widen: self.linear(&format!("{at}.intermediate.dense"), hidden, inner)?,
            narrow: self.linear(&format!("{at}.output.dense"), inner, hidden)?,
            norm: self.norm(&format!("{at}.output.LayerNorm"))?,
        })
    }
}

impl Bert {
    /// Reads a model's weights.
    pub(super) fn load(config: &Config, bytes: &[u8]) -> std::result::Result<Self, WeightsError> {
        let hidden = config.hidden_size;
        let reader = Reader { weights: Weights::open(bytes)?, hidden, eps: config.layer_norm_eps };
        let table = |name: &str, rows: usize| reader.weights.tensor(&format!("embeddings.{name}_embeddings.weight"), &[rows, hidden]);
        let types = table("token_type", config.type_vocab_size)?;
        // Every token of a single text is of the first type: its vector goes into the positions'.
        let positions = table("position", config.max_position_embeddings)?;
        let positions = types.narrow(0, 0, 1).and_then(|first| positions.broadcast_add(&first));
        let layer = |number| reader.layer(&format!("encoder.layer.{number}"), config.intermediate_size);
        Ok(Self {
            words: table("word", config.vocab_size)?,
            positions: positions.map_err(|error| WeightsError::Tensor { name: "embeddings".to_owned(), error })?,
            norm: reader.norm("embeddings.LayerNorm")?,
            layers: (0..config.num_hidden_layers).map(layer).collect::<std::result::Result<_, _>>()?,
            heads: config.num_attention_heads,
            dimension: hidden,
        })
    }

    pub(super) fn dimension(&self) -> usize {
        self.dimension
    }

    /// The vectors of texts given as tokens, none of them empty: mean over the tokens, length one.
    pub(super) fn run(&self, texts: &[&[u32]]) -> Result<Vec<f32>> {
        let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        let (mut ids, mut bias, mut share) = (Vec::new(), Vec::new(), Vec::new());
        for text in texts {
            let padding = longest - text.len();
            ids.extend(text.iter().copied().chain(std::iter::repeat_n(0, padding)));
            bias.extend(std::iter::repeat_n(0.0, text.len()).chain(std::iter::repeat_n(PADDING, padding)));
            share.extend(std::iter::repeat_n(1.0 / text.len() as f32, text.len()).chain(std::iter::repeat_n(0.0, padding)));
        }
        let rows = texts.len();
        let is_padded = texts.iter().any(|text| text.len() != longest);
        let bias = if is_padded { Some(Tensor::from_vec(bias, (rows, 1, 1, longest), &Device::Cpu)?) } else { None };
        let share = Tensor::from_vec(share, (rows, 1, longest), &Device::Cpu)?;

        let words = self.words.index_select(&Tensor::from_vec(ids, rows * longest, &Device::Cpu)?, 0)?;
        let words = words.reshape((rows, longest, self.dimension))?;
        let words = words.broadcast_add(&self.positions.narrow(0, 0, longest)?)?;
        let mut state = self.norm.forward(&words.reshape((rows * longest, self.dimension))?)?;
        for layer in &self.layers {
            state = self.layer(layer, &state, rows, longest, bias.as_ref())?;
        }
        let mean = share.matmul(&state.reshape((rows, longest, self.dimension))?)?.squeeze(1)?;
        let length = mean.sqr()?.sum_keepdim(D::Minus1)?.sqrt()?;
        mean.broadcast_div(&length)?.flatten_all()?.to_vec1()
    }

    fn layer(&self, layer: &Layer, state: &Tensor, rows: usize, longest: usize, bias: Option<&Tensor>) -> Result<Tensor> {
        let size = self.dimension / self.heads;
        let parts = layer.attention.forward(state)?.reshape((rows, longest, 3, self.heads, size))?.permute((2, 0, 3, 1, 4))?.contiguous()?;
        let (query, key, value) = (parts.get(0)?, parts.get(1)?, parts.get(2)?);
        let scores = (query.matmul(&key.transpose(2, 3)?)? * (1.0 / (size as f64).sqrt()))?;
        let scores = match bias {
            Some(bias) => scores.broadcast_add(bias)?,
            None => scores,
        };
        let mixed = softmax_last_dim(&scores)?.matmul(&value)?.transpose(1, 2)?.reshape((rows * longest, self.dimension))?;
        let state = layer.attention_norm.forward(&(layer.joined.forward(&mixed)? + state)?)?;
        let inner = layer.widen.forward(&state)?;
        inner.inplace_op1(&Gelu)?;
        layer.norm.forward(&(layer.narrow.forward(&inner)? + &state)?)
    }
}
