//! Tests recordings: each step forward has its step back, at every chunking.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use std::sync::Arc;

use super::*;
use backchat_core::json::{self, Value};
use backchat_parser::parser::{self, Chunks, Event, Mode};
use backchat_parser::template::Template;

const TEMPLATE: &str = r#"{
    "start_anchor": "<bot>",
    "defaults": {"role": "assistant"},
    "fields": {
        "thought": {"open": "<t>", "close": "</t>"},
        "calls": {"open_pattern": "<call (?P<name>\\w+)>", "close": ["</call>", "</call>;"], "repeats": true,
                  "content": "json", "transform": {"name": "{name}", "arguments": "{content}"}},
        "content": {"close": "<end>"}
    }
}"#;

const OUTPUT: &str = "hm</t>Let me see.\n<call f>{\"a\": 1}</call><call g>{oops</call>\nDone: 1 < 2.<end>";

fn template(json: &str) -> Template {
    Template::load(json).unwrap().template
}

fn record(mode: Mode, chunk: usize) -> Recording {
    let chars: Vec<char> = OUTPUT.chars().collect();
    let feeds: Vec<String> = chars.chunks(chunk).map(|chunk| chunk.iter().collect()).collect();
    let template = template(TEMPLATE);
    let run = Run { template: &template, prefix: "<user>x<bot><t>", mode, tools: None, recovery: Default::default() };
    Recording::new(&run, feeds.iter().map(String::as_str)).unwrap()
}

/// Every moment reached by repeating a step, including the first and the last.
fn walk(from: Moment, to: Moment, step: impl Fn(Moment) -> Moment) -> Vec<Moment> {
    let mut moments = vec![from];
    while *moments.last().unwrap() != to {
        let next = step(*moments.last().unwrap());
        assert_ne!(next, *moments.last().unwrap(), "a step that does not move");
        moments.push(next);
    }
    moments
}

#[test]
fn every_step_can_be_reversed() {
    for chunk in [1, 2, 5, 1000] {
        let recording = record(Mode::Stable, chunk);
        let (start, end) = (recording.start(), recording.end());
        let events = walk(start, end, |moment| recording.next_event(moment));
        let feeds = walk(start, end, |moment| recording.next_feed(moment));
        let rows = walk(start, end, |moment| recording.next_row(moment));
        let lines = walk(start, end, |moment| recording.next_line(moment));
        for moments in [&events, &feeds, &rows, &lines] {
            assert!(moments.is_sorted(), "{moments:?}");
        }
        assert_eq!(feeds.len(), recording.feed_count());
        let mut taken: Vec<usize> = events.iter().map(|moment| moment.event).collect();
        taken.dedup();
        assert_eq!(taken, (recording.initial_count()..=recording.event_count()).collect::<Vec<_>>());
        let reversed = |mut moments: Vec<Moment>| {
            moments.reverse();
            moments
        };
        assert_eq!(reversed(walk(end, start, |moment| recording.previous_event(moment))), events);
        assert_eq!(reversed(walk(end, start, |moment| recording.previous_row(moment))), rows);
        assert_eq!(reversed(walk(end, start, |moment| recording.previous_feed(moment))), feeds);
        walk(end, start, |moment| recording.previous_line(moment));
    }
}

#[test]
fn a_line_at_a_time() {
    let recording = record(Mode::Stable, 1);
    let lines = walk(recording.start(), recording.end(), |moment| recording.next_line(moment));
    let offsets: Vec<isize> = lines.iter().map(|moment| recording.offset_of(recording.arrived(*moment))).collect();
    assert_eq!(offsets, [0, 18, 62, 79]);
}

#[test]
fn a_moment_is_found_by_its_offset() {
    let recording = record(Mode::Stable, 4);
    for (offset, arrived) in [(0, 0), (1, 4), (4, 4), (5, 8), (77, 79), (10_000, 79)] {
        let moment = recording.moment_at(recording.byte_at(offset));
        assert_eq!(recording.offset_of(recording.arrived(moment)), arrived, "{offset}");
    }
    assert_eq!(recording.offset_of(recording.origin()), -3, "the prompt's `<t>` is read with the output");
}

