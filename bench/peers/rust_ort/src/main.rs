//! The runner of ONNX Runtime through Rust's `ort`: a process that loads one model and runs it when told
//! to, as docs/peer-protocol.md says. The library is the one that ORT_DYLIB_PATH names.

mod answer;
mod npy;
mod pictures;
mod resample;
mod tensors;

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Instant;

use answer::{failure, Answer};
use ort::environment::Environment;
use ort::session::builder::GraphOptimizationLevel;
use ort::session::{Session, SessionInputValue};
use pictures::Pictures;
use tensors::{Input, Output};

type Outcome = Result<Answer, String>;

/// An input as it was given: ready, or to be made in every run.
enum Given {
    Tensor(Input),
    Pictures(Pictures),
}

/// The inputs of one choice of sizes, by the key that commands call it by.
struct InputSet {
    key: String,
    inputs: Vec<(String, Given)>,
}

struct Runner {
    environment: Environment,
    session: Option<Session>,
    sets: Vec<InputSet>,
    outputs: Vec<Output>,
    loaded: Option<(String, usize, GraphOptimizationLevel)>, // what `save` does again
}

fn text_of(problem: impl std::fmt::Display) -> String {
    problem.to_string()
}

fn elapsed_ns(start: Instant) -> i64 {
    start.elapsed().as_nanos() as i64
}

fn number(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("'{text}' is not a number"))
}

fn shape_of(dims: &str) -> Result<Vec<i64>, String> {
    let sizes = dims.split(',').filter(|size| !size.is_empty());
    sizes.map(|size| number(size).map(|n| n as i64)).collect()
}

fn level(text: &str) -> Result<GraphOptimizationLevel, String> {
    match text {
        "0" => Ok(GraphOptimizationLevel::Disable),
        "1" => Ok(GraphOptimizationLevel::Level1),
        "2" => Ok(GraphOptimizationLevel::Level2),
        "3" => Ok(GraphOptimizationLevel::All),
        _ => Err(format!("no optimisation level '{text}'")),
    }
}

impl Runner {
    fn open(&self, saved: Option<&str>) -> Result<Session, String> {
        let (path, threads, level) = self.loaded.clone().ok_or("nothing is loaded")?;
        let mut builder = Session::builder(&self.environment)
            .map_err(text_of)?
            .with_optimization_level(level)
            .map_err(text_of)?
            .with_inter_threads(1)
            .map_err(text_of)?;
        if threads > 0 {
            builder = builder.with_intra_threads(threads).map_err(text_of)?;
        }
        if let Some(file) = saved {
            builder = builder.with_optimized_model_path(file).map_err(text_of)?;
        }
        builder.commit_from_file(path).map_err(text_of)
    }

    fn load(&mut self, fields: &[&str]) -> Outcome {
        let [path, threads, options @ ..] = fields else {
            return Err("load: expected a model and a number of threads".into());
        };
        let mut chosen = GraphOptimizationLevel::All;
        for option in options {
            match option.split_once('=') {
                Some(("optimize", value)) => chosen = level(value)?,
                Some(("shapes", _)) => {} // takes any, as the model's file does
                _ => return Err(format!("load: no option '{option}'")),
            }
        }
        self.session = None;
        self.outputs.clear();
        self.loaded = Some((path.to_string(), number(threads)?, chosen));
        let start = Instant::now();
        self.session = Some(self.open(None)?);
        Ok(Answer::new().integer("ns", elapsed_ns(start)).memory())
    }

    /// input KEY NAME TYPE DIMS FILE, the file holding the elements alone.
    fn input(&mut self, fields: &[&str]) -> Outcome {
        let [key, name, dtype, dims, file] = fields else {
            return Err("input: expected a key, name, type, sizes and a file".into());
        };
        let bytes = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
        let count = bytes.len();
        let tensor = Input::new(dtype, shape_of(dims)?, bytes)?;
        self.keep(key, name, Given::Tensor(tensor));
        Ok(Answer::new().integer("bytes", count as i64))
    }

    /// image KEY NAME TYPE DIMS PRESET FILE..: made from the files in every run.
    fn image(&mut self, fields: &[&str]) -> Outcome {
        let [key, name, dtype, dims, words, files @ ..] = fields else {
            return Err("image: expected a key, name, type, sizes, words and files".into());
        };
        let pictures = Pictures::new(words, dtype, shape_of(dims)?, files)?;
        let count = 4 * pictures.shape.iter().product::<i64>();
        self.keep(key, name, Given::Pictures(pictures));
        Ok(Answer::new().integer("bytes", count))
    }

    fn keep(&mut self, key: &str, name: &str, given: Given) {
        let place = self.sets.iter().position(|set| set.key == key).unwrap_or_else(|| {
            self.sets.push(InputSet { key: key.to_string(), inputs: Vec::new() });
            self.sets.len() - 1
        });
        let inputs = &mut self.sets[place].inputs;
        inputs.retain(|(known, _)| known != name);
        inputs.push((name.to_string(), given));
    }

