//! Where a call is in a render, and the object that it is written as.

use std::ops::Range;

use crate::wire::shapes;
use crate::wire::structure::{KEY_AGAIN, ObjectBody, Pairs};
use crate::wire::trace::{Slot, SlotKind, Trace};
use backchat_core::json::{self, Value};
use backchat_core::text::slice;
use backchat_probe::probe::Call;

/// The bytes of a call in a trace, and its JSON object if it is one.
pub(super) struct Located {
    pub range: Range<usize>,
    pub object: Option<ObjectBody>,
}

/// Where the first key of a call begins, including its opening marks if they are there.
pub(super) fn begin_of_pairs(trace: &Trace, index: usize, pairs: &Pairs) -> Option<usize> {
    let keys = trace.of_call(index).filter(|slot| matches!(slot.kind, SlotKind::Key(..)));
    let start = keys.map(|slot| slot.range.start).min()?;
    let brace = pairs.braces.as_ref().map_or("", |(open, _)| open);
    let open = format!("{brace}{}", pairs.cut.open);
    Some(trace.get(0..start).strip_suffix(open.as_str()).map_or(start, str::len))
}

/// Where the last value of a call ends, including its closing mark if it is there.
pub(super) fn end_of_pairs(trace: &Trace, index: usize, pairs: &Pairs) -> Option<usize> {
    let values = trace.of_call(index).filter_map(|slot| match slot.kind {
        SlotKind::Value(_, at) => Some((slot.range.end, at)),
        _ => None,
    });
    let (end, at) = values.max()?;
    let close = pairs.cut.close.replace(KEY_AGAIN, &shapes::key(index, at));
    let brace = pairs.braces.as_ref().map_or("", |(_, close)| close);
    let close = format!("{}{close}{brace}", pairs.values.quotes().1);
    Some(if trace.rest(end).starts_with(&close) { end + close.len() } else { end })
}

/// The number of bytes of a call before its first slot and after its last one.
pub(super) fn margins(one: &Trace, located: &Located) -> (usize, usize) {
    let own = one.range_of(0).unwrap_or_else(|| located.range.clone());
    (own.start.saturating_sub(located.range.start), located.range.end.saturating_sub(own.end))
}

/// The bytes of a call: from its first value to its last, or the whole object that contains them.
pub(super) fn locate(trace: &Trace, index: usize, call: &Call, pairs: Option<&Pairs>) -> Option<Located> {
    let Range { start, end } = trace.range_of(index)?;
    if let Some(pairs) = pairs {
        let start = begin_of_pairs(trace, index, pairs).map_or(start, |first| start.min(first));
        let end = end_of_pairs(trace, index, pairs).map_or(end, |last| end.max(last));
        return Some(Located { range: start..end, object: None });
    }
    let slots: Vec<&Slot> = trace.of_call(index).collect();
    let name = slots.iter().find(|slot| matches!(slot.kind, SlotKind::Name(_)));
    let name = name.or_else(|| slots.iter().find(|slot| matches!(slot.kind, SlotKind::Id(_))))?;
    let arguments = slots.iter().find(|slot| matches!(slot.kind, SlotKind::Arguments(..)))?;
    let from = name.range.start.min(arguments.range.start);
    let upto = name.range.end.max(arguments.range.end);
    // The widest object that contains this call but no list of calls.
    let braces = trace.text.get(..from)?.match_indices('{').map(|(at, _)| at);
    let objects = braces.rev().take(8).filter_map(|at| {
        let (value, end) = json::value_at(&trace.text, at).filter(|(_, end)| *end >= upto)?;
        Some((at..end, object(&value, call)?))
    });
    let object = objects.last();
    Some(match object {
        Some((range, object)) => {
            // Parts outside the object, such as an id before it, still belong to the call.
            Located { range: range.start.min(start)..range.end.max(end), object: Some(object) }
        }
        None => Located { range: start..end, object: None },
    })
}

/// The places of the parts of a call in a JSON object.
pub(in crate::wire) fn object(value: &Value, call: &Call) -> Option<ObjectBody> {
    let entries = value.as_object()?;
    let arguments = Value::Object(call.arguments.clone());
    let holds = |value: &Value| match value {
        Value::Object(_) => *value == arguments,
        Value::String(text) => backchat_core::json::read(text).is_ok_and(|value| value == arguments),
        _ => false,
    };
    let keys: Vec<String> = entries.keys().map(str::to_owned).collect();
    if let Some(value) = entries.get(&call.name)
        && keys.len() == 1
        && holds(value)
    {
        return Some(ObjectBody { name: None, arguments: vec![call.name.clone()], id: None, keys, in_array: false });
    }
    let name = path_to(value, &|value| value.as_str() == Some(&call.name))?;
    let arguments = path_to(value, &holds)?;
    // No path leads through a key that differs from call to call.
    if [&name, &arguments].iter().any(|path| path.contains(&call.id) || path.contains(&call.name)) {
        return None;
    }
    let id = path_to(value, &|value| value.as_str() == Some(&call.id)).or_else(|| made_id(value));
    Some(ObjectBody { name: Some(name), arguments, id, keys, in_array: false })
}

/// A key that is named like an id, for templates that make up ids.
fn made_id(value: &Value) -> Option<Vec<String>> {
    value.as_object()?.iter().find_map(|(key, value)| {
        let is_named = key == "id" || key.ends_with("_id") || key.ends_with("Id");
        (is_named && value.as_str().is_some()).then(|| vec![key.to_owned()])
    })
}

/// The path to the first value inside an object that passes a test.
fn path_to(value: &Value, test: &dyn Fn(&Value) -> bool) -> Option<Vec<String>> {
    value.as_object()?.iter().find_map(|(key, value)| {
        if test(value) {
            return Some(vec![key.to_owned()]);
        }
        let mut path = path_to(value, test)?;
        path.insert(0, key.to_owned());
        Some(path)
    })
}

/// Whether this many calls are in one JSON array.
pub(super) fn list_with(trace: &Trace, count: usize) -> bool {
    let names: Option<Vec<&Slot>> = (0..count).map(|call| trace.slot(SlotKind::Name(call))).collect();
    let Some([first, ..]) = names.as_deref() else { return false };
    let last = names.iter().flatten().last().map_or(0, |last| last.range.end);
    slice(&trace.text, ..first.range.start).match_indices('[').rev().take(4).any(|(at, _)| {
        json::value_at(&trace.text, at).is_some_and(|(value, end)| {
            let items = value.as_list().unwrap_or_default();
            end > last && items.len() == count && items.iter().all(|item| item.as_object().is_some())
        })
    })
}

/// The text before the object of a call, given the text before its first slot in another render.
pub(super) fn pre_of<'g>(one: &Trace, located: &Located, gap: &'g str) -> &'g str {
    gap.get(..gap.len().saturating_sub(margins(one, located).0)).unwrap_or(gap)
}

/// The same after it.
pub(super) fn post_of<'g>(one: &Trace, located: &Located, gap: &'g str) -> &'g str {
    gap.get(margins(one, located).1..).unwrap_or(gap)
}
