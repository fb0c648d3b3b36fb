//! The command `image`: pictures to a tensor, as torchvision's transforms do it.

use image::{DynamicImage, ImageDecoder, ImageReader};

use crate::resample::{resize, Filter};

fn text_of(problem: impl std::fmt::Display) -> String {
    problem.to_string()
}

enum Size {
    Fill,
    Off,
    Exact(u32, u32),
    Shorter(u32),
    Fraction(f64),
}

/// An input that is made from files anew in every run, the files in turn until the batch is full.
pub struct Pictures {
    resize: Size,
    crop: (u32, u32), // height, width
    filter: Filter,
    gray: bool,
    backwards: bool,
    last: bool,
    scale: f32,
    mean: Vec<f32>,
    std: Vec<f32>,
    files: Vec<String>,
    pub shape: Vec<i64>,
}

fn sides(text: &str) -> Result<(u32, u32), String> {
    let (height, width) = text.split_once('x').unwrap_or((text, text));
    let side = |text: &str| text.parse::<u32>().map_err(|_| format!("'{text}' is no size"));
    Ok((side(height)?, side(width)?))
}

fn size(text: &str) -> Result<Size, String> {
    Ok(match text {
        "fill" => Size::Fill,
        "off" => Size::Off,
        text if text.ends_with('%') => Size::Fraction(
            text[..text.len() - 1].parse::<f64>().map_err(|_| format!("'{text}' is no size"))? / 100.0,
        ),
        text if text.contains('x') => sides(text).map(|(height, width)| Size::Exact(height, width))?,
        text => Size::Shorter(sides(text)?.0),
    })
}

fn numbers(text: &str) -> Result<Vec<f32>, String> {
    let whole = |text: &str| text.parse::<f64>().map_err(|_| format!("'{text}' is no number"));
    let number = |text: &str| match text.split_once('/') {
        Some((above, below)) => Ok((whole(above)? / whole(below)?) as f32),
        None => whole(text).map(|value| value as f32),
    };
    text.split(',').map(number).collect()
}

impl Pictures {
    pub fn new(words: &str, dtype: &str, shape: Vec<i64>, files: &[&str]) -> Result<Self, String> {
        let find = |name: &str| {
            words
                .split(' ')
                .filter_map(|word| word.split_once('='))
                .find(|(key, _)| *key == name)
                .map(|(_, value)| value)
                .ok_or(format!("image: the words name no {name}"))
        };
        if dtype != "float32" || shape.len() != 4 || files.is_empty() {
            return Err("image: only for inputs of four sizes and type float32".into());
        }
        Ok(Pictures {
            resize: size(find("resize")?)?,
            crop: sides(find("crop")?)?,
            filter: match find("interpolation")? {
                "bicubic" => Filter::Bicubic,
                _ => Filter::Bilinear,
            },
            gray: find("channels")? == "gray",
            backwards: find("channels")? == "bgr",
            last: find("layout")? == "nhwc",
            scale: numbers(find("scale")?)?[0],
            mean: numbers(find("mean")?)?,
            std: numbers(find("std")?)?,
            files: files.iter().map(|file| file.to_string()).collect(),
            shape,
        })
    }

    /// Height and width of the picture before it is cropped.
    fn resized(&self, height: u32, width: u32) -> (u32, u32) {
        let shortest = self.crop.0.min(self.crop.1);
        let side = match self.resize {
            Size::Fill => return self.crop,
            Size::Off => return (height, width),
            Size::Exact(height, width) => return (height, width),
            Size::Shorter(side) => side,
            Size::Fraction(share) => shortest.max((f64::from(shortest) / share).floor() as u32),
        };
        let longer = |long: u32, short: u32| (u64::from(side) * u64::from(long) / u64::from(short)) as u32;
        if height <= width {
            (side, longer(width, height))
        } else {
            (longer(height, width), side)
        }
    }

    fn read(&self, file: &str) -> Result<DynamicImage, String> {
        let bytes = std::fs::read(file).map_err(|problem| format!("{file}: {problem}"))?;
        let reader = ImageReader::new(std::io::Cursor::new(bytes));
        let mut decoder = reader.with_guessed_format().map_err(text_of)?.into_decoder().map_err(text_of)?;
        let turned = decoder.orientation().map_err(text_of)?;
        let mut image = DynamicImage::from_decoder(decoder).map_err(text_of)?;
        image.apply_orientation(turned);
        Ok(image)
    }

    /// Appends one picture to the values.
    fn add(&self, file: &str, values: &mut Vec<f32>) -> Result<(), String> {
        let image = self.read(file)?;
        let (height, width) = self.resized(image.height(), image.width());
        let size = (image.height() as usize, image.width() as usize);
        let (channels, bytes) = match self.gray {
            true => (1, image.into_luma8().into_raw()),
            false => (3, image.into_rgb8().into_raw()),
        };
        let pixels = resize(bytes, size, (height as usize, width as usize), channels, self.filter);
        if self.crop.0 > height || self.crop.1 > width {
            return Err(format!("{file}: the crop is larger than the picture"));
        }
        let middle = |side: u32, wanted: u32| (f64::from(side - wanted) / 2.0).round_ties_even() as usize;
        let (top, left) = (middle(height, self.crop.0), middle(width, self.crop.1));
        let value = |row: usize, column: usize, channel: usize| {
            let from = if self.backwards { channels - 1 - channel } else { channel };
            let level = pixels[((top + row) * width as usize + left + column) * channels + from];
            let of = |list: &[f32]| list[if list.len() == 1 { 0 } else { channel }];
            (f32::from(level) * self.scale - of(&self.mean)) / of(&self.std)
        };
        let (rows, columns) = (self.crop.0 as usize, self.crop.1 as usize);
        let (first, second, third) =
            if self.last { (rows, columns, channels) } else { (channels, rows, columns) };
        for a in 0..first {
            for b in 0..second {
                for c in 0..third {
                    values.push(if self.last { value(a, b, c) } else { value(b, c, a) });
                }
            }
        }
        Ok(())
    }

    /// The whole batch.
    pub fn values(&self) -> Result<Vec<f32>, String> {
        let count = self.shape.iter().product::<i64>() as usize;
        let mut values = Vec::with_capacity(count);
        for number in 0..self.shape[0] as usize {
            self.add(&self.files[number % self.files.len()], &mut values)?;
        }
        if values.len() != count {
            return Err("image: pictures become another size than the input has".into());
        }
        Ok(values)
    }
}
