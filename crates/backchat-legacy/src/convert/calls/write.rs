//! Writes calls as a model does, for the outputs that a conversion is proved with.

use super::{Body, CallSyntax, Calls};
use crate::convert::marks::{self, Mark};
use crate::convert::typed::Change;
use crate::schema::STRING_MARK;
use backchat_core::json::{Object, Value};

impl Calls {
    /// The text before the name of a call.
    pub fn lead_text(&self) -> String {
        match &self.written {
            CallSyntax::Parts { before, .. } => format!("{}{before}", self.lead),
            CallSyntax::Object { .. } => self.lead.clone(),
        }
    }

    /// Calls as a model writes them.
    pub fn write(&self, calls: &[(&str, Value)], gap: &str) -> String {
        let calls: Vec<String> = calls.iter().map(|(name, arguments)| self.one(name, arguments, None)).collect();
        self.enclosed(&calls, gap)
    }

    /// A call with this change to its JSON or its arguments.
    pub fn write_changed(&self, (name, arguments): &(&str, Value), change: &Change) -> String {
        self.enclosed(&[self.one(name, arguments, Some(change))], "")
    }

    /// A call without its marks.
    fn one(&self, name: &str, arguments: &Value, change: Option<&Change>) -> String {
        let changed = |value: Value| match change {
            Some(change) => change.make(value),
            None => value,
        };
        match &self.written {
            CallSyntax::Object { name: key, arguments: arguments_key } => {
                let mut call = Value::Object(Object::new());
                put(&mut call, key, name.into());
                put(&mut call, arguments_key, arguments.clone());
                changed(call).to_string()
            }
            CallSyntax::Parts { before, between, after } => {
                format!("{before}{name}{between}{}{after}", self.write_arguments(&changed(arguments.clone())))
            }
        }
    }

    /// Calls between their marks.
    fn enclosed(&self, calls: &[String], gap: &str) -> String {
        let open = &self.lead;
        let close = self.close.first().map_or("", Mark::sample);
        // The end of the arguments is part of the close.
        let close = match &self.written {
            CallSyntax::Parts { after, .. } => close.strip_prefix(after.as_str()).unwrap_or(close),
            CallSyntax::Object { .. } => close,
        };
        let (lead, tail) = self.section.as_ref().map_or(("", ""), |(open, close)| (open.sample(), close.sample()));
        if self.each {
            return format!("{open}{gap}[{}]{gap}{close}", calls.join(", "));
        }
        let gap = if matches!(self.written, CallSyntax::Object { .. }) { gap } else { "" };
        let calls: Vec<String> = calls.iter().map(|call| format!("{open}{gap}{call}{gap}{close}")).collect();
        let mut calls = calls.join("");
        if self.is_last_bare && gap.is_empty() {
            calls.truncate(calls.len() - close.len());
        }
        format!("{lead}{calls}{tail}")
    }

    fn write_arguments(&self, arguments: &Value) -> String {
        match &self.body {
            Body::Json(args) => json_text(arguments, args),
            Body::Text => arguments.to_string(),
            Body::Tags { pattern, .. } => {
                let Ok(pattern) = backchat_parser::pattern::Pattern::new(pattern) else { return String::new() };
                let outline = pattern.outline();
                let tag = |(key, value): (&str, &Value)| {
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    let fill = |_: usize, name: Option<&str>| match name {
                        Some("key") => key.to_owned(),
                        _ => value.clone(),
                    };
                    format!("\n{}", marks::sample(&outline, &fill))
                };
                let tags: String =
                    arguments.as_object().into_iter().flat_map(|entries| entries.iter()).map(tag).collect();
                tags + "\n"
            }
        }
    }
}

/// Puts a value at a path of keys.
fn put(call: &mut Value, path: &str, value: Value) {
    let Value::Object(entries) = call else { return };
    match path.split_once('.') {
        None => drop(entries.insert(path, value)),
        Some((key, rest)) => put(entries.entry(key).or_insert_with(|| Object::new().into()), rest, value),
    }
}

/// Writes a value so that the content parser `json` reads it with these arguments.
pub(in crate::convert) fn json_text(value: &Value, args: &Value) -> String {
    if args.get("unquoted_keys").is_some() { bare(value) } else { value.to_string() }
}

/// Values as `gemma4-tool-call` reads them.
fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{STRING_MARK}{text}{STRING_MARK}"),
        Value::List(items) => format!("[{}]", items.iter().map(bare).collect::<Vec<_>>().join(",")),
        Value::Object(entries) => {
            let entries: Vec<String> = entries.iter().map(|(key, value)| format!("{key}:{}", bare(value))).collect();
            format!("{{{}}}", entries.join(","))
        }
        other => other.to_string(),
    }
}
