//! Infers the form of arguments that are written key by key: the text around each, and how values of each type are
//! spelled.

use super::marks::Segmentation;
use super::pair_forms;
use super::shapes;
use super::structure::{Cut, Encoding, History, KEY_AGAIN, Pairs, Typed, Values};
use super::trace::{Slot, SlotKind, Trace};
use super::turn::Turns;
use backchat_core::json::{self, Object, Value};
use backchat_core::python;
use backchat_core::text::{common_end, common_start, slice};
use backchat_probe::probe::needle::{self, INTEGER, ODD};
use backchat_probe::probe::{Answer, Setting, call_with};

/// Strings with some of the characters that encodings escape.
const FEWER_ODD: [&str; 3] = ["Qzo\"d \\ é]q", "Qzo\\dq", "Qzo'dq"];

/// Finds the form of arguments in a render of one call with two of them.
pub(crate) fn find(turns: Turns<'_, '_>, setting: &Setting, one: &Trace, end: &str) -> Option<Pairs> {
    let slots: Vec<&Slot> = one.of_call(0).collect();
    let first = slots.iter().position(|slot| matches!(slot.kind, SlotKind::Key(..)))?;
    let before = slots.get(..first)?.last().map_or(0, |slot| slot.range.end);
    let rest = slots.get(first..)?;
    // Some templates sort the keys, and some write them twice.
    let key = rest.first()?;
    let value = rest.iter().find(|slot| matches!(slot.kind, SlotKind::Value(..)))?;
    let later = rest.iter().find(|slot| matches!(slot.kind, SlotKind::Key(..)) && slot.kind != key.kind)?;
    let last = rest.iter().rfind(|slot| matches!(slot.kind, SlotKind::Value(..)))?;
    if value.range.start > later.range.start || last.range.start < later.range.end {
        return None;
    }
    let (SlotKind::Key(_, a), SlotKind::Key(_, b)) = (key.kind, later.kind) else { return None };
    let sign = KEY_AGAIN.to_string();
    let lead = one.get(before..key.range.start);
    let gap = one.get(key.range.end..value.range.start);
    let between = one.get(value.range.end..later.range.start).replace(&shapes::key(0, a), &sign);
    let tail = one.rest(last.range.end).replace(&shapes::key(0, b), &sign);
    let tail = tail.strip_suffix(end).unwrap_or(&tail);
    let none = turns.trace(History::User, &Answer::calls(vec![shapes::call(0, 0)]), setting);
    let none = none.as_ref().and_then(|none| {
        let last =
            none.of_call(0).take_while(|slot| matches!(slot.kind, SlotKind::Name(_) | SlotKind::Id(_))).last()?;
        let text = none.rest(last.range.end);
        Some(text.strip_suffix(end).unwrap_or(text).to_owned())
    });
    let cut = cut(turns.segmentation, lead, &between, tail, none.as_deref())?;
    let key_again = cut.close.contains(KEY_AGAIN);
    let after = slice(tail, cut.close.len()..).to_owned();
    let mut pairs = Pairs {
        cut,
        gap: gap.to_owned(),
        key_again,
        braces: None,
        values: PLAIN,
        written: Vec::new(),
        forms: Vec::new(),
    };
    values(turns, setting, &mut pairs);
    braces(&mut pairs, &after);
    pairs.forms = pair_forms::find(turns, setting, &pairs);
    Some(pairs)
}

/// Recognizes pairs in braces, with a colon after each key and commas in between, as one object.
fn braces(pairs: &mut Pairs, after: &str) {
    let key = pairs.cut.open.trim();
    let is_object = pairs.gap.trim().strip_prefix(key).is_some_and(|gap| gap.trim() == ":")
        && pairs.cut.separator.trim() == ","
        && pairs.cut.close.trim().is_empty();
    let Some(at) = pairs.cut.section.rfind('{').filter(|_| is_object) else { return };
    if !pairs.cut.section.get(at + 1..).is_some_and(|space| space.trim().is_empty()) {
        return;
    }
    let Some(end) = after.find('}').filter(|end| after.get(..*end).is_some_and(|space| space.trim().is_empty())) else {
        return;
    };
    let open = pairs.cut.section.split_off(at);
    pairs.braces = Some((open, after.get(..=end).unwrap_or("}").to_owned()));
}

