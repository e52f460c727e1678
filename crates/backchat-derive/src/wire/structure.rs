//! The wire format: the text that a chat template writes around each value of a conversation, as a typed structure.
//!
//! Every text is exact, white space included. If renders do not show at which character one part ends and the next
//! begins, the readings form a list, the plainest first, and the user of the structure picks one.

use super::marks::Segmentation;
use backchat_probe::probe::{ReasoningInput, RequestShape, Setting};

/// How a chat template writes conversations.
#[derive(Clone, Debug)]
pub struct WireFormat {
    /// How to pass messages so that the template shows them.
    pub request_shape: RequestShape,
    /// How its texts are cut into marks.
    pub segmentation: Segmentation,
    /// How prompts end, one for each history and setting that makes a difference.
    pub prompts: Vec<Prompt>,
    pub reasoning: Option<Reasoning>,
    pub content: Content,
    pub calls: Option<Calls>,
    /// The members of the turn if it is one JSON object; the parts above describe it as text.
    pub message: Option<MessageObject>,
    /// The end of the model's turn after content, white space included; empty if there is none.
    pub end: String,
    /// The marks at which a model stops: those of `end` and of the end after calls, and the given stop token.
    pub stops: Vec<String>,
    /// Those of the stops that no render shows: only the given stop token says so.
    pub given_stops: Vec<String>,
    /// The text that renders write after `end`, such as an unrequested prompt, under any setting; no model writes it.
    pub trailing: Vec<String>,
}

impl WireFormat {
    /// The arguments of calls, if they are written key by key.
    pub fn pairs(&self) -> Option<&Pairs> {
        if let Arguments::Pairs(pairs) = &self.calls.as_ref()?.body.arguments { Some(pairs) } else { None }
    }

    /// The texts that renders write after a stop: the rest of the turn's end, with and without the trailing text.
    pub(crate) fn after_stop(&self, stop: &str) -> Vec<String> {
        let called = self.calls.as_ref().and_then(|calls| calls.end.as_deref());
        let rest =
            [Some(self.end.as_str()), called].into_iter().flatten().find_map(|end| Some(end.split_once(stop)?.1));
        let Some(rest) = rest else { return Vec::new() };
        let texts = self.trailing.iter().map(|trailing| format!("{rest}{trailing}")).chain([rest.to_owned()]);
        let mut texts: Vec<String> = texts.map(|text| text.trim().to_owned()).collect();
        texts.retain(|text| !text.is_empty());
        texts.dedup();
        texts
    }
}

/// The messages that the model's turn may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum History {
    User,
    SystemAndUser,
    EarlierTurns,
    ToolResult,
}

/// One way a prompt can end.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    pub after: History,
    pub setting: Setting,
    /// The header of the turn, the same in the prompt and in a render of the whole turn; empty if there is none.
    pub header: String,
    /// The prompt's own part of the turn, such as the mark that opens reasoning.
    pub prefill: String,
    /// The end of the text before the header that all histories of this kind share.
    pub before: String,
    /// Whether renders of the whole turn lack the header.
    pub header_in_prompt_only: bool,
}

/// How reasoning is written.
#[derive(Clone, Debug, Default)]
pub struct Reasoning {
    /// The opening; empty if reasoning begins with the turn.
    pub open: String,
    /// The closing before content.
    pub close: String,
    /// Whether calls may follow without `close`.
    pub calls_close: bool,
    /// The text in place of absent reasoning, such as `open` and `close` with nothing in between.
    pub empty: Option<String>,
    /// The message keys or blocks the template reads it from.
    pub reasoning_inputs: Vec<ReasoningInput>,
    pub setting: Setting,
    pub source: FoundBy,
    /// Marks that surround the answer if there is reasoning, and are absent otherwise.
    pub answer_marks: Vec<String>,
    /// The text that joins its regions, if it is written as several.
    pub join: Option<String>,
    /// Whether it comes after the answer or the calls.
    pub is_late: bool,
    /// Whether it is written as a JSON string. Its quotes are not part of `open` and `close`.
    pub is_json: bool,
}

impl Reasoning {
    /// The input that shows it best.
    pub(crate) fn first_input(&self) -> Option<&ReasoningInput> {
        self.reasoning_inputs.first()
    }

    /// The message keys the template reads it from.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.reasoning_inputs.iter().filter_map(|reasoning_input| match reasoning_input {
            ReasoningInput::Key(key) => Some(key.as_str()),
            ReasoningInput::Block { .. } => None,
        })
    }
}

