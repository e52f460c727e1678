//! One answer however the text is cut, for every template in `tests/templates/`: at least one for each row of the table
//! of what makes transformers' answer depend on the cut, and one for each thing the format can do.

use std::sync::LazyLock;

use backchat::json::Value;
use backchat::parser::{Event, Finished, Options, ParseError, Parser};
use backchat::template::Template;
use backchat_parser::content::Mode;
use proptest::prelude::*;

/// What the texts are made of: the templates' delimiters, whole and in parts, and what stands between them.
const FRAGMENTS: &[&str] = &[
    "a",
    "b",
    "ab",
    "aba",
    "ba",
    ".",
    "-",
    " ",
    "\n",
    "\n\n",
    ";",
    ":",
    ">",
    "<",
    "</",
    "<x",
    "x>",
    "<x>",
    "</x>",
    "<y>",
    "<a>",
    "<b>",
    "</a>",
    "</b>",
    "<t>",
    "</t>",
    "<e>",
    "<end>",
    "<stop>",
    "<n>",
    "</n>",
    "<f>",
    "</f>",
    "<j>",
    "</j>",
    "<l>",
    "</l>",
    "<call>",
    "</call>",
    "<calls>",
    "</calls>",
    "<f=go>",
    "<k>",
    "</k>",
    "[call f(",
    ")",
    "]<end>",
    "no",
    "§",
    "[note]",
    "[/note]",
    ">> ",
    "call:",
    "end",
    "<think>",
    "</THINK>",
    "(",
    "1",
    "-2.5",
    "true",
    "{\"n\": 1, ",
    "\"a\": {}}",
    "[{\"n\": \"f\", \"a\": {}}]",
    "{k: 'v'}",
    "[f(a=1, b=",
    "'it\\'s', c=",
    "[True])]",
    "<by=c1>",
    "key: value",
    "é",
    "日本",
    "\u{1c}",
];

/// The templates with their names, in the order of those, loaded once for all cases.
static TEMPLATES: LazyLock<Vec<(String, Template)>> = LazyLock::new(templates);

/// A test of its own finds one that does not load.
fn templates() -> Vec<(String, Template)> {
    let Ok(folder) = std::fs::read_dir("tests/templates") else { return Vec::new() };
    let mut found: Vec<_> = folder
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let loaded = Template::load(&std::fs::read_to_string(&path).ok()?).ok()?;
            Some((path.file_stem()?.to_string_lossy().into_owned(), loaded.template))
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

#[test]
fn every_template_loads() {
    let files = std::fs::read_dir("tests/templates").unwrap().count();
    assert!(files > 30);
    assert_eq!(TEMPLATES.len(), files);
}

/// Everything a parse gives: the message, the required fields that are absent, the events with neighboring chunks of a
/// region made one.
fn parsed(template: &Template, prefix: &str, chunks: &[&str], mode: Mode) -> Result<String, ParseError> {
    let mut parser = Parser::new(template, prefix, Options::default().mode(mode))?;
    let mut events = parser.initial_events().to_vec();
    for chunk in chunks {
        events.extend(parser.feed(chunk)?);
    }
    let Finished { message, missing, events: last, .. } = parser.finish()?;
    events.extend(last);
    let mut joined: Vec<Event> = Vec::new();
    for event in events {
        match (joined.last_mut(), &event) {
            (
                Some(Event::Chunk { field, text, span, .. }),
                Event::Chunk { field: next, text: more, span: behind, .. },
            ) if field == next && span.end == behind.start => {
                text.push_str(more);
                span.end = behind.end;
            }
            _ => joined.push(event),
        }
    }
    let events: Vec<String> = joined.iter().map(|event| format!("{event:?}")).collect();
    Ok(format!("{} missing {missing:?}\n{}", Value::Object(message), events.join("\n")))
}

/// Cuts a text at every one of the places that is between two characters.
fn cut<'t>(text: &'t str, lengths: &[usize]) -> Vec<&'t str> {
    let mut chunks = Vec::new();
    let mut rest = text;
    for length in lengths.iter().copied().cycle() {
        if rest.is_empty() {
            break;
        }
        let at = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
        let (chunk, behind) = rest.split_at(at);
        chunks.push(chunk);
        rest = behind;
    }
    chunks
}

