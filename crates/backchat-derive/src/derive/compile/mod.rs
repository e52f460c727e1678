//! Compiles the structure of a wire and one record of choices to a response template.
//!
//! Opens come from the text that can begin a part, closes from the text that can follow it. Every open question is a
//! choice, so that the proof can decide which one reads the wire.

mod calls;
mod channels;
mod choices;
mod frame;
mod message;
mod pairs;
mod pattern;
pub(super) mod pieces;
mod reasoning;

pub(super) use calls::are_python_list;
pub(super) use choices::{CallRegion, Choices, Topic};
#[cfg(test)]
pub(super) use choices::{Guard, Quotes, ThoughtEnd, ThoughtStart};
pub use pairs::value_end;
pub(super) use pairs::{JSON_STRING, MEMBER};
pub(super) use pattern::{any_of, escape, one_or_many, without_doubled_space, written};

use super::needed::holds_probe;
use crate::wire::structure::{FoundBy, Place, Prompt, WireFormat};
use backchat_core::json::{Object, Value};
use backchat_core::{distinct, push_new};
use backchat_parser::pattern::Pattern;
use backchat_probe::probe::steady::is_varying;
use pattern::{Delimiter, differ_in_numbers, header, spaced};

/// Writes the response template of a wire under these choices.
pub(super) fn compile(wire: &WireFormat, choices: &Choices, reasoning_field: &str) -> Value {
    let mut template = Object::new();
    template.insert("defaults", Value::from([("role", "assistant".into())]));
    anchors(wire).write(&mut template, "start_anchor");
    let mut fields = Object::new();
    if let Some(message) = &wire.message {
        message::fields(wire, message, reasoning_field, &mut fields);
    } else {
        if let Some(field) = reasoning::field(wire, choices) {
            fields.insert(reasoning_field, Value::Object(field));
        }
        if let Some(calls) = &wire.calls {
            fields.insert("tool_calls", Value::Object(calls::field(wire, calls, choices)));
        }
        fields.insert("content", Value::Object(content(wire, choices)));
    }
    template.insert("fields", Value::Object(fields));
    Value::Object(template)
}

/// The ends of prompts after which the message begins.
fn anchors(wire: &WireFormat) -> Delimiter {
    let mut anchors: Vec<String> = Vec::new();
    let mut any_end = wire.prompts.is_empty();
    for prompt in &wire.prompts {
        let text = anchor(wire, prompt);
        if text.trim().is_empty() {
            any_end = true;
            continue;
        }
        // The prefill belongs to the message only if it contains an opening mark of the message.
        let opens = first_marks(wire).iter().any(|mark| prompt.prefill.contains(mark));
        let whole = if opens { text } else { format!("{text}{}", prompt.prefill) };
        push_new(&mut anchors, whole);
    }
    let anchors = shortest_ends(&anchors);
    if !any_end && !anchors.iter().any(|text| text.contains(is_varying)) && !differ_in_numbers(&anchors) {
        return Delimiter::Literals(anchors);
    }
    let headers = headers(wire, &anchors);
    if !any_end {
        return Delimiter::Pattern(any_of(headers));
    }
    // A prompt without a distinct end ends with the text, unless it has begun the message.
    let begun = wire.prompts.iter().filter(|prompt| !prompt.prefill.trim().is_empty());
    let mut not: Vec<String> = begun.map(|prompt| format!("(?<!{})", escape(&prompt.prefill))).collect();
    not.sort();
    not.dedup();
    Delimiter::Pattern(any_of(headers.into_iter().chain([format!("{}\\Z", not.concat())])))
}

/// These texts without those that end with another one: a prompt that ends with such a text is cut at the same place.
pub(super) fn shortest_ends<T: AsRef<str> + Clone>(texts: &[T]) -> Vec<T> {
    let has_shorter = |text: &str| {
        let mut ends = texts.iter().map(AsRef::as_ref).filter(|end| !end.is_empty() && end.len() < text.len());
        ends.any(|end| text.ends_with(end))
    };
    texts.iter().filter(|text| !has_shorter(text.as_ref())).cloned().collect()
}

/// The ends of prompts as patterns. Where other text around a word does not tell that it varies, its usual value is no header
/// besides the one for any value.
fn headers(wire: &WireFormat, anchors: &[String]) -> Vec<String> {
    let marks = prefilled(wire);
    let varies = |text: &&String| text.contains(is_varying);
    let pattern = |text: &String| if varies(&text) { header_before(&marks, text) } else { header(text) };
    let varying: Vec<Pattern> =
        anchors.iter().filter(varies).filter_map(|text| Pattern::new(&pattern(text)).ok()).collect();
    let is_new = |text: &&String| varies(text) || !varying.iter().any(|header| is_whole(header, text));
    longest_first(anchors).into_iter().filter(is_new).map(pattern).collect()
}

