//! Jinja2's filters, and transformers' `tojson`.

mod number;
mod printed;
mod select;
mod sequence;
mod text;

use std::cmp::Ordering;

use minijinja::Value;

use crate::builtins::table::Table;
use crate::builtins::{methods, names};
use crate::engine::limits;
use crate::engine::run::Run;
use crate::values::arguments::{bind, integer, required, string, truth_or};
use crate::values::json::Style;
use crate::values::markup;
use crate::values::{Kind, Result, error, items_of, operators};
use backchat_core::python;

/// A filter: the value first, then the arguments.
pub(crate) type Filter = fn(&Run, &Value, &[Value]) -> Result<Value>;

pub(crate) static FILTERS: Table<Filter> = Table(&[
    ("abs", number::abs),
    ("attr", attr),
    ("batch", sequence::batch),
    ("capitalize", |_, value, arguments| text::mapped("capitalize", value, arguments, python::text::capitalize)),
    ("center", text::center),
    ("count", length),
    ("d", default),
    ("default", default),
    ("dictsort", sequence::dictsort),
    ("e", escape),
    ("escape", escape),
    ("filesizeformat", number::filesizeformat),
    ("first", sequence::first),
    ("float", number::float),
    ("forceescape", force_escape),
    ("format", text::format),
    ("groupby", sequence::groupby),
    ("indent", text::indent),
    ("int", number::int),
    ("items", sequence::items),
    ("join", text::join),
    ("last", sequence::last),
    ("length", length),
    ("list", sequence::list),
    ("lower", |_, value, arguments| text::mapped("lower", value, arguments, str::to_lowercase)),
    ("map", select::map),
    ("max", |_, value, arguments| sequence::extreme("max", value, arguments, Ordering::Greater)),
    ("min", |_, value, arguments| sequence::extreme("min", value, arguments, Ordering::Less)),
    ("pprint", printed::pprint),
    ("random", printed::random),
    ("reject", |_, value, arguments| select::keep(value, arguments, false, false)),
    ("rejectattr", |_, value, arguments| select::keep(value, arguments, true, false)),
    ("replace", text::replace),
    ("reverse", sequence::reverse),
    ("round", number::round),
    ("safe", safe),
    ("select", |_, value, arguments| select::keep(value, arguments, false, true)),
    ("selectattr", |_, value, arguments| select::keep(value, arguments, true, true)),
    ("slice", sequence::slice),
    ("sort", sequence::sort),
    ("string", text::string),
    ("striptags", text::striptags),
    ("sum", sequence::sum),
    ("title", |_, value, arguments| text::mapped("title", value, arguments, text::title)),
    ("tojson", tojson),
    ("trim", text::trim),
    ("truncate", text::truncate),
    ("unique", sequence::unique),
    ("upper", |_, value, arguments| text::mapped("upper", value, arguments, str::to_uppercase)),
    ("urlencode", text::urlencode),
    ("urlize", |_, _, _| Err(error("urlize is not supported: links are for web pages"))),
    ("wordcount", text::wordcount),
    ("wordwrap", text::wordwrap),
    ("xmlattr", printed::xmlattr),
]);

/// Applies a filter, and charges for its value, arguments and result.
pub(crate) fn apply(filter: Filter, run: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    limits::charge(std::slice::from_ref(value))?;
    limits::charge(arguments)?;
    limits::charged(filter(run, value, arguments))
}

fn length(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("length", [], arguments)?;
    operators::len(value).map(Value::from)
}

fn default(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [default, boolean] = bind("default", ["default_value", "boolean"], arguments)?;
    let absent = value.is_undefined() || (truth_or(&boolean, false) && !value.is_true());
    Ok(if absent { default.unwrap_or_else(|| Value::from("")) } else { value.clone() })
}

fn attr(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let [name] = bind("attr", ["name"], arguments)?;
    let name = required("attr", "name", name)?;
    let name = string("attr", &name)?;
    match Kind::of(value) {
        Kind::Object(_) => value.get_attr(name),
        _ if names::is_method(name) => methods::attribute(value, name),
        _ => Ok(Value::UNDEFINED),
    }
}

fn safe(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("safe", [], arguments)?;
    Ok(Value::from_safe_string(crate::values::text::to_str(value).into_owned()))
}

fn escape(run: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    if value.is_safe() { Ok(value.clone()) } else { force_escape(run, value, arguments) }
}

fn force_escape(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    bind("escape", [], arguments)?;
    Ok(markup::escaped(value))
}

/// transformers' own: `json.dumps` without HTML's escapes.
fn tojson(_: &Run, value: &Value, arguments: &[Value]) -> Result<Value> {
    let names = ["ensure_ascii", "indent", "separators", "sort_keys"];
    let [ensure_ascii, indent, separators, sort_keys] = bind("tojson", names, arguments)?;
    let indent = indent.filter(|indent| !indent.is_none()).map(|indent| match Kind::of(&indent) {
        Kind::Str(text) => Result::Ok(text.to_owned()),
        _ => Ok(" ".repeat(integer("tojson", &indent)?.clamp(0, 1000).unsigned_abs() as usize)),
    });
    let indent: Option<String> = indent.transpose()?;
    let pair = separators.filter(|separators| !separators.is_none()).map(|separators| {
        <[Value; 2]>::try_from(items_of(&separators)?).map_err(|_| error("tojson() expects two separators"))
    });
    let pair = pair.transpose()?;
    let (item_separator, key_separator) = match &pair {
        None => (if indent.is_some() { "," } else { ", " }, ": "),
        Some([item, key]) => (string("tojson", item)?, string("tojson", key)?),
    };
    let style = Style {
        ensure_ascii: truth_or(&ensure_ascii, false),
        indent,
        item_separator,
        key_separator,
        sort_keys: truth_or(&sort_keys, false),
    };
    style.dumps(value).map(Value::from)
}
