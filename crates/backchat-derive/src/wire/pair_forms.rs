//! The other forms of an argument: the text that a template writes around the keys and values of some arguments only, such
//! as a fence around code or quotes that the value does not contain.
//!
//! Each probe is a call with one argument. The conditions that it meets suggest others.

use super::shapes;
use super::structure::{Encoding, History, KEY_AGAIN, PairForm, Pairs};
use super::trace::{SlotKind, Trace};
use super::turn::Turns;
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_core::{push_new, python};
use backchat_probe::coverage::{Coverage, Sought, suggestions};
use backchat_probe::probe::needle::{self, INTEGER};
use backchat_probe::probe::{Answer, Call, Setting, call_with, json_type};

/// How many arguments are tried that the conditions of a template suggest.
const MOST_SUGGESTED: usize = 16;

/// How many other forms an argument may have.
const MOST_FORMS: usize = 6;

/// Finds the other forms of arguments. `one` is the render of a call with two of them.
pub(crate) fn find(turns: Turns<'_, '_>, setting: &Setting, pairs: &Pairs) -> Vec<PairForm> {
    if pairs.braces.is_some() || pairs.values.typed.is_some() || pairs.values.frame.is_some() {
        return Vec::new();
    }
    let probe = Probe { turns, setting };
    let plain = (shapes::key(0, 0), Value::from(shapes::value(0, 0)));
    let Some(around) = probe.around(&plain, pairs) else { return Vec::new() };
    let mut forms: Vec<PairForm> = Vec::new();
    let others = fixed().into_iter().chain(probe.suggested(&plain));
    let undefined = others.map(|argument| (probe.body(&argument), argument));
    let defined = [false, true].map(|required| (probe.body_if_defined(&plain, required), plain.clone()));
    for (body, (key, value)) in undefined.chain(defined) {
        let mut found = body.as_ref().map_or_else(Vec::new, |body| around.forms(body, &key, &value));
        if value.is_null() && found.is_empty() {
            found.extend(
                body.and_then(|body| around.without_value(&body, &key)).filter(|form| !form.is_empty_of(pairs)),
            );
        } else if value.is_null() {
            let is_tag = |form: &PairForm| {
                form.gap.ends_with('<')
                    && body.as_ref().is_some_and(|body| body.contains(&format!("<null{}", form.close)))
            };
            found.iter_mut().for_each(|form| form.is_null = is_tag(form));
        }
        // A text in quotes may be JSON, or not.
        if found.iter().any(|form| form.is_of(pairs, &value)) {
            continue;
        }
        let is_json = |form: &&PairForm| !form.is_raw && pairs.values.strings == Encoding::Json;
        let Some(form) = found.iter().find(is_json).or(found.first()).cloned() else { continue };
        let is_made = [&form.open, &form.gap, &form.close].iter().any(|text| text.contains(&key));
        if !is_made && !form.is_bare() {
            push_new(&mut forms, form);
        }
    }
    forms.truncate(MOST_FORMS);
    // What opens with more text is sought first.
    forms.sort_by_key(|form| std::cmp::Reverse(form.open.len() + form.gap.len()));
    forms
}

/// Arguments of every kind: values of each type, texts with a character that templates treat on its own, and a short key.
fn fixed() -> Vec<(String, Value)> {
    let key = || shapes::key(0, 0);
    let texts = ["Qzone\nQztwoq", "Qzone\"Qztwoq", "Qzone<Qztwoq", "Qzone'Qztwoq", "/Qzone/Qztwoq"];
    let others = [
        INTEGER.into(),
        0.5.into(),
        true.into(),
        Value::Null,
        Value::List(vec![needle::ITEM.into()]),
        Value::from([(needle::INNER_KEYS[0], needle::ITEM.into())]),
    ];
    let values = texts.into_iter().map(Value::from).chain(others);
    values.map(|value| (key(), value)).chain([("qzkey".to_owned(), shapes::value(0, 0).into())]).collect()
}

struct Probe<'w, 't> {
    turns: Turns<'w, 't>,
    setting: &'w Setting,
}