#[test]
fn each_moment_says_what_happened_and_what_is_held() {
    let recording = record(Mode::Stable, 6);
    let moments = walk(recording.start(), recording.end(), |moment| recording.next_feed(moment));
    let mut story = String::new();
    for moment in moments {
        let chunk = recording.slice(recording.feed_span(moment.feed));
        story += &format!("{}\n    {}\n    {}\n", quoted(chunk), recording.happened(moment), recording.why(moment));
    }
    insta::assert_snapshot!(story);
}

#[test]
fn the_message_grows_with_the_events() {
    let recording = record(Mode::Stable, 3);
    let mut seen = Vec::new();
    for moment in walk(recording.start(), recording.end(), |moment| recording.next_event(moment)) {
        let message = Value::Object(recording.message(moment)).to_string();
        if seen.last() != Some(&message) {
            seen.push(message);
        }
    }
    assert_eq!(
        seen,
        [
            r#"{"role": "assistant"}"#,
            r#"{"role": "assistant", "thought": "hm"}"#,
            r#"{"role": "assistant", "thought": "hm", "content": "Let me see."}"#,
            r#"{"role": "assistant", "thought": "hm", "content": "Let me see.", "calls": [{"name": "f", "arguments": {"a": 1}}]}"#,
            r#"{"role": "assistant", "thought": "hm", "content": "Done: 1 < 2.", "calls": [{"name": "f", "arguments": {"a": 1}}]}"#,
        ]
    );
    assert_eq!(recording.malformed_count(), 1);
    assert!(!recording.is_in_order());
}

#[test]
fn segments_tell_the_parts_of_the_text() {
    for chunk in [1, 3, 7, 1000] {
        let recording = record(Mode::Stable, chunk);
        for moment in walk(recording.start(), recording.end(), |moment| recording.next_event(moment)) {
            let (settled, arrived) = (recording.settled(moment), recording.arrived(moment));
            assert!(recording.origin() <= settled && settled <= arrived && arrived <= recording.text().len());
            if let Some(region) = recording.region(moment) {
                assert!(region.body.end <= settled && region.body.start >= recording.origin());
            }
            if let Some(held) = recording.held(moment) {
                assert!(!held.pending.is_empty(), "text is held for nothing at {moment:?}");
                assert!(held.pending.iter().all(|pending| pending.start() >= held.span.start));
            }
        }
        assert_eq!(recording.settled(recording.end()), recording.text().len());
    }
}

#[test]
fn recorded_events_equal_those_of_the_parser() {
    let template = template(TEMPLATE);
    let prefix = "<user>x<bot><t>";
    let finished = parser::parse(&template, prefix, OUTPUT, None).unwrap();
    let run = Run { template: &template, prefix, mode: Mode::Stable, tools: None, recovery: Default::default() };
    let recording = Recording::new(&run, [OUTPUT]).unwrap();
    let events: Vec<Value> = (0..recording.event_count()).map(|event| recording.event_value(event).unwrap()).collect();
    // The end of a region carries its problem.
    let own = || finished.events.iter().filter(|event| !matches!(event, Event::Problem(_)));
    assert_eq!(events, own().map(Event::to_value).collect::<Vec<_>>());
    assert_eq!(recording.message(recording.end()), finished.message);
    for (index, event) in own().enumerate() {
        let span = match event {
            Event::Open { span, .. } | Event::Chunk { span, .. } => span,
            Event::Close { span, .. } | Event::Malformed { span, .. } => span,
            other => panic!("{other:?}"),
        };
        let place = recording.origin() + span.start..recording.origin() + span.end;
        assert_eq!(recording.event(index).unwrap().span, place, "event {index}");
    }
}

