//! Delimiters that are ordinary text, which prose and code may contain, and the answers that have such text.

use super::case::Case;
use super::conversations::{Reach, TestAnswer, called, quoted};
use super::reading;
use backchat_core::distinct;
use backchat_core::text::{common_start, slice};
use backchat_parser::pattern::Pattern;
use backchat_parser::template::{Delimiter, Field, Template};
use backchat_probe::probe::Answer;
use backchat_probe::probe::marks::{Segmentation, is_closing, is_opening};

/// Bytes of the longest delimiter that ordinary text may contain.
const LONGEST: usize = 60;

/// Answers that end in HTML, each with the tag that may be read as the name of a call.
const HTML: [(&str, &str); 6] = [
    ("<ul>", "Like so:\n<ul><li>one</li></ul>"),
    ("<ul>", "Like so:\n<ul>\n<li>one</li>\n</ul>"),
    ("<ol>", "Like so:\n<ol><li class=\"a\">one</li></ol>"),
    ("<ol>", "Like so:\n<ol>\n<li type=\"a\">one</li>\n</ol>"),
    ("<td></td>", "Like so:\n<td></td>"),
    ("<td></td>", "Like so:\n<td>\n</td>"),
];

/// What one draft reads as delimiters of calls, reasoning or strings, if that is ordinary text.
#[derive(Clone, Debug, Default)]
pub(super) struct OrdinaryDelimiters {
    calls: [Option<String>; 2],
    /// A number in brackets that opens calls.
    numbered: Option<String>,
    /// The beginning of all texts that close a call, if that is ordinary text.
    close_start: Option<String>,
    /// The arguments of a call, if they end by themselves, as JSON does.
    arguments: Option<String>,
    /// A call's name and what is written between it and a brace, if that opens calls: prose and code begin so, too.
    named: Option<String>,
    /// A sign and a call's name, if these open calls before a brace: prose has mentions and paths.
    mention: Option<String>,
    /// Whether a tag that is the name of a call opens calls: HTML has such tags.
    has_named_tags: bool,
    reasoning: [Option<String>; 2],
    /// The text, not a mark, that opens reasoning at the start of a turn alone.
    thought_start: Option<String>,
    /// What closes content, or comes before it, and begins with a sign.
    content: Vec<String>,
    /// What closes a string among the arguments.
    strings: Vec<String>,
}

impl OrdinaryDelimiters {
    /// The texts that a template reads as delimiters of calls, reasoning and strings, if answers and code may contain them:
    /// no mark, such as a tag, is among them.
    pub fn of(template: &Template) -> Self {
        let ordinary = |delimiter: &Option<Delimiter>| {
            let examples = delimiter.as_ref().map(|delimiter| delimiter.pattern().examples()).unwrap_or_default();
            examples.iter().find(|text| is_ordinary(text)).cloned()
        };
        let start = |delimiter: &Option<Delimiter>| {
            let examples = delimiter.as_ref().map(|delimiter| delimiter.pattern().examples()).unwrap_or_default();
            let texts = examples.iter().map(String::as_str).filter(|text| is_ordinary(text));
            texts.reduce(common_start).filter(|text| is_ordinary(text)).map(str::to_owned)
        };
        let both =
            |field: Option<&Field>| field.map_or([None, None], |field| [ordinary(&field.open), ordinary(&field.close)]);
        let reasoning = reading::reasoning_field(template).and_then(|name| template.field(name));
        let calls = template.field("tool_calls");
        let [open, close] = both(calls);
        let values = calls.map(|field| field.content.value_parser().map_or(&field.content, |parser| &**parser));
        let strings = values.iter().flat_map(|parser| parser.string_delims()).map(|(_, close)| close.clone());
        Self {
            calls: [open.or_else(|| calls.and_then(name_in_brackets)), close],
            numbered: calls.and_then(|field| number_in_brackets(field.open.as_ref()?.pattern())),
            close_start: calls.and_then(|field| start(&field.close)),
            arguments: calls.and_then(typical_arguments),
            named: calls.and_then(|field| opening_before_brace(field, is_named)),
            mention: calls.and_then(|field| opening_before_brace(field, is_mention)).map(|text| text.trim().to_owned()),
            has_named_tags: calls.is_some_and(opens_with_named_tag),
            reasoning: both(reasoning),
            thought_start: reasoning.and_then(|field| start_of_thought(field.open.as_ref()?.pattern())),
            content: template.field("content").map(signs_of_content).unwrap_or_default(),
            strings: strings.filter(|text| is_ordinary(text)).collect(),
        }
    }

