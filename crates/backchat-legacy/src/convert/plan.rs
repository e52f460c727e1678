//! Infers the fields of a schema's message from its patterns.

use super::Loss;
use super::calls::{self, Calls};
use super::marks::{self, Context, Mark, Surrounded};
use super::typed::{self, Change};
use crate::schema::{Node, Schema, Substitution};
use backchat_core::json::{Object, Value};
use backchat_parser::pattern::PatternPart;

#[derive(Clone, Debug)]
pub(super) struct TextField {
    pub name: String,
    pub path: String,
    pub context: Context,
    /// Further pairs of markers, from substitutions that turn one wire format into another.
    pub also: Vec<(Mark, Vec<Mark>)>,
    pub required: bool,
    /// Whether its opening ends the text that no marker opens, so it comes after that text.
    pub follows: bool,
    /// The content parser, if the value is not text.
    pub content: Option<(&'static str, Value)>,
    /// A value of the field, and changes to it, if it is JSON.
    pub example: Value,
    /// Texts that the schema rewrites before it reads the field.
    pub rewritten: Vec<String>,
    pub changes: Vec<Change>,
}

#[derive(Clone, Debug)]
pub(super) struct CallField {
    pub name: String,
    pub path: String,
    pub calls: Calls,
    pub required: bool,
}

/// The parts of a schema that determine a template.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    pub defaults: Object,
    pub texts: Vec<TextField>,
    pub calls: Option<CallField>,
    /// The constructs that no template can carry over.
    pub losses: Vec<Loss>,
}

/// The most fields a schema may have: each is written in several ways, in every combination.
const MOST_FIELDS: usize = 24;

/// Fails if no template can replace a schema with this root.
fn check_root(root: &Node) -> Result<(), Loss> {
    if root.constant.is_some() {
        return Err(Loss::new(root, "root that is a constant", "the message does not depend on the output"));
    }
    if root.type_name() != Some("object") {
        let construct = match root.type_name() {
            Some("array") => "root that is a list".to_owned(),
            Some(kind) => format!("root of type {kind}"),
            None => "root without a type".to_owned(),
        };
        let message = "the message of a response template is an object, not a value of this type";
        return Err(Loss::new(root, &construct, message));
    }
    if root.parser.is_some() || root.key_value.is_some() {
        let construct = if root.parser.is_some() { "x-parser at the root" } else { "x-regex-key-value at the root" };
        return Err(Loss::new(root, construct, "a response template reads fields between markers, not a single value"));
    }
    Ok(())
}

/// Reads a schema; the reason if no template can replace it.
pub(super) fn plan(schema: &Schema) -> Result<Plan, Loss> {
    let root = schema.root();
    check_root(root)?;
    let outline = match root.regex.as_ref().map(|regex| &regex.pattern) {
        Some(Ok(pattern)) => Some(pattern.outline()),
        Some(Err(error)) => {
            return Err(Loss::new(root, "x-regex", &format!("the pattern does not compile: {error}")));
        }
        None => None,
    };
    let names = root.value_names();
    let mut plan = Plan { losses: typed::unnamed(root, &names), ..Plan::default() };
    let is_calls = |node: &Node| node.iterator.is_some() || calls::is_list(node);
    let properties = || root.properties.iter().flatten();
    for (name, constant) in properties().filter_map(|(name, node)| Some((name, node.constant.as_ref()?))) {
        plan.defaults.insert(name.clone(), constant.clone());
    }
    // A property read from a group has its default if the group does not match.
    let default = |node: &Node| node.default.clone().filter(|_| !names.is_empty() && node.constant.is_none());
    for (name, default) in properties().filter_map(|(name, node)| Some((name, default(node)?))) {
        plan.defaults.insert(name.clone(), default);
    }
    // Calls are read last, when the markers of text fields are known.
    let (lists, texts): (Vec<_>, Vec<_>) =
        properties().filter(|(_, node)| node.constant.is_none()).partition(|(_, node)| is_calls(node));
    for (name, node) in texts.into_iter().chain(lists) {
        let required = root.required.contains(name) && default(node).is_none();
        if let Err(loss) = field(&mut plan, name, node, outline.as_deref(), required) {
            plan.losses.push(loss);
        }
    }
    if plan.texts.is_empty() && plan.calls.is_none() {
        let reason = plan.losses.pop();
        return Err(reason.unwrap_or_else(|| Loss::new(root, "properties", "the schema has no fields")));
    }
    if plan.texts.len() > MOST_FIELDS {
        let message = "the schema has too many fields; split it";
        return Err(Loss::new(root, &format!("more than {MOST_FIELDS} fields"), message));
    }
    substitutions(root, &mut plan);
    separate(&mut plan);
    root.walk(&mut |node| {
        for key in node.unread.iter().filter(|key| key.starts_with("x-")) {
            let loss = Loss::new(node, key, "this key has no effect, and the template drops it");
            plan.losses.push(Loss { better: true, ..loss });
        }
    });
    Ok(plan)
}