const PLAIN: Values = Values { strings: Encoding::Bare, python: false, frame: None, typed: None };

/// Cuts the text before, between and after arguments. A call without arguments resolves ambiguities.
fn cut(segmentation: Segmentation, lead: &str, between: &str, tail: &str, none: Option<&str>) -> Option<Cut> {
    let longest = segmentation.shared_start(between, tail);
    let marks: Vec<&str> = segmentation.marks(longest);
    let lengths = (0..=marks.len()).rev().map(|count| marks.iter().take(count).map(|mark| mark.len()).sum::<usize>());
    let read = |length: usize, none: Option<&str>| {
        let close = between.get(..length)?;
        let rest = between.get(length..)?;
        let open = segmentation.shared_end(rest, lead);
        let after = tail.strip_prefix(close)?;
        let (section, open) = match none {
            Some(none) => {
                let section = none.strip_suffix(after)?;
                let open = lead.strip_prefix(section)?;
                (section, rest.ends_with(open).then_some(open)?)
            }
            None => (lead.strip_suffix(open)?, open),
        };
        Some(Cut::of([section, open, close, rest.strip_suffix(open)?, ""]))
    };
    // Equal characters at a boundary look like one mark; a call without arguments shows where an argument ends.
    let touching = common_start(between, tail).len();
    let within = none.map(|_| (1..=touching).rev()).into_iter().flatten();
    lengths.chain(within).find_map(|length| read(length, none)).or_else(|| read(longest.len(), None))
}

/// Finds how values are spelled: renders one of each type and compares the texts around them.
fn values(turns: Turns<'_, '_>, setting: &Setting, pairs: &mut Pairs) {
    let Some(samples) = Samples::render(turns, setting) else { return };
    let kinds = Samples::values().into_iter().map(|(kind, _)| kind).filter(|kind| *kind != "odd");
    pairs.written = kinds.filter_map(|kind| Some((kind, samples.text(kind)?.to_owned()))).collect();
    let Some((open, close)) = samples.text("string").and_then(|text| text.split_once(&shapes::value(0, 0))) else {
        return;
    };
    if samples.are_strings() && pairs.gap.ends_with('"') && pairs.cut.close.starts_with('"') {
        // Values of other types have another form altogether: the quotes are those of texts.
        let odd = samples.text("odd").map(|text| format!("\"{text}\""));
        if odd.is_some_and(|odd| json::read(&odd).is_ok_and(|value| value.as_str() == Some(ODD))) {
            pairs.gap.pop();
            pairs.cut.close.remove(0);
            pairs.values.strings = Encoding::Json;
            return;
        }
    }
    let around_integer = samples.text("integer").and_then(|text| text.split_once(&INTEGER.to_string()));
    let is_quoted = |after: &str| open.ends_with('"') && close.strip_prefix('"') == Some(after);
    // Values of another type between other marks have another form.
    let is_word = |other: &str, after: &str| !other.is_empty() && (after == close || is_quoted(after));
    if let Some((other, after)) = around_integer.filter(|(other, after)| is_word(other, after)) {
        let open = match open.strip_suffix('"').filter(|_| is_quoted(after)) {
            Some(open) => {
                let odd = samples.text("odd").and_then(|text| text.strip_prefix(open));
                pairs.gap = pairs.gap.strip_suffix('"').unwrap_or(&pairs.gap).to_owned();
                pairs.cut.close = pairs.cut.close.strip_prefix('"').unwrap_or(&pairs.cut.close).to_owned();
                pairs.values.strings = encoding("\"", "\"", odd.map(|text| (ODD, text)));
                open
            }
            None => open,
        };
        pairs.values.typed = Some(typed(&pairs.gap, open, other));
    } else if !open.is_empty() || !close.is_empty() {
        pairs.gap = pairs.gap.strip_suffix(open).unwrap_or(&pairs.gap).to_owned();
        pairs.cut.close = pairs.cut.close.strip_prefix(close).unwrap_or(&pairs.cut.close).to_owned();
        pairs.values.strings = samples.encoding(turns, setting, open, close);
    }
    if pairs.values.strings == Encoding::Bare
        && pairs.values.typed.is_none()
        && let Some((open, close)) = samples.text("odd").and_then(|text| text.split_once(ODD))
        && !open.is_empty()
        && !close.is_empty()
    {
        pairs.values.frame = Some((open.to_owned(), close.to_owned()));
    }
    let is_json = |(kind, value): (&str, Value)| {
        let is_other = !["string", "integer", "odd"].contains(&kind);
        !is_other || samples.text(kind).is_none_or(|text| text.contains(&value.to_string()))
    };
    pairs.values.python = !Samples::values().into_iter().all(is_json);
}