    /// The answers for one draft whose delimiters are ordinary text: such text in content, reasoning and arguments.
    pub fn answers(&self, named_ids: bool) -> Vec<TestAnswer> {
        let OrdinaryDelimiters { calls: [open, close], numbered, reasoning, strings, named, mention, .. } = self;
        let html = HTML.iter().filter(|_| self.has_named_tags);
        let mut said: Vec<(String, Answer)> =
            html.map(|(tag, text)| (format!("{} in the answer", quoted(tag)), Answer::content(text))).collect();
        if let Some(name) = named {
            let texts = ["Use {x}.".to_owned(), "Use\n{x}.".to_owned(), format!("Use {{x}} {name}b.")];
            said.extend(texts.map(|text| ("`Use {` in the answer".to_owned(), Answer::content(&text))));
            said.push(("`Use {` in an argument".to_owned(), called("run-sql.v2", [("query", "Use {x}.".into())])));
        }
        if let Some(mention) = mention {
            let name = format!("{} before a word in the answer", quoted(mention));
            said.push((name, Answer::content(&format!("Ask {mention} at noon."))));
        }
        if let Some(open) = open {
            let end = close.as_deref().unwrap_or("");
            let text = format!("Like so:\n{open}{{\"a\": 1}}\n{end}\nDone.");
            said.push((format!("{} in the answer", quoted(open)), Answer::content(&text)));
            let thought = Answer::content("Yes, 43 km.").with_reasoning(&text);
            said.push((format!("{} in the reasoning", quoted(open)), thought));
            said.extend(self.within_a_line(open));
        }
        if let Some(number) = numbered {
            let text = format!("I {number} it: press {number}now or later.");
            said.push((format!("{} in the answer", quoted(number)), Answer::content(&text)));
        }
        for close in distinct(close.iter().chain(strings)) {
            let query = format!("f(1){close}\nif x: g([2]){close} end");
            said.push((format!("{} in an argument", quoted(close)), called("run-sql.v2", [("query", query.into())])));
        }
        if let [Some(open), _] = reasoning {
            let content = Answer::content(&format!("They wrote {open} there.\n{open} and so on."));
            said.push((format!("{} in the answer", quoted(open)), content));
        }
        if let [_, Some(close)] = reasoning {
            let thought = format!("They wrote {close} there.\n{close} and so on.");
            said.push((
                format!("{} in the reasoning", quoted(close)),
                Answer::content("Yes, 43 km.").with_reasoning(&thought),
            ));
        }
        said.into_iter().map(|(name, answer)| TestAnswer::new(name, answer, Reach::Value, named_ids)).collect()
    }

    /// An answer and an argument that have the text that opens calls within a line, where no call is if renders begin lines with
    /// calls. Prose has no objects of calls there.
    fn within_a_line(&self, open: &str) -> Vec<(String, Answer)> {
        let is_object = open.trim_start_matches(|c: char| c == '[' || c.is_whitespace()).starts_with('{');
        if is_object || open.contains('\n') {
            return Vec::new();
        }
        let text = format!("Say {open}{} then go.", if self.arguments.is_some() { "{x}" } else { "" });
        let argument = called("run-sql.v2", [("query", text.as_str().into())]);
        let said = [("the answer", Answer::content(&text)), ("an argument", argument)];
        said.map(|(place, answer)| (format!("{} in {place}", quoted(open)), answer)).to_vec()
    }

