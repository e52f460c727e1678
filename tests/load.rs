//! Every file in `tests/inputs/load/` is loaded; the snapshot beside it shows what its author is told.

use std::path::Path;

use backchat::diagnostic::{Format, Severity, Sources, render};
use backchat::template::Template;

#[test]
fn what_an_author_is_told() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/load");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let sources = Sources::none().with(name, text.as_str());
        let told = match Template::load(&text) {
            Ok(loaded) => {
                let told = render(&loaded.in_file(name).warnings, Format::Full, &sources, false);
                format!("loads\n\n{told}")
            }
            Err(error) => {
                let diagnostics = error.in_file(name).diagnostics;
                assert!(diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error), "{name}");
                for diagnostic in &diagnostics {
                    let place = diagnostic.place.as_ref().unwrap();
                    assert!(place.line_column.is_some() && diagnostic.help.is_some(), "{name}: {diagnostic:?}");
                }
                format!("does not load\n\n{}", render(&diagnostics, Format::Full, &sources, false))
            }
        };
        insta::assert_snapshot!(name.trim_end_matches(".json"), told.trim_end());
    }
}