/// These texts, each before those that it begins with: of the alternatives of a pattern, the first one matches.
fn longest_first(texts: &[String]) -> Vec<&String> {
    let mut ordered: Vec<&String> = Vec::new();
    for text in texts {
        let at = ordered.iter().position(|known| text.starts_with(known.as_str())).unwrap_or(ordered.len());
        ordered.insert(at, text);
    }
    ordered
}

/// The end of a prompt with text that varies as a pattern, which matches none of these marks after it.
fn header_before(marks: &[&str], text: &str) -> String {
    let header = header(text);
    let is_alike = |mark: &str| Pattern::new(&header).is_ok_and(|header| is_whole(&header, mark));
    let alike = marks.iter().filter(|mark| is_alike(mark));
    let not: String = alike.map(|mark| format!("(?!{})", escape(mark))).collect();
    not + &header
}

/// Whether a pattern matches a whole text.
fn is_whole(pattern: &Pattern, text: &str) -> bool {
    matches!(pattern.find_at(text, 0), Ok(Some(found)) if found.span() == (0, text.len()))
}

/// The opening marks of the message that some prompt writes.
fn prefilled(wire: &WireFormat) -> Vec<&str> {
    let is_written = |mark: &&str| wire.prompts.iter().any(|prompt| prompt.prefill.contains(mark));
    first_marks(wire).into_iter().filter(is_written).collect()
}

/// The marks that open a part of the message.
fn first_marks(wire: &WireFormat) -> Vec<&str> {
    let reasoning = wire.reasoning.iter().map(|reasoning| reasoning.open.as_str());
    let calls = wire.calls.iter().filter_map(|calls| calls.cuts.first());
    let calls = calls.flat_map(|cut| [cut.section.as_str(), cut.open.as_str()]);
    let marks = reasoning.chain([wire.content.open.as_str()]).chain(calls);
    marks.map(str::trim).filter(|mark| !mark.is_empty()).collect()
}

/// A header without the beginning of the object that the turn is: that belongs to the message.
fn before_object<'p>(wire: &WireFormat, header: &'p str) -> &'p str {
    let Some(message) = &wire.message else { return header };
    let begun = message.keys.iter().filter_map(|key| {
        let at = header.rfind(&format!("\"{key}\""))?;
        header.get(..at)?.trim_end().strip_suffix('{')
    });
    let bare = header.trim_end().strip_suffix('{');
    begun.chain(bare).min_by_key(|before| before.len()).unwrap_or(header)
}

/// The end of a prompt before the message: its header or, if it has none, the end of the turn before.
fn anchor(wire: &WireFormat, prompt: &Prompt) -> String {
    let begun = Prompt { header: before_object(wire, &prompt.header).to_owned(), ..prompt.clone() };
    let prompt = &begun;
    match prompt.header.trim() {
        "" => {
            let text = format!("{}{}", prompt.before, prompt.header);
            wire.segmentation.from_last(&text).to_owned()
        }
        // Text with a needle is not a header; the text after it may be.
        header if holds_probe(header) => wire.segmentation.from_last(&prompt.header).to_owned(),
        _ => prompt.header.trim_start().to_owned(),
    }
}

/// The opening of reasoning without the label that begins the turn, which content leaves out, if a mark follows it.
fn without_label<'w>(wire: &WireFormat, open: &'w str) -> &'w str {
    let mut rests = wire.content.labels.iter().filter_map(|label| open.strip_prefix(label.trim()));
    let rest = rests.next().map(str::trim_start).filter(|rest| wire.is_distinct(rest));
    rest.unwrap_or(open)
}

/// Whether text that prose may contain opens reasoning, and only at the start of the turn.
fn opens_with_prose(wire: &WireFormat) -> bool {
    wire.reasoning.as_ref().is_some_and(|reasoning| {
        let open = without_label(wire, reasoning.open.trim());
        !open.is_empty() && !wire.is_distinct(open) && reasoning.join.is_none() && !reasoning.is_late
    })
}

/// The text that opens content only after reasoning, and that prose may contain.
fn content_label(wire: &WireFormat) -> Option<&str> {
    let (open, _) = wire.content.after_reasoning.as_ref()?;
    let label = open.trim();
    (!label.is_empty() && !wire.is_distinct(label)).then_some(label)
}

