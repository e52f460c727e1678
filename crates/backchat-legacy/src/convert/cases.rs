//! Outputs made from the schema's markers, each with its expected message.

use super::Loss;
use super::calls::json_text;
use super::marks::Mark;
use super::plan::{Plan, TextField};
use super::typed::Change;
use backchat_core::json::Value;

/// An output and, if it is known, its message.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub text: String,
    pub meaning: Option<Meaning>,
    /// Whether a stop token ends it.
    pub is_stopped: bool,
    /// Whether it counts only if the schema gives its expected message.
    pub is_guess: bool,
    /// The field that is compared alone, and the loss if it differs. The case is dropped if the schema does not read that
    /// field.
    pub shows: Option<(String, Loss)>,
}

impl Case {
    /// An output that a model wrote.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), meaning: None, is_stopped: false, is_guess: false, shows: None }
    }

    fn showing(text: &str, field: &str, loss: &Loss) -> Self {
        Self { shows: Some((field.to_owned(), loss.clone())), ..Self::new(text) }
    }
}

/// The intended message.
#[derive(Clone, Debug, Default)]
pub(super) struct Meaning {
    /// The texts of fields by name.
    pub texts: Vec<(String, String)>,
    pub calls: Vec<(&'static str, Value)>,
}

impl Meaning {
    /// Whether the output ends with calls, or with a field that follows the text without markers.
    pub fn ends_closed(&self, plan: &Plan) -> bool {
        let follows =
            |(last, _): &(String, String)| plan.texts.iter().any(|field| field.follows && field.name == *last);
        !self.calls.is_empty() || self.texts.last().is_some_and(follows)
    }
}

/// The text of a field in an output, and the field and its meaning, if it has one.
type OutputPiece = (String, Option<(String, String)>);

/// The outputs of a plan. `order` names the fields in the order in which they are written.
pub(super) fn cases(plan: &Plan, order: &[String], stops: &[Mark]) -> Vec<Case> {
    let mut tails: Vec<String> = vec![String::new()];
    let closes: Vec<Mark> = plan.texts.iter().filter(|field| field.is_implicit()).flat_map(TextField::closes).collect();
    for stop in closes.iter().chain(stops) {
        tails.extend([stop.sample().to_owned(), format!("{}\n", stop.sample())]);
    }
    // The end of content may open the list of calls without the schema saying so.
    let sections: Vec<String> =
        std::iter::once(String::new()).chain(closes.iter().map(|close| close.sample().to_owned())).collect();
    let calls = call_lists(plan);
    let mut cases = Vec::new();
    let mut turn = 0;
    let texts: Vec<Vec<OutputPiece>> = plan.texts.iter().map(written).collect();
    let sizes: Vec<usize> = texts.iter().map(Vec::len).chain([calls.len()]).collect();
    for combination in combinations(&sizes) {
        let has_calls = combination.last().is_some_and(|pick| *pick > 0);
        let sections = sections.iter().take(if has_calls { usize::MAX } else { 1 });
        for (section, gap) in sections.flat_map(|section| ["\n", ""].map(|gap| (section.as_str(), gap))) {
            let mut meaning = Meaning::default();
            let mut text = String::new();
            for name in order {
                if let Some(index) = plan.texts.iter().position(|field| field.name == *name) {
                    let pick = combination.get(index).copied().unwrap_or(0);
                    let Some((written, meant)) = texts.get(index).and_then(|texts| texts.get(pick)) else { continue };
                    text.push_str(written);
                    meaning.texts.extend(meant.clone());
                } else if let Some(field) = plan.calls.as_ref().filter(|field| field.name == *name) {
                    let pick = combination.last().copied().unwrap_or(0);
                    let Some(calls) = calls.get(pick).filter(|calls| !calls.is_empty()) else { continue };
                    if !text.is_empty() && !text.ends_with('\n') {
                        text.push_str(gap);
                    }
                    text.push_str(section);
                    text.push_str(&field.calls.write(calls, gap));
                    meaning.calls.extend(calls.iter().cloned());
                }
            }
            if text.trim().is_empty() {
                continue;
            }
            let tail = tails.get(turn % tails.len()).map_or("", String::as_str);
            let lead = if turn % LEADS == LEADS - 1 { "\n" } else { "" };
            turn += 1;
            let text = format!("{lead}{text}{tail}");
            let is_guess = !section.is_empty();
            cases.push(Case { text, meaning: Some(meaning), is_stopped: !tail.is_empty(), is_guess, shows: None });
        }
    }
    cases.extend(changed(plan, order));
    let mut seen = std::collections::HashSet::new();
    cases.retain(|case| seen.insert(case.text.clone()));
    cases
}

/// Outputs that show what the schema does to the values of a field: one with the field alone, and one with all fields, in
/// case the schema requires them.
fn changed(plan: &Plan, order: &[String]) -> Vec<Case> {
    let mut found = Vec::new();
    if let Some(field) = &plan.calls {
        let calls = &field.calls;
        found.extend(
            calls
                .changes
                .iter()
                .map(|change| (&field.name, calls.write_changed(&weather(), change), change.loss.clone())),
        );
    }
    for field in &plan.texts {
        let around = |text: &str| {
            let close = field.context.close.first().map_or("", Mark::sample);
            format!("{}{text}{close}", field.context.lead)
        };
        let args = field.content.as_ref().map_or(&Value::Null, |(_, args)| args);
        let json = |change: &Change| around(&json_text(&change.make(field.example.clone()), args));
        found.extend(field.changes.iter().map(|change| (&field.name, json(change), change.loss.clone())));
        let rewritten = rewritten(plan, field).map(|text| around(text));
        let message = "the template does not rewrite the text of the field";
        let loss = Loss::at(&field.path, "x-regex-substitutions", message);
        found.extend(rewritten.map(|text| (&field.name, text, loss.clone())));
    }
    let outputs = found.iter().flat_map(|(name, text, loss)| {
        [text.clone(), among(plan, order, name, text)].map(|text| Case::showing(&text, name, loss))
    });
    outputs.collect()
}

/// The texts that the schema rewrites in a field, except those of other fields.
pub(super) fn rewritten<'p>(plan: &Plan, field: &'p TextField) -> impl Iterator<Item = &'p String> {
    let opens = plan.texts.iter().flat_map(TextField::opens);
    let mut opens: Vec<Mark> = opens.chain(plan.calls.iter().flat_map(|field| field.calls.open.clone())).collect();
    opens.retain(|open| !open.sample().is_empty());
    field.rewritten.iter().filter(move |text| !opens.iter().any(|open| text.contains(open.sample())))
}

