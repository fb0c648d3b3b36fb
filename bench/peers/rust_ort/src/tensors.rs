//! Tensors of the element types that inputs and outputs of models have.

use ort::session::SessionInputValue;
use ort::value::{DynValue, Tensor, TensorElementType, ValueRef};

/// An input that the session reads where it lies.
pub struct Input(DynValue);

fn from_bytes<T: Copy + Default>(bytes: &[u8]) -> Vec<T> {
    let mut values = vec![T::default(); bytes.len() / size_of::<T>()];
    let target = values.as_mut_ptr().cast::<u8>();
    // Plain numbers: any bytes are some number.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, size_of_val(&values[..])) };
    values
}

fn to_bytes<T: Copy>(values: &[T]) -> Vec<u8> {
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }.to_vec()
}

impl Input {
    pub fn new(dtype: &str, shape: Vec<i64>, bytes: Vec<u8>) -> Result<Self, String> {
        macro_rules! tensor {
            ($type:ty) => {
                Tensor::from_array((shape, from_bytes::<$type>(&bytes)))
                    .map(|tensor| Input(tensor.into_dyn()))
                    .map_err(|problem| problem.to_string())
            };
        }
        match dtype {
            "float32" => tensor!(f32),
            "float64" => tensor!(f64),
            "int64" => tensor!(i64),
            "int32" => tensor!(i32),
            "int8" => tensor!(i8),
            "uint8" => tensor!(u8),
            _ => Err(format!("no inputs of type {dtype} here")),
        }
    }

    pub fn from_values(shape: Vec<i64>, values: Vec<f32>) -> Result<Self, String> {
        Tensor::from_array((shape, values))
            .map(|tensor| Input(tensor.into_dyn()))
            .map_err(|problem| problem.to_string())
    }

    pub fn value(&self) -> SessionInputValue<'_> {
        (&self.0).into()
    }

    pub fn into_value(self) -> SessionInputValue<'static> {
        self.0.into()
    }
}

/// A result, copied: `kind` is NumPy's name of its type.
pub struct Output {
    pub kind: &'static str,
    pub shape: Vec<i64>,
    pub bytes: Vec<u8>,
}

impl Output {
    pub fn copy(value: &ValueRef<'_>) -> Result<Self, String> {
        let kind = value.dtype().tensor_type();
        macro_rules! copy {
            ($name:literal, $type:ty) => {
                value
                    .try_extract_tensor::<$type>()
                    .map(|(shape, data)| Output {
                        kind: $name,
                        shape: shape.to_vec(),
                        bytes: to_bytes(data),
                    })
                    .map_err(|problem| problem.to_string())
            };
        }
        match kind {
            Some(TensorElementType::Float32) => copy!("<f4", f32),
            Some(TensorElementType::Float64) => copy!("<f8", f64),
            Some(TensorElementType::Int64) => copy!("<i8", i64),
            Some(TensorElementType::Int32) => copy!("<i4", i32),
            Some(TensorElementType::Uint8) => copy!("|u1", u8),
            other => Err(format!("no outputs of type {other:?} here")),
        }
    }
}