/// Writes the content parser of a text, which may be a JSON string.
fn parser(field: &mut Object, is_json: bool) {
    field.insert("content", if is_json { "json" } else { "text" }.into());
    if is_json {
        field.insert("content_args", Value::from([("allow_non_json", true.into())]));
    }
}

/// Joins the regions of a field, if one text is written as several.
fn joined(field: &mut Object, join: Option<&str>, (open, close): (&str, &str)) {
    let Some(join) = join else { return };
    field.insert("repeats", true.into());
    field.insert("join", join.into());
    // If the marks have no white space, white space next to them is part of the text.
    let is_text = field.get("content") == Some(&"text".into());
    if is_text && open.trim_end() == open && close.trim_start() == close {
        field.insert("content_args", Value::from([("strip", false.into())]));
    }
}

/// A stop as a pattern that matches only at the end of the text, and at the start of a line if renders have it there.
fn at_end(wire: &WireFormat, stop: &str) -> String {
    // The close of a call may have consumed the line break.
    format!("\\s*{}{}\\s*\\Z", if begins_line(wire, stop) { "(?<=\\n)" } else { "" }, escape(stop))
}

fn begins_line(wire: &WireFormat, stop: &str) -> bool {
    wire.end.trim_end().strip_suffix(stop).is_some_and(|before| before.ends_with('\n'))
}

/// Texts that prose may contain, so that they close content only where the turn ends or a call begins: its own close, and
/// the text before the token at which engines cut a turn.
fn footers(wire: &WireFormat) -> Vec<&str> {
    let mut footers = vec![wire.content.close.trim()];
    for (at, token) in wire.stops.iter().enumerate() {
        let longer = wire.stops.iter().take(at).filter_map(|stop| stop.strip_suffix(token.as_str()));
        footers.extend(longer.map(str::trim));
    }
    footers.retain(|footer| !footer.is_empty() && !wire.is_distinct(footer));
    footers
}

/// Where an answer begins, as a pattern: at the start of the turn or after reasoning.
fn start_of_answer(wire: &WireFormat) -> String {
    any_of(starts_of_answer(wire))
}

fn starts_of_answer(wire: &WireFormat) -> impl Iterator<Item = String> {
    let reasoning = wire.reasoning.as_ref().filter(|reasoning| !reasoning.is_late);
    let close = reasoning.map(|reasoning| reasoning.close.trim()).filter(|close| !close.is_empty());
    let behind = close.map(|close| format!("(?<={})\\s*", escape(close)));
    ["^\\s*".to_owned()].into_iter().chain(behind)
}

/// Where an answer begins if it comes behind calls, too. The close of a call takes the white space behind it.
fn start_behind_calls(wire: &WireFormat) -> Option<String> {
    let calls = wire.calls.as_ref().filter(|_| wire.content.place == Place::After)?;
    let cut = calls.cuts.first()?;
    let closes = [&cut.section_close, &cut.close].map(|close| close.trim());
    let close = closes.into_iter().find(|close| wire.is_distinct(close))?;
    Some(format!("(?<={}\\s*)", escape(close)))
}

/// Where an answer begins, as a pattern: at the start of the turn or after reasoning, with the white space of renders alone.
fn exact_start_of_answer(wire: &WireFormat) -> String {
    match &wire.reasoning {
        Some(reasoning) if !reasoning.close.trim().is_empty() && !reasoning.is_late => {
            format!("(?:^|(?<={}))", escape(&reasoning.close))
        }
        _ => "^".to_owned(),
    }
}

/// The marks that close content anywhere.
fn content_closes(wire: &WireFormat, choices: &Choices) -> Vec<String> {
    let content = &wire.content;
    let is_open = !content.open.trim().is_empty();
    let mut closes: Vec<String> = Vec::new();
    let mut add = |text: &str| {
        let text = text.trim();
        if wire.is_distinct(text) {
            push_new(&mut closes, text.to_owned());
        }
    };
    add(&content.close);
    if let Some((open, close)) = &content.after_reasoning {
        add(open);
        add(close);
    }
    if let Some((beside, close)) = &content.beside_calls {
        add(close);
        if !is_open {
            add(beside);
        }
    }
    if let Some(reasoning) = &wire.reasoning {
        reasoning.answer_marks.iter().for_each(|mark| add(mark));
    }
    if !is_open {
        if let Some(calls) = &wire.calls {
            let closes = [&choices.cut(calls).section_close].into_iter().chain(&calls.section_closes);
            closes.flat_map(|close| wire.section_marks(close)).for_each(&mut add);
        }
        if let Some(reasoning) = &wire.reasoning
            && (choices.drops_stray
                || reasoning.empty.is_some()
                || reasoning.source != FoundBy::Rendered
                || wire.is_token(reasoning.close.trim()))
        {
            add(&reasoning.close);
        }
    }
    wire.stops.iter().filter(|stop| !is_remark(wire, stop)).for_each(|stop| add(stop));
    closes
}

