//! Assumes the wire of a response template without a chat template: the simplest text that the template reads.
//!
//! Optional parts are left out, the first of several alternatives is taken, and the order is reasoning, content, calls.
//! The result is proved like any response template; a template that does not read it completely is refused.

use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::Value;
use backchat_core::push_new;
use backchat_derive::derive::{self, Model, Status};
use backchat_derive::wire::{Wire, assumed};
use backchat_parser::pattern::PatternPart;
use backchat_parser::template::{ContentSpec, Delimiter, Field, Shape, Template};

/// The most texts of a delimiter that are considered.
const MOST_TEXTS: usize = 64;

/// Assumes a wire format that a response template reads. Every grammar built from it has a note about that.
///
/// ```
/// # mod backchat { pub use {backchat_grammar as grammar, backchat_parser::*}; }
/// use backchat::Template;
/// use backchat::grammar::{Fed, Request, assume, build};
///
/// let text = r#"{"start_anchor": "<bot>", "fields": {"thinking": {"open": "<think>", "close": "</think>"}, "content": {}}}"#;
/// let template = Template::load(text)?.template;
/// let wire = assume(&template).unwrap();
/// let grammar = build(&template, &wire, &Request::default()).unwrap();
/// assert_eq!(grammar.matcher().feed("<think>Hm.</think>Yes."), Fed::Ok { may_end: true });
/// # Ok::<(), backchat::LoadError>(())
/// ```
///
/// # Errors
///
/// The template does not determine a wire format: it has a delimiter with back-references, or reads a dialect of JSON.
pub fn assume(template: &Template) -> Result<Wire, Diagnostic> {
    let source = chat_template(template)?;
    let unclear = |message: &str| cannot(&format!("{message}: renders of its chat template are needed"));
    let options = derive::Options::default();
    let model = Model::open(&source, Some(template.clone()), &options)
        .map_err(|_| unclear("what it reads cannot be written, or shows no content"))?;
    if derive::prove(&source, template, &options).status != Status::Proved {
        return Err(unclear("it does not read back what it seems to read"));
    }
    Ok(assumed(model.wire))
}

fn cannot(message: &str) -> Diagnostic {
    Diagnostic::error(
        "grammar-no-wire",
        format!("the response template alone does not tell how a turn is written: {message}"),
    )
    .help("name the chat template, or the model's folder")
}

/// A chat template that writes what the response template reads.
fn chat_template(template: &Template) -> Result<String, Diagnostic> {
    let content = template.field("content");
    let calls = template.field("tool_calls");
    let is_reasoning =
        |field: &&Field| !["content", "tool_calls", "role"].contains(&field.name.as_str()) && field.content.is_text();
    let reasoning = template.fields().iter().find(is_reasoning);
    let stop = stop(content, [reasoning, calls]);
    let header = literal(texts(template.start_anchor()).first().map_or("", String::as_str));
    let region = |field: Option<&Field>| -> Result<(String, String), Diagnostic> {
        let Some(field) = field else { return Ok(Default::default()) };
        Ok((opening(field, &|_| None)?, literal(&close(field, &stop))))
    };
    let mut turn = String::new();
    if let Some(field) = reasoning {
        let (open, close) = region(Some(field))?;
        let key = Value::from(field.name.as_str());
        turn += &format!("{{% if m[{key}] %}}{open}{{{{ m[{key}] }}}}{close}{{% endif %}}");
    }
    let (open, close) = region(content)?;
    turn += &format!("{{% if m.content %}}{open}{{{{ m.content }}}}{close}{{% endif %}}");
    if let Some(field) = calls {
        turn += &calls_of(field, &stop)?;
    }
    Ok(format!(
        "{{% for m in messages %}}{{% if m.role == 'assistant' %}}{header}{turn}{}{{% else %}}{{{{ m.content }}}}\
         {{{{ '\\n' }}}}{{% endif %}}{{% endfor %}}{{% if add_generation_prompt %}}{header}{{% endif %}}",
        literal(&stop)
    ))
}

/// The texts that close a field; empty if only the end of the turn does.
fn closes(field: &Field) -> Vec<String> {
    field.close.as_ref().map_or_else(Vec::new, texts)
}

/// The text that ends the turn: it closes the content, and every other field that is still open. Empty if there is
/// none.
fn stop(content: Option<&Field>, others: [Option<&Field>; 2]) -> String {
    let own = content.map_or_else(Vec::new, closes);
    let others: Vec<Vec<String>> = others.into_iter().flatten().map(closes).collect();
    let ends_all = own.iter().find(|text| others.iter().all(|other| other.contains(text)));
    let ends_content = own.iter().rev().find(|text| others.iter().all(|other| other.first() != Some(text)));
    ends_all.or(ends_content).cloned().unwrap_or_default()
}

