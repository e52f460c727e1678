//! Records which way each condition of a template goes while it renders, and what its filters change. Recording changes
//! no byte of the render, unless it assumes the outcome of a condition.

use std::cell::RefCell;
use std::ops::Range;

use indexmap::IndexMap;
use minijinja::Value;

use crate::jinja::syntax::tree::{CompareOp, Span};
use crate::values::Kind;
use crate::values::equality::looks_alike;
use backchat_core::json;

/// How many different operands are kept of one outcome.
const MOST_OPERANDS: usize = 12;

/// Bytes of the longest text that is kept.
const LONGEST: usize = 4096;

/// How many items of a list or keys of a dictionary are kept.
const MOST_ITEMS: usize = 64;

/// What a condition asks about its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// Whether the value is true in Python's sense; there is no right operand.
    Truth,
    /// Whether a loop has any items: the left operand is their number.
    Items,
    Equal,
    /// Whether the left operand is less than the right one, or equal to it.
    Less,
    Greater,
    /// Whether the right operand contains the left one.
    In,
    StartsWith,
    EndsWith,
    /// Whether the right operand, the keys of a dictionary, has the left one.
    Key,
    /// Any other test.
    Test,
}

/// One condition, one way it went, and the operands with which it did.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Bytes of [`ChatTemplate::source`](crate::ChatTemplate::source).
    pub span: Range<usize>,
    pub outcome: bool,
    pub relation: Relation,
    /// The operands, each pair once; null if a value is neither plain nor short.
    pub operands: Vec<(json::Value, json::Value)>,
}

/// A filter, method or slice that takes a text, a list or a number, and one way it went.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Bytes of [`ChatTemplate::source`](crate::ChatTemplate::source).
    pub span: Range<usize>,
    /// Its name; `[]` for a slice.
    pub name: String,
    /// Its constant arguments.
    pub arguments: Vec<json::Value>,
    /// Whether the result differed from the value.
    pub changed: bool,
    /// The values it took, each once.
    pub values: Vec<json::Value>,
}

/// What ran in a render.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ran {
    pub decisions: Vec<Decision>,
    pub changes: Vec<Change>,
}

/// The outcome that a condition has in a render, whatever its operands are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumed {
    /// Bytes of [`ChatTemplate::source`](crate::ChatTemplate::source).
    pub span: Range<usize>,
    /// The outcome as [`Decision`]s report it.
    pub outcome: bool,
}

type Place = (usize, usize, bool);

/// Collects the decisions and changes of one render.
#[derive(Debug, Default)]
pub(crate) struct OutcomeRecorder {
    assumed: Vec<Assumed>,
    decisions: RefCell<IndexMap<Place, Decision>>,
    changes: RefCell<IndexMap<Place, Change>>,
}

impl OutcomeRecorder {
    pub(crate) fn assuming(assumed: &[Assumed]) -> Self {
        Self { assumed: assumed.to_vec(), ..Self::default() }
    }

    /// Whether it assumes the outcome of a condition: then values that its truth would give are absent.
    pub(crate) fn assumes(&self) -> bool {
        !self.assumed.is_empty()
    }

    pub(crate) fn truth(&self, span: &Span, value: &Value) -> bool {
        self.decide(span, value.is_true(), Relation::Truth, value, &Value::UNDEFINED)
    }

    pub(crate) fn definition(&self, span: &Span, is_defined: bool) -> bool {
        self.decide(span, is_defined, Relation::Test, &Value::UNDEFINED, &Value::UNDEFINED)
    }

    pub(crate) fn items(&self, span: &Span, count: usize) {
        self.decide(span, count > 0, Relation::Items, &Value::from(count), &Value::UNDEFINED);
    }