/// The text of a call before its first argument and after its last one.
struct Around {
    before: String,
    after: String,
}

impl Probe<'_, '_> {
    fn call((key, value): &(String, Value)) -> Call {
        call_with(0, Object::from_iter([(key.clone(), value.clone())]))
    }

    /// The text of a call after its name and id.
    fn body(&self, argument: &(String, Value)) -> Option<String> {
        let answer = Answer::calls(vec![Self::call(argument)]);
        let trace = self.turns.trace(History::User, &answer, self.setting)?;
        head_end(&trace).map(|end| trace.rest(end).to_owned())
    }

    /// The same for a call of a tool that is offered, with the argument as a parameter.
    fn body_if_defined(&self, argument: &(String, Value), required: bool) -> Option<String> {
        let answer = Answer::calls(vec![Self::call(argument)]);
        let messages = shapes::conversation(History::User, &answer);
        let prober = self.turns.prober;
        let tools = prober.request_shape().tools_with(&messages, json_type, required);
        let turns = Turns { prober: &prober.offering(Some(tools)), ..self.turns };
        Probe { turns, setting: self.setting }.body(argument)
    }

    fn around(&self, argument: &(String, Value), pairs: &Pairs) -> Option<Around> {
        let body = self.body(argument)?;
        let (key, value) = (argument.0.as_str(), argument.1.as_str()?);
        let (before, rest) = body.split_once(key)?;
        let (_, after) = rest.split_once(value)?;
        let close = format!("{}{}", pairs.values.quotes().1, pairs.cut.close.replace(KEY_AGAIN, key));
        let before = before.strip_suffix(pairs.cut.open.as_str())?.to_owned();
        Some(Around { before, after: after.strip_prefix(close.as_str())?.to_owned() })
    }

    /// The arguments that the conditions of the template suggest.
    fn suggested(&self, plain: &(String, Value)) -> Vec<(String, Value)> {
        let known = [plain.clone(), ("qzkey".to_owned(), "Qzone\nQztwoq".into())];
        let answers = known.map(|argument| Answer::calls(vec![Self::call(&argument)]));
        let mut coverage = Coverage::default();
        for answer in &answers {
            let messages = shapes::conversation(History::User, answer);
            coverage.add(self.turns.prober.ran(&messages, self.setting, false).unwrap_or_default(), answer);
        }
        let mut found = Vec::new();
        // What a filter changes is another spelling, not another form.
        for goal in coverage.goals().into_iter().filter(|goal| !matches!(goal.sought, Sought::Change(..))) {
            let base = goal.witnesses.first().and_then(|at| answers.get(*at)).unwrap_or(&answers[0]);
            for suggested in suggestions(&goal, "", (base, &[]), &[]) {
                let argument = suggested.answer.calls.first().and_then(|call| call.arguments.first());
                let is_other = suggested.place.is_some_and(backchat_probe::coverage::Place::is_argument);
                if let Some((key, value)) = argument.filter(|_| is_other) {
                    push_new(&mut found, (key.to_owned(), value.clone()));
                }
            }
        }
        found.truncate(MOST_SUGGESTED);
        found
    }
}

/// Where the head of a call ends that writes its arguments key by key.
fn head_end(trace: &Trace) -> Option<usize> {
    let slots = trace.of_call(0).take_while(|slot| matches!(slot.kind, SlotKind::Name(_) | SlotKind::Id(_)));
    slots.last().map(|slot| slot.range.end)
}

