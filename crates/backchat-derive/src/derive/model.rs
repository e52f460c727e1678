//! One way to open a model: its response template and the wire of its turns, from one derivation and with its verdict.

use super::report::ended_early;
use super::{Derivation, Options, Status, derive_with};
use crate::wire::Wire;
use backchat_chat::{ended, examine};
use backchat_core::diagnostic::{Diagnostic, Severity};
use backchat_parser::template::Template;

/// A model as those use it who write grammars, serve and check: found once, shared by any number of requests.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Model {
    /// The stored response template, or else the draft of the derivation.
    pub template: Template,
    /// How the chat template writes turns.
    pub wire: Wire,
    /// The derivation that found the wire, with its verdict and its losses. It leaves out the recovery policies.
    pub derivation: Derivation,
    is_derived: bool,
}

impl Model {
    /// Opens a model by the source of its chat template and, if there is one, its stored response template.
    ///
    /// # Errors
    ///
    /// The chat template does not compile, or no render shows how it writes a turn.
    pub fn open(source: &str, stored: Option<Template>, options: &Options) -> Result<Self, Vec<Diagnostic>> {
        let options = options.clone().leave_policies(true);
        let found = |chosen: &super::Chosen, job: &super::Job<'_>| {
            let (wire, varying) = (chosen.wire.clone(), chosen.varying.clone());
            Wire::new(&job.proof.prober, wire, varying)
        };
        let (derivation, wire) = examine(options.budget, || {
            let (derivation, wire) = derive_with(source, &options, found);
            // A grammar of what some renders show would refuse valid outputs.
            ended().map_or(Ok((derivation, wire)), |why| {
                Err(vec![Diagnostic { severity: Severity::Error, ..ended_early(why) }])
            })
        })?;
        let Some(wire) = wire else { return Err(derivation.diagnostics) };
        let is_derived = stored.is_none();
        let template = match (stored, &derivation.response_template) {
            (Some(stored), _) => stored,
            (None, Some(draft)) => Template::from_value(draft).map_err(|error| error.diagnostics)?.template,
            (None, None) => return Err(derivation.diagnostics),
        };
        Ok(Self { template, wire, derivation, is_derived })
    }

    /// What a user of the model must know if its derivation is not proved: the verdict, and what is lost or not read, one
    /// line each; nothing if it is proved.
    pub fn doubts(&self) -> Vec<String> {
        if self.derivation.status == Status::Proved {
            return Vec::new();
        }
        let of = match self.is_derived {
            true => "the derived response template is",
            false => "the derivation that shows how turns are written is",
        };
        let details = self.derivation.summary_lines().into_iter();
        let details = details.filter(|(label, _)| ["lost", "unread"].contains(label));
        let details = details.map(|(label, text)| format!("{label}: {text}"));
        std::iter::once(format!("{of} {}", self.derivation.verdict_line())).chain(details).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, template};
    use crate::derive::{Remedy, derive};
    use crate::targets::Target;
    use crate::wire::structure_of;
    use backchat_core::json::Object;

    fn shown(wire: &Wire) -> String {
        format!("{:?}", structure_of(wire))
    }

    #[test]
    fn a_model_has_the_draft_and_the_verdict_of_its_derivation_and_its_wire_with_any_template() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/derive");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files.filter(|file| !file.ends_with("runs_forever.jinja")).collect();
        files.sort();
        let stored = template(ANSWER);
        let mut compared = 0;
        // Each is derived three times: some of them show it as well as all.
        for file in files.iter().step_by(8) {
            let source = std::fs::read_to_string(file).unwrap();
            let options = Options::default().variables(Object::from([("eos_token".to_owned(), "</s>".into())]));
            let Ok(model) = Model::open(&source, None, &options) else { continue };
            let derivation = derive(&source, &options);
            let name = file.display();
            assert_eq!(Some(model.template.to_value()), derivation.response_template, "{name}");
            assert_eq!(model.derivation.status, derivation.status, "{name}");
            assert_eq!(model.doubts().is_empty(), derivation.status == Status::Proved, "{name}");
            let with_stored = Model::open(&source, Some(stored.clone()), &options).unwrap();
            assert_eq!(with_stored.template.to_value(), stored.to_value(), "{name}");
            assert_eq!(shown(&with_stored.wire), shown(&model.wire), "{name}");
            compared += 1;
        }
        assert!(compared > 9, "{compared}");
    }

    #[test]
    fn a_model_gets_the_remedies_that_derive_tries() {
        // The calls are a JSON object whose keys are the names, which one reader refuses to split.
        let (start, end) = (CHAT.find("{% for c in").unwrap(), CHAT.find("<end>").unwrap());
        let calls = "{% if m.tool_calls %}<calls>[{% for c in m.tool_calls %}{\"{{ c.function.name }}\": \
                     {{ c.function.arguments | tojson }}}{{ ', ' if not loop.last }}{% endfor %}]</calls>{% endif %}";
        let listed = format!("{}{calls}{}", &CHAT[..start], &CHAT[end..]);
        let options = Options::default().targets(vec![Target::named("smg").unwrap()]);
        let model = Model::open(&listed, None, &options).unwrap();
        assert_eq!(model.derivation.remedy(), Some(&Remedy::NoTarget));
    }

    #[test]
    fn doubts_begin_with_the_verdict_and_list_what_is_not_read() {
        assert_eq!(Model::open(CHAT, None, &Options::default()).unwrap().doubts(), [""; 0]);
        let broken = CHAT.replace("<end>", "{{ eos_token }}");
        let missing = "partial: the model's turn prints `eos_token`, which was not given: add `--set eos_token=TEXT`, or \
                       pass the folder with tokenizer_config.json";
        for (stored, of) in [
            (None, "the derived response template is"),
            (Some(template(ANSWER)), "the derivation that shows how turns are written is"),
        ] {
            let doubts = Model::open(&broken, stored, &Options::default()).unwrap().doubts();
            assert_eq!(doubts.first(), Some(&format!("{of} {missing}")));
        }
    }

    #[test]
    fn a_model_that_cannot_be_opened_says_why_in_the_words_of_derive() {
        for source in ["{% if", "{{ messages | length }}", "{{ raise_exception('never') }}"] {
            let derived = derive(source, &Options::default()).diagnostics;
            for stored in [None, Some(template(ANSWER))] {
                assert_eq!(Model::open(source, stored, &Options::default()).unwrap_err(), derived, "{source}");
            }
        }
    }
}