/// Whether a stop is a word in brackets on a line of its own, such as `(end)`, which prose may contain elsewhere.
fn is_remark(wire: &WireFormat, stop: &str) -> bool {
    let word = stop.strip_prefix(['(', '[', '{']).and_then(|rest| rest.strip_suffix([')', ']', '}']));
    begins_line(wire, stop) && word.is_some_and(|word| word.chars().all(|c| c.is_lowercase() || c == ' '))
}

/// Patterns that close content only where the turn ends or a call begins: for stops that prose may contain, such as a
/// line of equal signs, and for footers.
fn last_closes(wire: &WireFormat, choices: &Choices) -> Vec<String> {
    let stops = wire.stops.iter().filter(|stop| !wire.is_distinct(stop) || is_remark(wire, stop));
    let mut last: Vec<String> = stops.map(|stop| at_end(wire, stop)).collect();
    for footer in footers(wire) {
        let stops = wire.stops.iter().map(|stop| format!("{}\\s*", escape(stop)));
        let calls = wire.calls.iter().map(|calls| format!("(?={})", calls::opening(wire, calls, choices)));
        let ends = any_of(stops.chain(calls).chain(["\\Z".to_owned()]));
        last.insert(0, format!("\\s*{}\\s*{ends}", escape(footer)));
    }
    last
}

/// The pattern of a mark that may end the turn.
fn close_pattern(wire: &WireFormat, close: &str) -> String {
    let rest = if wire.stops.iter().any(|stop| stop == close) { wire.after_stop(close) } else { Vec::new() };
    if rest.is_empty() {
        return spaced(close);
    }
    // Text that renders write after the stop is consumed with it.
    let rest = any_of(rest.iter().map(|text| spaced(text)));
    format!("{}(?:\\s*{rest})?", spaced(close))
}

/// The pattern of a stop after calls: one that a value may contain ends the turn only at the end of the text.
fn stop_pattern(wire: &WireFormat, stop: &str) -> String {
    match wire.is_distinct(stop) || !wire.after_stop(stop).is_empty() {
        true => close_pattern(wire, stop),
        false => at_end(wire, stop),
    }
}

/// Patterns for everything that closes content anywhere.
fn content_patterns(wire: &WireFormat, choices: &Choices, closes: &[String]) -> Vec<String> {
    let is_open = !wire.content.open.trim().is_empty();
    let mut patterns: Vec<String> = closes.iter().map(|close| close_pattern(wire, close)).collect();
    if let Some(reasoning) = wire.reasoning.as_ref().filter(|reasoning| reasoning.empty.is_some() && !is_open) {
        let label = reasoning.close.trim();
        if !wire.is_distinct(label) {
            let start = any_of(["^\\s*".to_owned()].into_iter().chain(start_behind_calls(wire)));
            patterns.push(format!("{start}{}", spaced(label)));
        }
    }
    // Prose may contain a label, so it counts only at the start of the turn.
    let labels = wire.content.labels.iter().filter(|label| !closes.iter().any(|close| close == label.trim()));
    let start = start_of_answer(wire);
    patterns.extend(labels.map(|label| format!("{start}{}", escape(label))));
    if let Some(calls) = wire.calls.as_ref().filter(|_| is_open) {
        patterns.insert(0, format!("(?={})", calls::opening(wire, calls, choices)));
    }
    patterns
}

/// The marks that open content. A sign that is no mark by itself, such as the end of a header that the model completes, opens it
/// only at the start of the answer: other marks have it, too.
fn content_open(wire: &WireFormat, opens: Vec<String>) -> Delimiter {
    let is_sign = |open: &String| !wire.is_distinct(open) && !open.contains(char::is_alphanumeric);
    if !opens.iter().any(is_sign) {
        return Delimiter::Literals(opens);
    }
    let starts = any_of(starts_of_answer(wire).chain(start_behind_calls(wire)));
    let start = |open: &String| if is_sign(open) { starts.as_str() } else { "" };
    Delimiter::Pattern(any_of(opens.iter().map(|open| format!("{}{}", start(open), escape(open)))))
}

