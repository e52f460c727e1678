//! Detects which of the two formats a JSON value is in.

use backchat_core::json::Value;

/// The format that a value seems to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A response template: it has `fields`.
    Template,
    /// A response schema: it has no `fields`, and `type`, `properties`, `const` or a key that begins with `x-`.
    Schema,
    /// Both `fields` and keys that begin with `x-`.
    Both,
    /// An object of neither, or not an object.
    Neither,
}

/// The format of a value, by the keys at its root.
pub fn format_of(value: &Value) -> Format {
    let Some(entries) = value.as_object() else { return Format::Neither };
    let has_extension = entries.keys().any(|key| key.starts_with("x-"));
    let has_schema = has_extension || ["type", "properties", "const"].iter().any(|key| entries.contains_key(key));
    match (entries.contains_key("fields"), has_schema) {
        (true, true) if has_extension || entries.contains_key("properties") => Format::Both,
        (true, _) => Format::Template,
        (false, true) => Format::Schema,
        (false, false) => Format::Neither,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_at_the_root_decide() {
        let cases = [
            (r#"{"fields": {}, "start_anchor": "a"}"#, Format::Template),
            (r#"{"fields": {}, "type": "object"}"#, Format::Template),
            (r#"{"type": "object"}"#, Format::Schema),
            (r#"{"properties": {}}"#, Format::Schema),
            (r#"{"const": null}"#, Format::Schema),
            (r#"{"x-parser": "json"}"#, Format::Schema),
            (r#"{"fields": {}, "x-regex": "a"}"#, Format::Both),
            (r#"{"fields": {}, "properties": {}}"#, Format::Both),
            (r#"{"start_anchor": "a"}"#, Format::Neither),
            ("{}", Format::Neither),
            ("[]", Format::Neither),
        ];
        for (text, want) in cases {
            assert_eq!(format_of(&backchat_core::json::read(text).unwrap()), want, "{text}");
        }
    }
}
