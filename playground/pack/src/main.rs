//! Packs the playground: `backchat-playground-pack MODULE.wasm ROOT OUT` writes `OUT/index.html`, one page with
//! its script, its worker, its module and the chat templates, and `OUT/package`, the module for `npm pack`.
//!
//! The page's policy lists the hash of every script; nothing else runs, and nothing is fetched.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use lzma_rust2::{LzmaOptions, LzmaWriter};
use sha2::{Digest, Sha256};
use wasm_bindgen_cli_support::Bindgen;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The scripts of the page in the order of their dependencies, after the stepper of the reports.
const SCRIPTS: [&str; 9] = [
    "base64.js",
    "highlight.js",
    "editor.js",
    "link.js",
    "engine.js",
    "show.js",
    "host.js",
    "conversation.js",
    "page.js",
];

/// The scripts of its workers, after the binding of the module.
const WORKER: [&str; 3] = ["base64.js", "lzma.js", "worker.js"];

/// The name of the module, and of the package.
const NAME: &str = "backchat";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, root, out] = arguments.as_slice() else {
        return Err("usage: backchat-playground-pack MODULE.wasm ROOT OUT".into());
    };
    let (module, root, out) = (Path::new(module), Path::new(root), Path::new(out));
    fs::create_dir_all(out)?;
    let page = page(module, root)?;
    let file = out.join("index.html");
    fs::write(&file, &page)?;
    println!("{}: {} bytes, {} with gzip", file.display(), page.len(), gzip(page.as_bytes())?.len());
    package(module, root, &out.join("package"))
}

/// The binding of the module, without the names of functions, which are a third of it.
fn bindgen(module: &Path) -> Bindgen {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name(NAME).remove_name_section(true).remove_producers_section(true);
    bindgen
}

/// The self-contained page.
fn page(module: &Path, root: &Path) -> Result<String> {
    let read = |name: &str| fs::read_to_string(root.join(name)).map_err(|error| format!("{name}: {error}"));
    let mut bound = bindgen(module).no_modules(true)?.typescript(false).generate_output()?;
    let wasm = lzma(&bound.wasm_mut().emit_wasm())?;
    let scripts = |names: &[&str]| -> Result<String> {
        let texts = names.iter().map(|name| read(&format!("playground/page/{name}")));
        Ok(texts.collect::<std::result::Result<Vec<_>, _>>()?.concat())
    };
    let worker = format!("{}\n{}", bound.js(), scripts(&WORKER)?);
    let style =
        format!("{}{}", read("crates/backchat-workbench/src/report/report.css")?, read("playground/page/page.css")?);
    let script = read("crates/backchat-workbench/src/report/stepper.js")? + &scripts(&SCRIPTS)?;
    let policy = format!(
        "default-src 'none'; style-src '{}'; script-src '{}' 'wasm-unsafe-eval'; worker-src blob:; base-uri 'none'; \
         form-action 'none'",
        hash(&style),
        hash(&script)
    );
    let mut page = read("playground/page/index.html")?;
    for (name, content) in [
        ("policy", policy),
        ("style", style),
        ("script", script),
        ("worker", embedded(&worker)),
        ("templates", embedded(&templates(root)?)),
        ("module", STANDARD.encode(wasm)),
    ] {
        let hole = format!("{{{{{name}}}}}");
        let (before, after) = page.split_once(&hole).ok_or_else(|| format!("index.html has no {hole}"))?;
        page = [before, &content, after].concat();
    }
    Ok(page)
}

/// The chat templates to start from as JSON, by name: the page's own example, then those of the project.
fn templates(root: &Path) -> Result<String> {
    let mut files: Vec<_> = fs::read_dir(root.join("chat_templates"))?
        .collect::<std::io::Result<Vec<_>>>()?
        .iter()
        .map(|file| file.path())
        .collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "jinja"));
    files.sort();
    files.insert(0, root.join("playground/page/example.jinja"));
    let mut entries = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        entries.push(format!("{}:{}", json(&name), json(&fs::read_to_string(&file)?)));
    }
    Ok(format!("{{{}}}", entries.join(",")))
}

/// A text as a JSON string.
fn json(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// A text that cannot end the element around it.
fn embedded(text: &str) -> String {
    text.replace("</script", "<\\/script").replace("<!--", "<\\!--")
}

/// The hash of a script or a stylesheet for the policy.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

/// Bytes as a `.lzma` file, with settings for WebAssembly: the next byte depends on the one before, and little on the
/// position.
fn lzma(bytes: &[u8]) -> Result<Vec<u8>> {
    let options = LzmaOptions { lc: 4, pb: 1, ..LzmaOptions::with_preset(9) };
    let mut writer = LzmaWriter::new_use_header(Vec::new(), &options, Some(bytes.len() as u64))?;
    writer.write_all(bytes)?;
    Ok(writer.finish()?)
}

/// The module with its types, for `npm pack`.
fn package(module: &Path, root: &Path, out: &Path) -> Result<()> {
    bindgen(module).web(true)?.typescript(true).generate(out)?;
    fs::copy(root.join("LICENSE"), out.join("LICENSE"))?;
    fs::copy(root.join("playground/package/README.md"), out.join("README.md"))?;
    let manifest = fs::read_to_string(root.join("playground/package/package.json"))?;
    fs::write(out.join("package.json"), manifest.replace("{{version}}", &version(root)?))?;
    Ok(())
}

/// The version of the workspace, which is the module's.
fn version(root: &Path) -> Result<String> {
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    let mut versions = manifest.lines().filter_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    Ok(versions.next().ok_or("Cargo.toml has no version")?.to_owned())
}