    /// Answers and arguments that have the text that opens calls, if that is ordinary text, behind what ends them, as two calls
    /// have it: what closes them, or arguments that end by themselves. Their name is that of the answer with the opening alone.
    pub fn behind_calls(&self, named_ids: bool) -> Vec<TestAnswer> {
        let [Some(open), _] = &self.calls else { return Vec::new() };
        let said = |place: &str, answer: Answer| {
            TestAnswer::new(format!("{} in {place}", quoted(open)), answer, Reach::Value, named_ids)
        };
        let mut found = Vec::new();
        if let Some(end) = &self.close_start {
            // The second one ends as a call without arguments.
            let text = format!("Like this{end}{open} and that{end}{open}{end}");
            found.push(said("the answer", Answer::content(&format!("{text}\nDone."))));
            found.push(said("an argument", called("run-sql.v2", [("query", format!("{text} end").into())])));
        }
        let behind = |end: &String| Answer::content(&format!("Like this{end}{open} and that{end}\nDone."));
        found.extend(self.arguments.iter().map(behind).map(|answer| said("the answer", answer)));
        found
    }

    /// An answer that begins as reasoning does, with other text after it than the white space of these renders, or with a sign
    /// that prose sets around a word and at the start of a line.
    pub fn begun(&self, cases: &[Case], named_ids: bool) -> Option<TestAnswer> {
        let open = self.thought_start.as_deref()?;
        let space = cases.iter().find_map(|case| {
            let (before, _) = case.text.split_once(case.expected.reasoning.as_deref()?)?;
            before.trim_end().ends_with(open).then(|| slice(before, before.trim_end().len()..))
        })?;
        let close = self.reasoning.get(1).and_then(Option::as_deref).unwrap_or(open).trim();
        let rest = match space.chars().next() {
            Some('\n') => " about it, yes.".to_owned(),
            _ if open.chars().all(is_sign) => format!("One{close}\ntwo {open}three{close}.\n{open} four\n\nDone."),
            None => return None,
            // Prose has a space behind a colon, too.
            _ if open.ends_with(|c: char| c.is_ascii_punctuation()) => return None,
            _ => ", as they say.".to_owned(),
        };
        let name = format!("{} at the start of the answer", quoted(open));
        Some(TestAnswer::new(name, Answer::content(&format!("{open}{rest}")), Reach::Value, named_ids))
    }

    /// An answer whose first paragraph stands between the signs that open and close reasoning, as emphasis does: the bytes are those
    /// of reasoning.
    pub fn emphasized(&self, named_ids: bool) -> Option<TestAnswer> {
        let [Some(open), Some(close)] = &self.reasoning else { return None };
        let has_signs = open.trim().chars().all(is_sign) && close.trim().chars().all(is_sign) && close.contains('\n');
        let name = || format!("{} around the first paragraph of the answer", quoted(open));
        let answer = || Answer::content(&format!("{open}One.{close}Two."));
        has_signs.then(|| TestAnswer::new(name(), answer(), Reach::Value, named_ids))
    }

    /// An answer with signs around its words that the template takes for marks of content, as quotes and fences, which only
    /// some settings or calls write.
    pub fn wrapped(&self, cases: &[Case], named_ids: bool) -> Option<TestAnswer> {
        let plain = |case: &&Case| {
            case.setting.is_empty() && case.expected.calls.is_empty() && case.expected.reasoning.is_none()
        };
        let is_usual = |text: &String| {
            cases.iter().filter(plain).any(|case| {
                let content = case.expected.content.as_deref().unwrap_or_default();
                case.text
                    .split_once(content)
                    .is_some_and(|(before, after)| [before, after].iter().any(|part| part.contains(text.trim())))
            })
        };
        let text = self.content.iter().find(|text| !is_usual(text))?.trim_start();
        let sign = slice(text, ..text.len() - text.trim_start_matches(is_sign).len());
        let answer = Answer::content(&format!("{text}One{sign} word, and {sign}two{sign}."));
        let name = format!("{} around words of the answer", quoted(text));
        Some(TestAnswer::new(name, answer, Reach::Value, named_ids))
    }

    /// All of them.
    pub fn texts(self) -> impl Iterator<Item = String> {
        let opens = [self.numbered, self.thought_start];
        self.calls.into_iter().chain(opens).chain(self.reasoning).flatten().chain(self.strings).chain(self.content)
    }
}

