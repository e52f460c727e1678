//! Tests what the grammars of custom tools accept, with the recognizer.

use super::*;
use crate::rules::Machine;
use backchat_core::json;

fn read_as(syntax: &str, definition: &str) -> Result<(Option<Input>, Vec<Note>), Unsupported> {
    let grammar = Value::from([("syntax", syntax.into()), ("definition", definition.into())]);
    let format = Value::from([("type", "grammar".into()), ("grammar", grammar)]);
    let mut notes = Vec::new();
    read(Some(&format), &mut notes).map(|input| (input, notes))
}

fn accepts(input: &Input, text: &str) -> bool {
    match input {
        Input::Regular(automaton) => automaton.accepts(text),
        Input::ContextFree(grammar) => {
            let mut rules = Rules::default();
            let mut spell = |rules: &mut Rules, name: &str, text: &Automaton| Some(rules.text(name, text.clone()));
            let node = grammar.node(&mut rules, "input", &mut spell).unwrap();
            let mut machine = Machine::new(&rules, &node);
            (text.is_empty() || machine.feed_text(text)) && machine.may_end()
        }
    }
}

#[test]
fn a_regular_expression_matches_the_whole_text() {
    for (pattern, good, bad) in [
        ("^[0-9]{2}:[0-9]{2}$", vec!["08:30"], vec!["8:30", "08:30 ", ""]),
        ("a|bc", vec!["a", "bc"], vec!["ab", "abc", "b"]),
        ("(?i)yes|no", vec!["YES", "no", "No"], vec!["maybe"]),
        (r"\p{Greek}+", vec!["αβγ"], vec!["abc", ""]),
        ("[a-z&&[^aeiou]]+", vec!["xyz"], vec!["xa"]),
    ] {
        let (input, _) = read_as("regex", pattern).unwrap();
        let input = input.unwrap();
        good.iter().for_each(|text| assert!(accepts(&input, text), "{pattern}: {text:?}"));
        bad.iter().for_each(|text| assert!(!accepts(&input, text), "{pattern}: {text:?}"));
    }
}

#[test]
fn a_lark_grammar_is_read_over_characters() {
    for (grammar, is_regular, good, bad) in [
        ("start: \"a\" \"b\"i?", true, vec!["a", "ab", "aB"], vec!["b", "abb"]),
        ("start: A ~ 2..3\nA: \"a\"..\"c\"", true, vec!["ab", "abc"], vec!["a", "abca", "ad"]),
        (
            "start: WORD (\",\" WORD)*\n%import common.WORD\n%ignore \" \"",
            true,
            vec!["a", " a , b "],
            vec!["a,", "a b"],
        ),
        ("start: /[a-c]+/x | [X] \"!\" // why\nX.2: /x y/x", true, vec!["abc", "!", "xy!"], vec!["xy", ""]),
        ("?start: a\na: \"(\" a \")\" -> nested\n | \"x\"", false, vec!["x", "((x))"], vec!["(x", "()", "x)"]),
        // Left recursion: direct, indirect, and from an empty base. Without it these are regular.
        ("start: start \"+\" N | N\nN: /[0-9]+/", true, vec!["1", "1+22+3"], vec!["+1", "1+", ""]),
        (
            "start: a\na: b \"x\" | \"y\"\nb: a \"z\" | \"w\"",
            true,
            vec!["y", "wx", "yzx", "wxzx"],
            vec!["x", "yx", "wz"],
        ),
        ("start: start \"a\" |", true, vec!["", "a", "aaa"], vec!["b"]),
        ("start: (\"a\"* \"b\"?)* \"(\" start? \")\"", false, vec!["()", "ab(a())"], vec!["(", "ab"]),
    ] {
        let (input, _) = read_as("lark", grammar).unwrap_or_else(|problem| panic!("{grammar}: {problem}"));
        let input = input.unwrap();
        assert_eq!(matches!(input, Input::Regular(_)), is_regular, "{grammar}");
        good.iter().for_each(|text| assert!(accepts(&input, text), "{grammar}: {text:?}"));
        bad.iter().for_each(|text| assert!(!accepts(&input, text), "{grammar}: {text:?}"));
    }
}