/// A turn that is one JSON object.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageObject {
    /// The keys of the object in the order they are written.
    pub keys: Vec<String>,
    pub content: String,
    pub reasoning: Option<String>,
    /// The key of the list of calls, and the form of one of them.
    pub calls: Option<(String, ObjectBody)>,
}

/// How reasoning was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FoundBy {
    /// Renders show it between its marks.
    #[default]
    Rendered,
    /// Renders show it without an opening mark, which the prompt writes.
    OpenedByPrompt,
    /// The template removes it from content at its closing mark.
    Removed,
    /// The prompt opens it and nothing renders it: a guess.
    Guessed,
    /// The prompt asks for it under a setting and names the marks: a guess.
    Asked,
}

/// The form of content.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Content {
    /// The opening of content alone; empty if there is none.
    pub open: String,
    /// The closing before the end of the turn.
    pub close: String,
    /// The opening and closing after reasoning, and next to calls, if they differ.
    pub after_reasoning: Option<(String, String)>,
    pub beside_calls: Option<(String, String)>,
    /// The text that joins its regions, if it is written as several.
    pub join: Option<String>,
    /// Whether it is written as a JSON string. Its quotes are not part of `open` and `close`.
    pub is_json: bool,
    /// Texts that open it only after some histories, under some settings or next to calls, and that prose may contain.
    pub labels: Vec<String>,
    pub place: Place,
}

/// The position of content in a turn that has calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    #[default]
    Before,
    After,
    /// Nowhere: the template leaves it out.
    Dropped,
}

/// How tool calls are written.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The ways to split calls, the simplest first; at least one.
    pub cuts: Vec<Cut>,
    /// What several calls have in place of the section of one, if that is another mark.
    pub sections: Vec<String>,
    /// What several calls have in place of the text that closes the section of one, if that is another mark.
    pub section_closes: Vec<String>,
    pub body: Body,
    /// Whether a turn may make several calls.
    pub several: bool,
    /// The end of a turn with calls, if it differs from that of one with content.
    pub end: Option<String>,
    pub request_shape: RequestShape,
    pub setting: Setting,
    /// Whether the name is written only inside the id.
    pub ids_hold_names: bool,
    /// The number of bytes of a call before its first value and after its last one.
    pub margins: (usize, usize),
}

/// One way to split the text around and between the items of a repeated part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cut {
    /// Once before the first item.
    pub section: String,
    /// Before every item.
    pub open: String,
    /// After every item.
    pub close: String,
    /// Between two items.
    pub separator: String,
    /// Once after the last item.
    pub section_close: String,
}

impl Cut {
    pub(crate) fn of(texts: [&str; 5]) -> Self {
        let [section, open, close, separator, section_close] = texts.map(str::to_owned);
        Self { section, open, close, separator, section_close }
    }

    /// Whether the opening of each item begins with a line break.
    pub(crate) fn begins_lines(&self) -> bool {
        let parts = self.separator.is_empty() && self.section.trim().is_empty();
        parts && self.open.starts_with('\n') && !self.open.trim().is_empty()
    }
}

/// The body of a call, between the `open` and `close` of its cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Up to the arguments.
    pub head: Vec<CallPart>,
    pub arguments: Arguments,
    /// After the arguments.
    pub tail: Vec<CallPart>,
    /// The keys of the JSON object that the parts form together, if they do.
    pub object: Option<ObjectBody>,
    /// What a call without arguments leaves out; `None` if it leaves out nothing.
    pub left_out: Option<LeftOut>,
}

/// The texts around the arguments that a call without any leaves out with them, or writes otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The end of the body's head.
    pub before: String,
    /// The beginning of what follows the arguments.
    pub after: String,
    /// The text in their place, such as the end of a tag without content; empty if there is none.
    pub instead: String,
}

/// A call that is one JSON object.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectBody {
    /// The path of the name; `None` if the name is the key of the arguments.
    pub name: Option<Vec<String>>,
    pub arguments: Vec<String>,
    pub id: Option<Vec<String>>,
    /// The keys of the object in the order they are written.
    pub keys: Vec<String>,
    /// Whether the calls together are one JSON array of such objects.
    pub in_array: bool,
}

/// A piece of a call before or after its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallPart {
    Text(String),
    Name,
    /// The name again, as in a closing tag.
    NameAgain,
    Id,
    /// An id that contains the name.
    NamedId,
    /// A number that counts the calls, and the number of the first.
    Counter(usize),
}

impl CallPart {
    pub fn text(&self) -> Option<&str> {
        if let CallPart::Text(text) = self { Some(text) } else { None }
    }
}