#[test]
fn messages_of_every_kind_of_field_equal_those_of_the_parser() {
    let field = |more: &str| format!(r#""x": {{"open": "<x>", "close": "</x>"{more}}}"#);
    for (fields, defaults) in [
        (field(""), "{}"),
        (field(""), r#"{"x": "given", "y": null}"#),
        (field(r#", "repeats": true"#), "{}"),
        (field(r#", "repeats": true"#), r#"{"x": ["given"]}"#),
        (field(r#", "repeats": true, "join": "+""#), "{}"),
        (field(r#", "repeats": true, "join": "+""#), r#"{"x": "given"}"#),
        (field(r#", "repeats": true, "join": "+""#), r#"{"x": null}"#),
        (field(r#", "content": "json""#), "{}"),
        (field(r#", "content": "json", "repeats": true"#), r#"{"x": 1}"#),
    ] {
        let json =
            format!(r#"{{"start_anchor": "<a>", "defaults": {defaults}, "fields": {{{fields}, "content": {{}}}}}}"#);
        let template = template(&json);
        for output in
            ["", "a", "<x>1</x>b<x>2</x>", "<x></x>", "<x>[]</x>c<x>NaN</x>", "<x>1</x> <x>oops", "b<x>{}</x>"]
        {
            for chunk in [1, 1000] {
                let run = Run {
                    template: &template,
                    prefix: "",
                    mode: Mode::Stable,
                    tools: None,
                    recovery: Default::default(),
                };
                let finished = parser::parse(&template, "", output, None).unwrap();
                let recording = Recording::new(&run, Chunks::Every(chunk).split(output)).unwrap();
                let [one, other] = [recording.message(recording.end()), finished.message].map(Value::Object);
                assert_eq!(one.to_string(), other.to_string(), "{json} {output}");
            }
        }
    }
}

#[test]
fn a_long_list_is_shown_in_brief() {
    let template = template(TEMPLATE);
    let output: String = (0..10).map(|n| format!("<call f>{n}</call>")).collect();
    let run = Run { template: &template, prefix: "", mode: Mode::Stable, tools: None, recovery: Default::default() };
    let recording = Recording::new(&run, [&*output]).unwrap();
    let brief = recording.message_in_brief(recording.end(), 2);
    let calls = brief.get("calls").unwrap().as_list().unwrap();
    let numbers: Vec<String> = calls.iter().map(|call| call.get("arguments").unwrap_or(call).to_string()).collect();
    assert_eq!(numbers, ["0", "1", "\"… 6 more …\"", "8", "9"]);
    assert_eq!(recording.message_in_brief(recording.end(), 5), recording.message(recording.end()));
}

#[test]
fn breakpoints_are_hit_in_both_directions() {
    let recording = record(Mode::Stable, 1);
    let (start, end) = (recording.start(), recording.end());
    for (stop, met) in [
        ("open", &["content", "calls", "calls", "content"][..]),
        ("malformed", &["calls"]),
        ("thought", &["thought"]),
        ("calls", &["calls", "calls", "calls", "calls"]),
        ("nobody", &[]),
    ] {
        let stops = [stop.parse::<Stop>().unwrap()];
        let forward: Vec<Moment> =
            std::iter::successors(recording.next_stop(&stops, start), |(at, _)| recording.next_stop(&stops, *at))
                .map(|(at, _)| at)
                .collect();
        let fields: Vec<&str> =
            forward.iter().map(|at| recording.field_name(recording.acting_field(*at).unwrap())).collect();
        assert_eq!(fields, met, "{stop}");
        let mut back: Vec<Moment> =
            std::iter::successors(recording.previous_stop(&stops, end), |(at, _)| recording.previous_stop(&stops, *at))
                .map(|(at, _)| at)
                .collect();
        back.reverse();
        assert_eq!(
            back.iter().filter(|at| **at != end).collect::<Vec<_>>(),
            forward.iter().filter(|at| **at != end).collect::<Vec<_>>(),
            "{stop}"
        );
    }
    let offset = |found: Option<(Moment, usize)>| found.map(|(at, _)| recording.offset_of(recording.arrived(at)));
    let stops = ["25".parse().unwrap(), r"/\d/".parse().unwrap()];
    assert_eq!(offset(recording.next_stop(&stops, start)), Some(25));
    assert_eq!(offset(recording.next_stop(&stops[1..], start)), Some(33));
    assert_eq!(offset(recording.previous_stop(&stops, end)), Some(73));
    assert!("/(/".parse::<Stop>().is_err());
}

#[test]
fn the_first_difference_of_two_recordings() {
    let (stable, again) = (record(Mode::Stable, 1), record(Mode::Stable, 7));
    assert_eq!(first_difference(&stable, &again), None, "adjacent chunks count as one");
    let reference = record(Mode::Reference, 1);
    let difference = first_difference(&stable, &reference).unwrap();
    let event = stable.event(stable.row(difference.row).start).unwrap();
    assert_eq!(event.kind, Kind::Malformed, "the reference raises where a region gives no value");
    assert_eq!(difference.second, reference.end());
    assert!(reference.happened(reference.end()).starts_with("failed: field `calls`: "));
}

#[test]
fn the_worst_cut_is_found() {
    let end_of_text = r#"{"start_anchor": "<a>", "fields": {"content": {"close_pattern": "<stop>|$"}}}"#;
    for (json, output, cuts) in [
        (end_of_text, "Hello<stop>", vec![6]),
        (r#"{"start_anchor": "<a>", "fields": {"content": {"close": "<stop>"}}}"#, "Hello<stop>", vec![]),
    ] {
        let template = template(json);
        let run =
            Run { template: &template, prefix: "", mode: Mode::Reference, tools: None, recovery: Default::default() };
        let recording = Recording::new(&run, [output]).unwrap();
        let mut hunt = CutSearch::new(&recording, None);
        let found = std::iter::repeat_with(|| hunt.step()).take(1000).flatten().next().unwrap();
        match (found, cuts.is_empty()) {
            (CutSearchResult::Cuts(found), false) => assert_eq!(found, cuts),
            (CutSearchResult::Nothing { tried, possible }, true) => assert_eq!((tried, possible), (10, 10)),
            (found, _) => panic!("{found:?}"),
        }
    }
}

#[test]
fn each_region_has_its_part_of_the_expected_message() {
    let template = template(
        r#"{"start_anchor": "<a>", "defaults": {"said": "Well"}, "fields": {
            "call": {"open": "<c>", "close": "</c>", "repeats": true, "content": "int"},
            "said": {"open": "<s>", "close": "</s>", "repeats": true, "join": ", "},
            "n": {"open": "<n>", "close": "</n>"}}}"#,
    );
    let run = Run { template: &template, prefix: "", mode: Mode::Stable, tools: None, recovery: Default::default() };
    let output = "<c>1</c><c>x</c><c>2</c><c>3</c><s>one</s><s>two</s><s>three</s><n>a</n><n>b</n>";
    let recording = Recording::new(&run, [output]).unwrap();
    let expected = json::read(r#"{"call": [1, 7], "said": "Well, one, too, three", "n": "c"}"#).unwrap();
    let Value::Object(expected) = expected else { panic!() };
    let ends = (0..recording.event_count()).filter(|event| recording.event(*event).unwrap().value.is_some());
    let wanted: Vec<String> = ends
        .map(|event| recording.expected_value(&expected, event).map_or("-".to_owned(), |value| value.to_string()))
        .collect();
    // The malformed call takes the place of the next one; after a text deviates, its rest is unknown.
    assert_eq!(wanted, ["1", "7", "7", "-", "\"one, too, three\"", "\"too, three\"", "-", "\"c\"", "\"c\""]);
}

#[test]
fn steps_by_line_work_from_any_character() {
    let template = template(r#"{"start_anchor": "<a>", "fields": {"content": {}}}"#);
    let run = Run { template: &template, prefix: "<a>", mode: Mode::Stable, tools: None, recovery: Default::default() };
    let recording = Recording::new(&run, ["o", "ne", "\n", "two", "é", "\n", "日", "x"]).unwrap();
    let mut moment = recording.before_end();
    let mut places = Vec::new();
    while moment != recording.start() {
        moment = recording.previous_line(moment);
        places.push(recording.offset_of(recording.arrived(moment)));
    }
    assert_eq!(places, [9, 4, 0]);
    assert_eq!(recording.previous_line(recording.moment_at(recording.byte_at(8))), recording.moment_of_feed(3));
    assert_eq!(recording.previous_line(recording.start()), recording.start());
}

#[test]
fn cuts_near_markers_are_tried_first() {
    let template = template(r#"{"start_anchor": "<a>", "fields": {"content": {"close_pattern": "<stop>|$"}}}"#);
    let output = "word ".repeat(4000) + "<stop>" + &"more ".repeat(4000);
    let run = Run { template: &template, prefix: "", mode: Mode::Stable, tools: None, recovery: Default::default() };
    let recording = Recording::new(&run, [output.as_str()]).unwrap();
    let mut search = CutSearch::new(&recording, None);
    assert_eq!(search.left(), output.len(), "each cut, and one character at a time");
    let found = std::iter::repeat_with(|| search.step()).take(8).flatten().next();
    assert!(matches!(found, Some(CutSearchResult::Cuts(cuts)) if (20_000..20_006).contains(&cuts[0])), "{search:?}");
    assert!(search.progress().0 <= 8 && search.left() < output.len());
}

proptest! {
    #[test]
    fn cutting_a_recording_equals_recording_the_cut_text(
        pieces in proptest::collection::vec(
            select(vec!["<t>", "</t>", "</", "<call f>", "{\"a\": 1}", "</call>", "</call>;", "<end>", "hé\n", "<"]),
            0..12,
        ),
        feeds in proptest::collection::vec(any::<Index>(), 0..6),
        cuts in proptest::collection::vec(any::<Index>(), 1..6),
        prefix in select(vec!["", "<user>x<bot>", "<bot><t>"]),
        close in select(vec!["</t>", "</t>|$"]),
    ) {
        let output = pieces.concat();
        let template = template(&TEMPLATE.replace(r#""close": "</t>""#, &format!(r#""close_pattern": "{close}""#)));
        let run = Run { template: &template, prefix, mode: Mode::Stable, tools: None, recovery: Default::default() };
        let places: Vec<usize> = (0..=output.len()).filter(|place| output.is_char_boundary(*place)).collect();
        let place = |index: &Index| prefix.len() + index.get(&places);
        let record = |mut ends: Vec<usize>| {
            ends.push(prefix.len() + output.len());
            ends.sort_unstable();
            ends.dedup();
            ends.retain(|end| *end > prefix.len() || output.is_empty());
            Recording::of_text(&run, format!("{prefix}{output}").into(), ends).unwrap()
        };
        let feeds: Vec<usize> = feeds.iter().map(place).collect();
        let cuts: Vec<usize> = cuts.iter().map(place).collect();
        let mut recording = record(feeds.clone());
        for cut in &cuts {
            prop_assert!(recording.cut(None, *cut));
        }
        let fresh = record([feeds, cuts].concat());
        prop_assert_eq!(format!("{recording:?}"), format!("{fresh:?}"));
    }
}

#[test]
fn a_prompt_that_fails_to_parse_is_recorded() {
    let template = template(r#"{"start_anchor_pattern": "(a+)+\\1c", "fields": {"content": {}}}"#);
    let prefix = "a".repeat(5_000);
    let run =
        Run { template: &template, prefix: &prefix, mode: Mode::Stable, tools: None, recovery: Default::default() };
    let recording = Recording::new(&run, ["x"]).unwrap();
    assert!(matches!(recording.outcome(), Outcome::Failed(_)));
    assert_eq!(recording.start(), recording.end());
    assert!(recording.happened(recording.end()).starts_with("failed: "));
    assert_eq!(recording.next_event(recording.end()), recording.end());
    assert_eq!(recording.previous_row(recording.start()), recording.start());
}

#[test]
fn a_failed_parse_has_its_chunks() {
    let template = template(TEMPLATE);
    for (output, chunks) in [("<call f>{", 2), ("<call f>{</call>", 2), ("<call f>{</call> and on", 2)] {
        let run =
            Run { template: &template, prefix: "", mode: Mode::Reference, tools: None, recovery: Default::default() };
        let recording = Recording::new(&run, Chunks::Every(output.len().div_ceil(2)).split(output)).unwrap();
        assert!(recording.happened(recording.end()).starts_with("failed: "), "{output}");
        assert_eq!(recording.chunk_count(), chunks, "{output}");
    }
}

#[test]
fn segments_cover_every_byte() {
    for chunk in [1, 4, 1000] {
        let recording = record(Mode::Stable, chunk);
        let length = recording.text().len();
        for moment in walk(recording.start(), recording.end(), |moment| recording.next_event(moment)) {
            let whole = recording.segments(moment, 0..length);
            let ends: Vec<usize> = whole.iter().map(|(span, _)| span.end).collect();
            let starts: Vec<usize> = whole.iter().map(|(span, _)| span.start).collect();
            assert_eq!((starts[0], *ends.last().unwrap()), (0, length));
            assert_eq!(starts[1..], ends[..ends.len() - 1]);
            for window in [0..10, 20..40, length - 5..length] {
                for (span, part) in recording.segments(moment, window) {
                    let inside = |(other, _): &&(std::ops::Range<usize>, Segment)| other.contains(&span.start);
                    assert_eq!(whole.iter().find(inside).unwrap().1, part);
                }
            }
        }
    }
    let recording = record(Mode::Stable, 1);
    let parts = recording.segments(recording.moment_at(recording.byte_at(20)), 0..40);
    let shown: Vec<_> = parts.into_iter().map(|(span, part)| (recording.slice(span), part)).collect();
    assert_eq!(
        shown,
        [
            ("<user>x<bot>", Segment::Prompt),
            ("<t>", Segment::Delimiter(0)),
            ("hm", Segment::Body(0)),
            ("</t>", Segment::Delimiter(0)),
            ("Let me see.\n", Segment::Body(2)),
            ("<c", Segment::Held),
            ("all f", Segment::Future),
        ]
    );
}

#[test]
fn suspicious_and_wrong_events() {
    let recording = record(Mode::Stable, 5);
    let words = |events: Vec<usize>| -> Vec<String> {
        events.into_iter().map(|event| recording.event_in_words(event)).collect()
    };
    let suspicious = words(recording.suspicious_events());
    assert_eq!(suspicious.len(), 2, "{suspicious:?}");
    assert!(suspicious[0].starts_with("`calls` ended and gives no value: not JSON"), "{suspicious:?}");
    assert_eq!(suspicious[1], "`<end>` closed `content`, which replaces its value `\"Let me see.\"`");
    let expected = r#"{"role": "assistant", "thought": "hm", "content": "Done: 1 < 2.", "calls": [
        {"name": "f", "arguments": {"a": 2}}]}"#;
    let expected = json::read(expected).unwrap().as_object().cloned().unwrap();
    let wrong = words(recording.wrong_events(&expected));
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert_eq!(wrong[0], "`</call>` closed `calls`");
    let template = template(&TEMPLATE.replace("</t>", "</thought>"));
    let run =
        Run { template: &template, prefix: "<bot><t>", mode: Mode::Stable, tools: None, recovery: Default::default() };
    let recording = Recording::new(&run, ["hm</t>Hi"]).unwrap();
    let last = *recording.suspicious_events().first().unwrap();
    assert_eq!(recording.event_in_words(last), "the output ended, and the close of `thought` never came: `</thought>`");
}

#[test]
fn a_joined_text_is_wrong_from_the_first_difference_on() {
    let template =
        template(r#"{"start_anchor": "<a>", "fields": {"content": {"close": ["|"], "repeats": true, "join": "+"}}}"#);
    let run = Run { template: &template, prefix: "", mode: Mode::Stable, tools: None, recovery: Default::default() };
    let recording = Recording::new(&run, ["a|b|c"]).unwrap();
    for (whole, wrong) in [("a+b+c", &[][..]), ("a+x+c", &["b", "c"]), ("+a+b+c", &["a", "b", "c"]), ("a+b", &["c"])] {
        let expected = [("content".to_owned(), whole.into())].into_iter().collect();
        let events = recording.wrong_events(&expected);
        let bodies: Vec<&str> =
            events.iter().map(|event| recording.slice(recording.event(*event).unwrap().body)).collect();
        assert_eq!(bodies, wrong, "{whole}");
    }
    let recording = Recording::new(&run, ["\n|b"]).unwrap();
    let expected = [("content".to_owned(), "b".into())].into_iter().collect();
    let first = recording.wrong_events(&expected).first().map(|event| recording.event(*event).unwrap().body);
    assert_eq!(first.map(|body| recording.slice(body)), Some("\n"), "the empty piece brings the join");
}

#[test]
fn two_recordings_stay_in_step_inside_a_chunk() {
    let template = template(TEMPLATE);
    let record = |mode| {
        let run =
            Run { template: &template, prefix: "<user>x<bot><t>", mode, tools: None, recovery: Default::default() };
        Recording::new(&run, ["hm</t>Let me see.\n<call f>{\"a\": 1}</call><call g>{}</call>"]).unwrap()
    };
    let (one, other) = (record(Mode::Stable), record(Mode::Reference));
    assert_eq!(first_difference(&one, &other), None);
    let run = Run {
        template: &template,
        prefix: "<user>x<bot><t>",
        mode: Mode::Stable,
        tools: None,
        recovery: Default::default(),
    };
    let text: Arc<str> = one.text().clone();
    let single = Recording::of_text(&run, text.clone(), run.prefix.len() + 1..=text.len()).unwrap();
    for moment in walk(one.start(), one.end(), |moment| one.next_event(moment)) {
        assert_eq!(other.moment_like(&one, moment), moment);
        let said = |recording: &Recording, moment: Moment| {
            recording.last_event(moment).map(|event| {
                let event = recording.event(event).unwrap();
                (event.kind, event.field, event.span.end)
            })
        };
        assert_eq!(said(&single, single.moment_like(&one, moment)), said(&one, moment), "one character at a time");
    }
}

#[test]
fn leftover_markers_are_found_in_a_text() {
    let left = |json: &str, text: &str| {
        let template = template(json);
        let run =
            Run { template: &template, prefix: "", mode: Mode::Stable, tools: None, recovery: Default::default() };
        let recording = Recording::new(&run, [text]).unwrap();
        let events = recording.suspicious_events();
        events.iter().find_map(|event| recording.leftover(*event)).map(str::to_owned)
    };
    let call = r#"{"start_anchor": "<bot>", "fields": {
        "calls": {"open": "<toolcall>", "close": "</toolcall>", "repeats": true}, "content": {"close_pattern": "<\\|end\\|>|$"}}}"#;
    for (text, found) in [
        ("a <tool_call>x</tool_call>", Some("<tool_call>")),
        ("a </toolcall>", Some("</toolcall>")),
        ("a <|ends|>", Some("<|ends|>")),
        ("is 1 < 2 and 3 > 2? <b>yes</b> vec<tool> [toolcall]", None),
        ("<toolcall>see <b></toolcall>", None),
    ] {
        assert_eq!(left(call, text).as_deref(), found, "{text}");
    }
    let list =
        r#"{"start_anchor": "<bot>", "fields": {"calls": {"open": "[TOOL_CALLS]", "close": "[END]"}, "content": {}}}"#;
    assert_eq!(left(list, "[TOOL_CALL]x").as_deref(), Some("[TOOL_CALL]"));
    assert_eq!(left(list, "see [1] and [note] and [A-Z]"), None);
    let short = r#"{"start_anchor": "<bot>", "fields": {"a": {"open": "<t>", "close": "</t>"}, "content": {}}}"#;
    assert_eq!(left(short, "<b> <i> <p>"), None);
}
