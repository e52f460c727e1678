//! The field that reads calls, in every layout.

use super::*;
use crate::derive::by_hand::{CHAT, draft, named_body, object_body, pairs, read, reasoning, said_calls, wire_with};
use crate::derive::compile::compile;
use crate::derive::{Options, Status, derive};
use crate::wire::structure::{Body, Content, Encoding, Reasoning, Typed};
use backchat_parser::pattern::Pattern;

/// Reads a text with the draft of a wire under these choices: the content and the calls.
fn read_under(wire: &WireFormat, choices: Choices, text: &str) -> (String, Vec<String>) {
    let message = read(&compile(wire, &choices, "thinking"), text);
    let content = message.get("content").and_then(Value::as_str).map_or_else(String::new, str::to_owned);
    (content, said_calls(&message))
}

fn plain(wire: &WireFormat, text: &str) -> (String, Vec<String>) {
    read_under(wire, Choices::default(), text)
}

fn in_array() -> Body {
    let mut body = object_body();
    if let Some(object) = &mut body.object {
        object.in_array = true;
    }
    body
}

#[test]
fn each_layout_reads_its_calls_and_leaves_prose_alone() {
    let marked = wire_with(["", "<call>", "</call>", "", ""], object_body());
    let listed = wire_with(["<calls>[", "", "", ", ", "]</calls>"], in_array());
    let between_marks = wire_with(["", "<f=", "</f>", "\n", ""], named_body(">", Arguments::Json));
    let tags = Arguments::Pairs(Box::new(pairs(["<", ">", "</>", ""])));
    let keyed = wire_with(["", "<f=", "</f>", "\n", ""], named_body(">", tags.clone()));
    let planned = wire_with(["*plan*", "#", "", "; ", "*end plan*"], named_body("", tags));
    let mut before_text = wire_with(["<calls>[", "", "", ", ", "]"], in_array());
    before_text.content.place = Place::After;
    let table: [(&str, &WireFormat, &str, &str, &[&str]); 11] = [
        (
            "listed before text",
            &before_text,
            "<calls>[{\"name\": \"f\", \"arguments\": {\"a\": [{\"b\": [{}]}]}}]So [it] is.<end>",
            "So [it] is.",
            &["f{\"a\": [{\"b\": [{}]}]}"],
        ),
        (
            "marked",
            &marked,
            "Hi.<call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</call><end>",
            "Hi.",
            &["f{\"a\": 1}"],
        ),
        (
            "two marked",
            &marked,
            "<call>{\"name\": \"f\", \"arguments\": {}}</call>\n<call>{\"name\": \"g\", \"arguments\": {}}</call><end>",
            "",
            &["f{}", "g{}"],
        ),
        // White space next to the marks does not matter.
        ("spaced", &marked, "<call>\n{\"name\":\"f\",\"arguments\":{}}\n</call>\n<end>", "", &["f{}"]),
        ("no call", &marked, "A {\"name\": \"f\"} is an object.<end>", "A {\"name\": \"f\"} is an object.", &[]),
        (
            "listed",
            &listed,
            "<calls>[{\"name\": \"f\", \"arguments\": {}}, {\"name\": \"g\", \"arguments\": {}}]</calls><end>",
            "",
            &["f{}", "g{}"],
        ),
        ("an array in prose", &listed, "See [{\"a\": 1}].<end>", "See [{\"a\": 1}].", &[]),
        ("named", &between_marks, "Hi.<f=get>{\"a\": [1]}</f><end>", "Hi.", &["get{\"a\": [1]}"]),
        (
            "keyed",
            &keyed,
            "<f=get><a>x</><b>y</></f>\n<f=put></f><end>",
            "",
            &["get{\"a\": \"x\", \"b\": \"y\"}", "put{}"],
        ),
        // Nothing but the end of the section, or the next call, follows a name without arguments.
        (
            "planned",
            &planned,
            "*plan*#put; #get<a>x</>; #now*end plan*<end>",
            "",
            &["put{}", "get{\"a\": \"x\"}", "now{}"],
        ),
        ("cut off by the stop", &keyed, "<f=get><a>x</><end>", "", &["get{\"a\": \"x\"}"]),
    ];
    for (name, wire, text, content, calls) in table {
        let (got, said) = plain(wire, text);
        assert_eq!((got.as_str(), said), (content, calls.iter().map(|call| (*call).to_owned()).collect()), "{name}");
    }
}

