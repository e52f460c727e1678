//! Jinja2's and Python's dialect: templates with their renders by transformers.
//!
//! The expected texts in `tests/inputs/dialect/` were written by `tests/reference/dialect.py` from transformers itself.

use std::fs;
use std::path::Path;

use backchat::chat::{ChatTemplate, RenderError, RenderErrorKind, RenderOptions, Rendered};
use backchat::json::{self, Value};
use backchat_chat::render_watched;

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/dialect")
}

fn render(template: &str, context: &Value, watch: bool) -> Result<Rendered, RenderError> {
    let options = RenderOptions::default();
    let (template, context) = (ChatTemplate::compile(template)?, context.as_object().unwrap());
    if watch { render_watched(&template, context, &options).0 } else { template.render(context, &options) }
}

/// Renders every template of a table with and without recording, and returns how many there are.
fn check(table: &str) -> usize {
    let context = json::read(&fs::read_to_string(folder().join("context.json")).unwrap()).unwrap();
    let rows = fs::read_to_string(folder().join(table).with_extension("jsonl")).unwrap();
    let mut differences = Vec::new();
    for line in rows.lines() {
        let row = json::read(line).unwrap();
        let template = row.get("template").and_then(Value::as_str).unwrap();
        for watch in [false, true] {
            let got = render(template, &context, watch);
            let agrees = match (&got, row.get("text"), row.get("raises")) {
                (Ok(rendered), Some(text), _) => Some(rendered.text.as_str()) == text.as_str(),
                (Err(error), None, Some(message)) => {
                    error.kind() == RenderErrorKind::Raised && Some(error.message.as_str()) == message.as_str()
                }
                (Err(error), None, None) => error.kind() != RenderErrorKind::Raised,
                _ => false,
            };
            if !agrees {
                differences.push(format!("{row}\n    got {:?}", got.map(|rendered| rendered.text)));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    rows.lines().count()
}

macro_rules! tables {
    ($($table:ident)*) => {
        $(
            #[test]
            fn $table() {
                assert!(check(stringify!($table)) > 0);
            }
        )*

        #[test]
        fn every_table_is_checked() {
            let mut files: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
            files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
            files.sort();
            let names: Vec<_> = files.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
            assert_eq!(names, [$(stringify!($table)),*]);
        }
    };
}

tables! {
    filters
    functions
    methods
    names
    operators
    printing
    statements
    tests
    white_space
}

#[test]
fn an_error_that_the_template_raises_has_its_message_and_line() {
    let error = render("{% set x = 1 %}\n\n{{ raise_exception('No ' ~ 'tools!') }}", &json::read("{}").unwrap(), false)
        .unwrap_err();
    assert_eq!((error.message.as_str(), error.kind(), error.line), ("No tools!", RenderErrorKind::Raised, Some(3)));
    assert_eq!(error.span, Some(20..53));
}

#[test]
fn an_error_points_to_the_failed_expression() {
    for (template, at, line) in [
        ("a\n{{ s + 1 }}", "s + 1", 2),
        ("{{ s.nosuch() }}", "s.nosuch()", 1),
        ("{% if x %}{% else %}\n{{ a.b.c }}{% endif %}", "a.b", 2),
        ("{% macro m() %}\n{{ none | length }}{% endmacro %}{{ m() }}", "none | length", 2),
        ("{% for i in 3 %}{% endfor %}", "3", 1),
        ("{{ s | nosuch }}", "nosuch", 1),
        ("{{ s is nosuch }}", "nosuch", 1),
        ("{% foo %}", "foo", 1),
        ("x {{ 'abc }}", "'", 1),
        ("{% for x in y %}", "for", 1),
    ] {
        let context = json::read(r#"{"s": "text"}"#).unwrap();
        let error = render(template, &context, false).unwrap_err();
        let span = error.span.clone().unwrap_or_default();
        assert_eq!((&template[span], error.line), (at, Some(line)), "{template}: {error}");
    }
}

#[test]
fn generation_blocks_record_their_spans_in_code_points() {
    for (template, text, spans) in [
        ("é{% generation %}日本{% endgeneration %}!", "é日本!", vec![(1, 3)]),
        (
            "{% for x in [1, 2] %}<{% generation %}{{ x }}😀{% endgeneration %}>{% endfor %}",
            "<1😀><2😀>",
            vec![(1, 3), (5, 7)],
        ),
        ("{% generation %}{% endgeneration %}", "", vec![(0, 0)]),
        ("a{% set x %}b{% generation %}c{% endgeneration %}{% endset %}{{ x }}", "abc", vec![(1, 2)]),
        // The text of an expression or a recursive loop reaches the output as a whole.
        ("{% macro m() %}{% generation %}c{% endgeneration %}{% endmacro %}a{{ 'b' + m() }}", "abc", vec![(1, 2)]),
        ("{% macro m() %}{% generation %}c{% endgeneration %}{% endmacro %}a{{ 'b' ~ m() }}", "abc", vec![(1, 2)]),
        (
            "a{% for x in [1, 2] recursive %}b{% generation %}c{% endgeneration %}{% endfor %}",
            "abcbc",
            vec![(1, 2), (1, 2)],
        ),
        ("{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}", "21", vec![(0, 1)]),
    ] {
        let rendered = render(template, &json::read("{}").unwrap(), false).unwrap();
        assert_eq!((rendered.text.as_str(), &rendered.assistant_spans), (text, &spans), "{template}");
    }
}

#[test]
fn long_text_is_printed_like_short_text() {
    // The texts in the assistant's spans.
    fn marked(rendered: &Rendered) -> Vec<String> {
        let text: Vec<char> = rendered.text.chars().collect();
        rendered.assistant_spans.iter().map(|(start, end)| text[*start..*end].iter().collect()).collect()
    }
    let long = "ä".repeat(500);
    let many = "{{ ".to_owned() + &"a + ".repeat(40) + "a }}";
    let templates = [
        "<{{ a }}|{{ a }}>",
        "{{ '<' + a + '>' + a + '.' }}",
        "{{ '<' ~ a ~ 1 ~ none ~ [a] ~ '>' }}",
        "{{ (a ~ '<') + a }}{{ a ~ ('<' + a) }}",
        "{{ '<' + a if a else a + '>' }}{{ '<' + a if not a else a + '>' }}{{ '<' + a if not a }}",
        "{{ ('<' + a if a else a) + '>' }}",
        "{{ a|safe + '<' }}{{ a + '<'|safe }}{{ '<' + a + '<'|safe }}{{ '<' + (a + '>')|safe }}",
        "{% autoescape true %}{{ '<' + a + '>' }}{{ '<' ~ a }}{{ a|safe }}{% endautoescape %}{{ '<' + a + '>' }}",
        "{% set x %}<{{ a }}{% endset %}{{ a }}{{ x }}{{ x + a }}{{ (x + a)|length > 2 }}",
        "{% macro m(x) %}<{{ x + a }}>{% endmacro %}{{ m(a) }}{{ a + m('.') }}",
        "{% generation %}{{ a + '<' }}{% endgeneration %}{{ a }}{% generation %}{{ a }}{% endgeneration %}",
        "{{ a.strip() }}{{ a.strip('x') + '.' }}{{ (a + ' ').strip() }}{{ a|trim }}{{ a.split('<') }}{{ (a + '<').split('<')[0] }}",
        "{{ a.replace('x', 'y') }}{{ a|replace('x', 'y') }}{{ a.removeprefix('x') }}{{ a.partition('x') }}{{ a.splitlines() }}",
        "{{ (a|safe).strip() + '<' }}{{ (a|safe).replace('x', 'y') + '<' }}{{ (a + ' ')|safe|trim + '<' }}",
        "{{ a + 1 }}",
        "{{ '<' + a + none }}",
        "{{ '<' + a + '>' + b.c }}",
        many.as_str(),
    ];
    for template in templates {
        let got = |a: &str| render(template, &Value::from([("a", a.into())]), false);
        match (got("ä"), got(&long)) {
            (Ok(short), Ok(got)) => {
                assert_eq!(got.text, short.text.replace('ä', &long), "{template}");
                let expected: Vec<_> = marked(&short).iter().map(|text| text.replace('ä', &long)).collect();
                assert_eq!(marked(&got), expected, "{template}");
            }
            (short, got) => assert_eq!(got, short, "{template}"),
        }
    }
}

#[test]
fn the_clock_can_be_fixed() {
    let template = "{{ strftime_now('%Y-%m-%d %H:%M:%S %d %B %b %A %a %j %p %I %y %e %-d %% %Z|%z|') }}";
    let options = RenderOptions::default().now("2026-03-04T05:06:07".to_owned());
    let rendered = ChatTemplate::compile(template).unwrap().render(&json::Object::new(), &options).unwrap();
    assert_eq!(rendered.text, "2026-03-04 05:06:07 04 March Mar Wednesday Wed 063 AM 05 26  4 4 % ||");
    let options = RenderOptions::default().now("yesterday".to_owned());
    let error = ChatTemplate::compile(template).unwrap().render(&json::Object::new(), &options).unwrap_err();
    assert_eq!(error.message, "'yesterday' is not a time such as 2026-11-20T08:00:00");
}

#[test]
fn strftime_gives_what_cpython_gives_on_linux() {
    let dates = ["2026-01-04T05:06:07", "2026-11-20T08:00:00", "1999-12-31T23:59:59"];
    let template = ChatTemplate::compile("{{ strftime_now(format) }}").unwrap();
    // Written by `datetime.fromisoformat(date).strftime(format)` of CPython 3.13 and glibc 2.36.
    for (format, texts) in [
        (
            "%a|%A|%b|%B|%h",
            ["Sun|Sunday|Jan|January|Jan", "Fri|Friday|Nov|November|Nov", "Fri|Friday|Dec|December|Dec"],
        ),
        ("%c", ["Sun Jan  4 05:06:07 2026", "Fri Nov 20 08:00:00 2026", "Fri Dec 31 23:59:59 1999"]),
        (
            "%x|%X|%D|%F|%R|%T|%r",
            [
                "01/04/26|05:06:07|01/04/26|2026-01-04|05:06|05:06:07|05:06:07 AM",
                "11/20/26|08:00:00|11/20/26|2026-11-20|08:00|08:00:00|08:00:00 AM",
                "12/31/99|23:59:59|12/31/99|1999-12-31|23:59|23:59:59|11:59:59 PM",
            ],
        ),
        ("%C|%y|%Y|%g|%G", ["20|26|2026|26|2026", "20|26|2026|26|2026", "19|99|1999|99|1999"]),
        ("%d|%e|%j|%m", ["04| 4|004|01", "20|20|324|11", "31|31|365|12"]),
        ("%H|%I|%k|%l|%M|%S|%p|%P", ["05|05| 5| 5|06|07|AM|am", "08|08| 8| 8|00|00|AM|am", "23|11|23|11|59|59|PM|pm"]),
        ("%u|%w|%U|%V|%W", ["7|0|01|01|00", "5|5|46|47|46", "5|5|52|52|52"]),
        ("%f|%z|%Z|%:z|", ["000000||||", "000000||||", "000000||||"]),
        ("%n|%t|%%", ["\n|\t|%", "\n|\t|%", "\n|\t|%"]),
        (
            "%i|%o|%q|%v|%J|%K|%L|%N|%O|%Q|%E|%é|%",
            [
                "%i|%o|%q|%v|%J|%K|%L|%N|%O|%Q|%E|%é|%",
                "%i|%o|%q|%v|%J|%K|%L|%N|%O|%Q|%E|%é|%",
                "%i|%o|%q|%v|%J|%K|%L|%N|%O|%Q|%E|%é|%",
            ],
        ),
        (
            "%-d|%-e|%-H|%-I|%-j|%-l|%-m|%-M|%-S|%-U|%-y|%-a|%-f",
            [
                "4|4|5|5|4|5|1|6|7|1|26|Sun|%-f",
                "20|20|8|8|324|8|11|0|0|46|26|Fri|%-f",
                "31|31|23|11|365|11|12|59|59|52|99|Fri|%-f",
            ],
        ),
        (
            "%_d|%_H|%_I|%_j|%_m|%_U|%_y|%_a|%_f|%_Z",
            [" 4| 5| 5|  4| 1| 1|26|Sun|%_f|", "20| 8| 8|324|11|46|26|Fri|%_f|", "31|23|11|365|12|52|99|Fri|%_f|"],
        ),
        (
            "%0d|%0e|%0H|%0k|%0l|%0j|%0y|%0a|%0f|%0Z",
            ["04|04|05|05|05|004|26|Sun|%0f|", "20|20|08|08|08|324|26|Fri|%0f|", "31|31|23|23|11|365|99|Fri|%0f|"],
        ),
        (
            "%^a|%^A|%^b|%^c|%^d|%^p|%^P|%^Z|%^f|%^q",
            [
                "SUN|SUNDAY|JAN|SUN JAN  4 05:06:07 2026|04|AM|am||%^F|%^Q",
                "FRI|FRIDAY|NOV|FRI NOV 20 08:00:00 2026|20|AM|am||%^F|%^Q",
                "FRI|FRIDAY|DEC|FRI DEC 31 23:59:59 1999|31|PM|pm||%^F|%^Q",
            ],
        ),
        (
            "%#a|%#A|%#b|%#c|%#d|%#p|%#P|%#Z|%#f|%#q",
            [
                "SUN|SUNDAY|JAN|Sun Jan  4 05:06:07 2026|04|am|am||%#f|%#q",
                "FRI|FRIDAY|NOV|Fri Nov 20 08:00:00 2026|20|am|am||%#f|%#q",
                "FRI|FRIDAY|DEC|Fri Dec 31 23:59:59 1999|31|pm|pm||%#f|%#q",
            ],
        ),
        (
            "%Ec|%EC|%Ex|%EX|%Ey|%EY|%Ed|%Ea|%Ep|%EZ|%E%",
            [
                "Sun Jan  4 05:06:07 2026|20|01/04/26|05:06:07|26|2026|%Ed|%Ea|AM||%",
                "Fri Nov 20 08:00:00 2026|20|11/20/26|08:00:00|26|2026|%Ed|%Ea|AM||%",
                "Fri Dec 31 23:59:59 1999|19|12/31/99|23:59:59|99|1999|%Ed|%Ea|PM||%",
            ],
        ),
        (
            "%Od|%Oe|%OH|%OI|%Om|%OM|%OS|%Ou|%OU|%OV|%Ow|%OW|%Oy|%Ob|%Oc|%OY|%O%",
            [
                "04| 4|05|05|01|06|07|7|01|01|0|00|26|Jan|%Oc|%OY|%",
                "20|20|08|08|11|00|00|5|46|47|5|46|26|Nov|%Oc|%OY|%",
                "31|31|23|11|12|59|59|5|52|52|5|52|99|Dec|%Oc|%OY|%",
            ],
        ),
        (
            "%5d|%_5d|%-5d|%05e|%5e|%10A|%010A|%^10b|%12c|%3%|%5Q|%6Ed|%-6Ed|%3",
            [
                "00004|    4|    4|00004|    4|    Sunday|0000Sunday|       JAN|Sun Jan  4 05:06:07 2026|  %|  %5Q|  %6Ed| %-6Ed| %3",
                "00020|   20|   20|00020|   20|    Friday|0000Friday|       NOV|Fri Nov 20 08:00:00 2026|  %|  %5Q|  %6Ed| %-6Ed| %3",
                "00031|   31|   31|00031|   31|    Friday|0000Friday|       DEC|Fri Dec 31 23:59:59 1999|  %|  %5Q|  %6Ed| %-6Ed| %3",
            ],
        ),
        ("100%%|%%d|%%%d|%-|%_^|50%", ["100%|%d|%04|%-|%_^|50%", "100%|%d|%20|%-|%_^|50%", "100%|%d|%31|%-|%_^|50%"]),
    ] {
        let mut context = json::Object::new();
        context.insert("format", format.into());
        for (date, text) in dates.into_iter().zip(texts) {
            let options = RenderOptions::default().now(date.to_owned());
            assert_eq!(template.render(&context, &options).unwrap().text, text, "{format} of {date}");
        }
    }
}

#[test]
fn integers_of_any_length_and_numbers_beyond_json_keep_their_text() {
    let context =
        json::read(r#"{"n": 123456789012345678901234567890123456789012345678901234567890, "x": NaN, "y": -Infinity}"#)
            .unwrap();
    let rendered =
        render("{{ n }} {{ [n] | tojson }} {{ x }} {{ x | tojson }} {{ [y] | tojson }}", &context, false).unwrap();
    let digits = "123456789012345678901234567890123456789012345678901234567890";
    assert_eq!(rendered.text, format!("{digits} [{digits}] nan NaN [-Infinity]"));
}