fn field(plan: &mut Plan, name: &str, node: &Node, root: Option<&[PatternPart]>, required: bool) -> Result<(), Loss> {
    let path = node.json_path();
    let own = compiled(node)?;
    let from_root = root.and_then(|parts| marks::named(parts, name));
    if root.is_some() && from_root.is_none() {
        if plan.defaults.contains_key(name) {
            return Ok(());
        }
        return Err(Loss::new(node, "property that no group takes", "the field is never read, and is dropped"));
    }
    if node.iterator.is_some() || calls::is_list(node) {
        let calls = calls_of(plan, node, own, from_root)?;
        let item = node.items.as_deref().filter(|item| item.parser.is_none() && node.parser.is_none());
        plan.losses.extend(
            item.zip(calls.shape.as_ref())
                .into_iter()
                .flat_map(|(item, shape)| typed::losses_of_shape(item, shape, &node.value_names())),
        );
        plan.calls = Some(CallField { name: name.to_owned(), path, calls, required });
        return Ok(());
    }
    let content = match (node.type_name(), &node.parser) {
        (None | Some("any" | "string"), None) => None,
        (Some("integer"), None) => Some(("int", Value::Null)),
        (Some("number"), None) => Some(("float", Value::Null)),
        (Some("boolean"), None) => Some(("bool", Value::Null)),
        (_, Some(parser)) if parser.transform.is_none() => Some(("json", calls::json_args(parser))),
        (kind, _) => {
            let construct = kind.map_or("x-parser with a transform".to_owned(), |kind| format!("field of type {kind}"));
            return Err(Loss::new(node, &construct, "the field is dropped"));
        }
    };
    let mut context = match (own.as_deref().map(marks::only), from_root) {
        // Its pattern reads the text of the root's group.
        (Some(Some((_, inner))), Some((_, outer))) if inner.open.is_empty() && inner.close.is_empty() => outer,
        (Some(Some((_, inner))), Some(_)) => inner,
        (Some(Some((_, context))), None) | (None, Some((_, context))) => context,
        (Some(None), _) => return Err(Loss::new(node, "x-regex without a group", "the field fails, and is dropped")),
        (None, None) => Context::default(),
    };
    context.close.extend(node.substitutions.iter().flat_map(dropped));
    plan.texts.push(TextField {
        name: name.to_owned(),
        path,
        context,
        also: Vec::new(),
        required,
        follows: false,
        content,
        example: typed::example(node),
        rewritten: node.substitutions.iter().filter_map(matched).collect(),
        changes: if node.parser.is_some() { typed::changes(node, &|path| Some(path.to_vec())) } else { Vec::new() },
    });
    Ok(())
}

/// The calls of a list: `own` are the parts of its pattern, `outer` is the group of the root's.
fn calls_of(
    plan: &Plan,
    node: &Node,
    own: Option<Vec<PatternPart>>,
    outer: Option<Surrounded<'_>>,
) -> Result<Calls, Loss> {
    if plan.calls.is_some() {
        return Err(Loss::new(node, "second list of calls", "only the first list is carried over"));
    }
    // A pattern whose groups are the name and the arguments is the call as a whole.
    let own = own.map(|parts| calls::spliced(parts, node));
    let place = match own.as_deref() {
        Some(whole) if marks::named(whole, "name").is_some() => Some((whole, Context::default())),
        own => own.and_then(marks::only),
    };
    let closes: Vec<&Mark> =
        plan.texts.iter().filter(|field| !field.is_implicit()).flat_map(|field| &field.context.close).collect();
    calls::read(node, place, outer, &|mark| closes.contains(&mark))
}