    /// Records a comparison, and returns its answer.
    pub(crate) fn comparison(
        &self,
        span: &Span,
        operator: CompareOp,
        [left, right]: [&Value; 2],
        answer: bool,
    ) -> bool {
        let (relation, is_negated) = match operator {
            CompareOp::Eq => (Relation::Equal, false),
            CompareOp::Ne => (Relation::Equal, true),
            CompareOp::Lt | CompareOp::Le => (Relation::Less, false),
            CompareOp::Gt | CompareOp::Ge => (Relation::Greater, false),
            CompareOp::In => (Relation::In, false),
            CompareOp::NotIn => (Relation::In, true),
        };
        self.decide(span, answer != is_negated, relation, left, right) != is_negated
    }

    /// Records a lookup in a dictionary by a computed key. What is there instead of an absent key is not found.
    pub(crate) fn lookup(&self, span: &Span, dict: &Value, key: &Value) {
        if let Kind::Dict(entries) = Kind::of(dict) {
            let is_found = entries.get(key).is_some_and(|found| !found.is_none());
            self.decide(span, is_found, Relation::Key, key, dict);
        }
    }

    /// Records an outcome with the operands that it depends on, and returns it, or the one assumed in its place.
    pub(super) fn decide(&self, span: &Span, outcome: bool, relation: Relation, left: &Value, right: &Value) -> bool {
        let assumed = self.assumed.iter().find(|assumed| assumed.span == *span);
        let outcome = assumed.map_or(outcome, |assumed| assumed.outcome);
        let mut decisions = self.decisions.borrow_mut();
        let decision = decisions.entry((span.start, span.end, outcome)).or_insert_with(|| Decision {
            span: span.clone(),
            outcome,
            relation,
            operands: Vec::new(),
        });
        // The truth of a comparison is its outcome.
        if decision.relation == relation && decision.operands.len() < MOST_OPERANDS {
            backchat_core::push_new(&mut decision.operands, (plain(left), plain(right)));
        }
        outcome
    }

    /// Records what a filter, method or slice did to a text, list or number.
    pub(super) fn change(&self, span: &Span, name: &str, arguments: &[Value], [before, after]: [&Value; 2]) {
        if !matches!(Kind::of(before), Kind::Str(_) | Kind::List(_) | Kind::Int(_) | Kind::Float(_)) {
            return;
        }
        // A text that is split into one piece stays whole.
        let is_whole = matches!(Kind::of(after), Kind::List([item]) if looks_alike(item, before));
        let changed = !is_whole && !looks_alike(before, after);
        let mut changes = self.changes.borrow_mut();
        let change = changes.entry((span.start, span.end, changed)).or_insert_with(|| Change {
            span: span.clone(),
            name: name.to_owned(),
            arguments: arguments.iter().map(plain).collect(),
            changed,
            values: Vec::new(),
        });
        if change.values.len() < MOST_OPERANDS {
            backchat_core::push_new(&mut change.values, plain(before));
        }
    }

    pub(crate) fn ran(&self) -> Ran {
        Ran {
            decisions: self.decisions.borrow().values().cloned().collect(),
            changes: self.changes.borrow().values().cloned().collect(),
        }
    }
}

/// A value as JSON: a short text, a number, a boolean, or a list of these; the keys of a dictionary.
fn plain(value: &Value) -> json::Value {
    match Kind::of(value) {
        Kind::Bool(value) => value.into(),
        Kind::Int(value) => i64::try_from(value).map_or(json::Value::Null, json::Value::from),
        Kind::Float(value) => value.into(),
        Kind::Str(text) if text.len() <= LONGEST => text.into(),
        Kind::List(items) | Kind::Tuple(items) => items.iter().take(MOST_ITEMS).map(scalar).collect::<Vec<_>>().into(),
        Kind::Dict(dict) => dict.keys().take(MOST_ITEMS).map(|key| scalar(&key)).collect::<Vec<_>>().into(),
        _ => json::Value::Null,
    }
}

