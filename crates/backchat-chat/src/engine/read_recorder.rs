//! Records what a template reads while it renders. Recording changes no byte of the render.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use indexmap::{IndexMap, IndexSet};

/// The reads of one render.
///
/// Only code that ran counts: a branch not taken leaves no trace.
/// [`ChatTemplate::variables`](crate::ChatTemplate::variables) lists all variables that a template might read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// Variables of the context that it looked up, given or not, in the order of the first lookup.
    pub variables: Vec<String>,
    /// Those of `variables` that are undefined.
    pub missing: Vec<String>,
    /// Those of `variables` that it only tested for being defined.
    pub tested: Vec<String>,
    /// Keys it looked up below a variable, such as `messages[].reasoning_content` or
    /// `tools[].function.parameters`, given or not, in the order of the first lookup. Attributes, subscripts,
    /// `.get()`, `in` and `is defined` all count as lookups.
    pub paths: Vec<String>,
    /// Those of `paths` that were absent at least once.
    pub missing_paths: Vec<String>,
    /// Paths of dictionaries it took as a whole: printed, serialized or iterated over.
    pub whole: Vec<String>,
}

#[derive(Debug, Default)]
struct Variable {
    missing: bool,
    read: bool,
}

#[derive(Debug, Default)]
struct Reads {
    variables: IndexMap<String, Variable>,
    /// Each path, and whether it was ever absent.
    paths: IndexMap<String, bool>,
    whole: IndexSet<String>,
}

/// Collects the reads of one render.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    reads: Mutex<Reads>,
    testing: AtomicBool,
}

impl Recorder {
    fn with<T>(&self, note: impl FnOnce(&mut Reads) -> T) -> T {
        note(&mut self.reads.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs a test of whether a variable is defined; lookups inside it do not count as reads.
    pub(crate) fn testing<T>(&self, test: impl FnOnce() -> T) -> T {
        self.testing.store(true, Ordering::Relaxed);
        let answer = test();
        self.testing.store(false, Ordering::Relaxed);
        answer
    }

    pub(crate) fn variable(&self, name: &str, given: bool) {
        let read = !self.testing.load(Ordering::Relaxed);
        self.with(|reads| {
            let variable = match reads.variables.get_mut(name) {
                Some(variable) => variable,
                None => reads.variables.entry(name.to_owned()).or_default(),
            };
            variable.missing |= !given;
            variable.read |= read;
        });
    }

    pub(crate) fn watched(&self) -> Watched {
        self.with(|reads| {
            let named = |wanted: &dyn Fn(&Variable) -> bool| {
                let chosen = reads.variables.iter().filter(|(_, variable)| wanted(variable));
                chosen.map(|(name, _)| name.clone()).collect()
            };
            let absent = reads.paths.iter().filter(|(_, absent)| **absent);
            Watched {
                variables: named(&|_| true),
                missing: named(&|variable| variable.missing),
                tested: named(&|variable| !variable.read),
                paths: reads.paths.keys().cloned().collect(),
                missing_paths: absent.map(|(path, _)| path.clone()).collect(),
                whole: reads.whole.iter().cloned().collect(),
            }
        })
    }
}

/// The path of a dictionary in the context, and the recorder that it reports reads to.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    recorder: Arc<Recorder>,
    path: Arc<str>,
}

impl Watch {
    pub(crate) fn new(recorder: &Arc<Recorder>, path: &str) -> Self {
        Self { recorder: recorder.clone(), path: path.into() }
    }

    /// The same recorder, for the value of a key.
    pub(crate) fn below(&self, key: &str) -> Self {
        Self { recorder: self.recorder.clone(), path: format!("{}.{key}", self.path).into() }
    }

    /// The same recorder, for the elements of a list.
    pub(crate) fn element(&self) -> Self {
        Self { recorder: self.recorder.clone(), path: format!("{}[]", self.path).into() }
    }

    pub(crate) fn key(&self, key: &str, given: bool) {
        let path = format!("{}.{key}", self.path);
        self.recorder.with(|reads| *reads.paths.entry(path).or_default() |= !given);
    }