impl Around {
    /// The texts around a key and its value in a call with only this argument, by the spellings of the value.
    fn forms(&self, body: &str, key: &str, value: &Value) -> Vec<PairForm> {
        let inner = body.strip_prefix(self.before.as_str()).and_then(|body| body.strip_suffix(self.after.as_str()));
        let Some((open, rest)) = inner.and_then(|inner| inner.split_once(key)) else { return Vec::new() };
        let text = value.as_str().map(|text| (text.to_owned(), true));
        let mut others = [value.to_string(), python::spelling(value)].map(|spelled| (spelled, false)).to_vec();
        others.retain(|(spelled, _)| value.as_str() != Some(spelled));
        let spelled = text.into_iter().chain(others).filter(|(spelled, _)| !spelled.is_empty());
        let found = spelled.filter_map(|(spelled, is_raw)| {
            let (gap, close) = rest.split_once(spelled.as_str())?;
            let close = close.replace(key, &KEY_AGAIN.to_string());
            Some(PairForm { open: open.to_owned(), gap: gap.to_owned(), close, is_raw, is_null: false })
        });
        found.collect()
    }

    /// The texts around a key without a value, up to the next argument.
    fn without_value(&self, body: &str, key: &str) -> Option<PairForm> {
        let inner = body.strip_prefix(self.before.as_str())?.strip_suffix(self.after.as_str())?;
        let (open, gap) = inner.split_once(key)?;
        let is_mark = gap.chars().any(|c| !c.is_whitespace() && !c.is_alphanumeric());
        let form =
            PairForm { open: open.to_owned(), gap: gap.to_owned(), close: String::new(), is_raw: false, is_null: true };
        is_mark.then_some(form)
    }
}

impl PairForm {
    /// Whether it is the usual form of an argument with this value.
    fn is_of(&self, pairs: &Pairs, value: &Value) -> bool {
        let (open, close) = match (&pairs.values.strings, value) {
            (Encoding::Quoted { open, close, .. }, Value::String(_)) if self.is_raw => (open.as_str(), close.as_str()),
            _ => ("", ""),
        };
        let gap = format!("{}{open}", pairs.gap);
        let end = format!("{close}{}", pairs.cut.close);
        self.open == pairs.cut.open && self.gap == gap && self.close == end
    }

    /// Whether it is what the usual form of an argument has around an empty text.
    fn is_empty_of(&self, pairs: &Pairs) -> bool {
        let (open, close) = pairs.values.quotes();
        [("", ""), (open, close)]
            .iter()
            .any(|(open, close)| self.gap == format!("{}{open}{close}{}", pairs.gap, pairs.cut.close))
    }

    /// Whether nothing distinguishes its end from the value.
    fn is_bare(&self) -> bool {
        self.open.trim().is_empty() && self.gap.trim().is_empty()
    }

    /// The form without the marks at the ends of its lines next to the value, and these marks with their line breaks, if
    /// it has them on both sides.
    pub(crate) fn lines(&self) -> Option<(PairForm, (String, String))> {
        let line = self.gap.strip_suffix('\n').filter(|_| self.is_raw)?;
        let at = line.rfind(char::is_whitespace).map_or(0, |at| at + 1);
        let open = slice(&self.gap, at..);
        let rest = self.close.strip_prefix('\n')?;
        let length = 1 + rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (close, after) = self.close.split_at_checked(length)?;
        let is_mark = |text: &str| !text.trim().is_empty() && !text.contains(KEY_AGAIN);
        let around = PairForm { gap: slice(&self.gap, ..at).to_owned(), close: after.to_owned(), ..self.clone() };
        (is_mark(open) && is_mark(close)).then(|| (around, (open.to_owned(), close.to_owned())))
    }

    /// As the usual form of other pairs.
    pub(crate) fn of(&self, pairs: &Pairs) -> Pairs {
        let mut other = pairs.clone();
        other.key_again = self.close.contains(KEY_AGAIN);
        other.cut.open.clone_from(&self.open);
        other.cut.close.clone_from(&self.close);
        other.gap.clone_from(&self.gap);
        other.values.strings = if self.is_raw { Encoding::Bare } else { Encoding::Json };
        other
    }
}

#[cfg(test)]
mod tests {
    use super::super::marks::Segmentation;
    use super::super::pairs;
    use super::super::support::{chat_template, with_prober};
    use super::*;