#[test]
fn a_guarded_close_matches_only_where_a_call_can_end() {
    let wire = wire_with(["", "<call>", "</call>", "", ""], object_body());
    let text = "<call>{\"name\": \"f\", \"arguments\": {\"a\": \"a </call> b\"}}</call><end>";
    let guarded = Choices { guard: Guard::Always, ..Choices::default() };
    assert_eq!(read_under(&wire, guarded, text).1, ["f{\"a\": \"a </call> b\"}"]);
    assert_eq!(plain(&wire, text).1, [""; 0], "the plain close cuts the call inside its string");
}

#[test]
fn a_close_that_a_value_may_contain_follows_the_end_of_an_argument() {
    let body = named_body("(", Arguments::Pairs(Box::new(pairs(["<k>", "<v>", "</k>", ""]))));
    let wire = wire_with(["<calls>", "", ")", "\n", "</calls>"], body);
    let text = "<calls>f(<k>a<v>x)g(y</k>)\nh()</calls><end>";
    let behind = Choices { guard: Guard::Behind, ..Choices::default() };
    assert_eq!(read_under(&wire, behind, text).1, ["f{\"a\": \"x)g(y\"}", "h{}"]);
    assert_ne!(plain(&wire, text).1, read_under(&wire, behind, text).1, "the plain close is found inside the value");
}

#[test]
fn a_separator_may_follow_an_id_that_ends_a_call() {
    let mut body = named_body("(", Arguments::Json);
    body.tail = vec![CallPart::Text(")  # ".to_owned()), CallPart::Id];
    let wire = wire_with(["<calls>", "", "", "\n", "</calls>"], body);
    let text = "<calls>f({\"a\": 1})  # x1\ng({})  # x2</calls><end>";
    assert_eq!(plain(&wire, text), (String::new(), vec!["f{\"a\": 1}".to_owned(), "g{}".to_owned()]));
}

#[test]
fn an_id_at_the_end_of_a_line_has_any_signs() {
    let mut body = named_body("(", Arguments::Json);
    body.tail = vec![CallPart::Text(") -> ".to_owned()), CallPart::Id];
    let wire = wire_with(["<calls>", "", "\n", "", "</calls>"], body);
    let message = read(&draft(&wire), "<calls>f({\"a\": 1}) -> functions.f:0\ng({}) -> Zm9v/+8=\n</calls><end>");
    assert_eq!(said_calls(&message), ["f{\"a\": 1}", "g{}"]);
    let calls = message.get("tool_calls").and_then(Value::as_list).unwrap();
    let ids: Vec<_> = calls.iter().map(|call| call.get("id").and_then(Value::as_str)).collect();
    assert_eq!(ids, [Some("functions.f:0"), Some("Zm9v/+8=")]);
}

#[test]
fn behind_the_close_of_a_call_another_one_opens_only_inside_the_section() {
    let wire = wire_with(["<calls>", "(", ")", "\n", "</calls>"], named_body(" ", Arguments::Json));
    let inside = Choices { inside_section: true, ..Choices::default() };
    let text = "<calls>(f {\"a\": 1})\n(g {})</calls><end>";
    assert_eq!(read_under(&wire, inside, text).1, ["f{\"a\": 1}", "g{}"]);
    let prose = "It is so (in short) (and in full).<end>";
    assert_eq!(read_under(&wire, inside, prose), ("It is so (in short) (and in full).".to_owned(), Vec::new()));
    assert_ne!(plain(&wire, prose).0, "It is so (in short) (and in full).", "the plain opening needs no section");
}

