//! Writes any response template within the limits of readers, and proves that it reads the same conversations as before.

use super::super::proof::Proof;
use super::super::{Options, compiled, may_be_reasoning, with_proof};
use super::{ReaderSet, fit};
use backchat_chat::examine;
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::{Object, Value};
use backchat_parser::template::Template;

/// A response template within limits.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The template.
    pub template: Value,
    /// How many conversations were rendered and parsed back with it.
    pub cases: usize,
    /// How many it misreads: no more than before.
    pub failed: usize,
}

/// Writes a response template within the limits of `options.targets` so that it reads the conversations of its chat
/// template as well as before. `None` if that is impossible, or if no reader refuses the template.
pub fn rewrite(source: &str, template: &Template, options: &Options) -> Result<Option<Rewritten>, Diagnostic> {
    let chat_template = compiled(source)?;
    let readers = ReaderSet::new(&options.targets);
    if readers.refusals(template).is_empty() {
        return Ok(None);
    }
    let (rewritten, _) = examine(options.budget, || {
        with_proof(&chat_template, options, |mut proof, options| {
            proof.any_reasoning_name = true;
            Some(within_limits(&proof, &readers, template, options))
        })
    })?;
    rewritten
}

fn within_limits(
    proof: &Proof<'_>,
    readers: &ReaderSet,
    template: &Template,
    options: &Options,
) -> Result<Option<Rewritten>, Diagnostic> {
    let before = proof.judge(template).failed();
    let named = match readers.limits.reasoning.filter(|_| options.reasoning_field.is_none()) {
        Some(name) => renamed(&template.to_value(), name),
        None => template.to_value(),
    };
    for way in [named.clone()].into_iter().chain(readers.ways(&named).into_iter().map(|way| way.template)) {
        let Ok(loaded) = Template::from_value(&way) else { continue };
        if !readers.refusals(&loaded.template).is_empty() {
            continue;
        }
        let verdict = proof.judge(&loaded.template);
        if verdict.passed == 0 {
            let message = "no conversation parses back exactly with this template";
            return Err(Diagnostic::error("lint-unproved", message).help("does the chat template belong to it?"));
        }
        if verdict.failed() <= before {
            return Ok(Some(Rewritten { template: way, cases: verdict.cases, failed: verdict.failed() }));
        }
    }
    Ok(None)
}

/// The template with another name for its reasoning, if exactly one field can be that.
fn renamed(template: &Value, name: &str) -> Value {
    let fields = template.get("fields").and_then(Value::as_object);
    let names: Vec<&str> = fields.into_iter().flat_map(Object::keys).filter(|name| may_be_reasoning(name)).collect();
    let mut renamed = template.clone();
    let [old] = names.as_slice() else { return renamed };
    for key in ["fields", "defaults"] {
        if let Some(entries) = fit::entry(&mut renamed, key)
            && let Some(value) = entries.get(old).cloned()
        {
            fit::put(entries, old, name, value);
        }
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::Target;

    #[test]
    fn a_template_is_written_within_the_limits_of_a_reader() {
        let chat_template = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>{% endfor %}\
                             {% if add_generation_prompt %}[assistant]{% endif %}";
        let text = r#"{"start_anchor": "[assistant]", "fields": {"content": {"close_pattern": "<end>(?=\\s|$)"}}}"#;
        let options = Options { targets: vec![Target::named("smg").unwrap()], ..Options::default() };
        // What a template requires is filled in, as for a derivation.
        for needs in ["", "{{ raise_exception('no budget') if budget is undefined or budget < 1 }}"] {
            let source = format!("{needs}{chat_template}");
            let rewritten = rewrite(&source, &Template::load(text).unwrap().template, &options).unwrap().unwrap();
            let fields = rewritten.template.get("fields").unwrap().to_string();
            assert_eq!(fields, r#"{"content": {"close_pattern": "<end>"}}"#);
        }
    }
}