/// A value of each type as renders write it.
struct Samples {
    /// The text after the argument's key, by the kind of its value.
    texts: Vec<(&'static str, String)>,
    /// The lengths of the common prefix and suffix of all texts.
    lead: usize,
    tail: usize,
}

impl Samples {
    /// A value of each type of JSON, and a string with characters that encodings escape.
    fn values() -> [(&'static str, Value); 7] {
        [
            ("string", shapes::value(0, 0).into()),
            ("integer", INTEGER.into()),
            ("boolean", true.into()),
            ("null", Value::Null),
            ("array", Value::List(vec![needle::ITEM.into()])),
            ("object", Value::from([("qzinner", needle::ITEM.into())])),
            ("odd", ODD.into()),
        ]
    }

    /// `None` if no render shows a string.
    fn render(turns: Turns<'_, '_>, setting: &Setting) -> Option<Self> {
        let shown = |(kind, value): (&'static str, Value)| {
            let arguments: Object = [(shapes::key(0, 0), value)].into_iter().collect();
            let answer = Answer::calls(vec![call_with(0, arguments)]);
            let trace = turns.trace(History::User, &answer, setting)?;
            // An object with only this argument would be one slot.
            let (lead, rest) = trace.text.split_once(&shapes::key(0, 0))?;
            Some((kind, lead.to_owned(), rest.to_owned()))
        };
        let shown: Vec<_> = Self::values().into_iter().filter_map(shown).collect();
        let (_, lead, _) = shown.iter().find(|(kind, ..)| *kind == "string")?;
        // Values of another type may be written in another form.
        let alike = shown.iter().filter(|(_, other, _)| other == lead);
        let mut texts: Vec<_> = alike.map(|(kind, _, rest)| (*kind, rest.clone())).collect();
        let (_, string) = texts.iter().find(|(kind, _)| *kind == "string")?;
        // The text around every value of any type.
        let mut lead = string.find("Qz").unwrap_or(0);
        let mut tail = string.len() - lead - shapes::value(0, 0).len();
        for (_, text) in texts.iter().filter(|(kind, _)| !["odd", "null"].contains(kind)) {
            lead = lead.min(common_start(string, text).len());
            tail = tail.min(common_end(string, text).len());
        }
        // What is within brackets is one mark with them.
        if slice(string, ..lead).ends_with('<') && slice(string, string.len() - tail..).starts_with('>') {
            (lead, tail) = (lead - 1, tail - 1);
        }
        // What stands for null may be a form of its own, such as a tag without content.
        let (before, after) = (slice(string, ..lead).to_owned(), slice(string, string.len() - tail..).to_owned());
        let is_around = |text: &str| text.strip_prefix(&*before).is_some_and(|text| text.ends_with(&after));
        texts.retain(|(kind, text)| *kind != "null" || is_around(text));
        Some(Self { texts, lead, tail })
    }

    /// How strings between two marks are spelled. If the string with every odd character is written in another form, one
    /// with fewer decides.
    fn encoding(&self, turns: Turns<'_, '_>, setting: &Setting, open: &str, close: &str) -> Encoding {
        let odd = self.text("odd").filter(|text| text.starts_with(open));
        if odd.is_some() {
            return encoding(open, close, odd.map(|text| (ODD, text)));
        }
        let text = |value: &str| {
            let arguments: Object = [(shapes::key(0, 0), value.into())].into_iter().collect();
            let trace = turns.trace(History::User, &Answer::calls(vec![call_with(0, arguments)]), setting)?;
            let (_, rest) = trace.text.split_once(&shapes::key(0, 0))?;
            rest.get(self.lead..rest.len().checked_sub(self.tail)?).map(str::to_owned)
        };
        let found = FEWER_ODD.iter().find_map(|odd| Some((*odd, text(odd).filter(|text| text.starts_with(open))?)));
        encoding(open, close, found.as_ref().map(|(odd, text)| (*odd, text.as_str())))
    }

    /// Whether no other value is written like a string.
    fn are_strings(&self) -> bool {
        self.texts.iter().all(|(kind, _)| ["string", "odd"].contains(kind))
    }

    /// The part that differs by type.
    fn text(&self, kind: &str) -> Option<&str> {
        let (_, text) = self.texts.iter().find(|(known, _)| *known == kind)?;
        text.get(self.lead..text.len().checked_sub(self.tail)?)
    }
}

/// Finds the word that names the type of a value, in the texts before a string and before another value.
fn typed(gap: &str, string: &str, other: &str) -> Typed {
    let suffix = common_end(string, other).trim_start_matches(char::is_alphanumeric);
    let word = string.strip_suffix(suffix).unwrap_or(string);
    let before = gap.strip_suffix(string).unwrap_or(gap);
    // The shared beginning of the words is part of them.
    let prefix = before.trim_end_matches(char::is_alphanumeric);
    let string = format!("{}{word}", slice(before, prefix.len()..));
    let inner = other.strip_suffix(suffix).unwrap_or(other);
    let has_space = [word, inner].iter().any(|word| word.contains(char::is_whitespace));
    Typed { prefix: prefix.to_owned(), string, suffix: suffix.to_owned(), has_space }
}

/// How strings between two marks are escaped, judged by a string with special characters.
fn encoding(open: &str, close: &str, odd: Option<(&str, &str)>) -> Encoding {
    if odd.is_some_and(|(odd, text)| json::read(text).is_ok_and(|value| value.as_str() == Some(odd))) {
        return Encoding::Json;
    }
    let is_pythons = |odd: &str, text: &str, quote| text == python::repr(odd) || text == python::quoted(odd, quote);
    let escaped = odd.is_none_or(|(odd, text)| {
        !text.contains(odd) && open.chars().next().is_some_and(|quote| is_pythons(odd, text, quote))
    });
    Encoding::Quoted { open: open.to_owned(), close: close.to_owned(), escaped }
}

#[cfg(test)]
mod tests {
    use super::super::support::{chat_template, with_prober};
    use super::*;

