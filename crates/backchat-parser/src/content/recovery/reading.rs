//! Parses the body of calls: strictly first, then with the enabled policies; reports problems.

use std::ops::Range;

use super::call_form::CallForm;
use super::call_keys;
use super::kind::ProblemKind;
use super::policy::{Policies, RecoveryPolicy};
use super::tags::{self, Tags};
use super::tolerant::{self, Tolerated};
use super::tool_name;
use super::validate::{self, below};
use crate::content::coerce::{Tools, cast_calls};
use crate::content::{self, Capture, Mode, Reason, tolerant_call_list};
use crate::template::{Field, JsonArgs, TagArgs};
use backchat_core::json::{self, Object, Value};

/// How a body is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'r> {
    /// The tools of the request, if there are any.
    pub tools: Option<&'r Tools>,
    pub policies: Policies,
    /// Whether arguments are checked against the schemas of their tools.
    pub validate: bool,
    /// Whether a delimiter ended the body.
    pub is_delimited: bool,
    /// Whether the end of the text cut it before its closer.
    pub is_cut: bool,
    /// Whether one object counts as a list of one.
    pub is_bare: bool,
}

/// A body of calls, read.
#[derive(Debug)]
pub(crate) struct ReadCalls {
    /// The value; `None` if the call is dropped because the end of the text truncated it.
    pub value: Result<Option<Value>, Box<Reason>>,
    pub deviations: Vec<Deviation>,
    /// Whether the end of the text truncated the call before all of its arguments.
    pub is_unfinished: bool,
}

/// A problem of a body.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Deviation {
    pub kind: ProblemKind,
    /// The bytes of the body that it is about; `None` for the whole body.
    pub range: Option<Range<usize>>,
    /// The index of the call in the body.
    pub call: Option<usize>,
    /// Its position in the arguments, as a JSON pointer.
    pub path: Option<String>,
    pub reason: Option<String>,
    /// The policies that recover it.
    pub fix: Policies,
    /// Whether they did.
    pub is_fixed: bool,
}

impl Deviation {
    fn new(kind: ProblemKind, call: Option<usize>) -> Self {
        let fix = Policies::none();
        Self { kind, range: None, call, path: None, reason: None, fix, is_fixed: false }
    }

    /// An opener that no value follows.
    pub fn of_opener() -> Self {
        Self { fix: RecoveryPolicy::FalseOpeners.into(), ..Self::new(ProblemKind::FalseOpener, None) }
    }

    fn fixed_by(self, policy: RecoveryPolicy, asked: Policies) -> Self {
        Self { fix: policy.into(), is_fixed: asked.contains(policy), ..self }
    }
}

/// Reads the body of a region of calls.
pub(crate) fn read(
    field: &Field,
    form: &CallForm,
    body: &str,
    captures: &[Capture],
    request: Request<'_>,
) -> ReadCalls {
    let mut reader = CallReader { field, form, body, captures, request, deviations: Vec::new(), is_unfinished: false };
    let value = reader.read().map_err(Box::new);
    ReadCalls { value, deviations: reader.deviations, is_unfinished: reader.is_unfinished }
}

struct CallReader<'r> {
    field: &'r Field,
    form: &'r CallForm,
    body: &'r str,
    captures: &'r [Capture],
    request: Request<'r>,
    deviations: Vec<Deviation>,
    is_unfinished: bool,
}