/// The text that closes a region before the turn ends; empty if there is none.
fn close(field: &Field, stop: &str) -> String {
    closes(field).into_iter().find(|text| text != stop).unwrap_or_default()
}

/// The calls of a message, as Jinja.
fn calls_of(field: &Field, stop: &str) -> Result<String, Diagnostic> {
    let shape = field.transform.as_ref().map(|transform| &transform.shape);
    let each = field.transform.as_ref().is_some_and(|transform| transform.each);
    let at = |path: &[&str]| match shape {
        Some(shape) => hole(shape, path, each),
        None => Some(Hole::Content(path.iter().map(|&key| key.to_owned()).collect())),
    };
    let name = at(&["function", "name"]).ok_or_else(|| cannot("`tool_calls` gives no name of a function"))?;
    let arguments = at(&["function", "arguments"]).ok_or_else(|| cannot("`tool_calls` gives no arguments"))?;
    let id = shape.and_then(|shape| hole(shape, &["id"], each));
    let capture = |group: &str| {
        let values = [(Some(&name), "c.function.name"), (id.as_ref(), "c.id")];
        values
            .into_iter()
            .find(|(hole, _)| *hole == Some(&Hole::Capture(group.to_owned())))
            .map(|(_, value)| value.to_owned())
    };
    let open = opening(field, &capture)?;
    let holes = [(Some(&name), "c.function.name"), (Some(&arguments), "c.function.arguments"), (id.as_ref(), "c.id")];
    let body = body(field, &holes)?;
    let close = literal(&close(field, stop));
    if each {
        let all = format!("[{{% for c in m.tool_calls %}}{body}{{% if not loop.last %}}, {{% endif %}}{{% endfor %}}]");
        return Ok(format!("{{% if m.tool_calls %}}{open}{all}{close}{{% endif %}}"));
    }
    let one = match field.repeats {
        true => "",
        false => "{% if m.tool_calls | length > 1 %}{{ raise_exception('one call') }}{% endif %}",
    };
    Ok(format!(
        "{{% if m.tool_calls %}}{one}{{% for c in m.tool_calls %}}{open}{body}{close}{{% endfor %}}{{% endif %}}"
    ))
}

/// The origin of a value of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Hole {
    /// A group of the opening pattern.
    Capture(String),
    /// The path to it in the region's value.
    Content(Vec<String>),
}

/// The origin of the value at a path of a shape.
pub(crate) fn hole(shape: &Shape, path: &[&str], each: bool) -> Option<Hole> {
    match (shape, path) {
        (Shape::Object(entries), [key, rest @ ..]) => hole(entries.get(key)?, rest, each),
        (Shape::Placeholder(placeholder), rest) => {
            let rest = rest.iter().map(|&key| key.to_owned());
            let keys = placeholder.keys.iter().cloned().chain(rest);
            match placeholder.name.as_str() {
                "content" => Some(Hole::Content(keys.collect())),
                name if each => Some(Hole::Content([name.to_owned()].into_iter().chain(keys).collect())),
                name => (keys.count() == 0).then(|| Hole::Capture(name.to_owned())),
            }
        }
        _ => None,
    }
}

/// A call in a list of Python calls, as Jinja. JSON's constants and strings are among those that the list may have.
const CALL: &str = "{{ c.function.name }}({% for k, v in c.function.arguments | items %}{{ k }}={{ v | tojson }}\
                    {% if not loop.last %}, {% endif %}{% endfor %})";

/// Whether the parts of a call are where a list of Python calls has them.
fn takes_calls(inside: &[(&[String], &str)]) -> bool {
    let is_at =
        |key: &str, value: &str| inside.iter().any(|(path, given)| *path == [key.to_owned()] && *given == value);
    is_at("name", "c.function.name") && is_at("arguments", "c.function.arguments")
}

