//! Names, blocks and errors are found as Jinja2 has them.

use super::*;

/// The offsets of the mentions that are one name with the one at an offset.
fn alike(source: &str, at: usize) -> Vec<usize> {
    let reading = reading(source);
    let here = reading.mentions.iter().find(|mention| mention.span.start == at).unwrap();
    let binding = here.binding.unwrap_or_else(|| panic!("nothing binds {here:?}"));
    let same = reading.mentions.iter().filter(|mention| mention.binding == Some(binding));
    same.map(|mention| mention.span.start).collect()
}

#[test]
fn names_are_one_if_one_value_can_reach_both() {
    for (source, at, expected) in [
        ("{% set x = 1 %}{% for m in ms %}{% set x = m %}{{ x }}{% endfor %}{{ x }}", 50, vec![39, 50]),
        ("{% set x = 1 %}{% for m in ms %}{% set x = m %}{{ x }}{% endfor %}{{ x }}", 7, vec![7, 69]),
        // Before the loop binds it, the name has the value around the loop.
        ("{% set x = 1 %}{% for m in ms %}{{ x }}{% set x = 2 %}{% endfor %}", 7, vec![7, 35, 46]),
        ("{% set x = 1 %}{% for m in x %}{% set x = x %}{% endfor %}", 7, vec![7, 27, 38, 42]),
        // A condition has no scope.
        ("{% if a %}{% set b = 1 %}{% endif %}{{ b }}", 17, vec![17, 39]),
        ("{% macro f(x) %}{{ x }}{{ f(x=2) }}{% endmacro %}{{ f(x=1) }}{{ x }}", 11, vec![11, 19, 28, 54]),
        ("{% set ns = namespace(a=1) %}{% set ns.a = 2 %}{{ ns.a }}{{ ns['a'] }}", 22, vec![22, 39, 53, 64]),
        ("{% for a in b %}{{ a }}{% else %}{{ a }}{% endfor %}{% for a in a %}{% endfor %}", 7, vec![7, 19]),
        ("{% with a = 1 %}{{ a }}{% endwith %}{{ a }}", 8, vec![8, 19]),
    ] {
        assert_eq!(alike(source, at), expected, "{source}");
    }
}

#[test]
fn a_name_that_may_come_from_outside_says_so() {
    for (source, expected) in [
        ("{% set a = 1 %}{{ a }}", false),
        ("{% set a = a | default(1) %}", true),
        ("{% if not a %}{% set a = 1 %}{% endif %}", true),
        ("{% if b %}{% set a = 1 %}{% endif %}{{ a }}", true),
        ("{% macro f() %}{{ a }}{% endmacro %}{% set a = 1 %}", false),
        ("{% for a in b %}{{ a }}{% endfor %}", false),
    ] {
        let reading = reading(source);
        let a = reading.bindings.iter().find(|binding| binding.name == "a").unwrap();
        assert_eq!(a.may_be_given, expected, "{source}");
    }
}

#[test]
fn lookups_know_what_they_look_into() {
    for (source, kind) in [
        ("{{ messages[0].role }}", ValueKind::Message),
        ("{% for m in messages[1:] %}{{ m['role'] }}{% endfor %}", ValueKind::Message),
        ("{% set ms = messages %}{% for m in ms | list %}{{ m.role }}{% endfor %}", ValueKind::Message),
        ("{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.id }}{% endfor %}{% endfor %}", ValueKind::Call),
        ("{% macro f(x) %}{{ x.name }}{% endmacro %}{{ f(messages[0].tool_calls[0].function) }}", ValueKind::Function),
        ("{% for t in tools %}{{ t.function.name }}{% endfor %}", ValueKind::Definition),
        ("{% for a in b %}{{ loop.index }}{% endfor %}", ValueKind::Loop),
        ("{{ other.name }}", ValueKind::Unknown),
    ] {
        let reading = reading(source);
        let is_asked = |lookup: &&Lookup| ["role", "id", "name", "index"].contains(&lookup.key.as_str());
        assert_eq!(reading.lookups.iter().rev().find(is_asked).unwrap().value, kind, "{source}");
    }
}

