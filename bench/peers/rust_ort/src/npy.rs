//! Writes NumPy's file format, version 1.0.

use std::io::Write;
use std::path::Path;

pub fn write(path: &Path, kind: &str, shape: &[i64], bytes: &[u8]) -> std::io::Result<()> {
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let mut header =
        format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    // Magic, version and length take ten bytes; the whole is a multiple of 64, with a line's end.
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    let mut file = std::fs::File::create(path)?;
    file.write_all(b"\x93NUMPY\x01\x00")?;
    file.write_all(&(header.len() as u16).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    file.write_all(bytes)
}
