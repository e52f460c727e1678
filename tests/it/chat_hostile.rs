//! Hostile templates: each must fail quickly, without crashing the process.

use backchat::chat::{ChatTemplate, RenderError, RenderErrorKind, RenderOptions};
use backchat::json::{self, Object};
use proptest::prelude::*;

fn render(template: &str) -> Result<String, RenderError> {
    let context = json::read(r#"{"messages": [{"role": "user", "content": "Hi"}], "n": 3, "s": "text"}"#).unwrap();
    let template = ChatTemplate::compile(template)?;
    template.render(context.as_object().unwrap(), &RenderOptions::default()).map(|rendered| rendered.text)
}

/// Evaluates a test on long lists ten billion times.
fn compared(test: &str) -> String {
    format!(
        "{{% set p = [1] * 500000 %}}{{% set q = [1] * 500000 %}}{{% set t = (1,) * 500000 %}}\
         {{% set d = dict(range(20000) | batch(2)) %}}{{% set e = dict(range(20000) | batch(2)) %}}\
         {{% for i in range(99999) %}}{{% for j in range(99999) %}}{{% if {test} %}}{{% endif %}}{{% endfor %}}{{% endfor %}}"
    )
}

/// Evaluates an expression a hundred thousand times, with 16 million characters in `a`.
fn long(expression: &str) -> String {
    format!(
        "{{% set a = 'a' * 16000000 %}}{{% set c = namespace() %}}\
         {{% for i in range(100000) %}}{{% set x = {expression} %}}{{% endfor %}}"
    )
}

#[test]
fn ordinary_work_on_long_text_is_allowed() {
    let text = "é".repeat(50_000);
    for (template, wanted) in [
        (format!("{{% set a = '{text}' %}}{{{{ a | length }}}}{{{{ a[49999] }}}}{{{{ a[-1] }}}}"), "50000éé"),
        ("{% set a = 'a' * 50000 %}{% for i in range(50000) %}{% if a[i] != 'a' %}x{% endif %}{% endfor %}".into(), ""),
        ("{{ (['a' * 100000] * 100) | unique | list | length }}".into(), "1"),
    ] {
        assert_eq!(render(&template).unwrap(), wanted);
    }
}

#[test]
fn long_lists_are_compared_in_linear_time() {
    let dicts = "{% set d = dict(range(99998) | batch(2)) %}{% set e = dict(range(99998) | batch(2)) %}";
    for (expression, wanted) in [
        ("d == e", "True"),
        ("d.keys() == e.keys()", "True"),
        ("d.items() == e.items()", "True"),
        ("d.items() | unique | list | length", "49999"),
        ("range(99999) | map('float') | unique | list | length", "99999"),
        ("('a ' * 200000) | wordwrap(1000000) | length", "399999"),
    ] {
        assert_eq!(render(&format!("{dicts}{{{{ {expression} }}}}")).unwrap(), wanted, "{expression}");
    }
}

#[test]
fn exceeding_a_limit_is_a_kind_of_error() {
    for (template, exhausted) in [
        ("{{ 1 / 0 }}", false),
        ("{{ raise_exception('no') }}", false),
        ("{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}", true),
        ("{% set p = [1] * 500000 %}{% for a in range(99999) %}{% set x = p == p %}{% endfor %}", true),
        ("{% set p = [1] * 500000 %}{% for a in range(99999) %}{{ p }}{% endfor %}", true),
        ("{{ ['ab' * 9000000] * 9 }}", true),
    ] {
        assert_eq!(render(template).unwrap_err().kind() == RenderErrorKind::Exhausted, exhausted, "{template}");
    }
}

/// Checks that the renderer stops each of these templates once the budget of its examination is spent.
fn stopped(templates: &[String]) {
    for template in templates {
        let error = backchat_chat::examine(backchat_chat::Budget::times(0.02), || render(template).unwrap_err());
        assert!(error.kind() != RenderErrorKind::Raised, "{template}: {error}");
    }
}

#[test]
fn loops_without_end_are_stopped() {
    let loops = "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}";
    let ends = "{% endfor %}{% endfor %}{% endfor %}";
    stopped(&[
        format!("{loops}x{ends}"),
        format!("{loops}{{% set x = a + b * c %}}{ends}"),
        format!("{loops}{{{{ (s * 10000)[::-1] | upper | length }}}}{ends}"),
        format!("{loops}{{{{ range(99999) | list | sort | length }}}}{ends}"),
        format!("{loops}{{{{ (s * 1000000) | tojson | length }}}}{ends}"),
        "{{ (['ab' * 9000000] * 9999) | map('upper') | list | length }}".to_owned(),
        "{{ ([[1] * 900] * 900) | sum(start=[]) | length }}".to_owned(),
        "{% block b %}{% for i in range(9) %}{{ self.b() }}{% endfor %}{% endblock %}".to_owned(),
        "{% macro m(x) %}{% for i in range(9) %}{{ m(x) }}{% endfor %}{% endmacro %}{{ m(1) }}".to_owned(),
    ]);
}

#[test]
fn comparisons_without_end_are_stopped() {
    stopped(&[
        compared("p is eq(q)"),
        compared("p == q"),
        compared("p < q"),
        compared("[2] in [p, q]"),
        compared("[p] is in([q, q])"),
        compared("2 in p"),
    ]);
}

#[test]
fn searches_without_end_are_stopped() {
    stopped(&[
        compared("('a' * 30000000) ~ 'b' == ('a' * 30000000) ~ 'c'"),
        compared("[p, q] | sort"),
        compared("[t] | unique | list"),
        compared("d[t]"),
        compared("d.values() | list == d.values() | list"),
        compared("d.keys() == e.keys()"),
        compared("[p] | select('eq', q) | list"),
    ]);
}

#[test]
fn long_texts_without_end_are_stopped() {
    stopped(&[
        long("a[15999999]"),
        long("a[-15999999]"),
        long("{}[a]"),
        long("{'b': 1}.get(a)"),
        long("c[a]"),
        long("a in {'b': 1}"),
        long("loop.changed(a)"),
        long("loop.changed([{'x': a}])"),
    ]);
}

#[test]
fn long_keys_without_end_are_stopped() {
    stopped(&[
        long("'%.1r' % a"),
        long("a.startswith((a ~ 'b',))"),
        long("a.strip(a)"),
        long("([a] * 1000) | unique | list"),
        long("([a] * 1000) | unique(true) | list"),
        long("([a] * 1000) | sort"),
        long("([a] * 1000) | max"),
        long("([{'k': a}] * 1000) | groupby('k')"),
    ]);
}

#[test]
fn memory_is_bounded() {
    let grow = |start: &str, step: &str| {
        format!(
            "{{% set o = namespace(x={start}) %}}{{% for i in range(200) %}}{{% set o.x = {step} %}}{{% endfor %}}{{{{ o.x }}}}"
        )
    };
    for template in [
        grow("'ab'", "o.x + o.x"),
        grow("'ab'", "o.x ~ o.x"),
        grow("'ab'", "o.x * 9"),
        grow("'ab'", "o.x | replace('a', 'aaaaaaaa')"),
        grow("'ab'", "o.x.replace('', 'aaaaaaaa')"),
        grow("'ab'", "(o.x, o.x) | join(o.x)"),
        grow("'ab'", "'%s%s' % (o.x, o.x)"),
        grow("'ab'", "'{0}{0}'.format(o.x)"),
        grow("'ab'", "o.x.join([o.x, o.x])"),
        grow("'ab'", "o.x.center(999999999999)"),
        grow("'ab'", "'%999999999d' % 1"),
        grow("'ab'", "o.x | indent(99999999999)"),
        grow("[1]", "o.x + o.x"),
        grow("[1]", "o.x * 9"),
        grow("(1,)", "o.x + o.x"),
        grow("[1]", "[o.x, o.x]"),
        grow("[1]", "{'a': o.x, 'b': o.x}"),
        grow("[1]", "(o.x, o.x)"),
        grow("[1]", "[o.x, o.x] | select"),
        "{{ 'x' * 100000000 }}".to_owned(),
        "{{ messages | tojson(indent='a' * 30000000) }}".to_owned(),
        "{{ range(9) | list | tojson(separators=('a' * 30000000, ':')) }}".to_owned(),
        "{{ ['a' * 30000000] * 100000 }}".to_owned(),
        "{{ (['a' * 30000000] * 100000) | string | length }}".to_owned(),
        "{{ dict(a=['a' * 30000000] * 100000) ~ '' }}".to_owned(),
        "{{ namespace(a=['a' * 30000000] * 100000) }}".to_owned(),
        "{{ '%s' % [['a' * 30000000] * 100000] }}".to_owned(),
        "{{ ('a ' * 1000) | wordwrap(1, wrapstring='a' * 30000000) }}".to_owned(),
        "{{ ('a' * 30000000).split('') }}{{ ('a ' * 15000000).split() }}".to_owned(),
        "{{ [1] * 100000000 }}".to_owned(),
        "{{ range(10000000) | list }}".to_owned(),
        "{% set x %}{% for i in range(9999) %}{% for j in range(9999) %}{{ s * 1000 }}{% endfor %}{% endfor %}{% endset %}".to_owned(),
        "{% for i in range(9999) %}{% for j in range(9999) %}{{ s * 1000 }}{% endfor %}{% endfor %}".to_owned(),
        format!("{{% set x %}}{{% for i in range(99999) %}}{}{{% endfor %}}{{% endset %}}{{{{ x | length }}}}", "text ".repeat(2000)),
        format!("{{% macro m() %}}{{% for i in range(99999) %}}{}{{% endfor %}}{{% endmacro %}}{{{{ m() | length }}}}", "text ".repeat(2000)),
        "{% for x, y in ['a' * 1000000] * 1000 %}{% endfor %}".to_owned(),
        "{{ [1] | map(attribute='a.' * 15000000) | list }}".to_owned(),
        "{{ ('a ' * 15000000) | wordwrap(1) | length }}".to_owned(),
        "{{ ('\n' * 30000000) | indent | length }}".to_owned(),
        "{{ strftime_now('%c' * 15000000) | length }}".to_owned(),
        "{% for i in range(99999) %}{% for j in range(99) %}{% set x = namespace() %}{% endfor %}{% endfor %}".to_owned(),
    ] {
        let error = render(&template).unwrap_err();
        assert!(error.kind() != RenderErrorKind::Raised, "{template}: {error}");
    }
}

#[test]
fn depth_is_bounded() {
    let many = |open: &str, close: &str, count: usize| format!("{}1{}", open.repeat(count), close.repeat(count));
    let nest = |step: &str| {
        format!("{{% set o = namespace(x=1) %}}{{% for i in range(50000) %}}{{% set o.x = {step} %}}{{% endfor %}}")
    };
    for template in [
        format!("{{{{ {} }}}}", many("(", ")", 100_000)),
        format!("{{{{ {} }}}}", many("[", "]", 100_000)),
        format!("{{{{ {} }}}}", many("-", "", 100_000)),
        format!("{{{{ {} }}}}", many("not ", "", 100_000)),
        format!("{{{{ 1{} }}}}", " + 1".repeat(100_000)),
        format!("{{{{ 1{} }}}}", " and 1".repeat(100_000)),
        format!("{{{{ 1{} }}}}", " < 1".repeat(100_000)),
        format!("{{{{ {}1{} }}}}", "(".repeat(30), (" + 1".repeat(400) + ")").repeat(30)),
        format!("{{{{ {}s{} }}}}", "(".repeat(30), (".a".repeat(400) + ")").repeat(30)),
        format!("{}{}", ("{% if 1 %}".to_owned() + &"{% elif 1 %}".repeat(290)).repeat(60), "{% endif %}".repeat(60)),
        format!("{{% set {} = 1 %}}", many("(", ")", 100_000).replace('1', "a")),
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".to_owned(),
        "{% macro m() %}{% call m() %}{% endcall %}{% endmacro %}{{ m() }}".to_owned(),
        "{% for x in [[1]] recursive %}{{ loop([x]) }}{% endfor %}".to_owned(),
        nest("[o.x]"),
        nest("(o.x,)"),
        nest("{'a': o.x}"),
        nest("[o.x] | select"),
        nest("dict(a=o.x)"),
        nest("namespace(a=o.x)"),
        nest("[{'k': 1, 'v': o.x}] | groupby('k') | first"),
        nest("cycler(o.x)"),
        nest("joiner([o.x])"),
        nest("{'a': o.x}.get"),
        nest("[o.x] | attr('index')"),
        "{% set o = namespace(x=1) %}{% for i in range(50000) %}{% for j in [o.x] %}{% set o.x = loop %}{% endfor %}{% endfor %}"
            .to_owned(),
    ] {
        let error = render(&template).unwrap_err();
        assert!(error.kind() != RenderErrorKind::Raised, "{}: {error}", template.chars().take(80).collect::<String>());
    }
}

#[test]
fn loops_that_refer_to_each_other_are_dropped_without_recursion() {
    let template = "{% set o = namespace(x=1) %}{% for i in range(50000) %}{% for j in [1] %}\
        {% if loop.changed(o.x) %}{% set o.x = loop %}{% endif %}{% endfor %}{% endfor %}{{ o.x.length }}";
    assert_eq!(render(template).unwrap(), "1");
}

#[test]
fn the_steps_of_long_expressions_are_counted() {
    for part in ["1:x,", "x,"] {
        let parts = part.repeat(200_000);
        let made = if part == "x," { format!("[{parts}]") } else { format!("{{{parts}}}") };
        let error = render(&format!("{{% for i in range(100000) %}}{{% set q = {made} %}}{{% endfor %}}")).unwrap_err();
        assert_eq!(error.kind(), RenderErrorKind::Exhausted, "{error}");
    }
}

#[test]
fn long_tags_are_parsed_in_linear_time() {
    let names = |form: &str| (0..30_000).map(|number| form.replace('#', &number.to_string())).collect::<String>();
    for template in [
        format!("{{% macro m({}) %}}{{% endmacro %}}{{{{ m() }}}}", names(",a#").trim_start_matches(',')),
        format!("{{% macro m({}) %}}{{% endmacro %}}{{{{ m() }}}}", names(",a#=1").trim_start_matches(',')),
        format!("{{% if 0 %}}{{{{ dict({}) }}}}{{% endif %}}", names("1,")),
        format!("{{{{ dict({}) | length - 30000 }}}}", names("a#=1,")),
        names("{% set a# = 1 %}"),
        names("{%block b#%}{%endblock%}"),
    ] {
        let text = render(&template).unwrap();
        assert!(matches!(text.as_str(), "" | "0"), "{text}");
    }
}

#[test]
fn recursion_is_stopped_before_the_stack_overflows() {
    let wrapped = |open: &str, inside: &str, close: &str| format!("{}{inside}{}", open.repeat(20), close.repeat(20));
    for body in [
        wrapped("{% if 1 %}", "{{ m() }}", "{% endif %}"),
        wrapped("{% for x in [1] %}", "{{ m() }}", "{% endfor %}"),
        wrapped("{% with x = 1 %}", "{{ m() }}", "{% endwith %}"),
        wrapped("{% set x %}", "{{ m() }}", "{% endset %}"),
        wrapped("{% filter upper %}", "{{ m() }}", "{% endfilter %}"),
        wrapped("{% call c() %}", "{{ m() }}", "{% endcall %}"),
        wrapped("{% autoescape true %}", "{{ m() }}", "{% endautoescape %}"),
        format!("{{{{ {} }}}}", wrapped("[", "m()", "]")),
        format!("{{{{ {} }}}}", wrapped("{1: ", "m()", "}")),
        format!("{{{{ {} }}}}", wrapped("(1 ~ ", "m()", ")")),
        format!("{{{{ {} }}}}", wrapped("(1 if not ", "m()", ")")),
        format!("{{{{ {} }}}}", wrapped("(1 + ", "m()", ")")),
        format!("{{{{ {} }}}}", wrapped("(1 < ", "m()", ")")),
        format!("{{{{ {} }}}}", wrapped("(0 or ", "m()", ")")),
        format!("{{{{ {} }}}}", wrapped("dict(a=", "m()", ")")),
        format!("{{{{ {} }}}}", wrapped("(1 | default(", "m()", "))")),
        format!("{{{{ {} }}}}", wrapped("s.count(", "m()", ")")),
        format!("{{{{ {} }}}}", wrapped("s[", "m()", "]")),
        format!("{{{{ {} }}}}", wrapped("s[1:", "m()", "]")),
    ] {
        let callers = "{% macro c() %}{{ caller() }}{% endmacro %}";
        let error = render(&format!("{callers}{{% macro m(a=1) %}}{body}{{% endmacro %}}{{{{ m() }}}}")).unwrap_err();
        assert_eq!(error.message, "the template calls and nests too deep", "{body}");
    }
    for template in [
        "{% macro m(a=m()) %}{% endmacro %}{{ m() }}",
        "{% block b %}{{ self.b() }}{% endblock %}",
        "{% for x in [1] recursive %}{% if 1 %}{{ [loop([x])] }}{% endif %}{% endfor %}",
    ] {
        assert_eq!(render(template).unwrap_err().message, "the template calls and nests too deep", "{template}");
    }
}

#[test]
fn cyclic_and_chained_namespaces_are_freed() {
    let circle = "{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = [b] %}{{ a }}{{ [a] | length }}";
    assert_eq!(render(circle).unwrap(), "<Namespace {'b': [<Namespace {...}>]}>1");
    let chain = "{% set head = namespace() %}{% set at = namespace(x=head) %}{% for i in range(50000) %}\
                 {% set here = at.x %}{% set here.next = namespace() %}{% set at.x = here.next %}{% endfor %}ok";
    assert_eq!(render(chain).unwrap(), "ok");
}

#[test]
fn templates_cannot_reach_anything_outside() {
    for template in [
        "{% include '/etc/passwd' %}",
        "{% import 'x' as x %}",
        "{% extends 'x' %}",
        "{% from 'x' import y %}",
        "{{ open('/etc/passwd') }}",
        "{{ ''.__class__.__mro__ }}",
        "{{ s.__class__() }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update({}) }}",
        "{{ __context__() }}",
    ] {
        render(template).unwrap_err();
    }
}

/// Pieces for random templates.
fn piece() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "-",
        "+",
        " ",
        "\n",
        "x",
        "s",
        "n",
        "messages",
        "1",
        "2.5",
        "'a'",
        "\"b\\n\"",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ",",
        ":",
        "|",
        "~",
        "*",
        "**",
        "/",
        "//",
        "%",
        "==",
        "<",
        "=",
        " if ",
        " else ",
        " for ",
        " in ",
        " is ",
        " not ",
        " and ",
        " or ",
        " set ",
        " endset ",
        " endfor ",
        " endif ",
        " elif ",
        " macro ",
        " endmacro ",
        " call ",
        " endcall ",
        " generation ",
        " endgeneration ",
        " raw ",
        " endraw ",
        " with ",
        " endwith ",
        " filter ",
        " endfilter ",
        " break ",
        " continue ",
        "namespace",
        "range",
        "tojson",
        "selectattr",
        "map",
        "join",
        "upper",
        "defined",
        "none",
        "true",
        "loop",
        "caller",
        "items",
        "split",
        "é",
        "\u{feff}",
        "\u{1c}",
    ])
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,40}") {
        drop(render(&text));
    }

    #[test]
    fn no_mixture_of_pieces_panics(pieces in prop::collection::vec(piece(), 0..24)) {
        drop(render(&pieces.concat()));
    }

    #[test]
    fn no_expression_panics(pieces in prop::collection::vec(piece(), 0..12)) {
        drop(render(&format!("{{{{ {} }}}}", pieces.concat())));
        drop(render(&format!("{{% set x = {} %}}{{{{ x }}}}", pieces.concat())));
    }

    #[test]
    fn text_without_tags_is_rendered_unchanged(text in "[^{\r]{0,60}") {
        let rendered = render(&text).unwrap();
        prop_assert_eq!(rendered, text.strip_suffix('\n').unwrap_or(&text));
    }

    #[test]
    fn printed_strings_are_unchanged(text in any::<String>()) {
        let template = ChatTemplate::compile("{{ text }}{{ [text][0] }}{{ text ~ '' }}").unwrap();
        let context: Object = [("text".to_owned(), text.as_str().into())].into_iter().collect();
        let rendered = template.render(&context, &RenderOptions::default()).unwrap();
        prop_assert_eq!(rendered.text, text.repeat(3));
    }
}