/// A value without items.
fn scalar(value: &Value) -> json::Value {
    match Kind::of(value) {
        Kind::List(_) | Kind::Tuple(_) | Kind::Dict(_) => json::Value::Null,
        _ => plain(value),
    }
}

#[cfg(test)]
mod tests {
    use super::{Assumed, Ran, Relation};
    use crate::{ChatTemplate, RenderOptions, assuming, render_recorded};
    use backchat_core::json;

    fn ran(template: &str, context: &str) -> (Ran, String) {
        let template = ChatTemplate::compile(template).unwrap();
        let context = json::read(context).unwrap();
        let context = context.as_object().unwrap();
        let plain = template.render(context, &RenderOptions::default()).unwrap();
        let (rendered, ran) = render_recorded(&template, context, &[], &RenderOptions::default());
        assert_eq!(rendered, Ok(plain));
        (ran, template.source().to_owned())
    }

    /// Each decision in words: the condition, its relation, its operands, and the outcome.
    fn decided(template: &str, context: &str) -> Vec<String> {
        let (ran, source) = ran(template, context);
        let decision = |decision: &super::Decision| {
            let operands: Vec<String> = decision.operands.iter().map(|(a, b)| format!("{a} {b}")).collect();
            let condition = &source[decision.span.clone()];
            format!("{condition} | {:?} | {} | {}", decision.relation, operands.join(", "), decision.outcome)
        };
        ran.decisions.iter().map(decision).collect()
    }

    #[test]
    fn every_condition_that_runs_is_recorded_with_its_outcome_and_operands() {
        let context = r#"{"m": {"text": "Hi?", "calls": [1, 2, 3]}, "level": "high"}"#;
        for (template, expected) in [
            ("{% if m.text %}{% endif %}", &["m.text | Truth | \"Hi?\" null | true"][..]),
            ("{% if not m.note %}{% endif %}", &["m.note | Truth | null null | false"]),
            ("{{ 'a' if m.text == 'x' else 'b' }}", &["m.text == 'x' | Equal | \"Hi?\" \"x\" | false"]),
            // The outcome is that of the relation, whichever way the template asks.
            ("{{ m.text != 'x' }}", &["m.text != 'x' | Equal | \"Hi?\" \"x\" | false"]),
            ("{% set q = '?' in m.text %}", &["'?' in m.text | In | \"?\" \"Hi?\" | true"]),
            ("{{ m.calls | length > 3 }}", &["m.calls | length > 3 | Greater | 3 3 | false"]),
            (
                "{% if m.text.endswith('?') and level in ['low', 'high'] %}{% endif %}",
                &[
                    "m.text.endswith('?') | EndsWith | \"Hi?\" \"?\" | true",
                    "level in ['low', 'high'] | In | \"high\" [\"low\", \"high\"] | true",
                ],
            ),
            (
                "{{ {'low': 1, 'high': 2}[level] }}",
                &["{'low': 1, 'high': 2}[level] | Key | \"high\" [\"low\", \"high\"] | true"],
            ),
            ("{{ {'low': 1}.get(level) }}", &["{'low': 1}.get(level) | Key | \"high\" [\"low\"] | false"]),
            (
                "{% for c in m.none or [] %}{% endfor %}",
                &["m.none | Truth | null null | false", "m.none or [] | Items | 0 null | false"],
            ),
            ("{{ {'low': 1}.get(level, 0) }}", &["{'low': 1}.get(level, 0) | Key | \"high\" [\"low\"] | false"]),
            ("{% if level is defined %}{% endif %}", &["level is defined | Test | null null | true"]),
            ("{% if m.text is string %}{% endif %}", &["m.text is string | Test | \"Hi?\" null | true"]),
            ("{% if false %}{% if m.text %}{% endif %}{% endif %}", &[]),
            // Every operand decides but the one that is the value.
            (
                "{% set c = (m.note or m.text) and m.calls %}",
                &["m.note | Truth | null null | false", "m.text | Truth | \"Hi?\" null | true"],
            ),
            (
                "{% for c in m.calls if c > 2 %}{% endfor %}",
                &[
                    "c > 2 | Greater | 1 2, 2 2 | false",
                    "c > 2 | Greater | 3 2 | true",
                    "m.calls | Items | 1 null | true",
                ],
            ),
        ] {
            assert_eq!(decided(template, context), expected, "{template}");
        }
    }

