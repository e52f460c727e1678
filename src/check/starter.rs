//! A first file of cases for a template, made of its own delimiters.

use super::fixture::write_section;
use super::reading::Reading;
use super::splits::WHOLE;
use crate::json::Value;
use crate::parser::{Options, Parser};
use crate::template::{ContentSpec, Delimiter, Field, Template};

/// The text of a file with a case for each thing the template knows, and what each means as the template reads it now.
/// `template_path` is how the file names the template.
pub fn starter(template: &Template, template_path: &str) -> String {
    let anchor = example(template.start_anchor()).unwrap_or_default();
    let stop = template.implicit_field().and_then(|field| example(field.close.as_ref()?));
    let mut text = format!(
        "# Made from the template: put outputs of the model in, and read what each means.\ntemplate: {template_path}\n"
    );
    let stop = stop.filter(|stop| !stop.is_empty());
    if let Some(stop) = &stop {
        text.push_str(&format!("stop: {}\n", Value::from(stop.as_str())));
    }
    text.push('\n');
    text.push_str(&if anchor.is_empty() { "=== prefix none\n".to_owned() } else { write_section("prefix", &anchor) });
    // A blank line belongs to a section that is exact, so that none stands behind a prefix or an output.
    for (name, output) in outputs(template, stop.as_deref()) {
        text.push_str(&format!("=== case {name}\n"));
        let output_section = write_section("output", &output);
        text.push_str(&output_section);
        let Ok(parser) = Parser::new(template, &anchor, Options { tools: None, ..Options::default() }) else {
            continue;
        };
        let reading = Reading::new(parser, WHOLE.chunks(&output));
        if let Some(message) = reading.message() {
            text.push_str(&format!("=== message\n{}\n", Value::Object(message.clone()).to_pretty("  ")));
        }
        let problems = reading.problems();
        if !problems.is_empty() {
            text.push_str(&format!("=== error\n{}\n", problems.join("\n")));
        }
        text.push_str(if text.ends_with(&output_section) { "" } else { "\n" });
    }
    text
}

/// The outputs, by the name of their case.
fn outputs(template: &Template, stop: Option<&str>) -> Vec<(String, String)> {
    let has_text = template.implicit_field().is_some();
    let mut outputs = vec![("nothing at all".to_owned(), String::new())];
    if has_text {
        outputs.push(("plain text".to_owned(), "It is sunny.\n\n- 18 °C\n- no wind".to_owned()));
    }
    for field in template.fields().iter().filter(|field| field.open.is_some()) {
        let name = &field.name;
        let Some(region) = region(field) else { continue };
        outputs.push((name.clone(), region.clone()));
        // Nothing follows the stop token.
        let goes_on = stop.is_none_or(|stop| !region.ends_with(stop));
        if field.repeats && goes_on {
            outputs.push((format!("{name} twice"), format!("{region}{region}")));
        }
        if has_text && goes_on {
            outputs.push((format!("text, {name} and a blank line"), format!("I look it up.{region}\n\n")));
            outputs.push((format!("{name}, then text"), format!("{region}It is sunny.")));
        }
        if let Some(open) = field.open.as_ref().and_then(example) {
            outputs.push((format!("{name} cut short"), format!("{open}{}", body(field, "Pa"))));
        }
        if let Some(close) = field.close.as_ref().and_then(example).filter(|close| !close.is_empty()) {
            outputs.push((format!("a close of {name} without its open"), format!("Done.{close}")));
        }
    }
    outputs
}

fn region(field: &Field) -> Option<String> {
    let open = example(field.open.as_ref()?)?;
    let close = field.close.as_ref().and_then(example).unwrap_or_default();
    Some(format!("{open}{}{close}", body(field, "Paris")))
}

/// A body that the field's content parser reads.
fn body(field: &Field, city: &str) -> String {
    match &field.content {
        ContentSpec::Json(_) => format!("{{\"name\": \"get_weather\", \"arguments\": {{\"city\": \"{city}\"}}}}"),
        ContentSpec::Int { .. } => "7".to_owned(),
        ContentSpec::Float { .. } => "7.5".to_owned(),
        ContentSpec::Bool { .. } => "true".to_owned(),
        ContentSpec::XmlInline(args) => {
            let texts = args.tag_pattern.examples();
            texts.into_iter().max_by_key(String::len).unwrap_or_default()
        }
        ContentSpec::KvLines(args) => format!("city{} {city}", args.kv_sep.as_deref().unwrap_or(":")),
        ContentSpec::Text { .. } | ContentSpec::Unusable { .. } => city.to_owned(),
    }
}

/// A text that a delimiter matches as a whole.
fn example(delimiter: &Delimiter) -> Option<String> {
    if let Some(literals) = delimiter.literals() {
        return literals.first().cloned();
    }
    let pattern = delimiter.pattern();
    let is_whole = |text: &String| {
        pattern.find_at(text, 0).ok().flatten().is_some_and(|found| found.span() == (0, text.len()) && !text.is_empty())
    };
    pattern.examples().into_iter().find(is_whole)
}
