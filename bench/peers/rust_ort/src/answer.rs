//! Answers of the protocol: one line of JSON each.

use std::fmt::Write;

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if (c as u32) < 32 => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Resident bytes now and at most, from /proc/self/status.
fn resident() -> (i64, i64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let find = |name: &str| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))
            .and_then(|rest| rest.split_whitespace().next())
            .and_then(|kilobytes| kilobytes.parse::<i64>().ok())
            .map_or(0, |kilobytes| kilobytes * 1024)
    };
    (find("VmRSS:"), find("VmHWM:"))
}

pub struct Answer(Vec<String>);

impl Answer {
    pub fn new() -> Self {
        Answer(Vec::new())
    }

    pub fn text(mut self, name: &str, value: &str) -> Self {
        self.0.push(format!("\"{name}\": {}", quoted(value)));
        self
    }

    pub fn integer(mut self, name: &str, value: i64) -> Self {
        self.0.push(format!("\"{name}\": {value}"));
        self
    }

    pub fn integers(mut self, name: &str, values: &[i64]) -> Self {
        let list: Vec<String> = values.iter().map(i64::to_string).collect();
        self.0.push(format!("\"{name}\": [{}]", list.join(", ")));
        self
    }

    pub fn memory(self) -> Self {
        let (rss, peak) = resident();
        self.integer("rss", rss).integer("peak", peak)
    }

    pub fn finish(self) -> String {
        format!("{{{}}}", self.0.join(", "))
    }
}

/// An answer that says what went wrong.
pub fn failure(problem: &str) -> String {
    Answer::new().text("error", problem).finish()
}