    /// The form of arguments that a template writes with a piece of Jinja about the call `c`.
    fn found(call: &str) -> Option<Pairs> {
        let calls = format!("{{{{ m.content }}}}{{% for c in m.tool_calls %}}{call}{{% endfor %}}");
        with_prober(&chat_template(&calls), |prober| {
            let setting = Setting::new();
            let turns = Turns { prober, segmentation: Segmentation::Words, trailing: &[] };
            let one = turns.trace(History::User, &Answer::calls(shapes::calls(1)), &setting)?;
            find(turns, &setting, &one, "<|end|>")
        })
    }

    /// A call with its arguments in tags, whose values are written by a piece of Jinja about `v`.
    fn tagged(value: &str) -> Option<Pairs> {
        found(&format!(
            "<call {{{{ c.function.name }}}}>{{% for k, v in c.function.arguments.items() %}}<arg {{{{ k }}}}>{value}</arg>\
             {{% endfor %}}</call>"
        ))
    }

    fn texts(cut: &Cut) -> [&str; 5] {
        [&cut.section, &cut.open, &cut.close, &cut.separator, &cut.section_close]
    }

    #[test]
    fn a_call_without_arguments_shows_where_an_argument_ends() {
        let (lead, between, tail) = (">\n<arg ", "</arg>\n<arg ", "</arg>\n</call>");
        for (none, expected) in [
            // The line break is written after every argument, or between two and once at the end.
            (Some(">\n</call>"), [">\n", "<arg ", "</arg>\n", "", ""]),
            (Some(">\n\n</call>"), [">\n", "<arg ", "</arg>", "\n", ""]),
            // Without such a call, as much as possible belongs to the argument.
            (None, [">\n", "<arg ", "</arg>\n", "", ""]),
            (Some("/>"), [">\n", "<arg ", "</arg>\n", "", ""]),
        ] {
            assert_eq!(texts(&cut(Segmentation::Words, lead, between, tail, none).unwrap()), expected, "{none:?}");
        }
        // Bars around each key and value.
        let bars = cut(Segmentation::Words, ">|", "||", "|</call>", Some("></call>")).unwrap();
        assert_eq!(texts(&bars), [">", "|", "|", "", ""]);
        // Nothing is common: the first argument opens differently from the second.
        assert_eq!(texts(&cut(Segmentation::Words, "(", ", ", ")", None).unwrap()), ["(", "", "", ", ", ""]);
    }

