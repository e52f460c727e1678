//! Calls as they grow: a call's name as soon as it is certain, then the JSON text of its arguments piece by piece.
//!
//! Reported parts of a call are never revised. The concatenated pieces are the JSON text of the arguments that the
//! region closes with; if the model writes a key of them twice, they contain both, and JSON parsers keep the last, as the
//! value does. Of a name, an id or arguments that come twice, the first is reported, though the value has the last. An
//! argument that a tool's schema may cast waits until it is whole. A call whose parts cannot be reported early is sent whole,
//! just before its region closes.

mod shape;
mod tags;

pub(super) use shape::CallShape;

use std::sync::Arc;

use self::shape::CallSource;
use self::tags::Tags;
use super::event::EventRef;
use super::part::part;
use super::partial_json::{PartialJson, Sink, Use};
use crate::content::coerce::{Tools, cast_argument_of};
use crate::content::{CallListReader, Capture, Mode};
use crate::template::Field;
use backchat_core::json::Value;

/// The calls of the open region, reported as they grow.
#[derive(Clone, Debug)]
pub(super) struct GrowingCalls {
    body: Body,
    calls: Calls,
}

/// How the body is read.
#[derive(Clone, Debug)]
enum Body {
    Json(PartialJson),
    Tags(Tags),
    /// Calls in Python's words, read as the JSON that they say.
    CallList {
        calls: CallListReader,
        json: PartialJson,
    },
    /// Its calls are sent whole.
    Whole,
}

/// The calls of a region known so far.
#[derive(Clone, Debug)]
struct Calls {
    /// The field that the events name.
    field: Arc<str>,
    shape: Option<CallShape>,
    /// The captures of the open pattern.
    captures: Vec<Capture>,
    all: Vec<Call>,
    /// Whether the last of them is still being read.
    is_open: bool,
}

#[derive(Clone, Debug, Default)]
struct Call {
    /// Its number in the message, once it has one.
    index: Option<usize>,
    name: Option<String>,
    id: Option<String>,
    /// The text of its arguments so far.
    text: String,
    /// How many bytes of it have been reported.
    reported: usize,
}

/// A call of the value that a region closed with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClosedCall<'v> {
    pub id: Option<&'v str>,
    pub name: &'v str,
    pub arguments: &'v Value,
}

/// The calls of a region's value; `None` for each that has no name or no arguments.
pub(crate) fn closed_calls(value: &Value) -> impl Iterator<Item = Option<ClosedCall<'_>>> {
    let values = value.as_list().unwrap_or(std::slice::from_ref(value));
    values.iter().map(|call| {
        let function = call.get("function")?;
        let id = call.get("id").and_then(Value::as_str);
        Some(ClosedCall { id, name: name_of(function.get("name")?)?, arguments: function.get("arguments")? })
    })
}

fn name_of(value: &Value) -> Option<&str> {
    value.as_str().filter(|name| !name.is_empty())
}

/// The body of a region so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct More<'t> {
    pub body: &'t str,
    /// Its new part.
    pub text: &'t str,
}

impl GrowingCalls {
    /// Begins with a region of the field. Without a shape its calls come whole.
    pub fn new(field: &Field, name: &Arc<str>, shape: Option<&CallShape>, captures: &[Capture]) -> Self {
        let body = match shape {
            None => Body::Whole,
            Some(_) if field.content.tags().is_some() => Body::Tags(Tags::default()),
            Some(_) if field.content.is_call_list() => {
                Body::CallList { calls: CallListReader::default(), json: PartialJson::default() }
            }
            Some(_) => Body::Json(PartialJson::default()),
        };
        let (field, shape, captures) = (name.clone(), shape.cloned(), captures.to_vec());
        Self { body, calls: Calls { field, shape, captures, all: Vec::new(), is_open: false } }
    }

