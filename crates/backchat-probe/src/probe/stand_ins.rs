//! Texts in place of special tokens that a template reads and that were not given, as for a template without its tokenizer.

use backchat_chat::ChatTemplate;
use backchat_core::json::Object;

/// The special tokens that tokenizers name.
const TOKENS: [&str; 7] = ["bos_token", "eos_token", "pad_token", "unk_token", "sep_token", "cls_token", "mask_token"];

/// The special tokens that a template reads and that are not among the variables.
pub fn missing_tokens(template: &ChatTemplate, variables: &Object) -> Vec<&'static str> {
    let reads = |name: &str| template.variables().iter().any(|variable| variable == name);
    TOKENS.into_iter().filter(|name| reads(name) && !variables.contains_key(name)).collect()
}

/// A text for each missing token that the template does not contain. With another `mark`, the texts have other lengths.
pub fn stand_ins(template: &ChatTemplate, variables: &Object, mark: &str) -> Object {
    let text = |name: &str| {
        let mut mark = mark.to_owned();
        while template.source().contains(&format!("<{mark}{name}{mark}>")) {
            mark.push('|');
        }
        format!("<{mark}{name}{mark}>")
    };
    missing_tokens(template, variables).into_iter().map(|name| (name.to_owned(), text(name).into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tokens_that_the_template_reads_and_nobody_gave_have_stand_ins() {
        let template = ChatTemplate::compile("{{ bos_token }}{{ eos_token }}{{ my_token }}<|bos_token|>").unwrap();
        let given = Object::from_iter([("eos_token".to_owned(), "</s>".into())]);
        assert_eq!(missing_tokens(&template, &given), ["bos_token"]);
        let found = stand_ins(&template, &given, "|");
        assert_eq!(found.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), [Some("<||bos_token||>")]);
        assert_ne!(found, stand_ins(&template, &given, ""));
    }
}
