//! Prints a render piece by piece, each with its position in the chat template.

use std::collections::HashMap;

use backchat_chat::{Origin, Rendered};
use backchat_core::diagnostic::{escape, line_column};
use backchat_core::json::Value;
use backchat_core::text::slice;

/// Characters of an expression that are shown.
const SHOWN: usize = 60;

/// The lines and columns of a source, each place looked up once.
struct Places<'s> {
    source: &'s str,
    known: HashMap<usize, (usize, usize)>,
}

impl<'s> Places<'s> {
    fn new(source: &'s str) -> Self {
        Self { source, known: HashMap::new() }
    }

    fn at(&mut self, origin: &Origin) -> (usize, usize) {
        let byte = origin.source.start;
        *self.known.entry(byte).or_insert_with(|| line_column(self.source, byte))
    }
}

/// One line for each piece: `LINE:COLUMN  "text"`, and the expression unless the template contains the text literally.
pub fn lines(rendered: &Rendered, source: &str) -> String {
    let mut places = Places::new(source);
    let pieces: Vec<(String, &Origin)> = rendered
        .origins
        .iter()
        .map(|origin| {
            let (line, column) = places.at(origin);
            (format!("{line}:{column}"), origin)
        })
        .collect();
    let width = pieces.iter().map(|(place, _)| place.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (place, origin) in pieces {
        let text = slice(&rendered.text, origin.text.clone());
        let quoted = Value::from(text).to_string();
        out.push_str(&format!("{place:>width$}  {}", escape(&quoted)));
        let expression = slice(source, origin.source.clone());
        if expression != text {
            let mut characters = expression.split_whitespace().collect::<Vec<_>>().join(" ");
            if let Some((end, _)) = characters.char_indices().nth(SHOWN) {
                characters.truncate(end);
                characters.push('…');
            }
            out.push_str(&format!("  ← {}", escape(&characters)));
        }
        out.push('\n');
    }
    out
}

/// For a row: `[start, end, line, column]` of each piece, the text in code points.
pub fn row(rendered: &Rendered, source: &str) -> Value {
    let mut places = Places::new(source);
    let count = |count: usize| Value::from(i64::try_from(count).unwrap_or(i64::MAX));
    let mut start = 0;
    let pieces = rendered.origins.iter().map(|origin| {
        let end = start + slice(&rendered.text, origin.text.clone()).chars().count();
        let (line, column) = places.at(origin);
        let piece = Value::List([start, end, line, column].map(count).to_vec());
        start = end;
        piece
    });
    Value::List(pieces.collect())
}