    pub(crate) fn whole(&self) {
        self.recorder.with(|reads| {
            if !reads.whole.contains(&*self.path) {
                reads.whole.insert(self.path.to_string());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::{ChatTemplate, RenderOptions, Watched, render_watched};
    use backchat_core::json;

    fn watched(template: &str, context: &str) -> Watched {
        let template = ChatTemplate::compile(template).unwrap();
        let context = json::read(context).unwrap();
        let context = context.as_object().unwrap();
        let plain = template.render(context, &RenderOptions::default()).unwrap();
        let (rendered, seen) = render_watched(&template, context, &RenderOptions::default());
        assert_eq!(rendered, Ok(plain));
        seen
    }

    #[test]
    fn every_lookup_of_a_key_records_its_path() {
        let context = r#"{"m": {"a": 1, "n": {"b": [{"c": 2}]}}}"#;
        for (template, paths, missing) in [
            ("{{ m.a }}", vec!["m.a"], vec![]),
            ("{{ m['a'] }}", vec!["m.a"], vec![]),
            ("{{ m.get('x') }}", vec!["m.x"], vec!["m.x"]),
            ("{{ m.get('a', 1) }}", vec!["m.a"], vec![]),
            ("{{ 'x' in m }}", vec!["m.x"], vec!["m.x"]),
            ("{{ m.x is defined }}", vec!["m.x"], vec!["m.x"]),
            ("{% if m.x %}{% endif %}", vec!["m.x"], vec!["m.x"]),
            ("{{ m.x | default('') }}", vec!["m.x"], vec!["m.x"]),
            ("{% set k = 'a' %}{{ m[k] }}", vec!["m.a"], vec![]),
            ("{{ m.n.b[0].c }}", vec!["m.n", "m.n.b", "m.n.b[].c"], vec![]),
            ("{% for i in m.n.b %}{{ i.d }}{% endfor %}", vec!["m.n", "m.n.b", "m.n.b[].d"], vec!["m.n.b[].d"]),
            ("{{ m.n.b | map(attribute='c') | list }}", vec!["m.n", "m.n.b", "m.n.b[].c"], vec![]),
            ("{{ m | attr('items') is callable }}", vec![], vec![]),
        ] {
            let seen = watched(template, context);
            assert_eq!(seen.paths, paths, "{template}");
            assert_eq!(seen.missing_paths, missing, "{template}");
            assert_eq!(seen.variables, ["m"], "{template}");
        }
    }

    #[test]
    fn values_taken_as_a_whole_are_recorded() {
        let context = r#"{"m": {"a": 1, "n": {"b": 2}}}"#;
        for (template, whole) in [
            ("{{ m.a }}", vec![]),
            ("{{ m | tojson }}", vec!["m", "m.n"]),
            ("{{ m }}", vec!["m", "m.n"]),
            ("{{ m.n | string }}", vec!["m.n"]),
            ("{% for k, v in m.items() %}{{ k }}{% endfor %}", vec!["m"]),
            ("{% for k in m %}{{ k }}{% endfor %}", vec!["m"]),
            ("{{ m | length }}", vec![]),
        ] {
            assert_eq!(watched(template, context).whole, whole, "{template}");
        }
    }

    #[test]
    fn tests_for_definedness_are_distinguished_from_reads() {
        let context = r#"{"given": 1}"#;
        for (template, variables, missing, tested) in [
            ("{{ given }}{{ absent }}", vec!["given", "absent"], vec!["absent"], vec![]),
            ("{{ absent is defined }}", vec!["absent"], vec!["absent"], vec!["absent"]),
            ("{% if absent is not defined %}{% endif %}", vec!["absent"], vec!["absent"], vec!["absent"]),
            ("{{ given is defined and given }}", vec!["given"], vec![], vec![]),
            ("{% if given %}{% else %}{{ absent }}{% endif %}", vec!["given"], vec![], vec![]),
            ("{% set local = 1 %}{{ local }}{{ range(1) }}", vec![], vec![], vec![]),
            ("{% macro m(a) %}{{ a }}{{ absent }}{% endmacro %}", vec![], vec![], vec![]),
            ("{% macro m(a) %}{{ a }}{{ absent }}{% endmacro %}{{ m(1) }}", vec!["absent"], vec!["absent"], vec![]),
            (
                "{% generation %}{% if given %}{% else %}{{ absent }}{% endif %}{% endgeneration %}",
                vec!["given"],
                vec![],
                vec![],
            ),
            ("{{ absent | default(1) }}", vec!["absent"], vec!["absent"], vec![]),
        ] {
            let seen = watched(template, context);
            assert_eq!(seen.variables, variables, "{template}");
            assert_eq!(seen.missing, missing, "{template}");
            assert_eq!(seen.tested, tested, "{template}");
        }
    }
}
