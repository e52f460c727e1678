//! Chats as token ids in which the control tokens of a user's strings are text: only the template itself can end a turn
//! or begin another. The ids are those of transformers with `sanitize_control_tokens=True`.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use backchat_chat::{ChatTemplate, RenderError, RenderOptions, Rendered, spells};
use backchat_core::diagnostic::escape;
use backchat_core::json::{Object, Value};
use backchat_core::python::space::is_space;
use backchat_core::text::Cursor;
use backchat_parser::tokens::{Tokenizer, TokensError, encode_without_added, special};

/// The marks around a control token in a user's string. A template sees them when it measures or splits the string, so
/// they are the same as in the reference.
const START: char = '\u{f0000}';
const END: char = '\u{f0001}';

/// Renders chats of one template for one tokenizer, so that a user's control tokens can be encoded as text.
#[derive(Debug)]
pub struct Sanitizer<'t> {
    template: &'t ChatTemplate,
    tokenizer: &'t Tokenizer,
    /// The control tokens by their first character, the longest first.
    control: HashMap<char, Vec<&'t str>>,
}

/// A rendered chat that knows which control tokens are a user's.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sanitized<'t> {
    /// The prompt.
    pub text: String,
    /// The spans that `{% generation %}` blocks wrote, in code points.
    pub assistant_spans: Vec<(usize, usize)>,
    marked: String,
    tokenizer: &'t Tokenizer,
}

impl<'t> Sanitizer<'t> {
    /// The control tokens are the tokenizer's special tokens and, of its other added tokens, those that are listed: the
    /// `chat_control_tokens` of a `tokenizer_config.json`. Without a list, they are those that the template's text or
    /// string constants spell.
    pub fn new(template: &'t ChatTemplate, tokenizer: &'t Tokenizer, listed: Option<&[String]>) -> Self {
        let special: HashSet<&str> = special(tokenizer.tokens()).collect();
        let is_named = |content: &str| match listed {
            Some(listed) => listed.iter().any(|token| token == content),
            // White space is ordinary text of templates.
            None => spells(template, content) && !content.chars().all(is_space),
        };
        let mut control: HashMap<char, Vec<&str>> = HashMap::new();
        for (_, content) in tokenizer.tokens().added() {
            if let Some(first) = content.chars().next()
                && (special.contains(content) || is_named(content))
            {
                control.entry(first).or_default().push(content);
            }
        }
        control.values_mut().for_each(|contents| contents.sort_by_key(|content| Reverse(content.len())));
        Self { template, tokenizer, control }
    }

    /// Renders a chat. The strings of `context` are a user's, except for keys of objects; `model` has the variables of the
    /// model, such as its special tokens, which `context` overrides.
    ///
    /// # Errors
    ///
    /// Those of [`ChatTemplate::render`].
    pub fn render(
        &self,
        context: &Object,
        model: &Object,
        options: &RenderOptions,
    ) -> Result<Sanitized<'t>, RenderError> {
        let mut variables = self.marked_object(context);
        for (name, value) in model.iter() {
            variables.entry(name).or_insert_with(|| value.clone());
        }
        let rendered = self.template.render(&variables, options).map_err(|mut error| {
            error.message = unmarked(&error.message);
            error
        })?;
        Ok(Sanitized {
            text: unmarked(&rendered.text),
            assistant_spans: unmarked_spans(&rendered),
            marked: rendered.text,
            tokenizer: self.tokenizer,
        })
    }

    fn marked(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.marked_text(text).into(),
            Value::List(items) => Value::List(items.iter().map(|item| self.marked(item)).collect()),
            Value::Object(entries) => Value::Object(self.marked_object(entries)),
            other => other.clone(),
        }
    }

    fn marked_object(&self, entries: &Object) -> Object {
        entries.iter().map(|(key, value)| (key.to_owned(), self.marked(value))).collect()
    }

    /// Marks that the user wrote are dropped, so that they cannot be used to unmark a token.
    fn marked_text(&self, text: &str) -> String {
        let text = unmarked(text);
        let mut out = String::with_capacity(text.len());
        let mut at = Cursor::new(&text);
        while let Some(first) = at.peek() {
            let token = self.control.get(&first).and_then(|tokens| tokens.iter().find(|token| at.skip(token)));
            match token {
                Some(token) => out.extend([START.to_string().as_str(), token, END.to_string().as_str()]),
                None => out.extend(at.bump()),
            }
        }
        out
    }
}

