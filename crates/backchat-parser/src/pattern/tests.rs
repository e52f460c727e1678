//! The answers of Python's `regex`, in tables. Expected values were taken from regex 2026.11.15.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Every match of a pattern as `start-end`, in characters.
fn matches(source: &str, text: &str) -> String {
    let pattern = Pattern::new(source).unwrap_or_else(|error| panic!("{source}: {error} at {}", error.offset));
    let place = |bytes: usize| text[..bytes].chars().count();
    let spans = pattern.matches(text).map(|found| {
        let (start, end) = found.unwrap().span();
        format!("{}-{}", place(start), place(end))
    });
    spans.collect::<Vec<_>>().join(" ")
}

#[test]
fn matches_equal_those_of_python_regex() {
    for (source, text, want) in [
        // Leftmost, then the first alternative that lets the rest match.
        ("a|ab", "ab", "0-1"),
        ("(?:a|ab)c", "abc", "0-3"),
        ("a*", "baac", "0-0 1-3 3-3 4-4"),
        ("a*?", "aa", "0-0 0-1 1-1 1-2 2-2"),
        ("|a", "aa", "0-0 0-1 1-1 1-2 2-2"),
        (r"\b|a", "aa b", "0-0 0-1 1-2 2-2 3-3 4-4"),
        ("a{,2}b", "aaab b", "1-4 5-6"),
        ("x{2}y{1,}", "xxxyy", "1-5"),
        // A group that matches nothing is not repeated.
        ("(|a)*", "aab", "0-0 0-1 1-1 1-2 2-2 3-3"),
        ("(?:a|)*b", "aab", "0-3"),
        (r"(?:\s|.??)*+", "\nA b", "0-1 1-1 2-3 3-3 4-4"),
        // Possessive and atomic groups do not backtrack.
        ("a++b", "aab", "0-3"),
        ("a++a", "aaa", ""),
        ("(?>a|ab)c", "abc ac", "4-6"),
        ("(?:ab)++c", "ababc", "0-5"),
        // The end, and the newline before it.
        ("$", "a\n", "1-1 2-2"),
        (r"\Z", "a\n", "2-2"),
        ("(?m)$", "a\nb", "1-1 3-3"),
        ("(?m)^", "a\nb\n", "0-0 2-2 4-4"),
        (r"a$", "a\n\n", ""),
        // Looks of any length.
        (r"(?<=a+)b", "aab", "2-3"),
        (r"(?<=^|\n)>>", ">>\n>>x>>", "0-2 3-5"),
        (r"(?<=a|bc)d", "adbcdd", "1-2 4-5"),
        (r"(?<!\\)<x>", r"\<x><x>", "4-7"),
        (r"(?<=(\w)-)\1", "a-a", "2-3"),
        ("<x(?!y)[^>]*>", "<xy><x z>", "4-9"),
        (r"(?:(?!</x>)[\s\S])*?!!", "a</x>b!!", "2-8"),
        // Groups again, and conditions on them.
        (r#"(["`])x\1"#, r#""x`"x""#, "3-6"),
        (r"(?P<q>a+)b(?P=q)", "aabaa aba", "0-5 6-9"),
        ("(a)?b(?(1)c|d)", "abd bd abc", "1-3 4-6 7-10"),
        ("(?:a|(?P<g>b))c(?(g)d|e)", "ace bcd bce", "0-3 4-7"),
        ("(?P<x>a)|(?P<x>b)c", "abc", "0-1 1-3"),
        ("(?(?=a)a(?:b|c)|.)", "abcac", "0-2 2-3 3-5"),
        ("(?(?!a)b|a)+", "bab", "0-3"),
        ("(?(?<=x)y|z)", "xyz yz", "1-2 2-3 5-6"),
        ("(?(?=(a))a|b)(?(1)c|d)", "ac bd bc", "0-2 3-5"),
        ("(?(?=ab)ac|a)", "ab ac", "3-4"),
        // Recursion.
        (r"\((?:[^()]|(?R))*\)", "x(a(b)c)()((", "1-8 8-10"),
        (r"(?P<p>\[(?:[^\[\]]|(?&p))*\])", "[a[b]] [", "0-6"),
        ("(a|b)(?1)", "abba", "0-2 2-4"),
        // The match begins after `\K`.
        (r"a\Kb", "abab", "1-2 3-4"),
        // Case.
        ("(?i)k", "kK\u{212a}", "0-1 1-2 2-3"),
        ("(?i)s", "ſß", "0-1"),
        ("(?i)ß", "ẞ ss", "0-1"),
        ("(?i)i", "Iİı", "0-1 1-2"),
        ("(?fi)ss", "ß sS", "0-1 2-4"),
        ("(?-i:A)(?i:b)", "AB ab", "0-2"),
        ("a(?i)b", "aB AB", "0-2"),
        // Sets.
        (r"[]x]y", "]y", "0-2"),
        (r"[^]x]y", "ay]y", "0-2"),
        ("[a-z&&[^aeiou]]", "e] &]", "0-2 3-5"),
        ("[[:alpha:]]+", "ab1é", "0-2 3-4"),
        (r"\p{Lu}{2,}", "AÉb", "0-2"),
        (r"\P{L}", "a1", "1-2"),
        (r"\p{IsGreek}", "aα", "1-2"),
        (r"[\p{L}\p{N}_]+\(", "é1(", "0-3"),
        (r"\s", "\u{1c} \u{85}\u{200b}", "1-2 2-3"),
        (r"\w+", "e\u{301}²_٣", "0-2 3-5"),
        (r"\d", "²٣", "1-2"),
        // Odds and ends of the syntax.
        (r"(?x) < x > # a comment", "<x>", "0-3"),
        (r"<x>(?#note)y", "<x>y", "0-4"),
        (r"\x3cx\u003e\U0001F600", "<x>😀", "0-4"),
        (r"\101\0", "A\0", "0-2"),
        ("{x}a{x}", "{x}a{x}", "0-7"),
        (r"\R", "\r\n\n\u{2028}", "0-2 2-3 3-4"),
        (r"\h+", "a \t\u{a0}", "1-4"),
        (r"\m\w+\M", "ab cd", "0-2 3-5"),
        (r"\g", "g", "0-1"),
        (".", "\n", "0-1"),
        ("(?-s:.)", "\nx", "1-2"),
    ] {
        assert_eq!(matches(source, text), want, "{source} on {text:?}");
    }
}

#[test]
fn errors_of_patterns_have_a_position() {
    for (source, offset, message) in [
        ("(", 1, "a group is not closed: `)` is missing"),
        ("a)", 1, "this `)` closes no group"),
        ("[a", 2, "a character set is not closed: `]` is missing"),
        ("x{3,2}", 1, "a repeat of at least 3 and at most 2"),
        ("a|*", 2, "`*` has nothing to repeat"),
        ("{1}", 0, "`{…}` has nothing to repeat"),
        ("a**", 2, "a repeat of a repeat; put the first into a group `(?:…)`"),
        ("a++*", 3, "a repeat of a repeat; put the first into a group `(?:…)`"),
        ("(?P<1>a)", 4, "`1` cannot be the name of a group"),
        ("(?P<>a)", 4, "the group has no name"),
        ("(?P=x)", 4, "there is no group called `x` before this"),
        (r"(a)\2", 4, "there is no group 2"),
        (r"(\1a)", 2, "group 1 is referred to from inside itself"),
        ("(?z)", 2, "unknown flag `z`"),
        ("[z-a]", 1, "the range runs backwards"),
        ("\\", 0, "a backslash ends the pattern; write `\\\\` for the character"),
        (r"\x1", 0, "this escape takes 2 hexadecimal digits"),
        (r"é\Q", 2, "unknown escape `\\Q`"),
        (r"\p{Foo}", 2, "unknown property `Foo`"),
        ("(?#", 3, "the comment `(?#` is not closed: `)` is missing"),
        ("(?i-i:a)", 5, "a flag is both turned on and turned off"),
    ] {
        let error = Pattern::new(source).unwrap_err();
        assert_eq!((error.offset, error.message.as_str()), (offset, message), "{source}");
    }
}

#[test]
fn unsupported_constructs_are_rejected_by_name() {
    for (source, named) in [
        ("(?:think){e<=1}", "approximate matching"),
        ("a(*SKIP)b", "a backtracking verb"),
        ("(?r)ab", "searching in reverse"),
        ("(?p)a", "POSIX matching"),
        ("(?V1)a", "version 1 behavior"),
        ("(?|(a)|(b))", "a branch reset group"),
        (r"\X", "a grapheme"),
        (r"\N{LESS-THAN SIGN}", "a character by its name"),
        ("(?(DEFINE)a)", "a `(?(DEFINE)…)` group"),
        ("(?L)a", "the locale flag"),
        ("(?<=(?R))", "recursion inside a look-behind"),
    ] {
        let error = Pattern::new(source).unwrap_err();
        assert!(error.message.starts_with(named), "{source}: {error}");
        assert!(error.message.contains("cannot be run exactly"), "{source}: {error}");
    }
}

/// The knowledge about the first match after each piece of a text, and after its end.
fn growing(source: &str, pieces: &[&str]) -> String {
    let pattern = Pattern::new(source).unwrap();
    let mut search = Search::default();
    search.begin(&pattern, 0, false);
    let mut text = String::new();
    let mut out = Vec::new();
    for (piece, ended) in pieces.iter().map(|piece| (*piece, false)).chain([("", true)]) {
        text.push_str(piece);
        out.push(match search.resume(&pattern, &text, 0, ended).unwrap() {
            SearchResult::Nothing => "no".to_owned(),
            SearchResult::Waits { start } => format!("{start}…"),
            SearchResult::Match { start, end } => format!("{start}-{end}"),
        });
    }
    out.join(" ")
}

#[test]
fn a_match_counts_once_nothing_can_change_it() {
    for (source, pieces, want) in [
        ("<x>", ["a<", "x>"], "1… 1-4 1-4"),
        ("<x>", ["a<", "y>"], "1… no no"),
        (r"<x>\s*", ["<x> ", "b"], "0… 0-4 0-4"),
        (r"<x>\s*", ["<x>", " "], "0… 0… 0-4"),
        ("a|ab", ["a", "b"], "0-1 0-1 0-1"),
        ("ab|a", ["a", "b"], "0… 0-2 0-2"),
        ("ab|a", ["a", "c"], "0… 0-1 0-1"),
        ("a(?:ba)?", ["ab", "a"], "0… 0-3 0-3"),
        ("b|aba", ["ab", "c"], "0… 1-2 1-2"),
        ("a$", ["a\n", "b"], "0… no no"),
        ("a$", ["a", "\n"], "0… 0… 0-1"),
        (r"a\Z", ["a", ""], "0… 0… 0-1"),
        (r"a>\b", ["a>", "b"], "0… 0-2 0-2"),
        (r"a\B", ["a", "a"], "0… 0-1 0-1"),
        ("a(?!bc)", ["ab", "c"], "0… no no"),
        ("a(?!bc)", ["ab", "d"], "0… 0-1 0-1"),
        ("a(?(?=bc)b|x?)", ["ab", "c"], "0… 0-2 0-2"),
        ("a(?(?!bc)x?|b)", ["ab", "d"], "0… 0-1 0-1"),
        (r"a\s++b", ["a ", " b"], "0… 0-4 0-4"),
        (r"(?=[\s\S]*?T)", ["ab", "T"], "0… 0-0 0-0"),
        (r"(?=[\s\S]*?T)<a", ["b<", "T"], "1… no no"),
        (r"(a+)-\1", ["aa-a", "a"], "0… 0-5 0-5"),
        ("a.*b", ["abb", "c"], "0… 0… 0-3"),
        ("(?<=a)b", ["a", "b"], "no 1-2 1-2"),
        (r"\((?:[^()]|(?R))*\)", ["((a)", ")"], "0… 0-5 0-5"),
    ] {
        assert_eq!(growing(source, &pieces), want, "{source} on {pieces:?}");
    }
}

#[test]
fn hostile_patterns_terminate() {
    let text = "a".repeat(20_000) + "!";
    for source in ["(a+)+$", "(a|a)+$", "(a|aa)+$", r"(?:a+)+\Z", "(?=(a+))a*b", "a*a*a*a*b", "(?:a?){10}b"] {
        assert!(Pattern::new(source).unwrap().find_at(&text, 0).is_ok_and(|found| found.is_none()), "{source}");
    }
    for source in ["(a*)*$", r"(a+)+\1c", "(a|a|b)*?\\1(?:a|a)*c", "(?R)", "(?:a(?R)?)*b"] {
        assert_eq!(Pattern::new(source).unwrap().find_at(&text, 0).err(), Some(TooMuchWork), "{source}");
    }
}

#[test]
fn long_texts_take_linear_time_or_end_in_an_error() {
    let spaces = " ".repeat(50_000);
    let words = "ab ".repeat(20_000);
    for (source, text, linear) in [
        (r"(\s++)y", &spaces, true),
        (r"(?>\s+)y", &spaces, true),
        (r"x?\s++(?:y|z)", &spaces, true),
        (r"(?:\w++ )++y", &words, false),
        (r"(?>(?:\w+ )*)y", &words, false),
        (r"(\s+?)\1*y", &spaces, false),
        (r"(?=(\s+))\sx", &spaces, true),
        (r"\s{0,100000}y", &spaces, true),
        (r"\s{0,100000}(?:y|\sz)", &spaces, true),
        (r"(\s*)x?(?:y|\1z)", &spaces, false),
        (r"(?i)(\w+ )\1*y", &words, false),
    ] {
        let found = Pattern::new(source).unwrap().find_at(text, 0).map(|found| found.is_some());
        assert_eq!(found, if linear { Ok(false) } else { Err(TooMuchWork) }, "{source}");
    }
}

/// The cost of a search that finds nothing, in units of work per byte.
fn cost(source: &str, text: &str) -> f64 {
    let pattern = Pattern::new(source).unwrap();
    let mut search = Search::default();
    search.begin(&pattern, 0, false);
    let found = search.advance(&pattern, Haystack { text, base: 0, edge: Edge::End });
    assert_eq!(found, Ok(SearchResult::Nothing), "{source}");
    search.spent() as f64 / text.len() as f64
}

#[test]
fn overlapping_runs_are_not_rescanned() {
    for unit in ["a", "é", "aé日", "ab ", "aA"] {
        let text = unit.repeat(100_000 / unit.len());
        for source in [
            r"[^!]{1,4000}!",
            r"[^!]{1,4000}?!",
            r"[^!]{2000,4000}\d",
            r"[^!]{1,4000}?\d",
            r"[^!]{300}\d",
            r"[^!]{3,4000}+\d",
            r"(?:x|[^!]{1,4000}(?:!|\d))",
            r"(?=[^!]{1,4000}!)a",
            r"(?=([^!]+))[^!]*!",
            r"[^!]*[^!]{1,4000}!",
            r"[^!]{1,4000}[^!]{1,4000}!",
        ] {
            let cost = cost(source, &text);
            assert!(cost < 300.0, "{source} on {unit}: {cost}");
        }
    }
}

#[test]
fn work_is_charged_by_what_it_costs() {
    let text = "é".repeat(10_000);
    // To look a character up in a large set, and to fold it, costs more than to compare bytes.
    for (cheap, dear) in [("(?:x|é++!)", r"(?:x|\w++!)"), ("(?:éé)+!", "(?fi:éé)+!")] {
        let (cheap_cost, dear_cost) = (cost(cheap, &text), cost(dear, &text));
        assert!(cheap_cost < dear_cost, "{cheap}: {cheap_cost}, {dear}: {dear_cost}");
    }
}

proptest! {
    #[test]
    fn the_memo_of_a_run_changes_no_match(
        class in select(vec!["a", "[ab]", "[^b]", ".", r"\w", "é"]),
        (min, max) in (select(vec![0, 1, 17, 20]), 20_u32..40),
        greed in select(vec!["", "?", "+"]),
        before in select(vec!["", "a?", "b*", "(?:a|é)*?", "(?=a)"]),
        after in select(vec!["b", "a", "é", "(?:b|é)", "(?=b)", r"\b", "b{0,18}é", ""]),
        text in r"(?:a{0,30}|b|é{0,25}|(?:aé){0,12}| ){1,9}",
    ) {
        // A run of groups is counted, and nothing of it is remembered.
        let run = format!("{before}{class}{{{min},{max}}}{greed}{after}");
        let groups = format!("{before}({class}){{{min},{max}}}{greed}{after}");
        prop_assert_eq!(matches(&run, &text), matches(&groups, &text), "{} {}", run, groups);
        let pieces: Vec<&str> = text.split_inclusive(|_: char| true).collect();
        prop_assert_eq!(growing(&run, &pieces), growing(&groups, &pieces), "{} {}", run, groups);
    }
}

proptest! {
    #[test]
    fn stopping_points_of_runs_change_no_match(
        class in select(vec!["[^b]", ".", r"\s", "[a<\n]"]),
        greed in select(vec!["*", "+", "*?", "+?"]),
        after in select(vec!["$", r"\Z", "(?:b|$)", r"(?:<x>|a<|\Z)", "(?:b|é|<|a|$)", r"\s*(?:<x>|b|$)", "(?:<|(?:b|$)a?)"]),
        text in "(?:a{0,6}|b|é|<x>|<|\n){1,9}",
    ) {
        // A run of groups stops everywhere.
        let run = format!("{class}{greed}{after}");
        let groups = format!("({class}){greed}{after}");
        prop_assert_eq!(matches(&run, &text), matches(&groups, &text), "{} {}", run, groups);
        let pieces: Vec<&str> = text.split_inclusive(|_: char| true).collect();
        prop_assert_eq!(growing(&run, &pieces), growing(&groups, &pieces), "{} {}", run, groups);
    }

    /// Runs before the identifying bytes of a match are skipped together, and a choice of patterns is not.
    #[test]
    fn the_prefilter_changes_no_match(
        lead in prop::collection::vec(
            select(vec![r"\s*", r"(\w+)", "[ab]*?", "[^!<]+", "é{0,3}", "a++", "(?:<o>)?", r"(?:<\w*>)*", "a{2,}"]),
            1..5,
        ),
        then in select(vec!["!", "<x>", r"<\w", "(?:!|<o>)", "(?=!)[!<]", "é", r"\s", "$"]),
        text in r"(?:[ab]{0,6}|é| {1,3}|!|<o>|<x>|<){1,14}",
    ) {
        let lead = lead.concat();
        let (skipping, plain) = (format!("{lead}{then}"), format!("(?:{lead}{then}|(?!))"));
        prop_assert_eq!(matches(&skipping, &text), matches(&plain, &text), "{}", skipping);
        let pieces: Vec<&str> = text.split_inclusive(|_: char| true).collect();
        prop_assert_eq!(growing(&skipping, &pieces), growing(&plain, &pieces), "{}", skipping);
    }
}

#[test]
fn deep_nesting_is_refused() {
    for open in ["(", "(?:", "(?=", "(?(1)", "(?(?=", "(?(?=a)", "(?i:", "(?>", "(?P<n>", "a(?<!"] {
        let deep = open.repeat(100_000) + &")".repeat(100_000);
        assert_eq!(Pattern::new(&deep).unwrap_err().message, "groups are nested more than 200 deep", "{open}");
    }
}

#[test]
fn long_and_nested_patterns_are_read() {
    let nested =
        |open: &str, inside: &str, close: &str, depth: usize| open.repeat(depth) + inside + &close.repeat(depth);
    for source in [
        "(?fi)".to_owned() + &"ab.".repeat(200_000),
        r"\b".repeat(300_000),
        "a?".repeat(300_000),
        "a?".repeat(300_000) + "b",
        "(?=)".repeat(200_000) + "a",
        "(?=a)".repeat(200_000) + "a",
        r"\w?".repeat(20_000),
        r"(?:a|b){60}".repeat(50_000),
        nested("(?:", "a", "b){601}", 190),
        nested("(?(?=", "a", ")b|c)", 190),
        nested("(?=", "a", ")b", 190),
        nested("(?=(?:", "a", "b)*)", 90),
    ] {
        // In more than linear time these would not finish.
        let pattern = Pattern::new(&source).unwrap();
        let found = pattern.find_at("-", 0).ok().flatten();
        assert!(found.is_none_or(|found| found.span() == (0, 0)), "{}…", &source[..9]);
        drop((pattern.reach_behind(), pattern.shape()));
    }
}

#[test]
fn literals_are_tried_longest_first() {
    let pattern = Pattern::literals(&["a", "<a>", "a.b", "é"]);
    assert_eq!(pattern.source(), r"<a>|a\.b|a|é");
    assert_eq!(pattern.find_at("xa.b", 0).unwrap().unwrap().span(), (1, 4));
    assert_eq!(pattern.find_at("xazb", 0).unwrap().unwrap().span(), (1, 2));
}

#[test]
fn look_behinds_have_a_reach() {
    for (source, reach) in
        [("a", Some(0)), (r"\ba", Some(1)), ("(?<=ab)c", Some(2)), ("(?<=a(?<=xyz))c", Some(4)), ("(?<=a*)c", None)]
    {
        assert_eq!(Pattern::new(source).unwrap().reach_behind(), reach, "{source}");
    }
}

proptest! {
    /// Resuming from a later position in the same text, or in more of it, gives the same result as a new search.
    #[test]
    fn a_repeated_scan_gives_the_same_result(
        source in select(vec![
            "<x>", "<x>|$", r"<\w*>", "a*", "a|", r"(?=<)", r"(?<=a)<", r"\Ga", r"a\K<", r"\bx", "<(?!x)", r"(a+)<\1", "<x>$", "^<",
        ]),
        pieces in proptest::collection::vec(select(vec!["a", "<", "x", ">", "<x>", "\n", " ", "é"]), 1..12),
        steps in proptest::collection::vec((0_usize..6, any::<bool>(), any::<bool>()), 1..12),
    ) {
        let pattern = Pattern::new(source).unwrap();
        let mut search = Search::default();
        let (mut from, mut count) = (0, 1);
        for (on, grows, ended) in steps {
            count = (count + usize::from(grows)).min(pieces.len());
            let text = pieces[..count].concat();
            let places: Vec<usize> = (from..=text.len()).filter(|place| text.is_char_boundary(*place)).collect();
            from = places[on.min(places.len() - 1)];
            let mut fresh = Search::default();
            let seen = |search: &mut Search| {
                let found = search.look(&pattern, from, &text, 0, ended);
                let group = matches!(found, Ok(SearchResult::Match { .. })).then(|| search.group(0));
                (found.ok(), search.pending(), group)
            };
            prop_assert_eq!(seen(&mut search), seen(&mut fresh), "{} in {:?} from {}", source, text, from);
        }
    }
}

#[test]
fn a_pattern_that_depends_on_the_search_start_is_searched_again() {
    let pattern = Pattern::new(r"\Ga").unwrap();
    let mut search = Search::default();
    assert_eq!(search.look(&pattern, 0, "<a", 0, true).unwrap(), SearchResult::Nothing);
    assert_eq!(search.look(&pattern, 1, "<a", 0, true).unwrap(), SearchResult::Match { start: 1, end: 2 });
}

/// Python's `regex` with `partial=True` holds more text than a match could need where a literal follows a lazy run. The
/// third column is its answer (2026.11.19): the start of the partial match.
#[test]
fn partial_matching_seeks_the_literal_after_a_lazy_run() {
    for (source, text, waits) in [
        (r"\S+?;", "wo ", Some(0)),
        (r"\S+?;", "w o ", Some(2)),
        (r"\S+?(;)", "wo ", Some(0)),
        (r"\S+?é", "wo ", Some(0)),
        (r"\S+?;;", "w x", Some(0)),
        (r"\S+;", "wo ", None),
        (r"\S+?(?:;|,)", "wo ", None),
    ] {
        let found = Search::default().look(&Pattern::new(source).unwrap(), 0, text, 0, false).unwrap();
        let waits = waits.map_or(SearchResult::Nothing, |start| SearchResult::Waits { start });
        assert_eq!(found, waits, "{source} in {text:?}");
    }
}
