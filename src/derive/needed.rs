//! Variables that a chat template cannot do without and nobody gave: each is filled with a text, and the report names
//! it.

use super::Options;
use crate::chat::ChatTemplate;
use crate::diagnostic::{Diagnostic, Severity};
use crate::json::Object;
use crate::wire::probe::Prober;

/// The placeholder of a variable; a draft cannot use a mark that contains it.
const TEXT: &str = "Qzfilledq";

/// The options with the variables that the template needs, and their names; nothing if that does not help. Special
/// tokens are not made up: a draft would name them.
pub(super) fn fill(template: &ChatTemplate, options: &Options) -> Option<(Options, Vec<String>)> {
    let takes = |variables: &Object| Prober::new(template, variables, options.now.clone()).settled().is_some();
    let unset = template.switches(&options.variables);
    let mut names: Vec<String> = unset.into_iter().map(|(name, _)| name.to_owned()).collect();
    let filled = |names: &[String]| {
        let mut variables = options.variables.clone();
        variables.extend(names.iter().map(|name| (name.clone(), TEXT.into())));
        variables
    };
    if names.is_empty() || !takes(&filled(&names)) {
        return None;
    }
    for name in names.clone() {
        let others: Vec<String> = names.iter().filter(|other| **other != name).cloned().collect();
        if takes(&filled(&others)) {
            names = others;
        }
    }
    // Whatever is wrong with a template that needs none of them, they do not help.
    if names.is_empty() {
        return None;
    }
    Some((Options { variables: filled(&names), ..options.clone() }, names))
}

/// Names the variables that were filled.
pub(super) fn note(names: &[String]) -> Diagnostic {
    let named: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let given: Vec<String> = names.iter().map(|name| format!("`--set {name}=…`")).collect();
    let message =
        format!("the chat template renders nothing without {}: set to a placeholder text", named.join(" and "));
    Diagnostic::new(Severity::Note, "derive-filled", message)
        .help(format!("pass the real value: {}", given.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURNS: &str = "{% for m in messages %}{% if flag %}!{% endif %}{{ m.content }}{% endfor %}";

    fn filled(source: &str) -> Option<Vec<String>> {
        let template = ChatTemplate::compile(source).unwrap();
        fill(&template, &Options::default()).map(|(options, names)| {
            // Exactly the named variables are given.
            assert_eq!(options.variables.keys().collect::<Vec<_>>(), names.iter().collect::<Vec<_>>());
            names
        })
    }

    #[test]
    fn only_what_a_template_cannot_do_without_is_filled() {
        let check = |name: &str| format!("{{% if not {name} %}}{{{{ raise_exception('no {name}') }}}}{{% endif %}}");
        assert_eq!(filled(&format!("{}{TURNS}", check("policy"))), Some(vec!["policy".to_owned()]));
        let both = format!("{}{}{TURNS}", check("policy"), check("date"));
        assert_eq!(filled(&both), Some(vec!["policy".to_owned(), "date".to_owned()]));
        // No text helps.
        assert_eq!(filled("{{ raise_exception('never') }}{{ policy }}"), None);
        // Special tokens are not made up.
        assert_eq!(filled(&format!("{}{TURNS}", check("bos_token"))), None);
        // Nothing is needed.
        assert_eq!(filled(TURNS), None);
    }

    #[test]
    fn the_note_names_every_variable_and_how_to_give_it() {
        let note = note(&["a".to_owned(), "b".to_owned()]);
        assert_eq!(note.message, "the chat template renders nothing without `a` and `b`: set to a placeholder text");
        assert_eq!(note.help.as_deref(), Some("pass the real value: `--set a=…` and `--set b=…`"));
    }
}
