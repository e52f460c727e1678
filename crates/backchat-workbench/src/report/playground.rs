//! Links into the playground: the subject of a page as a URL fragment, which is not sent to servers.

use backchat_core::json::{Object, Value};
use backchat_parser::template::Template;

use super::output::Output;
use crate::check::Loaded;
use crate::check::fixture::Case;

/// Where the playground is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Playground(String);

/// An output that a link opens: its prompt, its text, and the tools that it may call.
pub(super) struct Linked<'a> {
    pub prefix: &'a str,
    pub text: &'a str,
    pub tools: Option<&'a Value>,
}

/// The most that one stored block of deflate holds.
const BLOCK: usize = 0xffff;

impl Playground {
    /// The playground at a web address, or at one relative to the page. `None` for any other scheme, which might run
    /// a script.
    pub fn at(address: &str) -> Option<Self> {
        let scheme =
            address.split(['/', '?', '#']).next().and_then(|start| start.split_once(':')).map(|(scheme, _)| scheme);
        let is_known = scheme.is_none_or(|scheme| matches!(scheme, "http" | "https" | "file"));
        let (address, _) = address.split_once('#').unwrap_or((address, ""));
        (is_known && !address.is_empty()).then(|| Self(address.to_owned()))
    }

    /// A link to a response template with its chat template, and to an output if there is one.
    pub(super) fn link(
        &self,
        chat_template: Option<(&str, &Object)>,
        template: Option<&Template>,
        output: Option<Linked<'_>>,
    ) -> String {
        let (chat, variables) = chat_template.unzip();
        let variables = variables.filter(|variables| !variables.is_empty()).cloned();
        let mut state = Object::from_iter([
            ("source".to_owned(), Value::from("")),
            ("chat".to_owned(), chat.unwrap_or("").into()),
            ("template".to_owned(), template.map_or(Value::Null, |template| template.to_json().into())),
            // The page keeps the variables as the text that its module takes.
            ("variables".to_owned(), variables.map_or(Value::Null, |known| Value::Object(known).to_string().into())),
        ]);
        if let Some(Linked { prefix, text, tools }) = output {
            state.insert("prefix", prefix.into());
            state.insert("output", text.into());
            if let Some(tools) = tools {
                state.insert("tools", tools.to_pretty("  ").into());
            }
        }
        format!("{}#{}", self.0, base64(&stored(Value::Object(state).to_string().as_bytes())))
    }

    /// A link to a chat template with its variables.
    pub fn of_chat(&self, chat_template: &str, variables: &Object) -> String {
        self.link(Some((chat_template, variables)), None, None)
    }

    /// A link to an output of a response template.
    pub fn of_text(&self, template: &Template, prefix: &str, text: &str, tools: Option<&Value>) -> String {
        self.link(None, Some(template), Some(Linked { prefix, text, tools }))
    }

    /// A link to the output of a case, with its chat template; `None` if no response template reads it.
    pub(super) fn of_case(&self, case: &Case, loaded: &Loaded) -> Option<String> {
        let template = loaded.template_of(case)?;
        let chat = loaded.chat_of(case);
        let chat = chat.as_ref().map(|(source, variables)| (*source, variables));
        let output = Linked { prefix: &case.prefix, text: &case.output, tools: case.tools.as_ref() };
        Some(self.link(chat, Some(&template), Some(output)))
    }

    /// A link to an output with its prompt and its template.
    pub(super) fn of_output(&self, output: &Output) -> Option<String> {
        let recording = &output.sides.first()?.recording;
        let (prefix, text) = recording.text().split_at_checked(recording.output_start())?;
        Some(self.of_text(recording.template(), prefix, text, None))
    }
}

/// Data as deflate stores it uncompressed.
fn stored(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len() + 8);
    let mut blocks = data.chunks(BLOCK).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    out
}

/// Base64 for addresses, without padding.
fn base64(data: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let digit = |bits: u32| char::from(DIGITS.get((bits & 63) as usize).copied().unwrap_or(b'A'));
    let mut out = String::with_capacity(data.len().div_ceil(3) * 4);
    for group in data.chunks(3) {
        let bits = group.iter().enumerate().fold(0, |bits, (at, byte)| bits | u32::from(*byte) << (16 - 8 * at));
        out.extend([18, 12, 6, 0].into_iter().take(group.len() + 1).map(|shift| digit(bits >> shift)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_page_addresses_are_linked() {
        for address in
            ["https://example.org/p/", "http://localhost:1/p", "file:///p/index.html", "../p/index.html", "a:b/"]
        {
            let known = Playground::at(address).map(|playground| playground.0);
            assert_eq!(known.as_deref(), (address != "a:b/").then_some(address), "{address}");
        }
        assert_eq!(Playground::at("index.html#old"), Playground::at("index.html"));
        assert_eq!(Playground::at("javascript:alert(1)"), None);
        assert_eq!(Playground::at(""), None);
    }

    #[test]
    fn data_is_stored_in_blocks_and_encoded_for_urls() {
        assert_eq!(stored(b"abc"), [1, 3, 0, 0xfc, 0xff, b'a', b'b', b'c']);
        let long = vec![b'x'; BLOCK + 1];
        let blocks = stored(&long);
        assert_eq!((blocks.len(), blocks[0], blocks[5 + BLOCK]), (long.len() + 10, 0, 1));
        // The examples of RFC 4648, without their padding.
        for (data, digits) in
            [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")]
        {
            assert_eq!(base64(data.as_bytes()), digits);
        }
        assert_eq!(base64(&[0xfb, 0xef, 0xff]), "--__");
    }
}