/// The body of a region of calls, as Jinja.
fn body(field: &Field, holes: &[(Option<&Hole>, &str)]) -> Result<String, Diagnostic> {
    let unclear = || cannot("the body of `tool_calls` is in a form that has more than one spelling");
    let inside = holes.iter().filter_map(|(hole, value)| match hole {
        Some(Hole::Content(path)) => Some((path.as_slice(), *value)),
        _ => None,
    });
    let inside: Vec<(&[String], &str)> = inside.collect();
    let is_whole = matches!(inside.as_slice(), [([], "c.function.arguments")]);
    let value = "{{ v if v is string else v | tojson }}";
    match &field.content {
        ContentSpec::Json(args) if !args.is_dialect() => match inside.as_slice() {
            [([], value)] => Ok(format!("{{{{ {value} | tojson }}}}")),
            _ => Ok(format!("{{{{ {} | tojson }}}}", object(&inside).ok_or_else(unclear)?)),
        },
        ContentSpec::XmlInline(args) if is_whole => {
            let group = |name: &str| match name {
                "key" => Some("k".to_owned()),
                "value" => Some("v if v is string else v | tojson".to_owned()),
                _ => None,
            };
            let pair = written(&args.tag_pattern.outline(), &group).ok_or_else(unclear)?;
            Ok(format!("{{% for k, v in c.function.arguments | items %}}{pair}{{% endfor %}}"))
        }
        ContentSpec::KvLines(args) if is_whole => {
            let (line, between) =
                (args.line_sep.as_deref().unwrap_or("\n"), args.kv_sep.as_ref().map_err(|_| unclear())?);
            Ok(format!(
                "{{% for k, v in c.function.arguments | items %}}{{{{ k }}}}{}{value}{{% if not loop.last %}}{}{{% endif %}}\
                 {{% endfor %}}",
                literal(between),
                literal(line)
            ))
        }
        ContentSpec::CallList if takes_calls(&inside) => Ok(CALL.to_owned()),
        ContentSpec::CallList => Err(unclear()),
        ContentSpec::Text { .. } | ContentSpec::Int { .. } | ContentSpec::Float { .. } | ContentSpec::Bool { .. } => {
            Err(unclear())
        }
        ContentSpec::Json(_) | ContentSpec::XmlInline(_) | ContentSpec::KvLines(_) => Err(unclear()),
        ContentSpec::Unusable { .. } => Err(unclear()),
    }
}

/// A Jinja object with these values at these paths; `None` if two conflict.
fn object(values: &[(&[String], &str)]) -> Option<String> {
    let mut keys: Vec<&String> = Vec::new();
    for (path, _) in values {
        let key = path.first()?;
        push_new(&mut keys, key);
    }
    let entries = keys.into_iter().map(|key| {
        let below = values.iter().filter_map(|(path, value)| match path {
            [first, rest @ ..] if first == key => Some((rest, *value)),
            _ => None,
        });
        let below: Vec<(&[String], &str)> = below.collect();
        let value = match below.as_slice() {
            [([], value)] => (*value).to_owned(),
            _ => object(&below)?,
        };
        Some(format!("{}: {value}", Value::from(key.as_str())))
    });
    Some(format!("{{{}}}", entries.collect::<Option<Vec<_>>>()?.join(", ")))
}

/// The simplest text that opens a field as Jinja, with values in place of groups; empty if nothing opens it.
fn opening(field: &Field, group: &dyn Fn(&str) -> Option<String>) -> Result<String, Diagnostic> {
    let Some(open) = &field.open else { return Ok(String::new()) };
    let text = match open.literals() {
        Some(literals) => Some(literals.first().map_or_else(String::new, |text| literal(text))),
        None => written(&open.pattern().outline(), group),
    };
    let source = open.pattern().source();
    text.ok_or_else(|| cannot(&format!("what opens `{}` has no plainest text: {source}", field.name)))
}

/// The texts that a delimiter matches, in the order it tries them.
fn texts(delimiter: &Delimiter) -> Vec<String> {
    match delimiter.literals() {
        Some(literals) => literals.to_vec(),
        None => texts_of(&delimiter.pattern().outline()),
    }
}

fn texts_of(parts: &[PatternPart]) -> Vec<String> {
    let mut all = vec![String::new()];
    for part in parts {
        let ends = match part {
            PatternPart::Text(text) | PatternPart::Run { sample: text, .. } => vec![text.clone()],
            PatternPart::Group { parts, .. } | PatternPart::Many(parts) => texts_of(parts),
            PatternPart::Either(branches) => branches.iter().flat_map(|branch| texts_of(branch)).collect(),
            _ => continue,
        };
        let joined = all.iter().flat_map(|text| ends.iter().map(move |end| format!("{text}{end}")));
        all = joined.take(MOST_TEXTS).collect();
    }
    all.retain(|text| !text.is_empty());
    all
}

/// The simplest text of a pattern as Jinja, with values in place of groups; `None` if a part has no such text.
fn written(parts: &[PatternPart], group: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let mut out = String::new();
    for part in parts {
        match part {
            PatternPart::Text(text) | PatternPart::Run { sample: text, .. } => out += &literal(text),
            PatternPart::Group { name, parts, .. } => match name.as_deref().and_then(group) {
                Some(value) => out += &format!("{{{{ {value} }}}}"),
                None => out += &written(parts, group)?,
            },
            PatternPart::Many(parts) => out += &written(parts, group)?,
            PatternPart::Either(branches) => out += &written(branches.first()?, group)?,
            PatternPart::Space
            | PatternPart::Start
            | PatternPart::End
            | PatternPart::Maybe(_)
            | PatternPart::Ahead(_)
            | PatternPart::NotAhead(_) => {}
            PatternPart::Other => return None,
        }
    }
    Some(out)
}

/// A text as a Jinja expression.
fn literal(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{{{{ {} }}}}", Value::from(text)) }
}
