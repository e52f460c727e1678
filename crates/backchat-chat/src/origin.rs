//! Renders, and their origins: which bytes of the template printed which bytes.

use std::ops::Range;

/// One piece of a render, and the position in the template that printed it: a line of text between tags, or an
/// expression. In `'<' + name + '>'` each part has its own origin. The origin of text that a block or macro captured is
/// the expression that printed the capture.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Origin {
    /// Bytes of the render.
    pub text: Range<usize>,
    /// Bytes of [`ChatTemplate::source`](super::ChatTemplate::source).
    pub source: Range<usize>,
}

/// A render that succeeded.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Rendered {
    /// The prompt.
    pub text: String,
    /// The spans that `{% generation %}` blocks wrote, in code points, in the order the blocks ended.
    pub assistant_spans: Vec<(usize, usize)>,
    /// Which place of the template printed each piece of the text, in order, if
    /// [`RenderOptions::origins`](super::RenderOptions::origins) was set. They cover all of the text.
    pub origins: Vec<Origin>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChatTemplate, RenderOptions};
    use backchat_core::json;

    const CONTEXT: &str = r#"{"messages": [{"role": "user", "content": "Hi"}, {"role": "bot", "content": "Yo"}]}"#;

    fn traced(source: &str) -> Rendered {
        let template = ChatTemplate::compile(source).unwrap();
        let context = json::read(CONTEXT).unwrap();
        let context = context.as_object().unwrap();
        let plain = template.render(context, &RenderOptions::default()).unwrap();
        assert!(plain.origins.is_empty(), "origins are recorded only on request");
        let traced = template.render(context, &RenderOptions::default().origins(true)).unwrap();
        assert_eq!(traced.text, plain.text);
        traced
    }

    /// Each piece of the render, and the source that printed it.
    fn pieces(source: &str) -> Vec<(String, String)> {
        let rendered = traced(source);
        let normal = ChatTemplate::normalize(source);
        let piece =
            |origin: &Origin| (rendered.text[origin.text.clone()].to_owned(), normal[origin.source.clone()].to_owned());
        rendered.origins.iter().map(piece).collect()
    }

    #[test]
    fn every_piece_has_the_place_that_printed_it() {
        let same = |text: &'static str| (text, text);
        let cases: [(&str, Vec<(&str, &str)>); 10] = [
            ("<a>\n<b>{{ '<c>' }}", vec![same("<a>\n"), same("<b>"), ("<c>", "'<c>'")]),
            ("{%- if true %}\n  <a> {%- endif %}", vec![same("  <a>")]),
            ("{{ '<' + messages[0].role + '>' }}", vec![("<", "'<'"), ("user", "messages[0].role"), (">", "'>'")]),
            ("{{ messages[0].role + '>' ~ 1 }}", vec![("user", "messages[0].role"), (">1", "'>' ~ 1")]),
            ("{{ 1 + 2 }}", vec![("3", "1 + 2")]),
            ("{{ '<a>' if messages else '<b>' }}", vec![("<a>", "'<a>'")]),
            ("{{ '' }}<a>", vec![same("<a>")]),
            ("{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m('a') }}", vec![same("<"), ("a", "x"), same(">")]),
            ("{% set x %}<{{ 1 }}>{% endset %}{{ x }}", vec![("<1>", "x")]),
            (
                "{% filter upper %}<a>{{ 'b' }}{% endfilter %}c",
                vec![("<A>B", "{% filter upper %}<a>{{ 'b' }}{% endfilter %}"), same("c")],
            ),
        ];
        for (source, expected) in cases {
            let expected: Vec<_> =
                expected.iter().map(|(text, place)| ((*text).to_owned(), (*place).to_owned())).collect();
            assert_eq!(pieces(source), expected, "{source}");
        }
    }

    #[test]
    fn pieces_cover_the_text() {
        for source in [
            "{% for m in messages %}<{{ m.role }}>{{ m.content | upper }}\n{% endfor %}",
            "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}b{% endcall %}",
            "{% for m in messages recursive %}({{ m.role }}{{ loop([]) }}){% endfor %}",
            "{{ 'a' + 'b' + ('c' | safe) }}{{ messages[0].role ~ 1 ~ 'd' }}",
            "{{ ('a' + 'b') + ('c' ~ 'd') }}{% autoescape true %}{{ '<' }}{% endautoescape %}",
            "{% generation %}a{{ 1 }}{% endgeneration %}{% block b %}x{{ 2 }}{% endblock %}",
        ] {
            let rendered = traced(source);
            let mut end = 0;
            for origin in &rendered.origins {
                assert_eq!(origin.text.start, end, "{source}");
                assert!(origin.text.end > end, "{source}");
                end = origin.text.end;
            }
            assert_eq!(end, rendered.text.len(), "{source}");
        }
    }
}
