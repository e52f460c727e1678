//! Converts a response schema to a response template: drafts come from the schema's patterns, and the proof chooses.
//!
//! Outputs are made from the schema's own markers, and each candidate is compared with the schema on them. Every
//! construct that does not carry over is a named loss; if the schema was wrong and the template is right, the loss says
//! so.

mod calls;
mod cases;
mod draft;
mod judge;
mod marks;
mod plan;
mod shape;
mod stops;
mod typed;

use std::collections::HashSet;

use cases::Case;
use judge::Judged;
use plan::Plan;

use crate::schema::{Node, Schema};
use backchat_core::json::Value;
use backchat_parser::template::Template;

/// Options of a conversion.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// `start_anchor` and its value, or `start_anchor_pattern` and its pattern.
    pub anchor: Option<(&'static str, Value)>,
    /// Outputs the model really wrote.
    pub samples: Vec<String>,
    /// The response template that was derived from the model's chat template.
    pub derived: Option<Template>,
}

/// How far a conversion got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The template gives the schema's message for every output.
    Proved,
    /// It does for some; the losses list the differences.
    Partial,
    /// No response template can replace the schema.
    Inexpressible,
}

impl Status {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Status::Proved => "proved",
            Status::Partial => "partial",
            Status::Inexpressible => "inexpressible",
        }
    }
}

/// A difference between the template and the schema.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Loss {
    /// The node of the schema: `$.properties.content`.
    pub path: String,
    /// The construct that does not carry over.
    pub construct: String,
    /// The difference, and its effect.
    pub message: String,
    /// Whether the schema was wrong and the template is right.
    pub better: bool,
}

impl Loss {
    fn new(node: &Node, construct: &str, message: &str) -> Self {
        Self::at(&node.json_path(), construct, message)
    }

    fn at(path: &str, construct: &str, message: &str) -> Self {
        Self { path: path.to_owned(), construct: construct.to_owned(), message: message.to_owned(), better: false }
    }

    /// The loss as in rows of `--jsonl`.
    pub fn to_value(&self) -> Value {
        let mut value = Value::from([
            ("path", self.path.as_str().into()),
            ("construct", self.construct.as_str().into()),
            ("message", self.message.as_str().into()),
        ]);
        if let (Value::Object(entries), true) = (&mut value, self.better) {
            entries.insert("better", true.into());
        }
        value
    }
}

/// An output that the two read differently.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Counterexample {
    /// The output.
    pub output: String,
    /// The schema's message; `None` if it fails.
    pub schema: Option<Value>,
    /// The template's message.
    pub template: Value,
    /// Whether the template gives the expected message, and the schema does not.
    pub better: bool,
}

/// The result of a conversion.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Conversion {
    /// How far it got.
    pub status: Status,
    /// The response template, unless there is none.
    pub template: Option<Template>,
    /// The constructs that do not carry over.
    pub losses: Vec<Loss>,
    /// How many outputs were compared.
    pub cases: usize,
    /// For how many outputs the messages are the same.
    pub passed: usize,
    /// Outputs with different messages, the shortest first.
    pub counterexamples: Vec<Counterexample>,
}

/// How many counterexamples are kept.
const MOST_COUNTEREXAMPLES: usize = 5;