    /// Reports the part of a call that the opening holds: the name, if the open pattern took it.
    pub fn begin(&mut self, next: &mut usize, sink: &mut dyn FnMut(EventRef<'_>)) {
        if let Some(CallShape { each: false, .. }) = &self.calls.shape {
            self.calls.open();
            self.calls.report(next, sink);
        }
    }

    /// Reads more of the body.
    pub fn grow(
        &mut self,
        field: &Field,
        More { body, text }: More<'_>,
        tools: Option<&Tools>,
        next: &mut usize,
        sink: &mut dyn FnMut(EventRef<'_>),
    ) {
        match &mut self.body {
            Body::Whole => return,
            Body::Json(reader) => {
                reader.push(text, &mut CallValues { calls: &mut self.calls, tools });
            }
            Body::CallList { calls, json } => {
                let mut said = String::new();
                calls.push(text, &mut said);
                json.push(&said, &mut CallValues { calls: &mut self.calls, tools });
            }
            Body::Tags(tags) => {
                let (Some(call), Some(args)) = (self.calls.all.last_mut(), field.content.tags()) else { return };
                if tags.read(args, body, call.name.as_deref(), tools, &mut call.text).is_err() {
                    // The region will close without a value, and its reason says why.
                    self.body = Body::Whole;
                }
            }
        }
        self.calls.report(next, sink);
    }

    /// Reports the rest of the calls in the region's value.
    pub fn finish(mut self, value: &Value, next: &mut usize, sink: &mut dyn FnMut(EventRef<'_>)) {
        for (place, closed) in closed_calls(value).enumerate() {
            let Some(ClosedCall { id, name, arguments }) = closed else { continue };
            let whole = arguments.to_string();
            let mut call = self.calls.all.get_mut(place).map(std::mem::take).unwrap_or_default();
            let reported = part(&call.text, 0..call.reported);
            if whole.starts_with(reported) {
                call.text = whole;
            } else if matches!(self.body, Body::Tags(_)) {
                // A tag came twice. The reported part stays; the object ends.
                call.text.push('}');
            }
            call.name = Some(name.to_owned());
            call.id = call.id.or_else(|| id.map(str::to_owned));
            call.report(&self.calls.field, next, sink);
        }
    }
}

impl Calls {
    /// Begins a call. Its captures from the open pattern are known at once.
    fn open(&mut self) {
        let captured = |part: Option<&CallSource>| match part {
            Some(CallSource::Capture(name)) => self.captures.iter().find(|capture| *capture.name == **name),
            // Under `transform_each` an element may lack the key that a group has.
            _ => None,
        };
        let shape = self.shape.as_ref();
        let name = captured(shape.map(|shape| &shape.name)).map(|capture| capture.text.clone());
        let name = name.filter(|name| !name.is_empty());
        let id = captured(shape.and_then(|shape| shape.id.as_ref())).map(|capture| capture.text.clone());
        self.all.push(Call { name, id, ..Call::default() });
        self.is_open = true;
    }

    fn report(&mut self, next: &mut usize, sink: &mut dyn FnMut(EventRef<'_>)) {
        // Earlier calls are reported whole; a new one waits for the previous call's name.
        for call in &mut self.all {
            if call.name.is_none() {
                return;
            }
            call.report(&self.field, next, sink);
        }
    }
}

impl Call {
    fn report(&mut self, field: &Arc<str>, next: &mut usize, sink: &mut dyn FnMut(EventRef<'_>)) {
        let Some(name) = &self.name else { return };
        let index = *self.index.get_or_insert_with(|| {
            let index = *next;
            *next += 1;
            sink(EventRef::CallStart { field, index, name, id: self.id.as_deref() });
            index
        });
        if let Some(delta) = self.text.get(self.reported..).filter(|delta| !delta.is_empty()) {
            sink(EventRef::CallArguments { field, index, delta });
            self.reported = self.text.len();
        }
    }
}

/// The values that the calls of a region take from the JSON of its body.
struct CallValues<'r> {
    calls: &'r mut Calls,
    tools: Option<&'r Tools>,
}

impl CallValues<'_> {
    /// The keys from the call's root to a value; `None` for a value outside all calls.
    fn below<'p>(&self, path: &'p [Option<String>]) -> Option<Vec<&'p str>> {
        let inside = match (self.calls.shape.as_ref()?.each, path) {
            (true, [None, inside @ ..]) => inside,
            (true, _) => return None,
            (false, inside) => inside,
        };
        inside.iter().map(Option::as_deref).collect()
    }
}

fn is(keys: &[&str], path: &[String]) -> bool {
    keys.len() == path.len() && keys.iter().zip(path).all(|(key, step)| key == step)
}

impl Sink for CallValues<'_> {
    fn begins(&mut self, path: &[Option<String>]) -> Use {
        let Some(keys) = self.below(path) else { return Use::Enter };
        if keys.is_empty() && !self.calls.is_open {
            self.calls.open();
        }
        let Some(shape) = &self.calls.shape else { return Use::Enter };
        let is_part = |part: &CallSource| matches!(part, CallSource::Path(path) if is(&keys, path));
        if is_part(&shape.name) || shape.id.as_ref().is_some_and(is_part) {
            return Use::Take;
        }
        if !is(&keys, &shape.arguments) {
            return Use::Enter;
        }
        match (self.tools, self.calls.all.last()) {
            // They came before.
            (_, Some(call)) if !call.text.is_empty() => Use::Enter,
            // Their types are not known yet.
            (Some(_), Some(Call { name: None, .. })) => Use::Take,
            _ => Use::Write,
        }
    }

    fn write(&mut self, text: &str) {
        if let Some(call) = self.calls.all.last_mut() {
            call.text.push_str(text);
        }
    }

    fn holds(&self, path: &[Option<String>]) -> bool {
        let name = self.calls.all.last().and_then(|call| call.name.as_deref());
        match (self.tools, name, path.last()) {
            (Some(tools), Some(name), Some(Some(key))) => tools.casts(name, key),
            _ => false,
        }
    }

    fn release(&self, path: &[Option<String>], mut value: Value) -> Option<String> {
        let name = self.calls.all.last()?.name.as_deref()?;
        cast_argument_of(self.tools?, name, path.last()?.as_deref()?, &mut value, Mode::Stable).ok()?;
        Some(value.to_string())
    }

    fn take(&mut self, path: &[Option<String>], value: Value) {
        let Some(keys) = self.below(path) else { return };
        let (Some(shape), Some(call)) = (&self.calls.shape, self.calls.all.last_mut()) else { return };
        let is_part = |part: &CallSource| matches!(part, CallSource::Path(path) if is(&keys, path));
        if is_part(&shape.name) {
            // The first of two counts here; a second one changes arguments that were reported already.
            call.name = call.name.take().or_else(|| name_of(&value).map(str::to_owned));
        } else if shape.id.as_ref().is_some_and(is_part) {
            call.id = call.id.take().or_else(|| value.as_str().map(str::to_owned));
        }
    }

    fn leave(&mut self, path: &[Option<String>]) {
        if self.below(path).is_some_and(|keys| keys.is_empty()) {
            self.calls.is_open = false;
        }
    }
}