    /// run KEY,KEY.. N: N times through the keys, in their order.
    fn run(&mut self, fields: &[&str]) -> Outcome {
        let [keys, times] = fields else {
            return Err("run: expected keys and a number of times".into());
        };
        let session = self.session.as_mut().ok_or("run: nothing is loaded")?;
        let mut order = Vec::new();
        for key in keys.split(',') {
            let found = self.sets.iter().position(|set| set.key == key);
            order.push(found.ok_or(format!("run: no inputs called '{key}'"))?);
        }
        let rounds = number(times)?;
        let mut taken = Vec::with_capacity(rounds * order.len());
        for round in 0..rounds {
            for (place, &index) in order.iter().enumerate() {
                let inputs = &self.sets[index].inputs;
                let mut values: Vec<(&str, SessionInputValue)> = Vec::with_capacity(inputs.len());
                for (name, given) in inputs {
                    if let Given::Tensor(input) = given {
                        values.push((name.as_str(), input.value()));
                    }
                }
                let start = Instant::now();
                for (name, given) in inputs {
                    if let Given::Pictures(pictures) = given {
                        let made = Input::from_values(pictures.shape.clone(), pictures.values()?)?;
                        values.push((name.as_str(), made.into_value()));
                    }
                }
                let results = session.run(values).map_err(text_of)?;
                taken.push(elapsed_ns(start));
                if round + 1 == rounds && place + 1 == order.len() {
                    self.outputs = results
                        .values()
                        .map(|value| Output::copy(&value))
                        .collect::<Result<_, _>>()?;
                }
            }
        }
        Ok(Answer::new().integers("ns", &taken).memory())
    }

    fn output(&self, fields: &[&str]) -> Outcome {
        let [folder] = fields else {
            return Err("output: expected a folder".into());
        };
        if self.outputs.is_empty() {
            return Err("output: nothing was run".into());
        }
        std::fs::create_dir_all(folder).map_err(text_of)?;
        for (index, output) in self.outputs.iter().enumerate() {
            let path = Path::new(folder).join(format!("{index}.npy"));
            npy::write(&path, output.kind, &output.shape, &output.bytes).map_err(text_of)?;
        }
        Ok(Answer::new().integer("count", self.outputs.len() as i64))
    }

    /// ONNX Runtime writes its model while it loads one: loading and writing are timed together.
    fn save(&self, fields: &[&str]) -> Outcome {
        let [file] = fields else {
            return Err("save: expected a file".into());
        };
        let start = Instant::now();
        drop(self.open(Some(file))?);
        let taken = elapsed_ns(start);
        let bytes = std::fs::metadata(file).map_err(text_of)?.len();
        Ok(Answer::new().integer("ns", taken).integer("bytes", bytes as i64).memory())
    }

    fn obey(&mut self, line: &str) -> Outcome {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[0] {
            "load" => self.load(&fields[1..]),
            "input" => self.input(&fields[1..]),
            "image" => self.image(&fields[1..]),
            "run" => self.run(&fields[1..]),
            "output" => self.output(&fields[1..]),
            "save" => self.save(&fields[1..]),
            "memory" => Ok(Answer::new().memory()),
            other => Err(format!("no command '{other}'")),
        }
    }
}

/// "libonnxruntime.so.1.31.1" tells the version; the library's own report of itself does not.
fn version(library: &str) -> String {
    let name = library.rsplit('/').next().unwrap_or("");
    name.split(".so.").nth(1).unwrap_or("unknown").to_string()
}

fn say(answer: &str) {
    let mut out = std::io::stdout().lock();
    // Nobody listens any more: the commands end too.
    let _ = writeln!(out, "{answer}").and_then(|()| out.flush());
}

fn start(library: &str) -> Result<Environment, String> {
    ort::init_from(library).map_err(text_of)?.with_telemetry(false).build().map_err(text_of)
}

fn main() {
    let library = std::env::var("ORT_DYLIB_PATH").unwrap_or_default();
    let environment = match start(&library) {
        Ok(environment) => environment,
        Err(problem) => {
            say(&failure(&problem));
            std::process::exit(1);
        }
    };
    let hello = Answer::new()
        .text("engine", "rust_ort")
        .text("label", "ONNX Runtime, Rust")
        .text("version", &version(&library))
        .text("runtime", concat!("ort crate ", env!("RUST_ORT_CRATE")))
        .memory();
    say(&hello.finish());
    let mut runner =
        Runner { environment, session: None, sets: Vec::new(), outputs: Vec::new(), loaded: None };
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if line == "quit" {
            break;
        }
        match runner.obey(&line) {
            Ok(answer) => say(&answer.finish()),
            Err(problem) => say(&failure(&problem)),
        }
    }
}
