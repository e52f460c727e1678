//! The tags of a body, their positions, and the values of tags without closer.

use std::ops::Range;

use super::call_form::TagHead;
use crate::content::coerce::Tools;
use crate::content::xml_inline::{self, Tag, TagEntries};
use crate::content::{Mode, Reason, tagged_value};
use crate::template::TagArgs;
use backchat_core::json::Value;

/// The content of a tagged body.
#[derive(Debug, Default)]
pub(super) struct Tags {
    pub read: TagEntries,
    /// The ranges outside all tags that have a word character, and whether they were read as tags.
    pub ignored: Vec<(Range<usize>, bool)>,
    /// Whether there are only blanks around the tags.
    pub is_bare: bool,
    /// Whether a value could hold the beginning of a tag.
    pub may_hold: bool,
    /// The keys that came before.
    pub duplicates: Vec<String>,
    /// Tags whose values hold the heads of others: the key, and the bytes of the tag.
    pub absorbed: Vec<(String, Range<usize>)>,
}

/// The context of the call whose tags are read.
#[derive(Clone, Copy)]
pub(super) struct TagContext<'r> {
    /// The tool, if its arguments are known.
    pub tool: Option<(&'r Tools, &'r str)>,
    /// The beginning of a tag. With it, the value of a tag without its closer ends at the next one, or at the end.
    pub head: Option<&'r TagHead>,
}

/// Reads every tag of a body.
pub(super) fn read(body: &str, args: &TagArgs, context: TagContext<'_>) -> Result<Tags, Reason> {
    let found = xml_inline::tags(body, args)?;
    let may_hold = found.iter().any(|tag| tag.value.is_some_and(|value| may_hold_tag(args, value)));
    let mut tags = Tags { is_bare: true, may_hold, ..Tags::default() };
    let given: Vec<&str> = found.iter().filter_map(|tag| tag.key).collect();
    let mut at = 0;
    for tag in &found {
        tags.read_gap(body, at..tag.span.start, args, context.head)?;
        at = tag.span.end;
        let (key, value) = tagged_value(args, tag.key, tag.value, Mode::Stable)?;
        // The keys of an object are not arguments of the call.
        let is_text = !matches!(value, Value::Object(_) | Value::List(_));
        let Some(inside) = is_text.then(|| context.absorbed(tag, &given)).flatten() else {
            tags.insert(args, key, value);
            continue;
        };
        tags.absorbed.push((tag.key.unwrap_or_default().to_owned(), tag.span.clone()));
        let value = tag.value.unwrap_or_default();
        let first = inside.first().map_or(value.len(), |(_, span)| span.start);
        tags.add(args, tag.key, value.get(..first).map(str::trim_end))?;
        let ends = inside.iter().skip(1).map(|(_, span)| span.start).chain([value.len()]);
        for ((key, span), end) in inside.iter().zip(ends) {
            let is_last = end == value.len();
            let text = value.get(span.end..end);
            tags.add(args, Some(key), if is_last { text } else { text.map(str::trim_end) })?;
        }
    }
    tags.read_gap(body, at..body.len(), args, context.head)?;
    Ok(tags)
}

impl Tags {
    fn add(&mut self, args: &TagArgs, key: Option<&str>, text: Option<&str>) -> Result<(), Reason> {
        let (key, value) = tagged_value(args, key, text, Mode::Stable)?;
        self.insert(args, key, value);
        Ok(())
    }

    fn insert(&mut self, args: &TagArgs, key: &str, value: Value) {
        if !args.merge_duplicates && self.read.entries.contains_key(key) {
            self.duplicates.push(key.to_owned());
        }
        self.read.insert(key, value, args.merge_duplicates);
    }

    /// Examines the text between two tags, which may be tags without closers.
    fn read_gap(
        &mut self,
        body: &str,
        gap: Range<usize>,
        args: &TagArgs,
        head: Option<&TagHead>,
    ) -> Result<(), Reason> {
        let text = body.get(gap.clone()).unwrap_or_default();
        self.is_bare &= text.trim().is_empty();
        if !text.chars().any(|c| c.is_alphanumeric() || c == '_') {
            return Ok(());
        }
        self.ignored.push((gap, false));
        let Some(head) = head else { return Ok(()) };
        let heads = head.heads(text)?;
        // Text before the first head belongs to no tag: this is ambiguous.
        if !heads.first().is_some_and(|(_, span)| text.get(..span.start).is_some_and(|text| text.trim().is_empty())) {
            return Ok(());
        }
        if let Some((_, is_read)) = self.ignored.last_mut() {
            *is_read = true;
        }
        let ends = heads.iter().skip(1).map(|(_, span)| span.start).chain([text.len()]);
        for ((key, span), end) in heads.iter().zip(ends) {
            self.add(args, Some(key), text.get(span.end..end).map(str::trim_end))?;
        }
        Ok(())
    }
}

/// Whether a text could hold the beginning of a tag. Most values cannot, and cost no more than this.
fn may_hold_tag(args: &TagArgs, value: &str) -> bool {
    let pairs = value.as_bytes().windows(2);
    pairs.into_iter().any(|pair| matches!(pair, [one, next] if args.tag_pattern.can_tell_with(*one, *next)))
}

impl TagContext<'_> {
    /// The heads in a tag's value, if all belong to other arguments of the tool that the call does not have.
    fn absorbed<'t>(&self, tag: &Tag<'t>, given: &[&str]) -> Option<Vec<(&'t str, Range<usize>)>> {
        let (tools, name) = self.tool?;
        let heads = self.head?.heads(tag.value?).ok().filter(|heads| !heads.is_empty())?;
        let are_distinct = heads.iter().enumerate().all(|(place, (key, _))| {
            let is_new = !given.contains(key) && !heads.iter().take(place).any(|(other, _)| other == key);
            is_new && tools.has_argument(name, key)
        });
        are_distinct.then_some(heads)
    }
}
