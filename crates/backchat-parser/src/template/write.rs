//! Writes a template as canonical JSON: defaults left out, keys in a fixed order; loading it gives the same template.

use super::{Delimiter, Field, Template, keys};
use backchat_core::json::{Object, Value, texts};

impl Template {
    /// The template as JSON, its keys in conventional order; defaults are left out.
    pub fn to_value(&self) -> Value {
        let mut out = Object::from([("version", 1_i64.into())]);
        if !self.defaults().is_empty() {
            out.insert("defaults", self.defaults().clone().into());
        }
        write_delimiter(Some(self.start_anchor()), ["start_anchor", "start_anchor_pattern"], &mut out);
        let fields = self.fields().iter().map(|field| (field.name.clone(), field.to_value())).collect();
        out.insert("fields", Value::Object(fields));
        Value::Object(out)
    }

    /// The template as canonical JSON text, two spaces a level, with a newline at the end.
    pub fn to_json(&self) -> String {
        self.to_value().to_pretty("  ") + "\n"
    }
}

impl Field {
    /// The field as JSON, its keys in conventional order; defaults are left out.
    pub fn to_value(&self) -> Value {
        let mut out = Object::new();
        write_delimiter(self.open.as_ref(), ["open", "open_pattern"], &mut out);
        write_delimiter(self.close.as_ref(), ["close", "close_pattern"], &mut out);
        out.extend(self.repeats.then(|| ("repeats", true.into())));
        out.extend(self.join.as_deref().map(|join| ("join", join.into())));
        out.extend((!self.optional).then(|| ("optional", false.into())));
        let parser = self.content.name().filter(|_| !self.content.is_text());
        out.extend(parser.map(|parser| ("content", parser.into())));
        match &self.content_args {
            Value::Object(args) if args.is_empty() => {}
            Value::Object(args) => {
                out.insert("content_args", in_table_order(args, self.content.arguments()));
            }
            other => {
                out.insert("content_args", other.clone());
            }
        }
        if let Some(transform) = &self.transform {
            out.insert("transform", transform.shape.to_value());
            out.extend(transform.each.then(|| ("transform_each", true.into())));
        }
        Value::Object(out)
    }
}

fn write_delimiter(delimiter: Option<&Delimiter>, [literal, pattern]: [&str; 2], out: &mut Object) {
    match delimiter {
        None => {}
        Some(Delimiter::Pattern(compiled)) => {
            out.insert(pattern, compiled.source().into());
        }
        Some(Delimiter::Literals { literals, .. }) => {
            let value = match literals.as_slice() {
                [one] => one.as_str().into(),
                several => texts(several),
            };
            out.insert(literal, value);
        }
    }
}

/// The arguments as written; those of the table come first, in its order.
fn in_table_order(args: &Object, table: &[keys::Key]) -> Value {
    let known = table.iter().filter_map(|key| args.get_key_value(key.name));
    let unknown = args.iter().filter(|(name, _)| table.iter().all(|key| key.name != *name));
    Value::Object(known.chain(unknown).map(|(name, value)| (name, value.clone())).collect())
}
