//! Releases that read as transformers did before 5.24: what they refuse of its additions, and what they load and misread.

use super::{Caution, Reader, Reason, Refusal, field_path};
use backchat_parser::template::{Delimiter, Field, Placeholder, Template};

/// The content parsers that a copy does not know.
pub(super) fn check(reader: Reader, template: &Template) -> Vec<Refusal> {
    let Some(known) = reader.limits().content_parsers else { return Vec::new() };
    let mut available = known.to_vec();
    available.sort_unstable();
    let available = format!("{available:?}").replace('"', "'");
    let unknown = |field: &Field| {
        let parser = field.content.name().filter(|name| !known.contains(name))?;
        let words = format!("Field '{}': unknown content parser '{parser}'. Available: {available}", field.name);
        Some(Refusal { reader, place: field_path(&field.name).key("content"), reason: Reason::Construct, words })
    };
    template.fields().iter().filter_map(unknown).collect()
}

/// The fields whose `transform` uses what only the close captures: they load, and none of their regions has a value.
pub(super) fn cautions(reader: Reader, template: &Template) -> Vec<Caution> {
    let caution = |field: &Field| {
        let name = closing_captures(field).first().map(|placeholder| placeholder.name.clone())?;
        let effect =
            format!("`{{{name}}}` is not defined, because only the close captures it: every region is malformed");
        let help = "capture it in the open pattern, or leave it out";
        Some(Caution::new(reader, field_path(&field.name).key("close_pattern"), effect, help))
    };
    template.fields().iter().filter_map(caution).collect()
}

/// The placeholders of a `transform` that only the close captures.
fn closing_captures(field: &Field) -> Vec<&Placeholder> {
    let captures = |delimiter: &Option<Delimiter>, name: &str| {
        delimiter.as_ref().is_some_and(|delimiter| delimiter.pattern().names().any(|known| known == name))
    };
    let placeholders = field.transform.iter().flat_map(|transform| transform.shape.placeholders());
    placeholders
        .filter(|placeholder| !captures(&field.open, &placeholder.name) && captures(&field.close, &placeholder.name))
        .collect()
}