/// Lengths of feeds, of which some are empty, and one is not.
fn lengths() -> impl Strategy<Value = Vec<usize>> {
    (prop::collection::vec(0usize..6, 0..6), 1usize..6).prop_map(|(mut lengths, last)| {
        lengths.push(last);
        lengths
    })
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(FRAGMENTS), 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn every_chunking_gives_one_answer(
        which in any::<prop::sample::Index>(),
        text in text(),
        prefix in text(),
        lengths in lengths(),
    ) {
        let (name, template) = which.get(&TEMPLATES);
        let whole = parsed(template, "", &[&text], Mode::Stable).unwrap();
        for lengths in [vec![1], lengths] {
            let chunks = cut(&text, &lengths);
            prop_assert_eq!(&parsed(template, "", &chunks, Mode::Stable).unwrap(), &whole, "{} {:?}", name, chunks);
        }
        // The prefix's end is no edge: what it holds belongs to the same text.
        let all = format!("{prefix}{text}");
        let together = parsed(template, "", &[&all], Mode::Stable).unwrap();
        let split = parsed(template, &prefix, &[&text], Mode::Stable).unwrap();
        prop_assert_eq!(split, together, "{} {:?} {:?}", name, prefix, text);
    }

    #[test]
    fn a_parser_does_not_depend_on_earlier_parsers_of_its_template(
        which in any::<prop::sample::Index>(),
        before in text(),
        text in text(),
        modes in prop::sample::select(vec![[Mode::Stable; 2], [Mode::Reference, Mode::Stable], [Mode::Stable, Mode::Reference]]),
        lengths in lengths(),
    ) {
        let (name, template) = which.get(&TEMPLATES);
        let alone = Template::from_value(&template.to_value()).unwrap().template;
        let _ = parsed(template, "", &cut(&before, &lengths), modes[0]);
        let after = parsed(template, "", &cut(&text, &lengths), modes[1]);
        let alone = parsed(&alone, "", &cut(&text, &lengths), modes[1]);
        prop_assert_eq!(format!("{after:?}"), format!("{alone:?}"), "{} {:?} {:?}", name, before, text);
    }

    #[test]
    fn in_one_piece_both_modes_agree(which in any::<prop::sample::Index>(), text in text()) {
        let (name, template) = which.get(&TEMPLATES);
        // Stable mode departs on purpose: what gives no value or is absent, an implicit close of nothing, the JSON
        // dialect, and a match that `\K` moves, which transformers never takes for final.
        let departs = [
            "zero-width-implicit-close",
            "nothing-at-all",
            "end-before-newline",
            "end-alternative",
            "values",
            "match-begins-later",
        ];
        if departs.contains(&name.as_str()) {
            return Ok(());
        }
        if let Ok(reference) = parsed(template, "", &[&text], Mode::Reference) {
            let stable = parsed(template, "", &[&text], Mode::Stable).unwrap();
            // The reference tells of no problems.
            let stable: Vec<&str> = stable.split('\n').filter(|event| !event.starts_with("Problem(")).collect();
            prop_assert_eq!(stable.join("\n"), reference, "{} {:?}", name, text);
        }
    }

    #[test]
    fn reference_mode_answers_at_every_chunking(
        which in any::<prop::sample::Index>(),
        text in text(),
        lengths in lengths(),
    ) {
        let (_, template) = which.get(&TEMPLATES);
        let _ = parsed(template, "", &cut(&text, &lengths), Mode::Reference);
    }
}

#[test]
fn an_empty_feed_changes_nothing() {
    let template =
        r#"{"start_anchor": "A", "fields": {"x": {"open_pattern": "\\s*<x>", "close": "</x>"}, "content": {}}}"#;
    let template = Template::load(template).unwrap().template;
    for mode in [Mode::Stable, Mode::Reference] {
        let mut parser = Parser::new(&template, "", Options::default().mode(mode)).unwrap();
        for (chunk, events) in [("word", 2), ("", 0), (" \n", 0), ("", 0), ("", 0), ("<x>a", 3)] {
            assert_eq!(parser.feed(chunk).unwrap().len(), events, "{mode:?} {chunk:?}");
        }
    }
}

#[test]
fn every_character_is_reported_exactly_once() {
    // Outside of delimiters every character is in exactly one chunk, in its order.
    for (name, template) in TEMPLATES.iter() {
        let text = FRAGMENTS.concat();
        for lengths in [vec![1], vec![3, 1, 4], vec![usize::MAX]] {
            let mut parser = Parser::new(template, "", Options::default()).unwrap();
            let mut events = Vec::new();
            for chunk in cut(&text, &lengths) {
                events.extend(parser.feed(chunk).unwrap());
            }
            events.extend(parser.finish().unwrap().events);
            let mut place = 0;
            for event in &events {
                if let Event::Chunk { text: shown, span, .. } = event {
                    assert!(span.start >= place, "{name}: {event:?} goes back behind {place}");
                    assert_eq!(&text[span.start..span.end], shown, "{name}");
                    place = span.end;
                }
            }
        }
    }
}

/// Closes that match nothing, and nothing else.
const EMPTY_CLOSES: &[&str] =
    &["$", r"\Z", "", "(?=<)", r"(?<=\n)", "(?m)$", "(?m)^", r"\b", r"\B", r"(?=\s)", r"(?<=a)$"];