/// The ordinary text that closes content or a label before it, if it is signs alone or with one word, as that of a fence.
fn signs_of_content(content: &Field) -> Vec<String> {
    let examples = content.close.as_ref().map(|close| close.pattern().examples()).unwrap_or_default();
    let is_signs = |text: &str| {
        let word = text.trim_start_matches(is_sign);
        word.len() < text.len() && word.chars().all(char::is_alphanumeric)
    };
    let is_mark = |text: &str| Segmentation::Words.is_distinctive(text);
    let is_ordinary = |text: &&String| text.len() <= LONGEST && is_signs(text.trim()) && !is_mark(text.trim());
    examples.iter().filter(is_ordinary).cloned().collect()
}

/// Arguments that end by themselves, as a field reads them. A list of calls is no prose.
fn typical_arguments(field: &Field) -> Option<String> {
    let content = Some(&field.content).filter(|content| content.delimits_itself() && !content.is_call_list())?;
    content.typical_body().map(|(text, _)| text)
}

/// The text of an opening that captures a name, if it is of this kind and a brace follows.
fn opening_before_brace(field: &Field, is_kind: impl Fn(&str) -> bool) -> Option<String> {
    typical_arguments(field).filter(|text| text.starts_with('{'))?;
    let open = field.open.as_ref()?.pattern();
    open.names().find(|group| *group == "name")?;
    open.examples().iter().find(|text| is_kind(text)).cloned()
}

/// Whether a text begins with a name and has no other word.
fn is_named(text: &str) -> bool {
    let rest = text.trim_start_matches(char::is_alphanumeric);
    rest.len() < text.len() && !rest.contains(char::is_alphanumeric)
}

/// Whether a text is ordinary signs and a name.
fn is_mention(text: &str) -> bool {
    let name = text.trim().trim_start_matches(|c: char| c.is_ascii_punctuation() && is_plain(c) && !"{}\"".contains(c));
    is_ordinary(text) && name.len() < text.trim().len() && name.chars().all(char::is_alphanumeric)
}

/// The text of an opening that is a name in brackets, if a brace follows. A fixed word in brackets is a mark.
fn name_in_brackets(field: &Field) -> Option<String> {
    let is_bracketed = |text: &str| {
        let name = text.trim().strip_prefix(is_opening).and_then(|text| text.strip_suffix(is_closing));
        name.is_some_and(|name| !name.is_empty() && name.chars().all(char::is_alphanumeric))
    };
    let text = opening_before_brace(field, is_bracketed)?;
    let other = format!("{}{{", text.replacen(char::is_alphanumeric, "zz", 1));
    matches!(field.open.as_ref()?.pattern().find_at(&other, 0), Ok(Some(_))).then_some(text)
}

/// Whether an opening captures a name that is the whole of a tag.
fn opens_with_named_tag(field: &Field) -> bool {
    let open = field.open.as_ref().map(Delimiter::pattern).filter(|open| open.names().any(|group| group == "name"));
    let name = |text: &str| text.trim().strip_prefix('<')?.strip_suffix('>').map(str::to_owned);
    let is_tag = |text: &String| name(text).is_some_and(|name| name.chars().all(char::is_alphanumeric));
    open.is_some_and(|open| open.examples().iter().any(is_tag))
}

/// The text of an opening that matches only at the start of the turn, without white space around it, if it is no mark.
fn start_of_thought(open: &Pattern) -> Option<String> {
    let mut texts = open.examples().iter().filter(|_| open.begins_the_text()).map(|text| text.trim());
    let is_start = |text: &&str| !text.is_empty() && text.len() <= LONGEST && !Segmentation::Words.is_distinctive(text);
    texts.find(is_start).map(str::to_owned)
}

/// Whether answers and code may contain a text.
fn is_ordinary(text: &str) -> bool {
    !text.trim().is_empty() && text.len() <= LONGEST && (text.chars().all(is_plain) || is_code(text.trim()))
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || c.is_whitespace() || "`:;.,()*#=!?@/{}\\\"'_-$%&+~^".contains(c)
}