/// How the arguments of a call are written.
#[derive(Clone, Debug, PartialEq)]
pub enum Arguments {
    /// One JSON object.
    Json,
    /// The text of a JSON object inside a JSON string.
    JsonText,
    /// One object that is JSON except for its keys, its quotes, and, where these tell it from text, the word for null.
    Dialect { unquoted_keys: bool, quotes: Option<(String, String)>, null: Option<String> },
    /// One object as Python prints it.
    Python,
    /// Key by key.
    Pairs(Box<Pairs>),
}

/// Arguments written key by key.
#[derive(Clone, Debug, PartialEq)]
pub struct Pairs {
    /// `open` comes before the key, `close` after the value.
    pub cut: Cut,
    /// From the key to the value.
    pub gap: String,
    /// Whether `close` names the key again, at [`KEY_AGAIN`].
    pub key_again: bool,
    /// The braces around all pairs, which make them one object in a dialect of JSON.
    pub braces: Option<(String, String)>,
    pub values: Values,
    /// A value of each type as rendered.
    pub written: Vec<(&'static str, String)>,
    /// What some arguments have around their key and value instead.
    pub forms: Vec<PairForm>,
}

/// The text around the key and the value of some arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairForm {
    pub open: String,
    /// From the key to the value.
    pub gap: String,
    /// May name the key again, at [`KEY_AGAIN`].
    pub close: String,
    /// Whether its values are texts as they are, not JSON.
    pub is_raw: bool,
    /// Whether its argument is null: it has no value, as a tag without content, or `null` is the name of a tag.
    pub is_null: bool,
}

impl Pairs {
    /// The pairs in their braces as one object of a dialect.
    pub(crate) fn dialect(&self) -> Option<Arguments> {
        self.braces.as_ref()?;
        let key = self.cut.open.trim();
        let (open, close) = self.values.quotes();
        let is_mark = |text: &str| !text.is_empty() && text != "\"";
        let quotes = [(open, close), (key, key)].into_iter().find(|(open, _)| is_mark(open));
        let quotes = quotes.map(|(open, close)| (open.to_owned(), close.to_owned()));
        let is_word = |text: &str| !text.is_empty() && text.chars().all(char::is_alphabetic);
        let null = self.written("null").filter(|word| is_mark(open) && *word != "null" && is_word(word));
        let null = null.map(str::to_owned);
        Some(Arguments::Dialect { unquoted_keys: key.is_empty(), quotes, null })
    }

    /// Whether every form of an argument has a word between its key and its value, such as the name of an attribute.
    pub(crate) fn has_word_in_gap(&self) -> bool {
        let own = self.values.typed.as_ref().map_or(&self.gap, |typed| &typed.prefix);
        let mut gaps = self.forms.iter().map(|form| &form.gap).chain([own]);
        gaps.all(|gap| gap.contains(char::is_alphanumeric))
    }

    /// Whether the keys of an object that is a value have no quotes, while strings are JSON.
    pub fn has_bare_inner_keys(&self) -> bool {
        let is_bare = |object: &str| {
            let inner = object.trim_start_matches(['{', ' ', '\n']);
            let after = inner.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            after.len() < inner.len() && after.trim_start().starts_with(':')
        };
        self.values.strings == Encoding::Json && self.written("object").is_some_and(is_bare)
    }

    /// A value of this type as rendered.
    fn written(&self, kind: &str) -> Option<&str> {
        self.written.iter().find(|(known, _)| *known == kind).map(|(_, text)| text.as_str())
    }
}

/// Stands for the key inside a text.
pub const KEY_AGAIN: char = '\u{1}';

/// How values are spelled.
#[derive(Clone, Debug, PartialEq)]
pub struct Values {
    pub strings: Encoding,
    /// Whether other values are written as Python prints them.
    pub python: bool,
    /// Marks that surround some strings only, as CDATA does.
    pub frame: Option<(String, String)>,
    /// A word before the value that names its type.
    pub typed: Option<Typed>,
}

impl Values {
    /// The quotes around a string.
    pub(crate) fn quotes(&self) -> (&str, &str) {
        match &self.strings {
            Encoding::Json => ("\"", "\""),
            Encoding::Quoted { open, close, .. } => (open, close),
            Encoding::Bare => ("", ""),
        }
    }

    /// Whether the quotes of a string are escaped in it, so that it ends with the first one that is not.
    pub fn has_escaped_quotes(&self) -> bool {
        match &self.strings {
            Encoding::Json => true,
            Encoding::Quoted { open, close, escaped } => {
                *escaped && open == close && ["'", "\""].contains(&open.as_str())
            }
            Encoding::Bare => false,
        }
    }
}

