//! Records which branches a render takes and which values its names have, for explanations. Recording changes no byte of
//! the render.

use std::cell::RefCell;
use std::ops::Range;

use indexmap::IndexMap;
use minijinja::Value;

use crate::jinja::syntax::tree::Span;
use crate::values::Kind;
use backchat_core::diagnostic::shortened;
use backchat_core::json;

/// How many values of a name are kept.
const MOST_VALUES: usize = 3;

/// How much of a text is kept, in characters.
const LONGEST: usize = 60;

/// A branch of a condition that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Bytes of the whole condition, from its first tag to its last one.
    pub span: Range<usize>,
    /// The number of the branch; the `else` is the one after the last test.
    pub branch: usize,
}

/// A place that gives names values, and some of those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Valued {
    /// Bytes of a `set` tag, or of what a loop runs over.
    pub span: Range<usize>,
    pub values: Vec<String>,
}

/// What a render did in detail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    pub taken: Vec<Taken>,
    pub values: Vec<Valued>,
}

#[derive(Debug, Default)]
pub(crate) struct DetailRecorder {
    taken: RefCell<IndexMap<(usize, usize, usize), ()>>,
    values: RefCell<IndexMap<(usize, usize), Vec<String>>>,
}

impl DetailRecorder {
    pub(crate) fn branch(&self, span: &Span, branch: usize) {
        self.taken.borrow_mut().insert((span.start, span.end, branch), ());
    }

    pub(crate) fn value(&self, span: &Span, value: &Value) {
        let mut values = self.values.borrow_mut();
        let known = values.entry((span.start, span.end)).or_default();
        if known.len() < MOST_VALUES {
            backchat_core::push_new(known, shown(value));
        }
    }

    pub(crate) fn details(&self) -> Details {
        let taken = self.taken.borrow();
        let taken = taken.keys().map(|(start, end, branch)| Taken { span: *start..*end, branch: *branch });
        let values = self.values.borrow();
        let values = values.iter().map(|((start, end), values)| Valued { span: *start..*end, values: values.clone() });
        Details { taken: taken.collect(), values: values.collect() }
    }
}

/// A value in a few words.
fn shown(value: &Value) -> String {
    match Kind::of(value) {
        Kind::Bool(value) => if value { "true" } else { "false" }.to_owned(),
        Kind::Int(value) => value.to_string(),
        Kind::Float(value) => json::Value::from(value).to_string(),
        Kind::Str(text) => json::Value::from(&*shortened(text, LONGEST)).to_string(),
        Kind::List(items) | Kind::Tuple(items) => format!("a list of {}", items.len()),
        Kind::Dict(dict) => {
            let keys: Vec<String> = dict.keys().take(6).filter_map(|key| key.as_str().map(str::to_owned)).collect();
            shortened(&format!("{{{}}}", keys.join(", ")), LONGEST).into_owned()
        }
        _ if value.is_undefined() => "undefined".to_owned(),
        _ if value.is_none() => "none".to_owned(),
        _ => "an object".to_owned(),
    }
}
