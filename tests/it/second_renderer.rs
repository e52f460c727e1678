//! Chat templates rendered a second time, by minijinja's own interpreter: neither shares a line with ours but the values.
//!
//! Where the two dialects of Jinja agree, so must the renders. What transformers adds to Jinja is added to minijinja here;
//! [`DIFFERENCES`] has what then differs, with the cause.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::LazyLock;

use backchat::chat::{ChatTemplate, RenderErrorKind, RenderOptions};
use backchat::json::{self, Object, Value};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{AutoEscape, Environment, Error, ErrorKind};
use minijinja_contrib::pycompat;
use regex::{Captures, Regex};
use serde_core::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use crate::chat_templates::conversations;

/// The time of every render.
const NOW: &str = "2025-07-26T08:00:00";

/// Conversations with values that dialects print differently: numbers, `null`, nested values, white space, not only ASCII.
const VALUES: &str = include_str!("../chat_templates/values.json");

/// The templates whose renders of a conversation differ.
const DIFFERENCES: &[(&str, &[&str])] = &[
    // Where a template prints a number itself, without `tojson`, minijinja writes every digit; Python writes an exponent below
    // 1e-4 and from 1e16.
    (
        "numbers with an exponent",
        &[
            "lfm_2_5",
            "nemotron_3_nano",
            "qwen3_coder",
            "seed_oss",
            "step_3_5",
            "arguments_as_a_string",
            "tags_with_cdata",
        ],
    ),
];

#[test]
fn minijinja_renders_the_same_but_for_explained_differences() {
    let mut same = 0;
    let mut differ: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, source) in ["chat_templates", "tests/derive"].into_iter().flat_map(templates) {
        let ours = ChatTemplate::compile(&source).unwrap();
        let mut environment = environment();
        environment.add_template_owned("chat", without_generation_tags(&source)).unwrap();
        let theirs = environment.get_template("chat").unwrap();
        for (conversation, context) in contexts() {
            let one = ours.render(&context, &RenderOptions::default().now(NOW.to_owned()));
            let other = theirs.render(minijinja::Value::from(Serde(Value::Object(context))));
            match (one, other) {
                (Ok(one), Ok(other)) if one.text == other => same += 1,
                // The words of an error are the renderer's, unless the template raised it.
                (Err(one), Err(other))
                    if one.kind() != RenderErrorKind::Raised || other.to_string().contains(&one.message) => {}
                _ => differ.entry(conversation).or_default().push(name.clone()),
            }
        }
    }
    let explained = DIFFERENCES.iter().map(|(conversation, templates)| {
        (conversation.to_string(), templates.iter().map(|name| name.to_string()).collect())
    });
    assert_eq!(differ, explained.collect(), "what differs, and what is explained");
    assert!(same > 1500, "only {same} renders to compare");
}

/// The templates of a folder with their names, without the one that never ends: minijinja has no limit.
fn templates(folder: &str) -> Vec<(String, String)> {
    let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)).unwrap();
    let mut templates: Vec<_> = files
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jinja"))
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read_to_string(path).unwrap()))
        .filter(|(name, _)| name != "runs_forever")
        .collect();
    templates.sort();
    templates
}

fn contexts() -> Vec<(String, Object)> {
    let Value::Object(values) = json::read(VALUES).unwrap() else { panic!("an object of conversations") };
    let values = values.iter().map(|(title, context)| (title.to_owned(), context.as_object().unwrap().clone()));
    conversations().into_iter().chain(values).collect()
}

/// Jinja as transformers sets it up, with what it adds.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap());
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    environment.set_unknown_method_callback(pycompat::unknown_method_callback);
    environment.add_function("raise_exception", |message: String| -> Result<(), Error> {
        Err(Error::new(ErrorKind::InvalidOperation, message))
    });
    environment.add_function("strftime_now", |format: String| match format.as_str() {
        "%d %b %Y" => Ok("26 Jul 2025"),
        "%d %B %Y" => Ok("26 July 2025"),
        "%Y-%m-%d" => Ok("2025-07-26"),
        _ => Err(Error::new(ErrorKind::InvalidOperation, format!("a format that no template has: {format}"))),
    });
    environment.add_filter("tojson", to_json);
    environment
}

/// `json.dumps` with the arguments that templates give it.
fn to_json(value: minijinja::Value, arguments: Kwargs) -> Result<String, Error> {
    let indent: Option<usize> = arguments.get("indent")?;
    let separators: Option<Vec<String>> = arguments.get("separators")?;
    // Both sides print every character as it is.
    let _: Option<bool> = arguments.get("ensure_ascii")?;
    arguments.assert_all_used()?;
    let dump = match (indent, separators.as_deref()) {
        (Some(width), None) => dump(&value, PrettyFormatter::with_indent(" ".repeat(width).as_bytes())),
        (None, Some([item, key])) => dump(&value, Separators { item, key }),
        (None, None) => dump(&value, Separators { item: ", ", key: ": " }),
        _ => return Err(Error::new(ErrorKind::InvalidOperation, "arguments of tojson that no template has")),
    };
    dump.map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}

fn dump(value: &minijinja::Value, formatter: impl Formatter) -> serde_json::Result<String> {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, formatter))?;
    Ok(String::from_utf8(text).unwrap())
}

struct Separators<'s> {
    item: &'s str,
    key: &'s str,
}

impl Formatter for Separators<'_> {
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(self.item.as_bytes()) }
    }

    /// Python writes at least two digits of an exponent.
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        let text = serde_json::to_string(&value)?;
        match text.split_once("e-") {
            Some((digits, exponent)) if exponent.len() == 1 => write!(writer, "{digits}e-0{exponent}"),
            _ => writer.write_all(text.as_bytes()),
        }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.begin_array_value(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(self.key.as_bytes())
    }
}

/// The template with a tag in place of each `generation` tag that trims as much around it and prints the same.
fn without_generation_tags(source: &str) -> String {
    static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\{%[-+]?\s*)(end)?generation(\s*[-+]?%\})").unwrap());
    let tag = |tag: &Captures| format!("{}{}{}", &tag[1], tag.get(2).map_or("if true", |_| "endif"), &tag[3]);
    TAG.replace_all(source, tag).into_owned()
}