    #[test]
    fn arguments_are_cut_at_the_text_around_keys_and_values() {
        let pairs = tagged("{{ v }}").unwrap();
        assert_eq!(texts(&pairs.cut), [">", "<arg ", "</arg>", "", ""]);
        assert_eq!((pairs.gap.as_str(), pairs.key_again, pairs.braces), (">", false, None));
        let again = "{{ c.function.name }}:{% for k, v in c.function.arguments.items() %}<{{ k }}>{{ v }}</{{ k }}>{% endfor %}";
        let pairs = found(again).unwrap();
        assert_eq!((texts(&pairs.cut), pairs.key_again), ([":", "<", "</\u{1}>", "", ""], true));
    }

    #[test]
    fn arguments_that_are_not_written_key_by_key_have_no_pairs() {
        for call in [
            // All keys, then all values.
            "{{ c.function.name }} {{ c.function.arguments.keys() | join(' ') }} {{ c.function.arguments.values() | join(' ') }}",
            // Keys alone, values alone, neither.
            "{{ c.function.name }} {{ c.function.arguments.keys() | join(' ') }}",
            "{{ c.function.name }} {{ c.function.arguments.values() | join(' ') }}",
            "{{ c.function.name }}",
        ] {
            assert!(found(call).is_none(), "{call}");
        }
    }

    #[test]
    fn the_spelling_of_values_is_found_for_each_type() {
        let quoted = |escaped| Encoding::Quoted { open: "'".to_owned(), close: "'".to_owned(), escaped };
        for (value, strings, python) in [
            ("{{ v }}", Encoding::Bare, true),
            ("{{ v if v is string else v | tojson }}", Encoding::Bare, false),
            ("{{ v | tojson }}", Encoding::Json, false),
            ("{{ \"'\" ~ v ~ \"'\" if v is string else v | tojson }}", quoted(false), false),
            ("{{ ([v] | string)[1:-1] }}", quoted(true), true),
        ] {
            let pairs = tagged(value).unwrap();
            assert_eq!((pairs.values.strings, pairs.values.python), (strings, python), "{value}");
            // Quotes are part of the value's spelling, not of the text around it.
            assert_eq!((pairs.gap.as_str(), pairs.cut.close.as_str()), (">", "</arg>"), "{value}");
            assert_eq!((pairs.values.frame, pairs.values.typed), (None, None), "{value}");
        }
    }