#[test]
fn terminals_that_a_lexer_would_split_differently_are_noted() {
    for (grammar, is_noted) in [
        ("start: A B\nA: /[a-z]+/\nB: /[0-9]+/", false),
        ("start: A B\nA: /[a-z]+/\nB: /[a-z0-9]+/", true),
        // A lexer reads `ifx` as one name.
        ("start: \"if\" NAME\nNAME: /[a-z]+/", true),
        ("start: \"if\" \" \" NAME\nNAME: /[a-z]+/", false),
        ("start: item+\nitem: \"(\" item \")\" | N\nN: /[0-9]+/", true),
    ] {
        let (_, notes) = read_as("lark", grammar).unwrap();
        assert_eq!(notes.iter().any(|note| note.effect == Effect::Looser), is_noted, "{grammar}");
    }
}

#[test]
fn unsupported_features_are_refused_by_name_and_position() {
    for (syntax, definition, problem) in [
        ("regex", "(a", "line 1, column 1: unclosed group"),
        ("regex", "a\n(?=b)", "line 2, column 1: look-around"),
        ("regex", "a^b", "anchor or a boundary inside"),
        ("regex", r"\bword", "anchor or a boundary inside"),
        ("regex", "[^\\s\\S]", "accepts no text"),
        ("lark", "start: A\n%declare A", "line 2, column 1: `%declare`"),
        ("lark", "%extend A: \"a\"", "line 1, column 1: `%extend`"),
        ("lark", "%override start: \"a\"", "`%override`"),
        ("lark", "start: %json {}", "`%json`"),
        ("lark", "start: %regex {}", "`%regex`"),
        ("lark", "start: <|mark|>", "special tokens"),
        ("lark", "start: <[12]>", "special tokens"),
        ("lark", "start: @other", "grammars by reference"),
        ("lark", "start: twice{A}\nA: \"a\"", "templates"),
        ("lark", "start[lazy]: /.*/", "attributes such as `[lazy]`"),
        ("lark", "start: /a(?=b)/", "line 1, column 8: the regular expression"),
        ("lark", "start: b", "line 1, column 8: `b` is not defined"),
        ("lark", "start: A\nA: A \"a\"", "refers to itself"),
        ("lark", "start: \"a", "line 1, column 8: this text is not closed"),
        ("lark", "start: (\"a\"", "is not closed"),
        ("lark", "begin: \"a\"", "has no rule `start`"),
        ("lark", "start: start \"a\"", "accepts no text: its rules never end"),
        ("lark", "%import python.NAME\nstart: NAME", "only `common` is known"),
        ("lark", "%import common.SQL_COMMENT\nstart: SQL_COMMENT", "common.SQL_COMMENT"),
        ("lark", "start: a start \"x\" | \"y\"\na: \"b\"?", "left recursion after a part that may be empty"),
        ("abnf", "x", "syntax is `abnf`"),
    ] {
        let refused = read_as(syntax, definition).unwrap_err();
        assert!(refused.to_string().contains(problem), "{definition}: {refused}");
    }
}

#[test]
fn both_interfaces_of_openai_are_read() {
    for format in [
        r#"{"type": "grammar", "grammar": {"syntax": "regex", "definition": "a+"}}"#,
        r#"{"type": "grammar", "syntax": "regex", "definition": "a+"}"#,
    ] {
        let input = read(Some(&json::read(format).unwrap()), &mut Vec::new()).unwrap().unwrap();
        assert!(accepts(&input, "aa") && !accepts(&input, "b"), "{format}");
    }
    for free in [None, Some(Value::Null), Some(json::read(r#"{"type": "text"}"#).unwrap())] {
        assert!(read(free.as_ref(), &mut Vec::new()).unwrap().is_none());
    }
}