fn content(wire: &WireFormat, choices: &Choices) -> Object {
    let mut field = Object::new();
    let content = &wire.content;
    let open = content.open.trim();
    let closes = content_closes(wire, choices);
    let last = last_closes(wire, choices);
    if !open.is_empty() {
        let beside = content.beside_calls.iter().map(|(open, _)| open.clone());
        let others = beside.chain(channels::Channels::find(wire).map(|channels| channels.without_call()));
        let opens = distinct([open.to_owned()].into_iter().chain(others));
        content_open(wire, opens).write(&mut field, "open");
    }
    let patterns = content_patterns(wire, choices, &closes);
    if !open.is_empty() && wire.calls.is_none() && last.is_empty() && !closes.is_empty() {
        Delimiter::Literals(closes).write(&mut field, "close");
    } else if !patterns.is_empty() || !last.is_empty() {
        let space = if open.is_empty() { "\\s*" } else { "" };
        let anywhere = (!patterns.is_empty()).then(|| format!("{}{space}", any_of(patterns)));
        Delimiter::Pattern(any_of(anywhere.into_iter().chain(last))).write(&mut field, "close");
    }
    parser(&mut field, content.is_json);
    joined(&mut field, content.join.as_deref(), (&content.open, &content.close));
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{draft, object_body, prompt, read, reasoning, said_calls, value, wire, wire_with};
    use crate::wire::structure::{Content, Reasoning};
    use backchat_probe::probe::steady::WORD;

    #[test]
    fn the_plainest_wire_compiles_to_its_header_and_its_stop() {
        let wanted = r#"{"defaults": {"role": "assistant"}, "start_anchor": "<bot>",
            "fields": {"content": {"close_pattern": "<end>\\s*", "content": "text"}}}"#;
        assert_eq!(draft(&wire()), value(wanted));
    }

    #[test]
    fn the_message_begins_after_the_end_of_any_prompt() {
        let mut begun = prompt("<bot>");
        begun.prefill = "<think>".to_owned();
        let mut answered = prompt("");
        answered.before = "a result</tool>\n".to_owned();
        let ends_with = |prompts: Vec<Prompt>| {
            let template = draft(&WireFormat { prompts, reasoning: Some(reasoning("<think>", "</think>")), ..wire() });
            let anchor = ["start_anchor", "start_anchor_pattern"].iter().find_map(|key| template.get(key));
            anchor.unwrap().to_string()
        };
        assert_eq!(ends_with(vec![prompt("<bot>")]), "\"<bot>\"");
        // Which numbers there are, the conversations chose.
        let levels = vec![prompt("<bot effort=20>"), prompt("<bot effort=90>")];
        assert_eq!(ends_with(levels), value(r#""<bot effort=\\d+>""#).to_string());
        // The prompt opens reasoning: that is part of the message.
        assert_eq!(ends_with(vec![prompt("<bot>"), begun.clone()]), "\"<bot>\"");
        // The name of a speaker may be of several words.
        let named = prompt(&format!("<|start|>{WORD}<|sep|>"));
        assert_eq!(ends_with(vec![named]), value(r#""<\\|start\\|>[^\\n<]+<\\|sep\\|>""#).to_string());
        // It is not the mark of reasoning after it.
        let bracketed = |prefill: &str| Prompt { prefill: prefill.to_owned(), ..prompt(&format!("<{WORD}>")) };
        assert_eq!(ends_with(vec![bracketed("<think>")]), value(r#""(?!<think>)<[^\\n>]+>""#).to_string());
        assert_eq!(
            ends_with(vec![bracketed("<think>"), prompt("<Ada>")]),
            value(r#""(?!<think>)<[^\\n>]+>""#).to_string()
        );
        assert_eq!(ends_with(vec![bracketed("")]), value(r#""<[^\\n>]+>""#).to_string());
        // Without a header the mark before it is the anchor.
        assert_eq!(ends_with(vec![answered]), "\"</tool>\\n\"");
        // The end of the text, unless a prompt has begun the message.
        assert_eq!(ends_with(vec![prompt(""), begun]), value(r#""(?:<bot>|(?<!<think>)\\Z)""#).to_string());
    }

    #[test]
    fn a_word_in_brackets_on_its_own_line_stops_only_there() {
        for (stop, end, in_prose) in [
            ("(end)", "\n(end)\n", true),
            ("[end]", "\n[end]", true),
            ("[END]", "\n[END]", false),
            ("(end)", "(end)", false),
        ] {
            let wire = WireFormat { stops: vec![stop.to_owned()], end: end.to_owned(), ..wire() };
            let said = format!("It is the {stop} of it.");
            let message = read(&draft(&wire), &format!("{said}{end}"));
            assert_eq!(message.get("content") == Some(&said.as_str().into()), in_prose, "{stop} {message:?}");
            let message = read(&draft(&wire), &format!("Yes.{end}"));
            assert_eq!(message.get("content"), Some(&"Yes.".into()), "{stop}");
        }
    }

    #[test]
    fn a_label_at_the_start_of_the_turn_is_not_content() {
        let content = Content { labels: vec!["Reply: ".to_owned()], ..Content::default() };
        let labeled = draft(&WireFormat { content, ..wire() });
        for (text, content) in [
            ("Reply: Yes.<end>", "Yes."),
            ("Yes.<end>", "Yes."),
            ("They wrote Reply: yes.<end>", "They wrote Reply: yes."),
        ] {
            assert_eq!(read(&labeled, text).get("content"), Some(&content.into()), "{text}");
        }
    }

    #[test]
    fn content_between_marks_also_ends_where_a_call_begins() {
        let mut marked = wire_with(["", "<call>", "</call>", "", ""], object_body());
        marked.content = Content { open: "<say>".to_owned(), close: "</say>".to_owned(), ..Content::default() };
        for text in [
            "<say>Yes.</say><call>{\"name\": \"f\", \"arguments\": {}}</call><end>",
            "<say>Yes.<call>{\"name\": \"f\", \"arguments\": {}}</call><end>",
        ] {
            let message = read(&draft(&marked), text);
            assert_eq!(message.get("content"), Some(&"Yes.".into()), "{text}");
            assert_eq!(said_calls(&message), ["f{}"], "{text}");
        }
    }

    #[test]
    fn a_label_of_every_answer_is_no_content_behind_calls() {
        let thought = Reasoning { empty: Some("\nAnswer: ".to_owned()), ..reasoning("## Plan\n", "\n\nAnswer: ") };
        let wire = WireFormat {
            reasoning: Some(thought),
            content: Content { place: Place::After, ..Content::default() },
            ..wire_with(["<tools>\n", "", "", "\n", "\n</tools>"], object_body())
        };
        let calls = "<tools>\n{\"name\": \"f\", \"arguments\": {}}\n</tools>";
        for text in ["\nAnswer: Yes.", &format!("{calls}\nAnswer: Yes."), "## Plan\nHm.\n\nAnswer: Yes."] {
            let message = read(&draft(&wire), &format!("{text}<end>"));
            assert_eq!(message.get("content"), Some(&"Yes.".into()), "{text}");
        }
    }

    #[test]
    fn a_sign_that_other_marks_have_opens_content_only_at_the_start() {
        // The model ends the header, which the prompt leaves open.
        let mut begun = wire_with(["", "<call>", "</call>", "", ""], object_body());
        begun.prompts = vec![prompt("<bot")];
        begun.content = Content { open: ">".to_owned(), ..Content::default() };
        let message = read(&draft(&begun), ">Yes.<call>{\"name\": \"f\", \"arguments\": {}}</call><end>");
        assert_eq!(message.get("content"), Some(&"Yes.".into()));
        assert_eq!(said_calls(&message), ["f{}"]);
        // An answer may start behind calls.
        let content = Content { open: "#### ".to_owned(), place: Place::After, ..Content::default() };
        let behind = WireFormat { content, prompts: vec![prompt("<bot>")], ..begun };
        let message = read(&draft(&behind), "<call>{\"name\": \"f\", \"arguments\": {}}</call>\n#### Yes.<end>");
        assert_eq!(message.get("content"), Some(&"Yes.".into()));
    }

    #[test]
    fn a_stray_close_is_not_content_if_the_template_writes_it() {
        let mut thinking = WireFormat { reasoning: Some(reasoning("<think>", "</think>")), ..wire() };
        let stray = "</think>Yes.<end>";
        assert_eq!(read(&draft(&thinking), stray).get("content"), Some(&"</think>Yes.".into()));
        thinking.reasoning.as_mut().unwrap().empty = Some("<think></think>".to_owned());
        assert_eq!(read(&draft(&thinking), stray).get("content"), Some(&"Yes.".into()));
    }
}