/// Whether a character is a sign, such as a dash or a quote of any script.
fn is_sign(c: char) -> bool {
    !c.is_alphanumeric() && !c.is_whitespace() && !c.is_control()
}

/// A number in brackets that begins a text of this pattern, if no word may be there: prose has it as a note or a key.
fn number_in_brackets(pattern: &Pattern) -> Option<String> {
    pattern.examples().iter().find_map(|text| {
        let text = text.trim_start();
        let inner = text.strip_prefix(is_opening)?;
        let (number, _) = inner.split_once(is_closing)?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let other = text.replacen(number, "a", 1);
        let takes_words = || !matches!(pattern.find_at(&other, 0), Ok(None));
        (is_number && !takes_words()).then(|| text.get(..=text.find(is_closing)?).map(str::to_owned)).flatten()
    })
}

/// Whether a text is signs of code, such as the end of a tag, an arrow or a shift, an arrow before a word, such as `=> f(`, or a
/// quotation mark. Signs between two brackets are a mark.
fn is_code(text: &str) -> bool {
    let is_mark = text.starts_with(is_opening) && text.ends_with(is_closing);
    let aimed = ["=>", "->"].iter().find_map(|arrow| text.strip_prefix(arrow));
    let is_quote = |c| "«»‹›“”„‘’".contains(c);
    let is_signs = || text.chars().all(|c| c.is_ascii_punctuation() || c.is_whitespace() || is_quote(c));
    !is_mark && (is_signs() || aimed.is_some_and(|aimed| aimed.chars().all(is_plain)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, template, with_proof};
    use crate::derive::{Options, Status, derive};

    #[test]
    fn delimiters_that_answers_and_code_may_contain_are_ordinary() {
        let close = |text: &str| {
            let closed = ANSWER.replace("</call>", &text.replace('\\', "\\\\").replace('"', "\\\""));
            let [_, close] = OrdinaryDelimiters::of(&template(&closed)).calls;
            close
        };
        for text in [")", "};", " />", "\">", "=>", ">>", "=> f(", "-> f:", " »", "$ done", "END"] {
            assert_eq!(close(text).as_deref(), Some(text));
        }
        for mark in ["</call>", "<|>", "<call", "=> <call", "«call", "[/CALL]"] {
            assert_eq!(close(mark), None, "{mark}");
        }
    }

    #[test]
    fn a_number_in_brackets_that_opens_calls_may_be_prose() {
        for (pattern, number) in [
            (r"<\d+>\s*(?P<name>[\w.-]+)", Some("<0>")),
            (r"\[\d+\] (?P<name>\w+)", Some("[0]")),
            // A name in brackets may be a number.
            (r"<(?P<name>[\w.-]+)>", None),
            (r"<call \d+>", None),
            (r"<\|\d+\|>", None),
        ] {
            assert_eq!(number_in_brackets(&Pattern::new(pattern).unwrap()).as_deref(), number, "{pattern}");
        }
    }

    #[test]
    fn a_name_before_a_brace_is_ordinary() {
        let named = |open: &str| {
            let open = format!("\"open_pattern\": \"{}\"", open.replace('\\', "\\\\"));
            let answer = ANSWER.replace("\"open\": \"<call>\"", &open).replace("{content.name}", "{name}");
            OrdinaryDelimiters::of(&template(&answer.replace("{content.arguments}", "{content}"))).named
        };
        for (open, name) in [
            (r"(?:^\s*|<call>)(?P<name>[a-z]+)\s*(?=\{)", Some("a")),
            (r"(?:<calls>|(?<=\}))(?P<name>[a-z]+) \| ", Some("a | ")),
            (r"<call>(?P<name>[a-z]+)\n", None),
            (r"call (?P<name>[a-z]+)\n", None),
        ] {
            assert_eq!(named(open).as_deref(), name, "{open}");
        }
    }

    /// What a template takes for a delimiter of a chat.
    fn taken(source: &str, answer: &str) -> Vec<String> {
        with_proof(source, |proof| {
            let verdict = proof.judge(&template(answer));
            verdict.excused.iter().map(|loss| loss.message.clone()).collect()
        })
    }

    #[test]
    fn a_sign_before_a_name_is_a_mention_unless_a_brace_follows() {
        let source = CHAT
            .replace("<call>{\"name\": \"{{ c.function.name }}\", \"arguments\": ", "@{{ c.function.name }} ")
            .replace("}}}</call>", "}}</call>");
        let is_taken = |open: &str| {
            let open = format!("\"open_pattern\": \"{}\"", open.replace('\\', "\\\\"));
            let answer = ANSWER.replace("\"open\": \"<call>\"", &open).replace("{content.name}", "{name}");
            let about = "`@a` before a word in the answer is taken for a delimiter".to_owned();
            taken(&source, &answer.replace("{content.arguments}", "{content}")).contains(&about)
        };
        assert!(is_taken(r"@(?P<name>[\w.-]+) "));
        assert!(!is_taken(r"@(?P<name>[\w.-]+) (?=\{)"));
        for (text, is) in
            [("@a ", true), ("/a", true), ("$ a\n", false), ("a ", false), ("{\"a\": ", false), ("<a>", false)]
        {
            assert_eq!(is_mention(text), is, "{text}");
        }
    }

    #[test]
    fn a_name_in_brackets_before_a_brace_is_ordinary() {
        let open = |open: &str| {
            let open = format!("\"open_pattern\": \"{}\"", open.replace('\\', "\\\\"));
            let answer = ANSWER.replace("\"open\": \"<call>\"", &open).replace("{content.name}", "{name}");
            let [open, _] =
                OrdinaryDelimiters::of(&template(&answer.replace("{content.arguments}", "{content}"))).calls;
            open
        };
        for (pattern, text) in [
            (r"\[(?P<name>[\w.-]+)\] (?=\{)", Some("[a] ")),
            (r"<(?P<name>[\w.-]+)>", Some("<a>")),
            (r"\[call(?P<name>[\w.-]+)\]", None),
            (r"<call>(?=(?P<name>[^}]+)\})", None),
            (r"<\|(?P<name>[\w.-]+)\|>", None),
        ] {
            assert_eq!(open(pattern).as_deref(), text, "{pattern}");
        }
    }

    #[test]
    fn html_may_be_a_call_whose_tag_is_its_name() {
        let pairs = "{% for k, v in c.function.arguments.items() %}<{{ k }}{{ attribute }}>{{ v if v is string else v | tojson }}</{{ k }}>{% endfor %}";
        let (before, _) = CHAT.split_once("<call>").unwrap();
        let (_, after) = CHAT.split_once("<end>").unwrap();
        let losses = |tag: &str, attribute: &str| {
            let pairs = pairs.replace("{{ attribute }}", attribute);
            let call = format!("<{tag}>{pairs}</{tag}>{{% endfor %}}<end>");
            let derivation = derive(&format!("{before}{call}{after}"), &Options::default());
            assert_eq!(derivation.status, Status::Proved, "{tag} {attribute}");
            let losses = derivation.verdict.losses.iter().map(|loss| loss.message.as_str());
            let taken = losses.filter_map(|loss| loss.strip_suffix(" in the answer is taken for a delimiter"));
            taken.map(str::to_owned).collect::<Vec<_>>()
        };
        let name = "{{ c.function.name }}";
        assert_eq!(losses(name, ""), ["`<ol>`", "`<td></td>`", "`<ul>`"]);
        let kind = "\"{{ 'text' if v is string else 'json' }}\"";
        assert_eq!(losses(name, &format!(" type={kind}")), ["`<ol>`", "`<td></td>`"]);
        // HTML has no such attribute, but a call without arguments looks like an empty tag.
        assert_eq!(losses(name, &format!(" kind={kind}")), ["`<td></td>`"]);
        assert_eq!(losses(&format!("call:{name}"), ""), [""; 0]);
    }

    #[test]
    fn a_sign_within_a_line_may_be_a_call_unless_calls_begin_lines() {
        let source = CHAT
            .replace("<call>{\"name\": \"{{ c.function.name }}\", \"arguments\": ", "{{ '\n/' + c.function.name }} ")
            .replace("}}}</call>", "}}");
        let loose = ANSWER
            .replace("\"open\": \"<call>\"", r#""open_pattern": "/(?P<name>[\\w.-]+)\\s*(?=\\{)""#)
            .replace("\"close\": \"</call>\"", r#""close_pattern": "\\s*(?:(?=\\s*/[\\w.-]+\\s*\\{)|<end>)""#)
            .replace("{content.name}", "{name}")
            .replace("{content.arguments}", "{content}");
        let strict = loose.replace("\": \"/", "\": \"(?:^|(?<=\\\\n))/").replace(r"(?=\\s*/", r"(?=\\n/");
        let [answer, argument] =
            ["the answer", "an argument"].map(|place| format!("`/a` in {place} is taken for a delimiter"));
        let known = taken(&source, &loose);
        assert!(known.contains(&answer) && known.contains(&argument), "{known:?}");
        // An answer may have a line like a call.
        assert_eq!(distinct(taken(&source, &strict)), [answer]);
    }

    #[test]
    fn a_call_without_a_mark_may_be_an_answer_that_begins_with_a_word() {
        let source = CHAT
            .replace("{{ m.content }}", "{% if m.content %}{{ '\n' + m.content }}{% endif %}")
            .replace("<call>{\"name\": \"{{ c.function.name }}\", \"arguments\": ", "{{ c.function.name + '\n' }}")
            .replace("}}}</call>", "}}{{ '<next>' if not loop.last }}");
        let loose = ANSWER
            .replace(
                "\"open\": \"<call>\"",
                r#""open_pattern": "(?:^\\s*|</weigh>\\s*|<next>)(?P<name>[\\w.-]+)\\s*(?=\\{)""#,
            )
            .replace("\"close\": \"</call>\"", r#""close_pattern": "(?=<next>)|<end>""#)
            .replace("{content.name}", "{name}")
            .replace("{content.arguments}", "{content}");
        let strict = loose.replace(r"(?:^\\s*|</weigh>\\s*|<next>)", "(?:^|<next>)").replace(r")\\s*(?=", r")\\n(?=");
        assert!(taken(&source, &loose).contains(&"`Use {` in the answer is taken for a delimiter".to_owned()));
        assert_eq!(taken(&source, &strict), [""; 0]);
    }

    /// What a template takes for a delimiter of a chat in which this opens reasoning.
    fn taken_for_thoughts(written: &str, open_pattern: &str) -> Vec<String> {
        let source = CHAT.replace("<weigh>", &format!("{{{{ '{written}' }}}}"));
        let open = format!("\"open_pattern\": \"{open_pattern}\"");
        taken(&source, &ANSWER.replace("\"open\": \"<weigh>\"", &open))
    }

    #[test]
    fn an_answer_may_begin_as_reasoning_does_but_for_the_white_space() {
        let taken = |text: &str| vec![format!("`{text}` at the start of the answer is taken for a delimiter")];
        for (written, loose, strict, found) in [
            (r"Thinking\n", r"^\\s*Thinking", r"^Thinking\\n", taken("Thinking")),
            (r"> Thoughts\n", r"^\\s*> Thoughts", r"^> Thoughts\\n", taken("> Thoughts")),
            ("💭 ", r"^\\s*💭", "^💭 ", taken("💭")),
            ("*", r"^\\s*\\*", r"^\\*(?=.*</weigh>)", taken("*")),
            // Prose has this space, too.
            ("Thinking: ", r"^\\s*Thinking:", "^Thinking: ", Vec::new()),
            // Nothing tells an answer from reasoning here.
            ("Thinking", r"^\\s*Thinking", "^Thinking", Vec::new()),
            // A mark may have any white space around it.
            (r"<weigh>\n", r"^\\s*<weigh>", r"^<weigh>\\n", Vec::new()),
        ] {
            assert_eq!(taken_for_thoughts(written, loose), found, "{written}");
            assert_eq!(taken_for_thoughts(written, strict), [""; 0], "{written}");
        }
    }

    #[test]
    fn an_answer_may_have_the_signs_that_a_setting_writes_around_it() {
        let source =
            CHAT.replace("{{ m.content }}", "{% if quoted %}\"{{ m.content }}\"{% else %}{{ m.content }}{% endif %}");
        let loose = ANSWER.replace("\"close\": \"<end>\"", r#""close_pattern": "^\\\"|\"?<end>""#);
        let about = r#"`"` around words of the answer is taken for a delimiter"#.to_owned();
        assert!(taken(&source, &loose).contains(&about), "{:?}", taken(&source, &loose));
        // The turns themselves begin so.
        let label = CHAT.replace("{{ m.content }}", "* {{ m.content }}");
        let labeled = ANSWER.replace("\"close\": \"<end>\"", r#""close_pattern": "^\\* |<end>""#);
        assert_eq!(taken(&label, &labeled), [""; 0]);
    }

    /// What two templates take for a delimiter behind the end of a call and nowhere else.
    fn taken_behind_calls(source: &str, answers: [&str; 2]) -> [Vec<String>; 2] {
        with_proof(source, |proof| {
            answers.map(|answer| {
                let verdict = proof.judge(&template(answer));
                assert!(verdict.holds(), "{:?}", verdict.failures);
                assert_eq!(verdict.excused.len(), 0);
                verdict.excused_behind.iter().map(|loss| loss.message.clone()).collect()
            })
        })
    }

    #[test]
    fn a_call_that_opens_behind_the_close_of_another_one_may_be_prose() {
        let source = CHAT
            .replace("{% for c", "{% if m.tool_calls %}<calls>{% endif %}{% for c")
            .replace("<call>{\"name\": \"{{ c.function.name }}\", \"arguments\": ", "({{ c.function.name }} ")
            .replace("}}}</call>{% endfor %}", "}}){% endfor %}{% if m.tool_calls %}</calls>{% endif %}");
        let loose = ANSWER
            .replace("\"open\": \"<call>\"", r#""open_pattern": "(?:<calls>|(?<=\\)))\\((?P<name>[\\w.-]+) ""#)
            .replace("\"close\": \"</call>\"", r#""close_pattern": "\\)(?:</calls>|(?=\\())""#)
            .replace("{content.name}", "{name}")
            .replace("{content.arguments}", "{content}");
        let strict = loose.replace(r"(?<=\\))", r"(?<=\\))(?<=<calls>(?:(?!</calls>).)*)");
        let [answer, argument] =
            ["the answer", "an argument"].map(|place| format!("`(a` in {place} is taken for a delimiter"));
        // A string may hold the close and the opening, too.
        assert_eq!(taken_behind_calls(&source, [&loose, &strict]), [vec![answer, argument.clone()], vec![argument]]);
    }

    #[test]
    fn a_call_that_opens_behind_arguments_that_nothing_closes_may_be_prose() {
        let source = CHAT
            .replace("{% for c", "{% if m.tool_calls %}<calls>{% endif %}{% for c")
            .replace("<call>{\"name\": \"{{ c.function.name }}\", \"arguments\": ", "{{ c.function.name }} ")
            .replace("}}}</call>{% endfor %}", "}}{{ '\n' }}{% endfor %}");
        let loose = ANSWER
            .replace("\"open\": \"<call>\"", r#""open_pattern": "(?:<calls>|(?<=\\})\\n)(?P<name>[\\w.-]+) ""#)
            .replace("\"close\": \"</call>\"", r#""close_pattern": "\\s*(?:(?=\\n[\\w.-]+ (?=\\s*\\{))|<end>)""#)
            .replace("{content.name}", "{name}")
            .replace("{content.arguments}", "{content}");
        let strict = loose.replace(r"(?<=\\})\\n", r"(?<=\\})\\n(?<=<calls>.*)");
        assert_eq!(
            taken_behind_calls(&source, [&loose, &strict]),
            [&["`a` in the answer is taken for a delimiter"][..], &[]]
        );
    }
}