#[test]
fn a_string_that_looks_like_the_next_call_does_not_split_a_list() {
    let keywords = |quote: &str, python| {
        let mut keywords = pairs(["", "=", "", ", "]);
        keywords.values.python = python;
        keywords.values.strings = match quote {
            "\"" => Encoding::Json,
            quote => Encoding::Quoted { open: quote.to_owned(), close: quote.to_owned(), escaped: true },
        };
        named_body("(", Arguments::Pairs(Box::new(keywords)))
    };
    let outside = Choices { outside_strings: true, ..Choices::default() };
    for (marks, quote, python, text, call) in [
        (["<calls>[", "]</calls>"], "\"", false, r#"a="x(1), g()""#, r#"f{"a": "x(1), g()"}"#),
        (["<calls>[", "]</calls>"], "\"", false, r#"a="\"x\"), g(), \"""#, r#"f{"a": "\"x\"), g(), \""}"#),
        (["<calls>[", "]</calls>"], "'", true, r#"a="it's), g()""#, r#"f{"a": "it's), g()"}"#),
        (["[", "]"], "\"", false, r#"a="x)]<end>), g()""#, r#"f{"a": "x)]<end>), g()"}"#),
    ] {
        let wire = wire_with([marks[0], "", ")", ", ", marks[1]], keywords(quote, python));
        let text = format!("Hi. {}f({text}), h(){}<end>", marks[0], marks[1]);
        assert_eq!(
            read_under(&wire, outside, &text),
            ("Hi.".to_owned(), vec![call.to_owned(), "h{}".to_owned()]),
            "{text}"
        );
        assert_ne!(plain(&wire, &text).1, [call, "h{}"], "{text}");
    }
    // Behind the section, prose is prose.
    let wire = wire_with(["<calls>[", "", ")", ", ", "]</calls>"], keywords("\"", false));
    assert_eq!(read_under(&wire, outside, "<calls>[f()]</calls> So: g(x), h()<end>").1, ["f{}"]);
}

#[test]
fn a_call_without_a_mark_begins_at_the_start_of_the_turn_and_with_the_white_space_of_renders() {
    let wire = wire_with(["", "", "", "<next>", ""], named_body("\n", Arguments::Json));
    let exact = Choices { exact_space: true, ..Choices::default() };
    let calls = "f\n{\"a\": 1}<next>g\n{}<end>";
    assert_eq!(read_under(&wire, exact, calls).1, ["f{\"a\": 1}", "g{}"]);
    for prose in ["\nUse {x}.<end>", "\nUse\n{x}.<end>", "Use {x}.<end>"] {
        let text = prose.trim().replace("<end>", "");
        assert_eq!(read_under(&wire, exact, prose), (text.clone(), Vec::new()));
        assert_ne!(plain(&wire, prose).0, text, "white space is optional without the choice");
    }
}

#[test]
fn the_first_argument_may_be_of_any_type() {
    let mut typed = pairs(["", "", "\n", ""]);
    let words =
        Typed { prefix: " (".to_owned(), string: "text".to_owned(), suffix: ") = ".to_owned(), has_space: false };
    typed.values.typed = Some(words);
    let wire = wire_with(["<f=", "", "</f>", "", ""], named_body(">\n", Arguments::Pairs(Box::new(typed))));
    let text = "<f=get>\na (number) = 1\nb (text) = x\n</f><end>";
    assert_eq!(plain(&wire, text).1, ["get{\"a\": \"1\", \"b\": \"x\"}"]);
}

#[test]
fn an_object_without_a_close_does_not_end_inside_a_string() {
    let mut wire = wire_with(["", "<call>", "", "", ""], object_body());
    wire.content.place = Place::After;
    let text = "<call>{\"name\": \"f\", \"arguments\": {\"a\": [\"}\", \"}}\", \"b\"]}} Hi<end>";
    let guarded = Choices { guard: Guard::Always, ..Choices::default() };
    assert_eq!(
        read_under(&wire, guarded, text),
        ("Hi".to_owned(), vec!["f{\"a\": [\"}\", \"}}\", \"b\"]}".to_owned()])
    );
    assert_ne!(plain(&wire, text), read_under(&wire, guarded, text), "the plain close is found inside a string");
}

#[test]
fn a_region_of_arguments_captures_the_name_in_its_opening() {
    let wire = wire_with(["", "<call>", "</call>", "", ""], object_body());
    let arguments = Choices { region: CallRegion::Arguments, ..Choices::default() };
    let template = compile(&wire, &arguments, "thinking");
    let field = template.get("fields").and_then(|fields| fields.get("tool_calls")).unwrap();
    assert_eq!(
        field.get("transform").unwrap().get("function").unwrap().to_string(),
        r#"{"name": "{name}", "arguments": "{content}"}"#
    );
    assert!(field.get("open_pattern").and_then(Value::as_str).unwrap().contains("(?P<name>"), "{field}");
    let text = "<call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</call><end>";
    assert_eq!(said_calls(&read(&template, text)), ["f{\"a\": 1}"]);
}

#[test]
fn exact_white_space_is_part_of_the_marks() {
    let wire = wire_with(["", "<call>\n", "\n</call>", "", ""], object_body());
    let exact = Choices { exact_space: true, ..Choices::default() };
    let [close, spaced] = [exact, Choices::default()].map(|choices| {
        let template = compile(&wire, &choices, "thinking");
        let field = template.get("fields").and_then(|fields| fields.get("tool_calls")).unwrap().clone();
        field.get("close_pattern").and_then(Value::as_str).unwrap().to_owned()
    });
    assert!(close.starts_with("(?:\\n</call>|"), "{close}");
    assert!(spaced.starts_with("(?:</call>|"), "{spaced}");
}

#[test]
fn content_ends_where_a_call_begins() {
    let of = |texts, body| {
        let wire = wire_with(texts, body);
        opening(&wire, wire.calls.as_ref().unwrap(), &Choices::default())
    };
    let object = "{\"name\": \"f\", \"arguments\": {}}";
    let bare = object_body();
    for (pattern, text, is_opening) in [
        (of(["", "<call>", "</call>", "", ""], bare.clone()), "<call>", true),
        (of(["", "<call>", "</call>", "", ""], bare.clone()), object, false),
        // Prose may contain the word of a section: a call must follow it.
        (of(["calls:", "", "", ", ", ""], bare.clone()), "calls: and so on", false),
        (of(["calls:", "", "", ", ", ""], bare.clone()), "calls:\n{\"name\": \"f\", \"arguments\": ", true),
        (of(["", "", "", "", ""], bare.clone()), object, true),
        (of(["", "", "", "", ""], bare), "{\"size\": 1}", false),
    ] {
        let found = Pattern::new(&pattern).unwrap().find_at(text, 0).unwrap().is_some_and(|found| found.span().0 == 0);
        assert_eq!(found, is_opening, "{pattern} {text}");
    }
}

#[test]
fn content_may_hold_the_mark_that_parts_share_if_no_name_follows() {
    let marks = Content { open: "<|part|>say<|text|>".to_owned(), ..Content::default() };
    let wire = WireFormat {
        content: marks,
        ..wire_with(["", "<|part|>", "<|over|>", "", ""], named_body("<|text|>", Arguments::Json))
    };
    let text = "<|part|>say<|text|>No <|part|> here.<|part|>f<|text|>{}<|over|><end>";
    let guarded = Choices { guard: Guard::Always, ..Choices::default() };
    assert_eq!(read_under(&wire, guarded, text), ("No <|part|> here.".to_owned(), vec!["f{}".to_owned()]));
    assert_eq!(plain(&wire, text).0, "No", "the plain close is the mark");
}

#[test]
fn the_line_break_behind_the_last_call_is_no_content() {
    let wire = wire_with(["<calls>\n", "", ")", "\n", ""], named_body("(", Arguments::Json));
    for end in ["\n<end>", "<end>", "\n", ""] {
        let (said, made) = plain(&wire, &format!("Look.<calls>\nf({{\"a\": 1}})\ng({{}}){end}"));
        assert_eq!((said.as_str(), made.len()), ("Look.", 2), "{end:?}");
    }
}

#[test]
fn a_word_that_opens_content_is_not_the_name_of_a_call() {
    let opened = |open: &str, mark: [&str; 5]| {
        let content = Content { open: open.to_owned(), ..Content::default() };
        WireFormat { content, ..wire_with(mark, named_body("\n", Arguments::Json)) }
    };
    // What closes reasoning also opens an answer without any.
    let thought = Reasoning { empty: Some(">>>all\n".to_owned()), ..reasoning(">>>thought\n", "\n>>>all\n") };
    let thinking = WireFormat {
        reasoning: Some(thought),
        ..wire_with(["", ">>>", "", "\n", ""], named_body("\n", Arguments::Json))
    };
    for (wire, lead) in [
        (opened(">>>all", ["", ">>>", "", "\n", ""]), ">>>"),
        (opened("all", ["", "", "", "\n<|to|>", ""]), ""),
        (thinking, ">>>"),
    ] {
        for (name, content, calls) in [("all", "{\"a\": 1}", ""), ("allow", "", "allow{\"a\": 1}")] {
            let (said, made) = plain(&wire, &format!("{lead}{name}\n{{\"a\": 1}}<end>"));
            assert_eq!((said.as_str(), made.concat().as_str()), (content, calls), "{lead}{name}");
        }
    }
}

#[test]
fn what_opens_reasoning_or_content_behind_the_mark_of_calls_is_no_name() {
    for (open, after, close) in [("<to ", ">", "<to user>"), (">>", "\n", "\n>>user\n")] {
        let wire = WireFormat {
            reasoning: Some(reasoning(&format!("{open}self{after}"), close)),
            content: Content { labels: vec![format!("{open}user")], ..Content::default() },
            ..wire_with(["", open, "", "\n", ""], named_body(after, Arguments::Json))
        };
        for (text, content, calls) in [
            (format!("{open}self{after}{{x}} it is.{close}Yes.<end>"), "Yes.", ""),
            (format!("{open}self{after}\"Hm.\"{close}{{}}<end>"), "{}", ""),
            (format!("{open}selfless{after}{{\"a\": 1}}<end>"), "", "selfless{\"a\": 1}"),
        ] {
            let (said, made) = plain(&wire, &text);
            assert_eq!((said.as_str(), made.concat().as_str()), (content, calls), "{text}");
        }
    }
}

#[test]
fn a_mark_that_opens_content_is_not_that_of_a_call() {
    let thought = Reasoning { empty: Some("<to user>".to_owned()), ..reasoning("<plan>", "<to user>") };
    let wire = WireFormat {
        reasoning: Some(thought),
        ..wire_with(["", "<to ", "", "", ""], named_body(">", Arguments::Json))
    };
    for (text, content, calls) in [
        ("<plan>Hm.<to user>{\"a\": 1}<end>", "{\"a\": 1}", ""),
        ("<to user>{\"a\": 1}<end>", "{\"a\": 1}", ""),
        ("<plan>Hm.<to user>Yes.<to users>{\"a\": 1}<end>", "Yes.", "users{\"a\": 1}"),
    ] {
        let (said, made) = plain(&wire, text);
        assert_eq!((said.as_str(), made.concat().as_str()), (content, calls), "{text}");
    }
}

#[test]
fn a_name_with_a_number_is_an_id() {
    let text = |text: &str| CallPart::Text(text.to_owned());
    let numbered = [CallPart::Name, text(":"), CallPart::Counter(0), text("<args>")];
    let mut open = "<call>functions.";
    let made = numbered_id(&numbered, &mut open);
    assert_eq!((made, open), (Some(vec![CallPart::NamedId, text("<args>")]), "<call>"));
    for not in [
        vec![CallPart::Name, text("#"), CallPart::Counter(0), text("<args>")],
        // Nothing ends the number.
        vec![CallPart::Name, text(":"), CallPart::Counter(0)],
        vec![CallPart::Name, text(":"), CallPart::Counter(0), text("<id>"), CallPart::Id],
    ] {
        let mut open = "<call>functions.";
        assert_eq!((numbered_id(&not, &mut open), open), (None, "<call>functions."), "{not:?}");
    }
    let body = Body { head: numbered.to_vec(), ..named_body("", Arguments::Json) };
    let wire = wire_with(["", "<call>functions.", "</call>", "", ""], body);
    let message = read(&draft(&wire), "<call>functions.get:0<args>{\"a\": 1}</call><end>");
    assert_eq!(said_calls(&message), ["get{\"a\": 1}"]);
    let id = message.get("tool_calls").and_then(Value::as_list).unwrap()[0].get("id").and_then(Value::as_str);
    assert_eq!(id, Some("functions.get:0"));
}

#[test]
fn an_id_has_any_signs_but_the_one_that_ends_it() {
    let text = |text: &str| CallPart::Text(text.to_owned());
    for (head, opening) in [
        (vec![CallPart::Id, text(" "), CallPart::Name, text(">")], "ID get>"),
        (vec![CallPart::Name, text(" ["), CallPart::Id, text("]")], "get [ID]"),
    ] {
        let wire = wire_with(["", "<call ", "</call>", "", ""], Body { head, ..named_body("", Arguments::Json) });
        for id in ["call_1", "functions.get:0", "Zm9v/+8="] {
            let message = read(&draft(&wire), &format!("<call {}{{\"a\": 1}}</call><end>", opening.replace("ID", id)));
            assert_eq!(said_calls(&message), ["get{\"a\": 1}"], "{id}");
            let call = message.get("tool_calls").and_then(Value::as_list).unwrap()[0].clone();
            assert_eq!(call.get("id").and_then(Value::as_str), Some(id));
        }
    }
}

#[test]
fn a_call_without_arguments_may_leave_out_the_text_around_them() {
    let left_out = |before: &str, after: &str| {
        Some(LeftOut { before: before.to_owned(), after: after.to_owned(), instead: String::new() })
    };
    let tagged = Body { left_out: left_out("<with>", "</with>"), ..named_body("<with>", Arguments::Json) };
    let tagged = wire_with(["", "<call>", "</with></call>", "", ""], tagged);
    let spaced = Body { left_out: left_out(" ", ""), ..named_body(" ", Arguments::Json) };
    let spaced = wire_with(["", "<call>", "</call>", "", ""], spaced);
    let object = Body { left_out: left_out(", \"arguments\": ", ""), ..object_body() };
    let object = wire_with(["", "<call>", "</call>", "", ""], object);
    for (wire, full, empty) in [
        (&tagged, "<call>f<with>{\"a\": 1}</with></call>", "<call>f</call>"),
        (&spaced, "<call>f {\"a\": 1}</call>", "<call>f</call>"),
        (&object, "<call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</call>", "<call>{\"name\": \"f\"}</call>"),
    ] {
        let read = plain(wire, &format!("{empty}{full}{empty}<end>"));
        assert_eq!(read, (String::new(), ["f{}", "f{\"a\": 1}", "f{}"].map(str::to_owned).to_vec()), "{full}");
    }
}

#[test]
fn a_call_without_arguments_may_have_another_text_in_their_place() {
    let left_out = |before: &str, after: &str, instead: &str| {
        let [before, after, instead] = [before, after, instead].map(str::to_owned);
        Some(LeftOut { before, after, instead })
    };
    let closed = Body { left_out: left_out(">", "</call>", "/>"), ..named_body(">", Arguments::Json) };
    let closed = wire_with(["", "<call ", "</call>", "", ""], closed);
    let word = Body { left_out: left_out("", "", "none"), ..named_body(" ", Arguments::Json) };
    let word = wire_with(["", "<call>", "</call>", "", ""], word);
    for (wire, full, empty) in [
        (&closed, "<call f>{\"a\": \"<b/>\"}</call>", "<call f/>"),
        (&word, "<call>f {\"a\": \"<b/>\"}</call>", "<call>f none</call>"),
    ] {
        let read = plain(wire, &format!("{empty}{full}{empty}<end>"));
        let wanted = ["f{}", "f{\"a\": \"<b/>\"}", "f{}"].map(str::to_owned).to_vec();
        assert_eq!(read, (String::new(), wanted), "{full}");
    }
}

#[test]
fn a_look_ahead_finds_a_name_after_the_arguments() {
    let text = |text: &str| CallPart::Text(text.to_owned());
    let body = Body {
        head: vec![],
        arguments: Arguments::Json,
        tail: vec![text("<to>"), CallPart::Name],
        object: None,
        left_out: None,
    };
    let wire = wire_with(["", "<call>", "</call>", "", ""], body);
    assert_eq!(plain(&wire, "<call>{\"a\": 1}<to>f</call><end>").1, ["f{\"a\": 1}"]);
}

#[test]
fn a_sign_opens_calls_only_where_renders_have_it() {
    let lines = wire_with(["\n", "\n/", "", "", ""], named_body(" ", Arguments::Json));
    let exact = Choices { after_content: true, ..Choices::default() };
    let table: [(&str, &str, &[&str]); 4] = [
        ("Hi.\n\n/f {\"a\": 1}\n/g {}<end>", "Hi.", &["f{\"a\": 1}", "g{}"]),
        // The prompt may end with the line break.
        ("/f {}<end>", "", &["f{}"]),
        ("Say in /tmp {a} then.<end>", "Say in /tmp {a} then.", &[]),
        ("\n\n/f {\"a\": \"in /tmp {b} then\"}\n/g {}<end>", "", &["f{\"a\": \"in /tmp {b} then\"}", "g{}"]),
    ];
    for (text, content, calls) in table {
        let calls = calls.iter().map(|call| (*call).to_owned()).collect();
        assert_eq!(read_under(&lines, exact, text), (content.to_owned(), calls), "{text}");
    }
    // Nothing but the end of the turn follows a name without arguments.
    let flags = named_body("", Arguments::Pairs(Box::new(pairs([" --", "=", "", ""]))));
    let flags = wire_with(["", "\n$ ", "", "", ""], flags);
    let text = "It costs 5 $ and 3.\n$ f --a=1\n$ g<end>";
    let calls = ["f{\"a\": \"1\"}", "g{}"].map(str::to_owned).to_vec();
    assert_eq!(read_under(&flags, exact, text), ("It costs 5 $ and 3.".to_owned(), calls));
}

#[test]
fn a_name_between_marks_may_have_any_signs() {
    let marked = wire_with(["", "<call>", "</call>", "", ""], named_body("\n", Arguments::Json));
    let tagged = named_body("\n", Arguments::Pairs(Box::new(pairs(["<k>", "<v>", "</k>", ""]))));
    let tagged = wire_with(["", "<call>", "</call>", "", ""], tagged);
    let lines = wire_with(["\n", "\n/", "", "", ""], named_body(" ", Arguments::Json));
    let exact = Choices { after_content: true, ..Choices::default() };
    for (wire, choices, text, calls) in [
        (
            &marked,
            Choices::default(),
            "<call>mcp/read\n{\"a\": 1}</call><call>ns:read{}</call><end>",
            ["mcp/read{\"a\": 1}", "ns:read{}"],
        ),
        (
            &tagged,
            Choices::default(),
            "<call>mcp/read\n<k>a<v>b</k></call><call>ns:read</call><end>",
            ["mcp/read{\"a\": \"b\"}", "ns:read{}"],
        ),
        (&lines, exact, "\n\n/mcp/read {\"a\": 1}\n/ns:read {}<end>", ["mcp/read{\"a\": 1}", "ns:read{}"]),
    ] {
        assert_eq!(read_under(wire, choices, text), (String::new(), calls.map(str::to_owned).to_vec()), "{text}");
    }
}

#[test]
fn white_space_in_json_may_vary_but_not_inside_strings() {
    assert_eq!(json_text("{\"a b\": \""), "\\{\\s*\"a b\":\\s*\"");
    assert_eq!(json_text("\"x: {\""), "\"x: \\{\"", "punctuation in a string is text");
    let Some(mut object) = object_body().object else { panic!("an object") };
    assert_eq!(object_start(&object), "\\{\\s*\"name\"\\s*:\\s*\"[^\"]*\"\\s*,\\s*\"arguments\"\\s*:");
    object.name = None;
    assert_eq!(object_start(&object), "\\{\\s*\"[^\"]+\"\\s*:\\s*\\{", "the name is the key");
}

#[test]
fn a_bracket_after_lines_of_json_closes_a_call_before_any_text() {
    let call = "{% for c in m.tool_calls or [] %}<|use|>{{ c.function.name }}({% for k, v in c.function.arguments.items() %}\
                <|k|>{{ k }}<|v|>{{ v | tojson }}{{ '\\n' }}{% endfor %}){% endfor %}{{ m.content }}<end>";
    let (before, _) = CHAT.split_once("{{ m.content }}").unwrap();
    let (_, after) = CHAT.split_once("<end>").unwrap();
    let derivation = derive(&format!("{before}{call}{after}"), &Options::default());
    let draft = derivation.response_template.unwrap();
    assert_eq!(derivation.status, Status::Proved, "{draft}");
    let message = read(&draft, "<|use|>f(<|k|>a<|v|>\"g(1)\"\n)So it (is).<end>");
    assert_eq!(said_calls(&message), ["f{\"a\": \"g(1)\"}"], "{draft}");
    assert_eq!(message.get("content"), Some(&"So it (is).".into()), "{draft}");
}

/// A chat template that writes one call between the first two marks, and several between the others.
fn one_or_more([one, one_close, more, more_close]: [&str; 4]) -> String {
    let call = "{\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}";
    let calls = format!(
        "{{{{ m.content }}}}{{% set calls = m.tool_calls or [] %}}{{% if calls | length == 1 %}}{one}{{% elif calls %}}{more}{{% endif %}}\
         {{% for c in calls %}}{call}{{{{ '\\n' if not loop.last }}}}{{% endfor %}}\
         {{% if calls | length == 1 %}}{one_close}{{% elif calls %}}{more_close}{{% endif %}}<end>"
    );
    let (before, _) = CHAT.split_once("{{ m.content }}").unwrap();
    let (_, after) = CHAT.split_once("<end>").unwrap();
    format!("{before}{calls}{after}")
}

#[test]
fn several_calls_may_have_other_marks_than_one() {
    let call = "{\"name\": \"f\", \"arguments\": {\"a\": 1}}";
    for marks in [
        ["<call>", "</call>", "<calls>", "</calls>"],
        ["<one>", "</use>", "<more>", "</use>"],
        ["<use>", "</one>", "<use>", "</more>"],
        ["<use>", "</use>", "<use>[", "]</use>"],
    ] {
        let derivation = derive(&one_or_more(marks), &Options::default());
        let draft = derivation.response_template.unwrap();
        assert_eq!(derivation.status, Status::Proved, "{marks:?} {draft}");
        let [one, one_close, more, more_close] = marks;
        let one = read(&draft, &format!("Hi.{one}{call}{one_close}<end>"));
        assert_eq!(said_calls(&one), ["f{\"a\": 1}"], "{marks:?}");
        let two = read(&draft, &format!("Hi.{more}{call}\n{call}{more_close}<end>"));
        assert_eq!(said_calls(&two), ["f{\"a\": 1}", "f{\"a\": 1}"], "{marks:?}");
        assert_eq!(two.get("content").and_then(Value::as_str), Some("Hi."), "{marks:?}");
    }
}

#[test]
fn the_last_call_of_a_section_takes_the_white_space_before_its_end() {
    let tail = vec![CallPart::Text(" // ".to_owned()), CallPart::Name];
    let body = Body { head: Vec::new(), arguments: Arguments::Json, tail, object: None, left_out: None };
    let listed = wire_with(["<js>\n", "", "", "\n", "\n</js>"], body);
    for (text, calls) in [
        ("I look.<js>\n{} // f\n</js><end>", &["f{}"][..]),
        ("I look.<js>\n{\"a\": 1} // f\n{} // g\n</js>\n<end>", &["f{\"a\": 1}", "g{}"]),
    ] {
        let calls: Vec<String> = calls.iter().map(|call| (*call).to_owned()).collect();
        assert_eq!(plain(&listed, text), ("I look.".to_owned(), calls), "{text}");
    }
}

#[test]
fn a_name_without_arguments_ends_before_the_end_of_the_turn() {
    let arguments = Arguments::Pairs(Box::new(pairs([" | ", "=", "", ""])));
    let lines = wire_with(["", "[call] ", "", "\n", ""], named_body("", arguments));
    for (text, calls) in
        [("[call] f<end>", &["f{}"][..]), ("[call] f\n[call] g | a=x<end>", &["f{}", "g{\"a\": \"x\"}"])]
    {
        assert_eq!(plain(&lines, text).1, calls, "{text}");
    }
}