/// A text of a field that a substitution should rewrite.
fn matched(substitution: &Substitution) -> Option<String> {
    let pattern = substitution.regex.pattern.as_ref().ok()?;
    let text = marks::sample(&pattern.outline(), &|_, _| "x".to_owned());
    Some(text).filter(|text| !text.trim().is_empty()).map(|text| format!("Let me see {text}"))
}

/// The texts that a substitution drops everywhere.
fn dropped(substitution: &Substitution) -> Vec<Mark> {
    let is_empty =
        substitution.replacement.as_ref().is_ok_and(|replacement| replacement.filled(&|_| "x".to_owned()).is_empty());
    let Some(pattern) = substitution.regex.pattern.as_ref().ok().filter(|_| is_empty) else { return Vec::new() };
    let outline = pattern.outline();
    let branches = match outline.as_slice() {
        [PatternPart::Either(branches)] => branches.iter().map(Vec::as_slice).collect(),
        parts => vec![parts],
    };
    let text = |parts: &[PatternPart]| match parts {
        [PatternPart::Text(text)] if !text.trim().is_empty() => Some(Mark::Literal(text.clone())),
        _ => None,
    };
    branches.into_iter().filter_map(text).collect()
}

/// The outline of a node's `x-regex`, or else of its iterator.
fn compiled(node: &Node) -> Result<Option<Vec<PatternPart>>, Loss> {
    let Some(regex) = node.iterator.as_ref().or(node.regex.as_ref()) else { return Ok(None) };
    match &regex.pattern {
        Ok(pattern) => Ok(Some(pattern.outline())),
        Err(error) => Err(Loss::new(node, "pattern that does not compile", &format!("the field is dropped: {error}"))),
    }
}

/// A substitution that writes one wire format as another gives the field of the second the marks of the first as well.
fn substitutions(root: &Node, plan: &mut Plan) {
    for substitution in &root.substitutions {
        let Ok(pattern) = &substitution.regex.pattern else { continue };
        let outline = pattern.outline();
        let written = substitution.replacement.as_ref().ok().and_then(|replacement| replacement.around(1));
        let found = marks::only(&outline).zip(written).and_then(|((_, context), (open, close))| {
            let open_is = |field: &&mut TextField| field.context.open.iter().any(|mark| mark.is(&open));
            let field = plan.texts.iter_mut().find(open_is)?;
            let closes = field.context.close.iter().any(|mark| mark.is(&close));
            let mark = context.open.first().cloned().filter(|_| closes)?;
            field.also.push((mark, context.close));
            Some(())
        });
        if found.is_none() {
            let message = "the text is not rewritten before it is parsed: outputs that need this are read differently";
            plan.losses.push(Loss::new(root, "x-regex-substitutions", message));
        }
    }
}

/// Removes closings of other fields from each field's openings, and openings of other fields from its closings. A marker
/// that ends text without an opening belongs to the field that it opens.
fn separate(plan: &mut Plan) {
    let closes: Vec<(usize, Mark)> = plan
        .texts
        .iter()
        .enumerate()
        .filter(|(_, field)| !field.is_implicit())
        .flat_map(|(index, field)| field.context.close.iter().map(move |mark| (index, mark.clone())))
        .collect();
    for (index, field) in plan.texts.iter_mut().enumerate() {
        let is_foreign = |mark: &Mark| closes.iter().any(|(other, close)| *other != index && close.is(mark.sample()));
        if field.context.open.iter().any(is_foreign) {
            field.context.open.clear();
        }
    }
    let implicit = plan.texts.iter().filter(|field| field.is_implicit());
    let ends: Vec<Mark> = implicit.flat_map(TextField::closes).collect();
    for field in &mut plan.texts {
        let is_end = |open: &Mark| ends.iter().any(|end| end.is(open.sample()));
        field.follows = field.context.open.iter().any(is_end);
    }
    let mut opens: Vec<Mark> = plan.texts.iter().flat_map(|field| field.context.open.clone()).collect();
    opens.extend(plan.calls.iter().flat_map(|field| field.calls.open.clone()));
    opens.retain(|open| !open.sample().is_empty());
    let is_open = |mark: &Mark| opens.iter().any(|open| mark.sample().starts_with(open.sample()));
    let leads = plan.calls.iter().filter(|field| field.calls.open.is_empty()).map(|field| field.calls.lead_text());
    let leads: Vec<String> = opens.iter().map(|open| open.sample().to_owned()).chain(leads).collect();
    for field in &mut plan.texts {
        // The closing may be the opening of the next field, which closes text without markers.
        let is_lead = |mark: &Mark| !is_open(mark) && leads.iter().any(|lead| lead.starts_with(mark.sample()));
        if field.context.open.is_empty() {
            field.context.close.retain(|mark| !is_lead(mark));
        }
        for mark in field.context.close.iter_mut().filter(|mark| is_lead(mark)) {
            *mark = Mark::ahead_of(std::slice::from_ref(mark));
        }
        field.context.close.retain(|mark| !is_open(mark));
        field.context.excluded.retain(|mark| !is_open(mark));
        field.context.ahead.retain(|mark| !is_open(mark));
    }
}

