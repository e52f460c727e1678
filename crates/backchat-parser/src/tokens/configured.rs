//! The added tokens of a model whose other files change those of its `tokenizer.json`: the same as in transformers.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::error::TokensError;
use super::load::{entries, read, vocabulary};
use backchat_core::json::{Object, Value};
use backchat_core::text::within;

const ADDED: &str = "added_tokens";

/// The flags of an added token.
const FLAGS: [&str; 5] = ["single_word", "lstrip", "rstrip", "normalized", "special"];

/// The variables of every tokenizer that name special tokens, in the order in which they are added.
const NAMED: [&str; 7] = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// The files next to a `tokenizer.json` that say something about its added tokens; null for those that do not exist.
#[derive(Clone, Debug, Default)]
pub struct Companions {
    /// `tokenizer_config.json`
    pub config: Value,
    /// `special_tokens_map.json`
    pub special_tokens_map: Value,
    /// `added_tokens.json`
    pub added_tokens: Value,
}

/// The text of a `tokenizer.json` with the added tokens that transformers gives the tokenizer.
///
/// # Errors
///
/// The text is not a tokenizer, or the tokenizer's config says that its special tokens are split, which is not supported.
pub fn configured<'t>(tokenizer_json: &'t str, companions: &Companions) -> Result<Cow<'t, str>, TokensError> {
    if companions.config.get("split_special_tokens").is_some_and(Value::is_truthy) {
        let message = "`split_special_tokens` in tokenizer_config.json is not supported: remove it there";
        return Err(TokensError::at("", message));
    }
    let entries = entries(tokenizer_json)?;
    let entry = |name: &str| entries.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value);
    let list = entry(ADDED);
    let known = list.map_or(Ok(Value::Null), |list| read(list, ADDED))?;
    let mut added = Added::of(known.as_list().unwrap_or_default());
    for token in tokens(&added, companions) {
        added.set(token);
    }
    added.number(entry("model").unwrap_or_default())?;
    if added.tokens == known.as_list().unwrap_or_default() {
        return Ok(Cow::Borrowed(tokenizer_json));
    }
    let added = Value::List(added.tokens);
    let (span, text) = match list.and_then(|list| within(tokenizer_json, list)) {
        Some(span) => (span, added.to_string()),
        None => {
            let start = tokenizer_json.find('{').map_or(0, |at| at + 1);
            (start..start, format!("\"{ADDED}\": {added}, "))
        }
    };
    let mut changed = tokenizer_json.to_owned();
    changed.replace_range(span, &text);
    Ok(Cow::Owned(changed))
}

/// The added tokens of a `tokenizer.json`, and after them the new ones.
struct Added {
    tokens: Vec<Value>,
    /// How many the file has.
    known: usize,
    places: HashMap<String, usize>,
}

impl Added {
    fn of(tokens: &[Value]) -> Self {
        let contents = tokens.iter().enumerate();
        let places = contents.filter_map(|(place, token)| Some((token.get("content")?.as_str()?.to_owned(), place)));
        Self { tokens: tokens.to_vec(), known: tokens.len(), places: places.collect() }
    }

    /// Gives a token its flags; one that is not there is added without an id.
    fn set(&mut self, token: Object) {
        let place = *self.places.entry(content_of(&token).to_owned()).or_insert(self.tokens.len());
        match self.tokens.get_mut(place) {
            Some(known) if token_of(known, false).as_ref() == Some(&token) => {}
            Some(Value::Object(known)) => token.iter().for_each(|(key, value)| drop(known.insert(key, value.clone()))),
            _ => self.tokens.push(Value::Object(token)),
        }
    }

    /// Gives the new tokens their ids: the model's, if it has a token of that name, or those that follow all others.
    fn number(&mut self, model: &str) -> Result<(), TokensError> {
        let Self { tokens, known, .. } = self;
        if tokens.len() == *known {
            return Ok(());
        }
        let (mut ids, mut next) = (HashMap::new(), 0);
        vocabulary(model, &mut |id, name| {
            next += 1;
            if self.places.contains_key(name) {
                ids.insert(name.to_owned(), i64::from(id));
            }
            Ok(())
        })?;
        let last = tokens.iter().take(*known).filter_map(|token| token.get("id")?.as_i64()).max();
        next = last.map_or(next, |last| next.max(last.saturating_add(1)));
        for token in tokens.iter_mut().skip(*known) {
            let Value::Object(token) = token else { continue };
            let id = ids.get(content_of(token)).copied().unwrap_or(next);
            next += i64::from(id == next);
            token.insert("id", id.into());
        }
        Ok(())
    }
}

