//! `derived/` contains the current drafts; `INSTA_UPDATE=always cargo test --test it derived::` rewrites it.

use std::fs;
use std::path::{Path, PathBuf};

use backchat_derive::derive::{Options, Status, derive};

fn templates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("chat_templates");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| end == "jinja")).collect();
    files.sort();
    files
}

/// Checks that a file has this text, or writes it.
fn pin(file: &Path, text: &str) -> Result<(), String> {
    if crate::blesses() {
        fs::write(file, text).unwrap();
        return Ok(());
    }
    match fs::read_to_string(file) {
        Ok(known) if known == text => Ok(()),
        Ok(_) => Err(format!("{} is not what deriving gives", file.display())),
        Err(error) => Err(format!("{}: {error}", file.display())),
    }
}

#[test]
fn every_chat_template_has_a_proved_draft_with_the_same_bytes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("derived");
    let mut wrong = Vec::new();
    for path in templates() {
        let name = path.file_stem().unwrap().to_str().unwrap();
        let source = fs::read_to_string(&path).unwrap();
        let options = Options::default().now("2026-01-01T00:00:00".to_owned());
        let derivation = derive(&source, &options);
        assert_eq!(derivation.status, Status::Proved, "{name}: {}", derivation.headline());
        let draft = derivation.response_template.as_ref().unwrap().to_pretty("  ") + "\n";
        wrong.extend(pin(&folder.join(format!("{name}.json")), &draft).err());
        let page = derivation.explain(&format!("chat_templates/{name}.jinja"));
        wrong.extend(pin(&folder.join(format!("{name}.md")), &page).err());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_file_in_derived_belongs_to_a_chat_template() {
    let names: Vec<String> =
        templates().iter().map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("derived")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(names.contains(&name), "{} belongs to no chat template", path.display());
    }
}