/// A field's text in its place among the other texts.
fn among(plan: &Plan, order: &[String], name: &str, text: &str) -> String {
    let piece = |other: &String| match plan.texts.iter().find(|field| field.name == *other) {
        _ if other == name => text.to_owned(),
        Some(field) => written(field).into_iter().nth(1).map_or(String::new(), |(text, _)| text),
        None => String::new(),
    };
    order.iter().map(piece).collect()
}

/// Text that may follow the last field of a turn without a meaning: a token the schema does not know, and prose.
pub(super) const AFTER_FIELDS: [&str; 2] = ["<|eot|>", "\nMore."];

/// One output in this many begins with a line break, as some models write.
const LEADS: usize = 7;

/// The most outputs that are made.
const MOST: usize = 400;

fn combinations(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for &size in sizes {
        let longer =
            |known: &Vec<usize>| (0..size.max(1)).map(|pick| [known.as_slice(), &[pick]].concat()).collect::<Vec<_>>();
        all = all.iter().flat_map(longer).take(MOST).collect();
    }
    // If not all fit, each way of each field is written alone.
    if sizes.iter().fold(1, |count: usize, size| count.saturating_mul(*size.max(&1))) > MOST {
        let alone = |index: usize, pick: usize| (0..sizes.len()).map(|at| if at == index { pick } else { 0 }).collect();
        all.extend(sizes.iter().enumerate().flat_map(|(index, size)| (1..*size).map(move |pick| alone(index, pick))));
    }
    all
}

/// The ways to write a field.
fn written(field: &TextField) -> Vec<OutputPiece> {
    let json;
    let values: &[&str] = match &field.content {
        None => &["Let me see.", "a < b, **c**\n\nand \"d\""],
        Some(("bool", _)) => &["true", "false"],
        Some(("float", _)) => &["2.5", "3"],
        Some(("json", args)) => {
            json = json_text(&field.example, args);
            &[&json, &json]
        }
        Some(_) => &["7", "12"],
    };
    let mut ways = vec![(String::new(), None)];
    let meant = |value: &str| Some((field.name.clone(), value.to_owned()));
    if field.is_implicit() {
        ways.extend(values.iter().map(|value| ((*value).to_owned(), meant(value))));
        return ways;
    }
    for (open, closes) in field.pairs() {
        let is_first = field.context.open.first() == Some(&open);
        let open = if is_first { field.context.lead.as_str() } else { open.sample() };
        let close = closes.first().map_or("", Mark::sample);
        for (value, around, after) in [(values.first(), "\n", "\n\n"), (values.get(1), "", "")] {
            let value = value.copied().unwrap_or("");
            let around = if field.content.is_some() { "" } else { around };
            ways.push((format!("{open}{around}{value}{around}{close}{after}"), meant(value)));
        }
        if field.content.is_none() && !close.is_empty() && field.name != "content" {
            ways.push((format!("{open}\n\n{close}\n\n"), None));
        }
        if field.context.open_optional && !close.is_empty() {
            let value = values.first().copied().unwrap_or("");
            ways.push((format!("{value}\n{close}\n\n"), meant(value)));
        }
    }
    ways
}

fn weather() -> (&'static str, Value) {
    ("get_weather", Value::from([("city", "Oslo".into())]))
}

/// Turns with no call, with one, with two, and with one that has no arguments.
fn call_lists(plan: &Plan) -> Vec<Vec<(&'static str, Value)>> {
    if plan.calls.is_none() {
        return vec![Vec::new()];
    }
    let (name, city) = weather();
    let several = Value::from([
        ("query", "a < b: 'c'".into()),
        ("limit", 3_i64.into()),
        ("exact", true.into()),
        ("tags", Value::List(vec!["x".into(), 1.5.into(), Value::Null])),
        ("more", Value::from([("k", "v".into())])),
    ]);
    let empty = Value::from([]);
    vec![Vec::new(), vec![(name, city.clone())], vec![("search", several), (name, city)], vec![("stop", empty)]]
}