impl CallReader<'_> {
    fn read(&mut self) -> Result<Option<Value>, Reason> {
        let content = &self.field.content;
        let mut value = match (content.json(), content.tags()) {
            (Some(args), _) => self.json(args)?,
            (_, Some(args)) => self.tags(args)?,
            _ if content.is_call_list() => self.call_list()?,
            _ => self.shaped(content::value(content, self.body, Mode::Stable)?)?,
        };
        if self.is_unfinished && self.request.policies.contains(RecoveryPolicy::DropUnfinished) {
            self.deviations.clear();
            return Ok(None);
        }
        for (place, function) in functions(&mut value).enumerate() {
            self.judge(place, function);
        }
        if let Some(tools) = self.request.tools {
            cast_calls(tools, &mut value, Mode::Stable)?;
        }
        if self.request.validate {
            for (place, function) in functions(&mut value).enumerate() {
                self.validate(place, function);
            }
        }
        Ok(Some(value))
    }

    fn shaped(&self, content: Value) -> Result<Value, Reason> {
        match &self.field.transform {
            Some(shape) => content::transform(shape, content, self.captures),
            None => Ok(content),
        }
    }

    fn json(&mut self, args: &JsonArgs) -> Result<Value, Reason> {
        let strict = self.strict_json(args);
        let (value, duplicates) = match strict {
            Ok(read) => read,
            Err(reason) => return self.tolerant_json(args, reason),
        };
        self.report_duplicates(&duplicates);
        Ok(value)
    }

    /// The value of a conforming body, and the paths of duplicate keys in it.
    fn strict_json(&self, args: &JsonArgs) -> Result<(Value, Vec<Vec<String>>), Reason> {
        if args.is_plain() && !self.request.is_bare {
            // Almost every body ends here.
            let (value, has_duplicates) = content::json::load_noting_duplicates(self.body)?;
            let value = self.shaped(value)?;
            let again = has_duplicates.then(|| tolerant::read(self.body, Policies::none(), true)).flatten();
            return Ok((value, again.map(|read| read.duplicates).unwrap_or_default()));
        }
        let value = content::value(&self.field.content, self.body, Mode::Stable)?;
        Ok((self.shaped(self.listed(value))?, Vec::new()))
    }

    fn listed(&self, value: Value) -> Value {
        let is_list = self.form.paths.as_ref().is_some_and(|paths| paths.each);
        match value {
            one @ Value::Object(_) if self.request.is_bare && is_list => Value::List(vec![one]),
            value => value,
        }
    }

    /// Parses a body that fails strict parsing.
    fn tolerant_json(&mut self, args: &JsonArgs, reason: Reason) -> Result<Value, Reason> {
        let malformed = Deviation { reason: Some(reason.to_string()), ..Deviation::new(ProblemKind::Malformed, None) };
        let asked = self.request.policies;
        if !reason.is_exhausted_pattern()
            && let Some(mut read) = self.with_policies(args, asked)
        {
            let call = functions(&mut read.value).next().map(|_| 0);
            self.deviations.push(Deviation { fix: read.used, is_fixed: true, call, ..malformed });
            self.report_duplicates(&read.duplicates);
            return Ok(read.value);
        }
        let fix = self.with_policies(args, Policies::every()).map(|read| read.used).unwrap_or_default();
        self.deviations.push(Deviation { fix, ..malformed });
        Err(reason)
    }

    fn call_list(&mut self) -> Result<Value, Reason> {
        let reason = match content::value(&self.field.content, self.body, Mode::Stable) {
            Ok(value) => return self.shaped(value),
            Err(reason) => reason,
        };
        let tolerant = |policies| tolerant_call_list(self.body, policies, self.request.is_delimited);
        let recovered = tolerant(self.request.policies);
        let (fix, is_fixed) = match &recovered {
            Some((_, used)) => (*used, true),
            None => (tolerant(Policies::every()).map(|(_, used)| used).unwrap_or_default(), false),
        };
        let found = Deviation::new(ProblemKind::Malformed, is_fixed.then_some(0));
        self.deviations.push(Deviation { reason: Some(reason.to_string()), fix, is_fixed, ..found });
        recovered.map_or(Err(reason), |(value, _)| self.shaped(value))
    }

    fn with_policies(&self, args: &JsonArgs, policies: Policies) -> Option<Tolerated> {
        if policies.is_empty() {
            return None;
        }
        let Tolerated { value, mut used, duplicates } = match args.is_plain() {
            true => tolerant::read(self.body, policies, self.request.is_delimited)?,
            false => {
                let value = content::value(&self.field.content, self.body, Mode::Stable).ok()?;
                Tolerated { value, used: Policies::none(), duplicates: Vec::new() }
            }
        };
        let mut content = self.listed(value);
        if let Ok(value) = self.shaped(content.clone()) {
            return Some(Tolerated { value, used, duplicates });
        }
        let paths = self.form.paths.as_ref().filter(|_| policies.contains(RecoveryPolicy::CallKeys))?;
        if !call_keys::rename(&mut content, paths, self.request.tools) {
            return None;
        }
        used = used.with(RecoveryPolicy::CallKeys);
        let value = self.shaped(content).ok()?;
        Some(Tolerated { value, used, duplicates })
    }

    fn report_duplicates(&mut self, duplicates: &[Vec<String>]) {
        for keys in duplicates {
            let (place, inside) = match (self.form.paths.as_ref().is_some_and(|paths| paths.each), keys.as_slice()) {
                (true, [place, inside @ ..]) => (place.parse().unwrap_or(0), inside),
                (_, inside) => (0, inside),
            };
            let arguments = self.form.paths.as_ref().and_then(|paths| paths.arguments.as_deref());
            let path = arguments.and_then(|arguments| inside.strip_prefix(arguments));
            let path = path.map(|keys| keys.iter().fold(String::new(), |path, key| below(&path, key)));
            self.deviations.push(Deviation { path, ..Deviation::new(ProblemKind::DuplicateKey, Some(place)) });
        }
    }

    fn tags(&mut self, args: &TagArgs) -> Result<Value, Reason> {
        let value = self.read_tags(args);
        if let Err(reason) = &value {
            let found = Deviation::new(ProblemKind::Malformed, None);
            self.deviations.push(Deviation { reason: Some(reason.to_string()), ..found });
        }
        value
    }

    fn read_tags(&mut self, args: &TagArgs) -> Result<Value, Reason> {
        let strictly = tags::TagContext { tool: None, head: None };
        let mut tags = tags::read(self.body, args, strictly)?;
        let Request { tools, policies, is_delimited, is_cut, .. } = self.request;
        if !tags.is_bare || is_cut || tags.may_hold && tools.is_some() {
            let name = name_of(&self.shaped(Value::Object(tags.read.entries.clone()))?);
            self.is_unfinished = is_cut && !(tags.is_bare && self.has_required(name.as_deref(), &tags.read.entries));
            let tool = tools.zip(name.as_deref()).and_then(|(tools, name)| {
                let known = if tools.has(name) { Some(name) } else { tool_name::meant(name, tools) };
                Some((tools, known?))
            });
            let head = self.form.head(self.field);
            // What this reading splits off may be no value: that says nothing against the first reading.
            if let Ok(tolerant) = tags::read(self.body, args, tags::TagContext { tool, head }) {
                self.report_tags(&tolerant);
                // The end of the text does not end a value.
                if policies.contains(RecoveryPolicy::UnclosedTags) && (is_delimited || tolerant.ignored.is_empty()) {
                    tags = tolerant;
                }
            }
        }
        for key in tags.duplicates {
            let found = Deviation::new(ProblemKind::DuplicateKey, Some(0));
            self.deviations.push(Deviation { path: Some(below("", &key)), ..found });
        }
        self.shaped(Value::Object(tags.read.entries))
    }

    fn report_tags(&mut self, tags: &Tags) {
        let asked = self.request.policies;
        for (key, range) in &tags.absorbed {
            let found =
                Deviation::new(ProblemKind::ArgumentAbsorbed, Some(0)).fixed_by(RecoveryPolicy::UnclosedTags, asked);
            let path = Some(below("", key));
            self.deviations.push(Deviation { range: Some(range.clone()), path, ..found });
        }
        for (range, is_read) in tags.ignored.iter().filter(|_| self.request.is_delimited) {
            let found = Deviation::new(ProblemKind::TextIgnored, Some(0));
            let found = if *is_read { found.fixed_by(RecoveryPolicy::UnclosedTags, asked) } else { found };
            self.deviations.push(Deviation { range: Some(range.clone()), ..found });
        }
    }

    /// Whether a call has the required arguments of its tool; for an unknown tool, whether it has any.
    fn has_required(&self, name: Option<&str>, entries: &Object) -> bool {
        let required = self.request.tools.zip(name).and_then(|(tools, name)| tools.requires(name));
        match required {
            Some(required) => required.iter().all(|key| entries.contains_key(key)),
            None => !entries.is_empty(),
        }
    }

    /// Checks the name and the arguments of a call.
    fn judge(&mut self, place: usize, function: &mut Object) {
        let asked = self.request.policies;
        let found = |kind| Deviation::new(kind, Some(place));
        match function.get("name").and_then(Value::as_str).filter(|name| !name.trim().is_empty()) {
            None => self.deviations.push(found(ProblemKind::NamelessCall)),
            Some(name) => {
                if let Some(tools) = self.request.tools.filter(|tools| !tools.has(name)) {
                    let mut found = found(ProblemKind::UnknownTool);
                    if let Some(meant) = tool_name::meant(name, tools) {
                        found = found.fixed_by(RecoveryPolicy::ToolNames, asked);
                        if found.is_fixed {
                            function.insert("name", meant.into());
                        }
                    }
                    self.deviations.push(found);
                }
            }
        }
        self.judge_arguments(place, function);
    }

    fn judge_arguments(&mut self, place: usize, function: &mut Object) {
        let found = Deviation::new(ProblemKind::ArgumentsNotObject, Some(place));
        match function.get_mut("arguments") {
            None | Some(Value::Null | Value::Object(_)) => {}
            Some(arguments) => {
                let inside = arguments.as_str().and_then(|text| json::read(text).ok());
                let Some(inside @ Value::Object(_)) = inside else { return self.deviations.push(found) };
                let found = found.fixed_by(RecoveryPolicy::EncodedArguments, self.request.policies);
                if found.is_fixed {
                    *arguments = inside;
                }
                self.deviations.push(found);
            }
        }
    }

    fn validate(&mut self, place: usize, function: &Object) {
        let name = function.get("name").and_then(Value::as_str);
        let schema = self.request.tools.zip(name).and_then(|(tools, name)| tools.schema(name));
        let arguments = function.get("arguments").filter(|arguments| matches!(arguments, Value::Object(_)));
        let (Some(schema), Some(arguments)) = (schema, arguments) else { return };
        for (path, keyword) in validate::violations(arguments, schema) {
            let found = Deviation::new(ProblemKind::InvalidArguments, Some(place));
            self.deviations.push(Deviation { path: Some(path), reason: Some(keyword.to_owned()), ..found });
        }
    }
}

/// The functions of the calls that a region's value is, or has.
fn functions(value: &mut Value) -> impl Iterator<Item = &mut Object> {
    fn function(call: &mut Value) -> Option<&mut Object> {
        let Value::Object(call) = call else { return None };
        match call.get_mut("function") {
            Some(Value::Object(function)) => Some(function),
            _ => None,
        }
    }
    let calls = match value {
        Value::List(calls) => calls.as_mut_slice(),
        one => std::slice::from_mut(one),
    };
    calls.iter_mut().filter_map(function)
}

fn name_of(call: &Value) -> Option<String> {
    call.get("function")?.get("name").and_then(Value::as_str).map(str::to_owned)
}