/// How strings are spelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Bare,
    /// As JSON.
    Json,
    /// Between these marks, escaped as Python does or not at all.
    Quoted { open: String, close: String, escaped: bool },
}

/// A mark before the value that names its type: `prefix`, the word for the type, `suffix`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Typed {
    pub prefix: String,
    /// The word for strings.
    pub string: String,
    pub suffix: String,
    /// Whether white space is a part of some word.
    pub has_space: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pairs whose key comes after `key` and whose strings are spelled as given, in braces.
    fn pairs(key: &str, strings: Encoding) -> Pairs {
        Pairs {
            cut: Cut { open: key.to_owned(), ..Cut::default() },
            gap: ":".to_owned(),
            key_again: false,
            braces: Some(("{".to_owned(), "}".to_owned())),
            values: Values { strings, python: false, frame: None, typed: None },
            written: Vec::new(),
            forms: Vec::new(),
        }
    }

    fn quoted(open: &str, close: &str) -> Encoding {
        Encoding::Quoted { open: open.to_owned(), close: close.to_owned(), escaped: false }
    }

    #[test]
    fn pairs_in_braces_are_an_object_in_a_dialect_of_json() {
        for (key, strings, unquoted_keys, quotes) in [
            // {key:"value"}
            ("", Encoding::Json, true, None),
            // {'key':'value'}
            ("'", quoted("'", "'"), false, Some(("'", "'"))),
            // {key:<q>value</q>}
            ("", quoted("<q>", "</q>"), true, Some(("<q>", "</q>"))),
            // {'key':value}: the keys show the quotes if the values do not.
            (" '", Encoding::Bare, false, Some(("'", "'"))),
            // {"key":"value"}
            ("\"", Encoding::Json, false, None),
        ] {
            let quotes = quotes.map(|(open, close)| (open.to_owned(), close.to_owned()));
            let expected = Arguments::Dialect { unquoted_keys, quotes, null: None };
            assert_eq!(pairs(key, strings.clone()).dialect(), Some(expected), "{key:?} {strings:?}");
        }
        assert_eq!(Pairs { braces: None, ..pairs("", Encoding::Json) }.dialect(), None);
    }

    #[test]
    fn a_dialect_may_have_its_own_word_for_null() {
        for (written, word) in
            [("null", None), ("None", Some("None")), ("nil", Some("nil")), ("<q></q>", None), ("", None)]
        {
            for (strings, word) in [(quoted("<q>", "</q>"), word), (Encoding::Json, None)] {
                let pairs = Pairs { written: vec![("null", written.to_owned())], ..pairs("'", strings.clone()) };
                let Some(Arguments::Dialect { null, .. }) = pairs.dialect() else { panic!("it has braces") };
                assert_eq!(null.as_deref(), word, "{written} {strings:?}");
            }
        }
    }

    #[test]
    fn the_keys_of_an_object_among_values_may_have_no_quotes() {
        for (object, strings, is_bare) in [
            ("{qzinner: \"x\"}", Encoding::Json, true),
            ("{ qzinner : \"x\"}", Encoding::Json, true),
            ("{\"qzinner\": \"x\"}", Encoding::Json, false),
            ("{qzinner = \"x\"}", Encoding::Json, false),
            ("{qzinner: 'x'}", quoted("'", "'"), false),
        ] {
            let pairs = Pairs { written: vec![("object", object.to_owned())], ..pairs("", strings) };
            assert_eq!(pairs.has_bare_inner_keys(), is_bare, "{object}");
        }
    }

    #[test]
    fn strings_have_the_quotes_of_their_encoding() {
        for (strings, quotes) in
            [(Encoding::Json, ("\"", "\"")), (quoted("<q>", "</q>"), ("<q>", "</q>")), (Encoding::Bare, ("", ""))]
        {
            assert_eq!(pairs("", strings.clone()).values.quotes(), quotes, "{strings:?}");
        }
    }

    #[test]
    fn only_message_keys_are_keys_of_reasoning() {
        let block = ReasoningInput::Block { kind: "thinking".to_owned(), key: "thinking".to_owned() };
        let reasoning = Reasoning {
            open: String::new(),
            close: String::new(),
            calls_close: false,
            empty: None,
            reasoning_inputs: vec![ReasoningInput::Key("reasoning".to_owned()), block],
            setting: Setting::new(),
            source: FoundBy::Rendered,
            answer_marks: Vec::new(),
            join: None,
            is_late: false,
            is_json: false,
        };
        assert_eq!(reasoning.keys().collect::<Vec<_>>(), ["reasoning"]);
    }
}
