#![no_main]
//! Any text as a template: it loads or it is refused, and what loads is written as it was read.

use backchat::template::Template;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(loaded) = Template::load(text) {
        let written = loaded.template.to_json();
        let again = Template::load(&written).unwrap_or_else(|error| panic!("{error}\n{written}"));
        assert_eq!(again.template.to_json(), written);
    }
});