    /// The other forms of arguments that a piece of Jinja about `k` and `v` writes.
    fn forms(argument: &str) -> Vec<[String; 3]> {
        let calls = format!(
            "{{{{ m.content }}}}{{% for c in m.tool_calls %}}<call {{{{ c.function.name }}}}>\
             {{% for k, v in c.function.arguments.items() %}}{argument}{{% endfor %}}</call>{{% endfor %}}"
        );
        with_prober(&chat_template(&calls), |prober| {
            let setting = Setting::new();
            let turns = Turns { prober, segmentation: Segmentation::Words, trailing: &[] };
            let one = turns.trace(History::User, &Answer::calls(shapes::calls(1)), &setting).unwrap();
            let pairs = pairs::find(turns, &setting, &one, "<|end|>").unwrap();
            pairs.forms.into_iter().map(|form| [form.open, form.gap, form.close]).collect()
        })
    }

    #[test]
    fn arguments_of_one_form_have_no_other() {
        for argument in [
            "<arg {{ k }}>{{ v }}</arg>",
            "{{ k }}: {{ v | tojson }}\n",
            "<arg {{ k }}>{{ v if v is string else v | tojson }}</arg>",
            "[{{ k }}=\"{{ v }}\"]",
        ] {
            assert_eq!(forms(argument), Vec::<[String; 3]>::new(), "{argument}");
        }
    }

    #[test]
    fn a_condition_on_the_key_or_the_value_chooses_another_form() {
        let quoted = "{% if v is string and '\n' in v %}{{ k }} <<END\n{{ v }}\nEND\n{% else %}{{ k }} = {{ v | tojson }}\n{% endif %}";
        assert_eq!(forms(quoted), [["", " <<END\n", "\nEND\n"]]);
        let keyed = "{% if k in ['body', 'sql'] %}\n{{ k }}:\n~~~\n{{ v }}\n~~~{% else %}\n{{ k }}: {{ v | tojson }}{% endif %}";
        // Both forms begin with the line break, which belongs to what separates arguments.
        assert_eq!(forms(keyed), [["", ":\n~~~\n", "\n~~~"]]);
        let kinds = "{% if v is string %}<text {{ k }}>{{ v }}</text>{% else %}<data {{ k }}>{{ v | tojson }}</data>{% endif %}";
        assert_eq!(forms(kinds), [["<data ", ">", "</data>"]]);
        let absent =
            "{% if v is none %}<{{ k }}/>{% else %}<{{ k }}>{{ v if v is string else v | tojson }}</v>{% endif %}";
        assert_eq!(forms(absent), [["<", "/>", ""]]);
        let tags = "<key>{{ k }}</key>{% if v is none %}<null/>{% elif v is string %}<text>{{ v }}</text>{% else %}<json>{{ v | tojson }}</json>{% endif %}";
        assert_eq!(forms(tags), [["<key>", "</key><json>", "</json>"], ["<key>", "</key><", "/>"]]);
        // Null is written like an empty text.
        assert_eq!(forms("<{{ k }}>{{ '' if v is none else v if v is string else v | tojson }}</v>"), [[""; 3]; 0]);
    }

    #[test]
    fn an_argument_that_the_tool_requires_has_another_form() {
        let required = "{% set of = namespace(keys=[]) %}{% for t in tools or [] if t.function.name == c.function.name %}\
                        {% set of.keys = t.function.parameters.required %}{% endfor %}\
                        <{{ 'must' if k in of.keys else 'may' }} {{ k }}>{{ v | tojson }}</>";
        assert_eq!(forms(required), [["<must ", ">", "</>"]]);
    }

    #[test]
    fn a_text_as_it_is_has_one_spelling() {
        let around = Around { before: "<call f>".to_owned(), after: "</call>".to_owned() };
        let are_raw = |body: &str| {
            let forms = around.forms(body, "k", &"text".into());
            forms.iter().map(|form| form.is_raw).collect::<Vec<_>>()
        };
        assert_eq!(are_raw("<call f>k:\n~~~\ntext\n~~~</call>"), [true]);
        assert_eq!(are_raw("<call f>k = \"text\"</call>"), [true, false]);
    }
}
