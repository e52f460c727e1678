//! Places, findings and edits as the protocol writes them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use backchat_core::diagnostic::Edit;
use backchat_core::text::{Lines, Position, Unit, slice, uri_path};
use backchat_editor::{Document, Finding, Level};

/// The address of a path.
pub fn uri_of(path: &Path) -> String {
    format!("file://{}", uri_path(&path.to_string_lossy()))
}

/// The path of an address; the address itself if it names no file.
pub fn path_of(uri: &str) -> (PathBuf, bool) {
    let Some(encoded) = uri.strip_prefix("file://") else { return (PathBuf::from(uri), false) };
    let encoded = encoded.find('/').map_or(encoded, |at| slice(encoded, at..));
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        let decoded = (byte == b'%').then(|| {
            let digits = rest.as_slice_of_two()?;
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
        });
        match decoded.flatten() {
            Some(decoded) => {
                bytes.push(decoded);
                rest.next();
                rest.next();
            }
            None => bytes.push(byte),
        }
    }
    (PathBuf::from(String::from_utf8_lossy(&bytes).into_owned()), true)
}

/// The two bytes after a percent sign.
trait NextTwo {
    fn as_slice_of_two(&self) -> Option<[u8; 2]>;
}

impl NextTwo for std::str::Bytes<'_> {
    fn as_slice_of_two(&self) -> Option<[u8; 2]> {
        let mut ahead = self.clone();
        Some([ahead.next()?, ahead.next()?])
    }
}

/// A text with its lines, for places in it.
#[derive(Clone, Copy)]
pub struct Places<'t> {
    pub text: &'t str,
    pub lines: &'t Lines,
    pub unit: Unit,
}

impl<'t> Places<'t> {
    pub fn of(document: &'t Document, unit: Unit) -> Self {
        Self { text: &document.text, lines: &document.lines, unit }
    }

    pub fn position(self, byte: usize) -> Value {
        let Position { line, column } = self.lines.position(self.text, byte, self.unit);
        json!({"line": line, "character": column})
    }

    pub fn range(self, span: &Range<usize>) -> Value {
        json!({"start": self.position(span.start), "end": self.position(span.end.max(span.start))})
    }

    /// The byte of a position that a client sent.
    pub fn byte(self, position: &Value) -> usize {
        let number = |key: &str| {
            let number = position.get(key).and_then(Value::as_u64).unwrap_or(0);
            usize::try_from(number).unwrap_or(usize::MAX)
        };
        self.lines.byte(self.text, Position { line: number("line"), column: number("character") }, self.unit)
    }

    pub fn span(self, range: &Value) -> Range<usize> {
        let side = |key: &str| self.byte(range.get(key).unwrap_or(&Value::Null));
        let start = side("start");
        start..side("end").max(start)
    }

    pub fn edits(self, edits: &[Edit]) -> Value {
        edits.iter().map(|edit| json!({"range": self.range(&edit.span), "newText": edit.text})).collect()
    }

    /// A finding, whose related places are in other files.
    pub fn diagnostic(self, finding: &Finding, related: &dyn Fn(&Path, &Range<usize>) -> Option<Value>) -> Value {
        let severity = match finding.level {
            Level::Error => 1,
            Level::Warning => 2,
            Level::Information => 3,
            Level::Hint => 4,
        };
        let mut found = json!({
            "range": self.range(&finding.span),
            "severity": severity,
            "source": "backchat",
            "code": finding.code,
            "message": finding.message,
        });
        let others: Vec<Value> = finding
            .related
            .iter()
            .filter_map(|other| Some(json!({"location": related(&other.path, &other.span)?, "message": other.message})))
            .collect();
        if let (Some(found), false) = (found.as_object_mut(), others.is_empty()) {
            found.insert("relatedInformation".to_owned(), Value::Array(others));
        }
        found
    }
}

/// Converts a value of serde into one of ours, and back.
pub fn to_ours(value: &Value) -> backchat_core::json::Value {
    backchat_core::json::read(&value.to_string()).unwrap_or_default()
}

pub fn to_theirs(value: &backchat_core::json::Value) -> Value {
    serde_json::from_str(&value.to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lead_to_paths_and_back() {
        for path in ["/tmp/a b/mô del #1 & 模型/x.jinja", "/a%20b"] {
            assert_eq!(path_of(&uri_of(Path::new(path))), (PathBuf::from(path), true));
        }
        assert_eq!(path_of("untitled:Untitled-1"), (PathBuf::from("untitled:Untitled-1"), false));
        assert_eq!(path_of("file:///a%zz").0, PathBuf::from("/a%zz"));
    }
}