#[test]
fn every_error_of_a_text_is_found_at_its_tag() {
    for (source, expected) in [
        ("{{ a | nosuch }}{{ b is nosuch }}{% if c %}{{ d | nope }}{% endif %}", vec!["nosuch", "nosuch", "nope"]),
        ("{{ x..y }}{% frob %}{{ ok }}", vec![".", "frob"]),
        ("{{ a {{ b }}{% if %}{% endif %}", vec!["{{", "%}"]),
        ("{% if a %}{% for b in c %}{% endif %}{{ d", vec!["endif", "{{"]),
        ("{% if a %}{% for b in c %}", vec!["if", "for"]),
        ("{% fro a in b %}{{ a }}{% endfor %}", vec!["fro"]),
        ("{% endif %}{% else %}", vec!["endif", "else"]),
        ("{# never", vec!["{#"]),
        ("{{ 'a }} {{ b }}", vec!["'"]),
        ("{{ (a }}{{ b) }}", vec!["(a }", ")"]),
        ("{% for a b in c %}{{ a }}{% endfor %}", vec!["b"]),
        ("{% %}", vec!["%}"]),
        ("fine {{ messages | tojson }}", vec![]),
    ] {
        let found = reading(source).problems;
        let texts: Vec<&str> = found.iter().map(|problem| &source[problem.span.clone()]).collect();
        assert_eq!(texts, expected, "{source}: {found:?}");
    }
}

#[test]
fn the_first_error_is_the_one_that_compiling_reports() {
    for source in [
        "{{ a {{ b }}{% if %}{% endif %}",
        "{% if a %}{% for b in c %}{% endif %}{{ d }}",
        "{% if a %}{% for b in c %}",
        "{{ 'a }} {{ b }}",
        "{% for a in b %}{% fro %}{% endfor %}",
        "{% set x %}{% if y %}{% endset %}",
    ] {
        let error = crate::ChatTemplate::compile(source).unwrap_err();
        let found = reading(source).problems;
        assert!(
            found.iter().any(|problem| Some(&problem.span) == error.span.as_ref()),
            "{source}: {found:?} {error:?}"
        );
    }
}

#[test]
fn blocks_have_their_tags() {
    let source = "{% if a %}x{% elif b %}{% for c in d %}{% endfor %}{% else %}y{% endif %}";
    let reading = reading(source);
    let [condition, looping] = reading.blocks.as_slice() else { panic!("{:?}", reading.blocks) };
    let names: Vec<&str> = condition.parts.iter().map(|part| &source[part.name.clone()]).collect();
    assert_eq!(names, ["if", "elif", "else"]);
    assert_eq!(condition.end.clone().map(|end| &source[end]), Some("{% endif %}"));
    assert_eq!((looping.name, looping.parts.len()), ("for", 1));
    assert!(condition.parts.last().unwrap().test.is_none());
}

#[test]
fn pieces_say_what_they_are() {
    let source = "{%- if a is not none and b.c | trim -%}{{ f(x='y', 1) }}{# z #}{% raw %}{{ r }}{% endraw %}";
    let pieces = reading(source).pieces;
    let of = |kind| {
        let found = pieces.iter().filter(|piece| piece.kind == kind);
        found.map(|piece| &source[piece.span.clone()]).collect::<Vec<_>>()
    };
    assert_eq!(of(PieceKind::Keyword), ["if", "is", "not", "and"]);
    assert_eq!(of(PieceKind::Name), ["a", "b"]);
    assert_eq!((of(PieceKind::Test), of(PieceKind::Property)), (vec!["none"], vec!["c"]));
    assert_eq!((of(PieceKind::Filter), of(PieceKind::Function)), (vec!["trim"], vec!["f"]));
    assert_eq!((of(PieceKind::Argument), of(PieceKind::Comment)), (vec!["x"], vec!["{# z #}"]));
    assert_eq!((of(PieceKind::Raw), of(PieceKind::Text)), (vec!["{% raw %}{{ r }}{% endraw %}"], vec![]));
}

#[test]
fn hostile_texts_are_read_in_time() {
    let texts = [
        "{% if a %}".repeat(5000),
        format!("{{{{ {}", "(".repeat(50_000)),
        "{%".repeat(100_000),
        "{".repeat(200_000),
        "{% raw %}".repeat(20_000),
        "{# #}{% raw %}{{ a }}{% endraw %}".repeat(100_000) + "{%",
        format!("{{{{ a{} }}}}", ".b".repeat(100_000)),
        format!("{{{{ 'a'{} }}}}", " ~ 'a'".repeat(50_000)),
    ];
    let started = std::time::Instant::now();
    for text in texts {
        assert!(!reading(&text).problems.is_empty());
    }
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

/// Each name is set from the one before it, eight times: followed without memory, that is 8^12 ways.
#[test]
fn names_that_use_each_other_are_followed_once() {
    let level = |at: usize| format!("{{% set a{at} = a{} %}}", at - 1).repeat(8);
    let source: String = (1..20).map(level).collect();
    let found = reading(&source);
    assert!(found.bindings.iter().all(|binding| binding.value == ValueKind::Unknown));
}