    #[test]
    fn filters_methods_and_slices_record_whether_they_change_a_text() {
        let context = r#"{"m": {"text": "Hi.", "id": "call_17", "calls": [1, 2]}}"#;
        for (template, name, arguments, changed) in [
            // What the result of a filter holds is there for the render, which takes it once.
            ("{{ m.calls | map('string') | join }}", "map", r#"["string"]"#, true),
            ("{{ m.calls | select('odd') | join }}", "select", r#"["odd"]"#, true),
            ("{% if m.calls | select | list %}yes{% endif %}", "select", "[]", false),
            ("{{ [m.calls | select] | reverse | map('join') | join }}", "select", "[]", false),
            ("{{ m.text | trim }}", "trim", "[]", false),
            ("{{ m.text | upper }}", "upper", "[]", true),
            ("{{ m.id | replace('call_', '') }}", "replace", r#"["call_", ""]"#, true),
            ("{{ m.text.split('\\n')[-1] }}", "split", r#"["\n"]"#, false),
            ("{{ m.text.split('i')[-1] }}", "split", r#"["i"]"#, true),
            ("{{ m.text[:200] }}", "[]", "[200]", false),
        ] {
            let change = ran(template, context).0.changes.remove(0);
            let found = (change.name.as_str(), json::Value::List(change.arguments).to_string(), change.changed);
            assert_eq!(found, (name, arguments.to_owned(), changed), "{template}");
        }
    }

    #[test]
    fn a_condition_has_the_outcome_that_a_render_assumes() {
        let context = json::read(r#"{"m": {"text": "Hi?", "calls": [1, 2]}, "level": "high"}"#).unwrap();
        for (source, condition, outcome, text) in [
            ("{% if m.text == 'x' %}a{% else %}b{% endif %}", "m.text == 'x'", true, "a"),
            // The outcome is that of the relation.
            ("{% if m.text != 'x' %}a{% else %}b{% endif %}", "m.text != 'x'", true, "b"),
            ("{{ 'a' if m.note else 'b' }}", "m.note", true, "a"),
            ("{{ m.text or 'a' }}", "m.text", false, "a"),
            ("{% if level is defined %}a{% else %}b{% endif %}", "level is defined", false, "b"),
            ("{% if m.text.endswith('!') %}a{% endif %}", "m.text.endswith('!')", true, "a"),
            ("{% for c in m.calls if c > 1 %}{{ c }}{% endfor %}", "c > 1", true, "12"),
            // What is absent stays absent, and so does what it would have.
            ("{% if m.note is defined and m.note.by < 3 %}a{% else %}b{% endif %}", "m.note is defined", true, "b"),
        ] {
            let template = ChatTemplate::compile(source).unwrap();
            let start = source.find(condition).unwrap();
            let assumed = Assumed { span: start..start + condition.len(), outcome };
            let options = assuming(&RenderOptions::default(), &[assumed]);
            assert_eq!(template.render(context.as_object().unwrap(), &options).unwrap().text, text, "{source}");
        }
    }

    #[test]
    fn a_condition_that_goes_both_ways_has_two_entries() {
        let (ran, _) = ran("{% for i in [1, 2] %}{{ ',' if not loop.last }}{% endfor %}", "{}");
        let found: Vec<_> = ran.decisions.iter().filter(|decision| decision.relation == Relation::Truth).collect();
        assert_eq!(found.iter().map(|decision| decision.outcome).collect::<Vec<_>>(), [false, true]);
    }
}