/// Converts a schema. Without an anchor the template begins at the start of the prompt's last text.
///
/// ```
/// use backchat_legacy::convert::{Options, Status, convert};
/// use backchat_legacy::schema::Schema;
///
/// let schema = r#"{"type": "object", "properties": {
///     "thinking": {"type": "string", "x-regex": "<t>(.*?)</t>"},
///     "content": {"type": "string", "x-regex": "<a>(.*?)</a>"}}}"#;
/// let schema = Schema::load(schema).map_err(|found| found[0].message.clone())?.schema;
/// let anchor = Some(("start_anchor", "<|assistant|>".into()));
/// let conversion = convert(&schema, &Options { anchor, ..Options::default() });
/// assert_eq!(conversion.status, Status::Proved);
/// let template = conversion.template.unwrap().to_value().to_string();
/// assert!(template.contains(r#""thinking": {"open": "<t>", "close": "</t>"}"#));
/// # Ok::<(), String>(())
/// ```
pub fn convert(schema: &Schema, options: &Options) -> Conversion {
    let none = |loss: Loss| Conversion {
        status: Status::Inexpressible,
        template: None,
        losses: vec![loss],
        cases: 0,
        passed: 0,
        counterexamples: Vec::new(),
    };
    let plan = match plan::plan(schema) {
        Ok(plan) => plan,
        Err(loss) => return none(loss),
    };
    let anchor = options.anchor.clone().unwrap_or(("start_anchor_pattern", "^".into()));
    let mut stops = stops::of_anchor(&anchor.1);
    let closes: Vec<_> =
        plan.texts.iter().filter(|field| !field.is_implicit()).flat_map(|field| field.closes()).collect();
    stops.retain(|stop| !closes.contains(stop));
    let mut cases = cases::cases(&plan, &plan.order(schema), &stops);
    cases.extend(options.samples.iter().map(|text| Case::new(text)));
    let expected = judge::expected(&plan, schema, cases);
    let unread = judge::unread(&plan, &expected);

    let mut best: Option<(Template, Judged)> = None;
    let drafts = draft::styles(&plan, &stops).into_iter().map(|style| draft::draft(&plan, &anchor, &style));
    for value in options.derived.iter().flat_map(|derived| plan.renamed(derived)).chain(drafts) {
        let Ok(loaded) = Template::from_value(&value) else { continue };
        let verdict = judge::judge(&plan, &loaded.template, &expected, &unread);
        if best.as_ref().is_none_or(|(_, known)| verdict.score > known.score) {
            best = Some((loaded.template, verdict));
        }
    }
    let Some((template, Judged { score, losses: found, mut counterexamples })) = best else {
        return none(Loss::new(schema.root(), "patterns", "no response template with these markers loads"));
    };
    let mut losses = audit(&plan, &template, &unread);
    let unshown = judge::unshown(&plan, &expected);
    losses.extend(plan.losses.into_iter().chain(found).chain(unshown));
    let mut seen = HashSet::new();
    losses.retain(|loss| seen.insert((loss.path.clone(), loss.construct.clone(), loss.better)));
    let cases = expected.len();
    let is_whole = score.equal == cases && losses.iter().all(|loss| loss.better);
    let status = if is_whole { Status::Proved } else { Status::Partial };
    counterexamples.sort_by_key(|example| (example.better, example.output.len()));
    counterexamples.truncate(MOST_COUNTEREXAMPLES);
    Conversion { status, template: Some(template), losses, cases, passed: score.equal, counterexamples }
}

/// The losses of fields that the template does not have, or that the proof does not reach.
fn audit(plan: &Plan, template: &Template, unread: &[&str]) -> Vec<Loss> {
    let template = template.to_value();
    let fields = template.get("fields");
    let is_implicit = |name: &str| plan.texts.iter().any(|field| field.name == name && field.is_implicit());
    let is_there = |name: &str| fields.is_some_and(|fields| fields.get(name).is_some());
    let missing = plan.fields().filter(|(name, _)| !is_there(name)).map(|(name, path)| {
        let construct =
            if is_implicit(name) { "second field without markers" } else { "field that the template lacks" };
        Loss::at(path, construct, "the field is dropped")
    });
    let message = "the schema does not read the field in any output of the proof, so it is not compared";
    let unread = plan.fields().filter(|(name, _)| unread.contains(name));
    missing.chain(unread.map(|(_, path)| Loss::at(path, "field that the proof does not reach", message))).collect()
}

impl Conversion {
    /// Whether no output gets worse: the schema was wrong in every difference.
    pub fn is_no_worse(&self) -> bool {
        self.template.is_some() && self.losses.iter().all(|loss| loss.better)
    }

    /// The report of a row, without its id.
    pub fn to_value(&self) -> Value {
        let template = self.template.as_ref().map_or(Value::Null, Template::to_value);
        Value::from([
            ("status", self.status.name().into()),
            ("response_template", template),
            ("losses", Value::List(self.losses.iter().map(Loss::to_value).collect())),
            ("verification", Value::from([("cases", self.cases.into()), ("passed", self.passed.into())])),
        ])
    }
}