impl TextField {
    /// Whether it takes text that no marker opens.
    pub fn is_implicit(&self) -> bool {
        self.context.open.is_empty()
    }

    /// Everything that ends it, except openings of other fields.
    pub fn closes(&self) -> Vec<Mark> {
        let Context { close, ahead, excluded, .. } = &self.context;
        let mut marks: Vec<Mark> = Vec::new();
        for mark in close.iter().chain(ahead).chain(excluded).chain(self.also.iter().flat_map(|(_, close)| close)) {
            if !marks.contains(mark) && (!mark.sample().is_empty() || mark.is_ahead()) {
                marks.push(mark.clone());
            }
        }
        marks
    }

    pub fn opens(&self) -> Vec<Mark> {
        self.context.open.iter().cloned().chain(self.also.iter().map(|(open, _)| open.clone())).collect()
    }

    /// Each opening with its closings.
    pub fn pairs(&self) -> Vec<(Mark, Vec<Mark>)> {
        let own = self.context.open.iter().map(|open| (open.clone(), self.context.close.clone()));
        own.chain(self.also.iter().cloned()).collect()
    }
}

impl Plan {
    /// The names and the paths of all fields.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let texts = self.texts.iter().map(|field| (field.name.as_str(), field.path.as_str()));
        texts.chain(self.calls.iter().map(|field| (field.name.as_str(), field.path.as_str())))
    }

    /// The fields in the order in which outputs have them: that of the root's groups, or else content before calls.
    pub fn order(&self, schema: &Schema) -> Vec<String> {
        let groups = schema.root().regex.as_ref().and_then(|regex| regex.pattern.as_ref().ok());
        let number = |name: &str| {
            let pattern = groups?;
            pattern.named_groups().iter().find(|(known, _)| **known == *name).map(|(_, group)| *group)
        };
        let rank = |name: &str| match (number(name), name) {
            (Some(group), _) => group,
            (None, "content") => u32::MAX - 1,
            _ => 0,
        };
        let place = |field: &TextField| match number(&field.name) {
            None if field.follows => u32::MAX,
            _ => rank(&field.name),
        };
        let mut names: Vec<(u32, String)> = self.texts.iter().map(|field| (place(field), field.name.clone())).collect();
        let calls = self.calls.iter().map(|field| (number(&field.name).unwrap_or(u32::MAX), field.name.clone()));
        names.extend(calls);
        names.sort_by_key(|(rank, _)| *rank);
        names.into_iter().map(|(_, name)| name).collect()
    }

    /// A template that was derived from the chat template, with the fields and the calls of this schema.
    pub fn renamed(&self, derived: &backchat_parser::template::Template) -> Option<Value> {
        let mut value = derived.to_value();
        let Value::Object(template) = &mut value else { return None };
        template.shift_remove("defaults");
        let Some(Value::Object(fields)) = template.shift_remove("fields") else { return None };
        let mut renamed = Object::new();
        for (name, field) in fields.iter() {
            let is_text = field.get("content").is_none() && field.get("repeats").is_none();
            let reasoning = self.texts.iter().find(|own| own.name != "content" && !own.is_implicit());
            let own = match name {
                "content" | "tool_calls" => Some(name.to_owned()),
                _ if is_text => reasoning.map(|field| field.name.clone()),
                _ => None,
            };
            let known = |name: &String| {
                self.texts.iter().any(|field| field.name == *name) || self.calls.iter().any(|field| field.name == *name)
            };
            if let Some(own) = own.filter(known) {
                renamed.insert(own, field.clone());
            }
        }
        if !self.defaults.is_empty() {
            template.insert("defaults", self.defaults.clone().into());
        }
        template.insert("fields", renamed.into());
        Some(value)
    }
}
