//! Resizing with antialiasing that rounds where Pillow rounds: to whole levels after the rows and again
//! after the columns, with weights of 22 bits. Crates for this round elsewhere, and a level of 255 more or
//! less is enough for another tensor than the other peers have.

const BITS: u32 = 22;

#[derive(Clone, Copy)]
pub enum Filter {
    Bilinear,
    Bicubic,
}

impl Filter {
    fn reach(self) -> f64 {
        match self {
            Filter::Bilinear => 1.0,
            Filter::Bicubic => 2.0,
        }
    }

    fn weight(self, at: f64) -> f64 {
        let x = at.abs();
        match self {
            Filter::Bilinear => (1.0 - x).max(0.0),
            Filter::Bicubic if x < 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
            Filter::Bicubic if x < 2.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
            Filter::Bicubic => 0.0,
        }
    }
}

/// For each pixel of the result: the first one that it is made of, and the weights from there on.
fn weights(from: usize, to: usize, filter: Filter) -> Vec<(usize, Vec<i32>)> {
    let scale = from as f64 / to as f64;
    let wide = scale.max(1.0);
    let reach = filter.reach() * wide;
    (0..to)
        .map(|place| {
            let middle = (place as f64 + 0.5) * scale;
            let first = (middle - reach + 0.5).max(0.0) as usize;
            let end = ((middle + reach + 0.5) as usize).min(from);
            let plain: Vec<f64> =
                (first..end).map(|at| filter.weight((at as f64 - middle + 0.5) / wide)).collect();
            let sum: f64 = plain.iter().sum();
            let whole = |weight: &f64| (weight / sum * f64::from(1 << BITS)).round() as i32;
            (first, plain.iter().map(whole).collect())
        })
        .collect()
}

/// Resizes along one axis: `outer` times `from` steps of `inner` bytes become `to` steps.
fn along(source: &[u8], outer: usize, from: usize, to: usize, inner: usize, filter: Filter) -> Vec<u8> {
    let weights = weights(from, to, filter);
    let mut target = Vec::with_capacity(outer * to * inner);
    let mut sums = vec![0i32; inner];
    for block in source.chunks_exact(from * inner).take(outer) {
        for (first, list) in &weights {
            sums.fill(1 << (BITS - 1));
            for (step, weight) in block[first * inner..].chunks_exact(inner).zip(list) {
                for (sum, level) in sums.iter_mut().zip(step) {
                    *sum += i32::from(*level) * weight;
                }
            }
            target.extend(sums.iter().map(|sum| (sum >> BITS).clamp(0, 255) as u8));
        }
    }
    target
}

/// Height and width of `source`, then those of the result; an axis that keeps its size is left alone.
pub fn resize(
    source: Vec<u8>,
    (height, width): (usize, usize),
    (new_height, new_width): (usize, usize),
    channels: usize,
    filter: Filter,
) -> Vec<u8> {
    let mut pixels = source;
    if new_width != width {
        pixels = along(&pixels, height, width, new_width, channels, filter);
    }
    if new_height != height {
        pixels = along(&pixels, 1, height, new_height, new_width * channels, filter);
    }
    pixels
}