/// The tokens that the files next to a `tokenizer.json` set, in the order in which transformers adds them.
fn tokens(added: &Added, companions: &Companions) -> Vec<Object> {
    let decoder = companions.config.get("added_tokens_decoder").and_then(Value::as_object);
    // A config with all added tokens is newer than the other files, which transformers does not read then.
    let map = companions.special_tokens_map.as_object().filter(|_| decoder.is_none());
    let entries = companions.config.as_object().into_iter().chain(map).flat_map(Object::iter);
    let values: Object = entries.map(|(key, value)| (key.to_owned(), value.clone())).collect();
    let (named, listed) = (named(&values), listed(&values));
    let contents: HashSet<&str> = named.iter().map(content_of).collect();

    let mut numbered = match decoder {
        Some(decoder) => decoder.iter().filter_map(|(id, token)| Some((id.parse().ok()?, token.clone()))).collect(),
        None => numbered(added, &companions.added_tokens, &listed),
    };
    numbered.sort_by_key(|(id, _)| *id);
    let is_named = |token: &Value| text_of(token).is_some_and(|content| contents.contains(content));
    let numbered = numbered.iter().filter_map(|(_, token)| token_of(token, is_named(token)));
    let mut tokens: Vec<Object> = numbered.collect();

    let known: HashSet<String> = tokens.iter().map(|token| content_of(token).to_owned()).collect();
    let is_new = |token: &Object| {
        let content = content_of(token);
        !known.contains(content) && !added.places.contains_key(content)
    };
    tokens.extend(named.iter().chain(&listed).filter(|token| is_new(token)).cloned());
    tokens
}

/// The tokens of the file itself and those of an `added_tokens.json`, with the ids that they have there.
fn numbered(added: &Added, added_tokens: &Value, listed: &[Object]) -> Vec<(i64, Value)> {
    let of_file = added.tokens.iter().filter_map(|token| Some((token.get("id")?.as_i64()?, token.clone())));
    let mut found: Vec<(i64, Value)> = of_file.collect();
    let ids: HashSet<i64> = found.iter().map(|(id, _)| *id).collect();
    for (content, id) in added_tokens.as_object().into_iter().flat_map(Object::iter) {
        let Some(id) = id.as_i64().filter(|id| !ids.contains(id)) else { continue };
        let is_listed = listed.iter().any(|token| content_of(token) == content);
        let token = [("content".to_owned(), content.into()), ("special".to_owned(), is_listed.into())];
        found.push((id, Value::Object(token.into_iter().collect())));
    }
    found
}

/// The tokens that variables name: these are special, whatever else is said about them.
fn named(values: &Object) -> Vec<Object> {
    let is_of_model = |key: &str| key.ends_with("_token") && !NAMED.contains(&key);
    let objects = ["extra_special_tokens", "model_specific_special_tokens"];
    let objects = objects.iter().filter_map(|key| values.get(key)?.as_object()).flat_map(Object::values);
    let of_model = values.iter().filter(|(key, _)| is_of_model(key)).map(|(_, value)| value);
    let all = NAMED.iter().filter_map(|key| values.get(key)).chain(of_model).chain(objects);
    all.filter_map(|value| token_of(value, true)).collect()
}

/// The tokens of the list of further special tokens. Only a new token is made special by it.
fn listed(values: &Object) -> Vec<Object> {
    let keys = ["extra_special_tokens", "additional_special_tokens"];
    let list = keys.iter().find_map(|key| values.get(key).filter(|value| value.is_truthy()));
    let list = list.and_then(Value::as_list).unwrap_or_default();
    list.iter().filter_map(|value| token_of(value, value.as_str().is_some())).collect()
}

/// A token with all its flags. One that is named as special is that, whatever it says itself.
fn token_of(value: &Value, is_named: bool) -> Option<Object> {
    let content = text_of(value).filter(|content| !content.is_empty())?;
    let flag = |key: &str| value.get(key).and_then(Value::as_bool);
    let is_special = is_named || flag("special").unwrap_or(false);
    let flags = FLAGS.map(|key| {
        let is_set = match key {
            "special" => is_special,
            _ => flag(key).unwrap_or(key == "normalized" && !is_special),
        };
        (key.to_owned(), is_set.into())
    });
    Some([("content".to_owned(), content.into())].into_iter().chain(flags).collect())
}

/// The text of a token, which is itself or the content of an object.
fn text_of(value: &Value) -> Option<&str> {
    value.as_str().or_else(|| value.get("content")?.as_str())
}