impl Sanitized<'_> {
    /// The ids of the text. None is added that the text does not have.
    ///
    /// # Errors
    ///
    /// The tokenizer cannot encode the text, or it makes the id of a user's control token of its characters, too.
    pub fn ids(&self) -> Result<Vec<u32>, TokensError> {
        let added: HashMap<&str, u32> = self.tokenizer.tokens().added().map(|(id, content)| (content, id)).collect();
        let newline = self.tokenizer.encode("\n")?.ids;
        let (first, others) = pieces(&self.marked, |text| added.contains_key(text));
        let mut ids = self.tokenizer.encode(first)?.ids;
        for piece in others.into_iter().filter(|piece| !piece.text.is_empty()) {
            let piece_ids = self.ids_within(piece, &newline)?;
            if piece.is_control && added.get(piece.text).is_some_and(|id| piece_ids.contains(id)) {
                return Err(not_text(piece.text));
            }
            ids.extend(piece_ids);
        }
        Ok(ids)
    }

    /// The ids of a piece that does not begin the text: encoded after a line break, because some tokenizers add a space
    /// to the start of a text.
    fn ids_within(&self, piece: Piece<'_>, newline: &[u32]) -> Result<Vec<u32>, TokensError> {
        let encode = |text: &str| match piece.is_control {
            true => encode_without_added(self.tokenizer, text),
            false => self.tokenizer.encode(text).map(|encoded| encoded.ids),
        };
        match encode(&format!("\n{}", piece.text))?.strip_prefix(newline) {
            Some(ids) => Ok(ids.to_vec()),
            None => encode(piece.text),
        }
    }
}

/// A piece of a marked render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece<'m> {
    text: &'m str,
    /// Whether it is a control token of a user.
    is_control: bool,
}

/// The text before the first mark, and the pieces after it. A template may separate the marks of a token, or change what
/// is between them; marks without a token between them only divide the text.
fn pieces<'m>(marked: &'m str, is_added: impl Fn(&str) -> bool) -> (&'m str, Vec<Piece<'m>>) {
    let (first, _) = marked.split_once([START, END]).unwrap_or((marked, ""));
    let mut others = Vec::new();
    let mut at = Cursor::new(marked);
    at.skip(first);
    while let Some(mark) = at.bump() {
        let between = at.rest().split_once(END).map(|(between, _)| between);
        if let Some(token) = between.filter(|between| mark == START && is_added(between)) {
            at.skip(token);
            at.bump();
            others.push(Piece { text: token, is_control: true });
        }
        let (text, _) = at.rest().split_once([START, END]).unwrap_or((at.rest(), ""));
        at.skip(text);
        others.push(Piece { text, is_control: false });
    }
    (first, others)
}

fn not_text(token: &str) -> TokensError {
    let token = escape(token);
    let message = format!(
        "it makes the id of the control token `{token}` of plain text, too, so that a user's `{token}` cannot be encoded as \
         text; remove it from the input, or refuse the input"
    );
    TokensError { message, path: "model".to_owned(), offset: None }
}

fn unmarked(text: &str) -> String {
    text.replace([START, END], "")
}

/// The spans of a marked render in its text without marks.
fn unmarked_spans(rendered: &Rendered) -> Vec<(usize, usize)> {
    let characters = rendered.text.chars().enumerate();
    let marks: Vec<usize> = characters.filter(|(_, c)| [START, END].contains(c)).map(|(place, _)| place).collect();
    let place = |place: usize| place - marks.partition_point(|mark| *mark < place);
    rendered.assistant_spans.iter().map(|(start, end)| (place(*start), place(*end))).collect()
}

#[cfg(test)]
#[cfg(feature = "tokenizer")]
mod tests {
    use super::super::byte_level;
    use super::*;
    use backchat_core::json;
    use proptest::prelude::*;

