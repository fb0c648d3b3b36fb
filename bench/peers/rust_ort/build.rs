//! Hands the version of the `ort` crate, which Cargo.lock fixes, to the program.
fn main() {
    let lock = std::fs::read_to_string("Cargo.lock").unwrap_or_default();
    let version = lock
        .split("[[package]]")
        .find(|package| package.contains("\nname = \"ort\"\n"))
        .and_then(|package| package.split("version = \"").nth(1))
        .and_then(|rest| rest.split('"').next())
        .unwrap_or("unknown");
    println!("cargo:rustc-env=RUST_ORT_CRATE={version}");
    println!("cargo:rerun-if-changed=Cargo.lock");
}
