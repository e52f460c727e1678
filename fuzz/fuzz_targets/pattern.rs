#![no_main]
//! A pattern and a text between U+0000: no panic, and matches that stand in order inside the text.

use backchat_parser::pattern::Pattern;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| {
    let Some((source, text)) = input.split_once('\0') else { return };
    let Ok(pattern) = Pattern::new(source) else { return };
    let mut before = 0;
    for found in pattern.matches(text) {
        let Ok(found) = found else { return };
        let (start, end) = found.span();
        assert!(before <= start && start <= end && end <= text.len(), "{source:?} on {text:?}");
        assert!(text.is_char_boundary(start) && text.is_char_boundary(end));
        before = end;
    }
});