    #[test]
    fn a_value_of_each_type_is_kept_as_written() {
        let written = tagged("{{ v }}").unwrap().written;
        let expected = [
            ("string", "Qzvalueaaq"),
            ("integer", "73591"),
            ("boolean", "True"),
            ("null", "None"),
            ("array", "['Qzitemq']"),
            ("object", "{'qzinner': 'Qzitemq'}"),
        ];
        assert_eq!(written, expected.map(|(kind, text)| (kind, text.to_owned())));
    }

    #[test]
    fn marks_around_some_strings_are_a_frame() {
        let pairs = tagged("{{ '<![CDATA[' ~ v ~ ']]>' if v is string and '<' in v else v }}").unwrap();
        assert_eq!(pairs.values.frame, Some(("<![CDATA[".to_owned(), "]]>".to_owned())));
        assert_eq!(pairs.values.strings, Encoding::Bare);
    }

    #[test]
    fn a_word_before_each_value_names_its_type() {
        let call = "{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }} is={{ 'string' if v is string \
                    else 'other' }}>{{ v if v is string else v | tojson }};{% endfor %})";
        let typed = found(call).unwrap().values.typed.unwrap();
        assert_eq!((&*typed.prefix, &*typed.string, &*typed.suffix), (" is=", "string", ">"));
        let hints = "{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}: {{ 'str' if v is string else 'any' }} = \
                     {{ v | tojson }}{{ ', ' if not loop.last }}{% endfor %})";
        let values = found(hints).unwrap().values;
        let typed = values.typed.unwrap();
        assert_eq!((&*typed.prefix, &*typed.string, &*typed.suffix), (": ", "str", " = "));
        assert_eq!(values.strings, Encoding::Json);
    }

    #[test]
    fn marks_that_differ_on_both_sides_are_two_forms() {
        let call = "{{ c.function.name }}({% for k, v in c.function.arguments.items() %}{{ k }}: \
                    {{ '<s>' ~ v ~ '</s>' if v is string else '<j>' ~ (v | tojson) ~ '</j>' }};{% endfor %})";
        let pairs = found(call).unwrap();
        let strings = Encoding::Quoted { open: "<s>".to_owned(), close: "</s>".to_owned(), escaped: false };
        assert_eq!((pairs.values.strings, pairs.values.typed), (strings, None));
        assert_eq!(pairs.forms.iter().map(|form| (&*form.gap, &*form.close)).collect::<Vec<_>>(), [(": <j>", "</j>;")]);
    }

    #[test]
    fn pairs_with_colons_and_commas_in_braces_are_one_object() {
        let items = "{% for k, v in c.function.arguments.items() %}{{ k }}: {{ v | tojson }}\
                     {% if not loop.last %}, {% endif %}{% endfor %}";
        let pairs = found(&format!("{{{{ c.function.name }}}}{{{{ '{{' }}}}{items}{{{{ '}}' }}}}")).unwrap();
        assert_eq!(pairs.braces, Some(("{".to_owned(), "}".to_owned())));
        assert_eq!(texts(&pairs.cut), ["", "", "", ", ", ""]);
        // Other brackets, or none, leave them pairs.
        for (open, close) in [("(", ")"), ("", "")] {
            let pairs = found(&format!("{{{{ c.function.name }}}} {open}{items}{close}")).unwrap();
            assert_eq!(pairs.braces, None, "{open}{close}");
        }
    }
}