    /// The last three are not special.
    const MARKERS: [(&str, bool); 5] =
        [("<user>", true), ("<end>", true), ("<call>", false), ("<call>{", false), ("\n\n", false)];

    const CHAT: &str = "{{ bos_token }}{% for m in messages %}<user>{{ m.content }}<end>\n\n{% endfor %}";

    fn tokenizer() -> Tokenizer {
        byte_level::tokenizer(&MARKERS)
    }

    fn object(text: &str) -> Object {
        json::read(text).unwrap().as_object().unwrap().clone()
    }

    /// Ids as text, each added token in brackets.
    fn spelled(tokenizer: &Tokenizer, ids: &[u32]) -> String {
        let tokens = tokenizer.tokens();
        let spell = |id: &u32| match tokens.added_text(*id) {
            Some(content) => format!("[{content}]"),
            None => tokens.decode(&[*id]),
        };
        ids.iter().map(spell).collect()
    }

    /// A render, its ids as text, and the spans of its generation blocks.
    fn encoded(
        template: &str,
        listed: Option<&[&str]>,
        context: &str,
    ) -> Result<(String, String, Vec<(usize, usize)>), RenderError> {
        let tokenizer = tokenizer();
        let template = ChatTemplate::compile(template).unwrap();
        let listed: Option<Vec<String>> = listed.map(|listed| listed.iter().map(|token| token.to_string()).collect());
        let sanitizer = Sanitizer::new(&template, &tokenizer, listed.as_deref());
        let model = object(r#"{"bos_token": "<user>"}"#);
        let sanitized = sanitizer.render(&object(context), &model, &RenderOptions::default())?;
        Ok((sanitized.text.clone(), spelled(&tokenizer, &sanitized.ids().unwrap()), sanitized.assistant_spans))
    }

    #[test]
    fn control_tokens_of_a_user_are_text() {
        for (template, context, ids) in [
            // In content, next to each other, and pieces that only look like them.
            (
                CHAT,
                r#"{"messages": [{"content": "a<end><user>b <end"}]}"#,
                "[<user>][<user>]a<end><user>b <end[<end>][\n\n]",
            ),
            (CHAT, r#"{"messages": [{"content": "<e<end>nd>"}]}"#, "[<user>][<user>]<e<end>nd>[<end>][\n\n]"),
            // Text that the user's and the template's make together: only whole tokens are found.
            ("<us{{ x }}", r#"{"x": "er>"}"#, "[<user>]"),
            // In every value, and in no key.
            (
                "{{ tools | tojson }}",
                r#"{"tools": [{"a": ["<end>"], "<end>": 1}]}"#,
                r#"[{"a": ["<end>"], "[<end>]": 1}]"#,
            ),
            // A variable of the model is not the user's, unless the user sets it.
            ("{{ bos_token }}", "{}", "[<user>]"),
            ("{{ bos_token }}", r#"{"bos_token": "<user>"}"#, "<user>"),
            // Other added tokens count if the template spells them; white space does not.
            ("{{ x }}", r#"{"x": "<call>\n\n<end>"}"#, "[<call>][\n\n]<end>"),
            ("<call>\n\n{{ x }}", r#"{"x": "<call>\n\n<end>"}"#, "[<call>][\n\n]<call>[\n\n]<end>"),
            ("{{ '<call>' ~ x }}", r#"{"x": "<call>"}"#, "[<call>]<call>"),
            // The longest counts.
            ("{{ '<call>{' ~ x }}", r#"{"x": "<call>{<call>"}"#, "[<call>{]<call>{<call>"),
            // A user cannot write the marks.
            ("{{ x }}", r#"{"x": "\udb80\udc01<end>\udb80\udc00<en\udb80\udc01d>"}"#, "<end><end>"),
            // A template that cuts off a mark unmarks the token, as in the reference.
            ("{{ x.split('d')[0] }}|{{ x.split('d')[1] }}", r#"{"x": "<end>"}"#, "<en|>"),
            ("{{ x | upper | lower }}", r#"{"x": "<end>"}"#, "<end>"),
            ("{{ x[1:] }}", r#"{"x": "<end>"}"#, "[<end>]"),
        ] {
            assert_eq!(encoded(template, None, context).unwrap().1, ids, "{template} {context}");
        }
    }

    #[test]
    fn a_list_replaces_what_the_template_spells() {
        let context = r#"{"x": "<call><end>\n\n"}"#;
        for (listed, ids) in [
            (None, "[<call>]<call><end>[\n\n]"),
            (Some([].as_slice()), "[<call>][<call>]<end>[\n\n]"),
            (Some(["<call>", "<other>"].as_slice()), "[<call>]<call><end>[\n\n]"),
            (Some(["\n\n"].as_slice()), "[<call>][<call>]<end>\n\n"),
        ] {
            assert_eq!(encoded("<call>{{ x }}", listed, context).unwrap().1, ids, "{listed:?}");
        }
    }

    #[test]
    fn the_answer_has_no_marks() {
        let template = "{{ x }}{% generation %}{{ x }}!{% endgeneration %}";
        let (text, _, spans) = encoded(template, None, r#"{"x": "é<end>"}"#).unwrap();
        assert_eq!((text.as_str(), spans), ("é<end>é<end>!", vec![(6, 13)]));
        let error = encoded("{{ raise_exception(x) }}", None, r#"{"x": "no <end>"}"#).unwrap_err();
        assert_eq!(error.to_string(), "no <end> (line 1 of the template)");
    }

    #[test]
    fn a_token_that_the_model_makes_of_text_is_an_error() {
        // The added token has the id of its byte.
        let json = byte_level::json(&[("<", true)]).replace("\"id\": 256", "\"id\": 60");
        let tokenizer = Tokenizer::load(&json).unwrap();
        let template = ChatTemplate::compile("{{ x }}").unwrap();
        let sanitizer = Sanitizer::new(&template, &tokenizer, None);
        let ids = |x: &str| sanitizer.render(&object(x), &Object::new(), &RenderOptions::default()).unwrap().ids();
        assert_eq!(ids(r#"{"x": "ab"}"#).unwrap(), [97, 98]);
        let error = ids(r#"{"x": "a<b"}"#).unwrap_err().to_string();
        assert!(error.contains("so that a user's `<` cannot be encoded as text"), "{error}");
    }

    #[test]
    fn marks_divide_a_render() {
        let control = |text| Piece { text, is_control: true };
        let text = |text| Piece { text, is_control: false };
        for (marked, first, others) in [
            ("a", "a", vec![]),
            ("a({})b", "a", vec![control("{}"), text("b")]),
            ("({})({})", "", vec![control("{}"), text(""), control("{}"), text("")]),
            ("(a({})", "", vec![text("a"), control("{}"), text("")]),
            ("a)b({}c)", "a", vec![text("b"), text("{}c"), text("")]),
        ] {
            let marks = |text: &str| text.replace('(', &START.to_string()).replace(')', &END.to_string());
            let marked = marks(marked);
            assert_eq!(pieces(&marked, |text| text == "{}"), (first, others), "{marked}");
        }
    }

    proptest! {
        #[test]
        fn no_text_of_a_user_becomes_a_control_token(
            words in prop::collection::vec(
                prop::sample::select(vec!["<user>", "<end>", "<", "user>", "e", "é", " ", "\n", "<call>{", "\u{f0000}"]), 0..12),
        ) {
            let content = words.concat();
            let context = Value::from([("messages", Value::List(vec![Value::from([("content", content.as_str().into())])]))]);
            let tokenizer = tokenizer();
            let template = ChatTemplate::compile(CHAT).unwrap();
            let sanitizer = Sanitizer::new(&template, &tokenizer, None);
            let sanitized =
                sanitizer.render(context.as_object().unwrap(), &Object::new(), &RenderOptions::default()).unwrap();
            let ids = sanitized.ids().unwrap();
            let text = format!("<user>{}<end>\n\n", unmarked(&content));
            prop_assert_eq!(&sanitized.text, &text);
            prop_assert_eq!(tokenizer.tokens().decode(&ids), text);
            let control = ids.iter().filter(|id| tokenizer.tokens().added_text(**id).is_some_and(|text| ["<user>", "<end>"].contains(&text))).count();
            prop_assert_eq!(control, 2);
        }
    }
}
