//! A model's `model.safetensors`: tensors by name, of the shape that the configuration says, all numbers finite.

use candle_core::{Device, Tensor};
use safetensors::tensor::{Dtype, SafeTensorError, SafeTensors};

/// What is wrong with them.
#[derive(Debug, thiserror::Error)]
pub(super) enum WeightsError {
    #[error("it is damaged, cut off, or no safetensors file: {0}")]
    File(#[from] SafeTensorError),
    #[error("the weights {name} are missing: it is another model's file")]
    Missing { name: String },
    #[error("the weights {name} have the shape {found:?} where config.json says {wanted:?}")]
    Shape { name: String, found: Vec<usize>, wanted: Vec<usize> },
    #[error("the weights {name} are of type {found}, and only F32, F16 and BF16 are supported")]
    Type { name: String, found: String },
    #[error("the weights {name} have a number that is not finite: the file is damaged")]
    NotFinite { name: String },
    #[error("the weights {name} cannot be used: {error}")]
    Tensor { name: String, error: candle_core::Error },
}

/// An opened file.
pub(super) struct Weights<'a> {
    file: SafeTensors<'a>,
}

impl<'a> Weights<'a> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, WeightsError> {
        Ok(Self { file: SafeTensors::deserialize(bytes)? })
    }

    /// The tensor `name`, which some files have under `bert.NAME`.
    pub(super) fn tensor(&self, name: &str, shape: &[usize]) -> Result<Tensor, WeightsError> {
        let view = self.file.tensor(name).or_else(|_| self.file.tensor(&format!("bert.{name}")));
        let view = view.map_err(|_| WeightsError::Missing { name: name.to_owned() })?;
        if view.shape() != shape {
            return Err(WeightsError::Shape { name: name.to_owned(), found: view.shape().to_vec(), wanted: shape.to_vec() });
        }
        let bytes = view.data();
        let numbers: Vec<f32> = match view.dtype() {
            Dtype::F32 => bytes.as_chunks::<4>().0.iter().map(|number| f32::from_le_bytes(*number)).collect(),
            Dtype::F16 => bytes.as_chunks::<2>().0.iter().map(|number| half::f16::from_le_bytes(*number).to_f32()).collect(),
            Dtype::BF16 => bytes.as_chunks::<2>().0.iter().map(|number| half::bf16::from_le_bytes(*number).to_f32()).collect(),
            other => return Err(WeightsError::Type { name: name.to_owned(), found: format!("{other:?}") }),
        };
        if !numbers.iter().all(|number| number.is_finite()) {
            return Err(WeightsError::NotFinite { name: name.to_owned() });
        }
        Tensor::from_vec(numbers, shape, &Device::Cpu).map_err(|error| WeightsError::Tensor { name: name.to_owned(), error })
    }
}
