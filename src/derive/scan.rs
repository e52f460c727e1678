//! JSON inside other text.

use std::ops::Range;

use crate::json::{self, Object, Value};

/// The end of the bracketed stretch that starts here, strings respected.
pub(super) fn bracketed(text: &str, start: usize) -> Option<usize> {
    let mut open = Vec::new();
    let mut quoted = false;
    let mut escaped = false;
    for (i, byte) in text.bytes().enumerate().skip(start) {
        if quoted {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => quoted = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' if open.pop() != Some(byte) => return None,
            _ => {}
        }
        if open.is_empty() {
            return Some(i + 1);
        }
    }
    None
}

/// Every object or array that stands in a text from here on, outer ones before inner ones.
pub(super) fn values(text: &str, from: usize) -> impl Iterator<Item = (Range<usize>, Value)> + '_ {
    text.char_indices().filter(move |(at, c)| *at >= from && matches!(c, '{' | '[')).filter_map(|(at, _)| {
        let end = bracketed(text, at)?;
        json::read(text.get(at..end)?).ok().map(|value| (at..end, value))
    })
}

/// The path of the first value in an object that satisfies a test, objects descended.
pub(super) fn path_to(object: &Object, test: &dyn Fn(&Value) -> bool) -> Option<Vec<String>> {
    object.iter().find_map(|(key, value)| {
        if test(value) {
            return Some(vec![key.clone()]);
        }
        let mut path = path_to(value.as_object()?, test)?;
        path.insert(0, key.clone());
        Some(path)
    })
}

/// Whether two objects hold the same, whatever the order of their keys.
pub(super) fn same_entries(a: &Object, b: &Object) -> bool {
    a.len() == b.len() && a.iter().all(|(key, value)| b.get(key) == Some(value))
}
