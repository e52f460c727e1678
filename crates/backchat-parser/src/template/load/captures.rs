//! Checks that each named group is used and each placeholder is filled.

use super::problems::Checker;
use super::values::{At, listed};
use crate::template::{Delimiter, Transform};
use backchat_core::push_new;

/// Reports unused named groups, and placeholders that nothing fills.
pub(super) fn check(
    check: &mut Checker,
    at: &At<'_>,
    [open, close]: [Option<&Delimiter>; 2],
    transform: Option<&Transform>,
    misspelled: &[&str],
) {
    let groups = |delimiter: Option<&Delimiter>| -> Vec<String> {
        let names = delimiter.into_iter().flat_map(|delimiter| delimiter.pattern().names());
        let mut names: Vec<_> = names.map(str::to_owned).collect();
        names.sort();
        names.dedup();
        names
    };
    let captured = [("open_pattern", groups(open)), ("close_pattern", groups(close))];
    let Some(transform) = transform else {
        for (key, groups) in &captured {
            if groups.is_empty() || misspelled.contains(&"transform") {
                continue;
            }
            let names = listed(groups.iter().map(String::as_str));
            let message = format!("`{key}` captures {names}, and no `transform` uses it");
            let help = "add a `transform` such as `{\"name\": \"{name}\", \"value\": \"{content}\"}`, or make the group \
                        `(?:…)`";
            check.error("captures-without-transform", &at.path(key), message, help);
        }
        return;
    };

    let used: Vec<_> =
        transform.shape.placeholders().into_iter().map(|placeholder| placeholder.name.as_str()).collect();
    let mut names = if transform.each { Vec::new() } else { vec!["content"] };
    for (key, name) in captured.iter().flat_map(|(key, groups)| groups.iter().map(move |name| (key, name.as_str()))) {
        if name == "content" && !transform.each {
            let message = "the group `content` cannot be used: `{content}` is the region's value";
            check.warning("shadowed-capture", &at.path(key), message, "give the group another name");
        } else if !used.contains(&name) {
            let message = format!("the group `{name}` never reaches the `transform`");
            let help = format!("use `\"{{{name}}}\"` in it, or make the group `(?:…)`");
            check.warning("unused-capture", &at.path(key), message, help);
        }
        push_new(&mut names, name);
    }
    // Under `transform_each` any other name may be a key of the element.
    let given = |name: &str| names.contains(&name) || transform.each && name != "content";
    let mut missing: Vec<_> = used.into_iter().filter(|name| !given(name)).collect();
    missing.dedup();
    for name in missing {
        let (message, help) = if transform.each {
            (
                "`{content}` is not defined under `transform_each`, unless the elements have such a key".to_owned(),
                "use a key of the elements".to_owned(),
            )
        } else {
            let defined = listed(names.iter().copied());
            (format!("nothing fills `{{{name}}}`: every region will fail"), format!("defined here: {defined}"))
        };
        check.warning("unfilled-placeholder", &at.path("transform"), message, help);
    }
}