/// Closes of the texts' marks, of which some alternative may match nothing.
const OTHER_CLOSES: &[&str] = &[r"<end>\s*", "<stop>", r"\s*<end>", "(?:<end>)?", r";*"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn an_empty_match_of_a_close_loses_no_text(
        empty in prop::sample::select(EMPTY_CLOSES),
        other in prop::option::of(prop::sample::select(OTHER_CLOSES)),
        other_first in any::<bool>(),
        text in text(),
        lengths in prop::collection::vec(1usize..6, 1..6),
    ) {
        let close = match other {
            Some(other) if other_first => format!("{other}|{empty}"),
            Some(other) => format!("{empty}|{other}"),
            None => empty.to_owned(),
        };
        let quoted = Value::from(close.as_str()).to_string();
        let load = |more: &str| {
            let json = format!(
                r#"{{"start_anchor": "A", "fields": {{"content": {{"close_pattern": {quoted}, "content_args": {{"strip": false}}{more}}}}}}}"#
            );
            Template::load(&json).unwrap().template
        };
        let run = |template: &Template| {
            let mut parser = Parser::new(template, "", Options::default()).unwrap();
            let mut ends = Vec::new();
            for chunk in cut(&text, &lengths) {
                ends.extend(parser.feed(chunk).unwrap());
            }
            let finished = parser.finish().unwrap();
            ends.extend(finished.events);
            (finished.message.get("content").map_or(String::new(), |value| value.as_str().unwrap().to_owned()), ends)
        };
        // What every region says, put together, is the text without the marks that closed one.
        let (joined, events) = run(&load(r#", "repeats": true, "join": """#));
        let marks: usize = events.iter().map(|event| match event {
            Event::Close { span, .. } => span.end - span.start,
            _ => 0,
        }).sum();
        let swallowed = text.len() - joined.len();
        prop_assert!(other.is_some() || swallowed == 0, "{close:?} on {text:?} leaves {joined:?}");
        prop_assert!(marks <= swallowed);
        // A region ends before the text does only at a mark that is there.
        for event in &events {
            if let Event::Close { span, .. } = event {
                prop_assert!(span.start < span.end || span.end == text.len(), "{close:?} on {text:?}: {event:?}");
            }
        }
        if other.is_none() {
            prop_assert_eq!(run(&load("")).0, text, "{:?}", close);
        }
    }
}

#[test]
fn white_space_after_an_empty_close_replaces_no_value() {
    let call = r#", "x": {"open": "<x>", "close": "</x>", "repeats": true}"#;
    let without = r#"{"content": "Hi"}"#;
    let with = r#"{"content": "Hi", "x": ["1"]}"#;
    for (close, more, text, message) in [
        ("<end>|$", "", "Hi\n", without),
        ("<end>|$", "", "Hi<end>\n", without),
        (r"<end>\\s*|$", call, "Hi<x>1</x>\n", with),
        (r"<end>|\\s*", call, "Hi<x>1</x> \n", r#"{"content": "Hi", "x": ["1"]}"#),
        // White space that no close has to do with counts as a region of its own, as in transformers.
        ("<end>", call, "Hi<x>1</x>\n", r#"{"x": ["1"]}"#),
        (r"<end>|$", call, "Hi<x>1</x>\n\n", r#"{"x": ["1"]}"#),
    ] {
        let json = format!(r#"{{"start_anchor": "A", "fields": {{"content": {{"close_pattern": "{close}"}}{more}}}}}"#);
        let template = Template::load(&json).unwrap().template;
        for lengths in [vec![1], vec![3], vec![usize::MAX]] {
            let mut parser = Parser::new(&template, "", Options::default()).unwrap();
            for chunk in cut(text, &lengths) {
                parser.feed(chunk).unwrap();
            }
            let found = Value::Object(parser.finish().unwrap().message).to_string();
            assert_eq!(found, message, "{close} on {text:?} at {lengths:?}");
        }
    }
}

/// `transformers` 5.23.0 was fed these texts one character at a time; `|` stands between what two feeds let go, and
/// what comes after the last one came at the end.
#[test]
fn a_look_ahead_in_an_opener_holds_text_like_the_reference() {
    let template = r#"{"start_anchor": "A", "fields": {"x": {"open_pattern": ">><(?=[\\s\\S]*?b)b/<", "close": "</x>"},
        "content": {}}}"#;
    let template = Template::load(template).unwrap().template;
    for (text, want) in [
        (">><b/<hi</x>", "||||||h|i||||, "),
        ("a>><c>><b/<y</x>z", "a||||||||>><c|||y|||||z, "),
        (">><", "||, >><"),
        ("a>><x y", "a||||||, >><x y"),
        ("a>><b/c b/<", "a||||||>><b/c| |b|/|<, "),
        (">><zzzb/<", "||||||>><zzzb|/|<, "),
        ("x>>y<>><a", "x|||>>y|<||||, >><a"),
    ] {
        let shown = |events: Vec<Event>| -> String {
            let chunks = events.into_iter().filter_map(|event| match event {
                Event::Chunk { text, .. } => Some(String::from(text)),
                _ => None,
            });
            chunks.collect()
        };
        let options = Options::default().mode(Mode::Reference);
        let mut parser = Parser::new(&template, "A", options).unwrap();
        let feeds: Vec<String> =
            text.chars().map(|c| shown(parser.feed(c.encode_utf8(&mut [0; 4])).unwrap().into())).collect();
        let last = shown(parser.finish().unwrap().events);
        assert_eq!(format!("{}, {last}", feeds.join("|")), want, "{text}");
    }
}
