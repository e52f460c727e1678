//! Every file in `tests/inputs/load/` is loaded; the snapshot beside it shows what its author reads.

use std::path::Path;

use backchat::diagnostic::Severity;
use backchat::template::Template;
use backchat_core::diagnostic::{Format, Sources, render};

#[test]
fn problems_of_a_template_are_reported() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/load");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        let sources = Sources::none().with(name, text.as_str());
        let shown = match Template::load(&text) {
            Ok(loaded) => {
                let shown = render(&loaded.in_file(name).warnings, Format::Full, &sources, false);
                format!("loads\n\n{shown}")
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
        insta::assert_snapshot!(name.trim_end_matches(".json"), shown.trim_end());
    }
}

/// The text after every fix that the loader offers was made.
fn fixed(text: &str) -> String {
    let diagnostics = match Template::load(text) {
        Ok(loaded) => loaded.warnings,
        Err(error) => error.diagnostics,
    };
    let mut edits: Vec<_> =
        diagnostics.into_iter().filter_map(|diagnostic| diagnostic.fix).flat_map(|fix| fix.edits).collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(edit.span.start));
    let mut text = text.to_owned();
    for edit in edits {
        text.replace_range(edit.span, &edit.text);
    }
    text
}

#[test]
fn fixes_remove_their_problems() {
    let text = r#"{
        "version": true,
        "start_anchors": "<|a|>",
        "fields": {
            "thinking": {"opens": "<think>", "close": "</think>", "repeats": 1},
            "content": {"content": "txt", "content_args": {"stripp": "no"}}
        }
    }"#;
    // An argument is looked at when its parser has a name that is known, and its value when it has one itself.
    let text = fixed(&fixed(&fixed(text)));
    let loaded = Template::load(&text).unwrap();
    assert_eq!(loaded.warnings, [], "{text}");
    insta::assert_snapshot!("fixed", text);
}