fn content_of(token: &Object) -> &str {
    token.get("content").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    const TOKENIZER: &str = r#"{"added_tokens": [
        {"id": 2, "content": "</s>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": true, "special": false},
        {"id": 3, "content": "<x>", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}],
        "model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "a"}}"#;

    /// The added tokens in the order of their ids, with their flags; special ones have a `!`.
    fn shown(tokenizer_json: &str) -> String {
        let tokenizer = json::read(tokenizer_json).unwrap();
        let mut tokens = tokenizer.get(ADDED).unwrap().as_list().unwrap().to_vec();
        tokens.sort_by_key(|token| token.get("id").unwrap().as_i64());
        let shown = tokens.iter().map(|token| {
            let is = |flag: &str| token.get(flag).and_then(Value::as_bool) == Some(true);
            let mut text = format!("{} {}", token.get("id").unwrap(), text_of(token).unwrap());
            text += if is("special") { "!" } else { "" };
            ["lstrip", "rstrip", "normalized"]
                .iter()
                .filter(|flag| is(flag))
                .for_each(|flag| text += &format!(" {flag}"));
            text
        });
        shown.collect::<Vec<_>>().join(", ")
    }

    /// The expected tokens are those of transformers 5.24.
    #[test]
    fn added_tokens_are_those_of_the_reference() {
        for (files, expected) in [
            (r#"{}"#, "2 </s> normalized, 3 <x>!"),
            // A variable makes its token special.
            (r#"{"config": {"eos_token": "</s>"}}"#, "2 </s>! normalized, 3 <x>!"),
            (
                r#"{"config": {"eos_token": {"__type": "AddedToken", "content": "</s>", "rstrip": true}}}"#,
                "2 </s>! normalized, 3 <x>!",
            ),
            (r#"{"config": {"image_token": "</s>"}}"#, "2 </s>! normalized, 3 <x>!"),
            (r#"{"config": {"extra_special_tokens": {"image_token": "</s>"}}}"#, "2 </s>! normalized, 3 <x>!"),
            (r#"{"config": {"model_specific_special_tokens": {"image_token": "</s>"}}}"#, "2 </s>! normalized, 3 <x>!"),
            // A list only adds tokens.
            (r#"{"config": {"extra_special_tokens": ["</s>", "<n>"]}}"#, "2 </s> normalized, 3 <x>!, 4 <n>!"),
            (
                r#"{"config": {"additional_special_tokens": ["</s>", "<n>"], "extra_special_tokens": []}}"#,
                "2 </s> normalized, 3 <x>!, 4 <n>!",
            ),
            (
                r#"{"map": {"eos_token": "</s>", "pad_token": {"content": "<n>", "rstrip": true}}}"#,
                "2 </s>! normalized, 3 <x>!, 4 <n>! rstrip",
            ),
            (r#"{"config": {"eos_token": "<x>"}, "map": {"eos_token": "</s>"}}"#, "2 </s>! normalized, 3 <x>!"),
            // The decoder replaces flags, and the other files.
            (
                r#"{"config": {"added_tokens_decoder": {"2": {"content": "</s>", "special": true, "rstrip": true}}}}"#,
                "2 </s>! rstrip, 3 <x>!",
            ),
            (
                r#"{"config": {"added_tokens_decoder": {"3": {"content": "<x>", "special": false, "normalized": false}}}}"#,
                "2 </s> normalized, 3 <x>",
            ),
            (
                r#"{"config": {"added_tokens_decoder": {"3": {"content": "<x>", "special": true}}, "eos_token": "</s>"}}"#,
                "2 </s> normalized, 3 <x>!",
            ),
            (
                r#"{"config": {"added_tokens_decoder": {"2": {"content": "</s>"}}, "eos_token": "</s>"}}"#,
                "2 </s>!, 3 <x>!",
            ),
            (
                r#"{"config": {"added_tokens_decoder": {"90": {"content": "<n>", "special": true}, "10": {"content": "<m>"}}, "eos_token": "<o>"}}"#,
                "2 </s> normalized, 3 <x>!, 4 <m> normalized, 5 <n>!, 6 <o>!",
            ),
            (
                r#"{"config": {"added_tokens_decoder": {}}, "map": {"eos_token": "</s>"}, "added": {"<n>": 9}}"#,
                "2 </s> normalized, 3 <x>!",
            ),
            // A token of the model keeps its id.
            (
                r#"{"config": {"eos_token": "b", "pad_token": "<n>", "bos_token": "<n>"}}"#,
                "1 b!, 2 </s> normalized, 3 <x>!, 4 <n>!",
            ),
            (
                r#"{"added": {"<n>": 91, "<x>": 5, "b": 90}}"#,
                "1 b normalized, 2 </s> normalized, 3 <x> normalized, 4 <n> normalized",
            ),
            (r#"{"config": {"eos_token": "<n>"}, "added": {"<n>": 91}}"#, "2 </s> normalized, 3 <x>!, 4 <n>!"),
        ] {
            let files = json::read(files).unwrap();
            let file = |name: &str| files.get(name).cloned().unwrap_or_default();
            let (config, special_tokens_map, added_tokens) = (file("config"), file("map"), file("added"));
            let companions = Companions { config, special_tokens_map, added_tokens };
            assert_eq!(shown(&configured(TOKENIZER, &companions).unwrap()), expected, "{files}");
        }
    }

    #[test]
    fn a_file_that_needs_no_change_is_not_copied_and_one_without_added_tokens_gets_them() {
        let config = |text: &str| Companions { config: json::read(text).unwrap(), ..Companions::default() };
        assert!(matches!(configured(TOKENIZER, &config(r#"{"eos_token": "<x>"}"#)), Ok(Cow::Borrowed(TOKENIZER))));
        let plain = r#"{"model": {"vocab": [["a", 0.5]]}}"#;
        assert_eq!(shown(&configured(plain, &config(r#"{"eos_token": "<x>"}"#)).unwrap()), "1 <x>!");
        let refused = configured(TOKENIZER, &config(r#"{"split_special_tokens": true}"#)).unwrap_err().to_string();
        assert!(refused.contains("`split_special_tokens`"), "{refused}");
    }
}
