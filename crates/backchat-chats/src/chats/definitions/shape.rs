//! The shape of tools without their texts, and its possible extensions by one piece.

use backchat_core::json::{Object, Value};
use backchat_probe::probe::schema;

/// The most enum values of a parameter.
const MOST_CHOICES: usize = 64;
/// How deep nested parameters are searched.
const DEEPEST: usize = 4;

/// A text or a value of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// A name.
    Word,
    /// One of the texts to choose from.
    Choice,
    /// Any text.
    Free,
    /// A JSON value.
    Json,
}

#[derive(Clone, Debug)]
pub(super) struct Tool {
    is_described: bool,
    parameters: Option<Schema>,
}

/// The schema of a value.
#[derive(Clone, Debug, Default)]
struct Schema {
    /// Whether it is read as JSON as a whole.
    is_whole: bool,
    kind: &'static str,
    is_described: bool,
    /// How many texts it chooses from.
    choices: usize,
    items: Option<Box<Schema>>,
    properties: Vec<Property>,
    /// Whether an empty list of required properties is written.
    lists_none: bool,
}

#[derive(Clone, Debug)]
struct Property {
    schema: Schema,
    is_required: bool,
}

/// The kinds of values, and those of the items of a list.
const KINDS: [(&str, Option<&str>); 11] = [
    ("string", None),
    ("integer", None),
    ("number", None),
    ("boolean", None),
    ("array", Some("string")),
    ("array", Some("integer")),
    ("array", Some("number")),
    ("array", Some("boolean")),
    ("array", Some("object")),
    ("array", None),
    ("object", None),
];

/// The effort of a search: only string parameters and texts that end at the first possible place, or parameters of any
/// type and any end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    Near,
    Far,
}

/// The tools with one more piece: a detail of the last one, or another one.
pub(super) fn grown(tools: &[Tool], reach: Reach) -> Vec<Vec<Tool>> {
    let mut all = Vec::new();
    if let Some((last, before)) = tools.split_last() {
        all.extend(last.grown(reach).into_iter().map(|tool| [before, &[tool]].concat()));
    }
    all.extend(Tool::new().into_iter().map(|tool| [tools, &[tool]].concat()));
    all
}

impl Tool {
    fn new() -> Vec<Self> {
        let object = Schema::of(("object", None));
        let parameters = [
            Some(object.clone()),
            Some(Schema { lists_none: true, ..object }),
            Some(Schema { is_whole: true, ..Schema::default() }),
            None,
        ];
        let all = parameters.into_iter().flat_map(|parameters| {
            [false, true].map(|is_described| Tool { is_described, parameters: parameters.clone() })
        });
        all.collect()
    }

    fn grown(&self, reach: Reach) -> Vec<Self> {
        let Some(parameters) = &self.parameters else { return Vec::new() };
        let grown = parameters.grown(DEEPEST, reach).into_iter();
        grown.map(|parameters| Tool { parameters: Some(parameters), ..self.clone() }).collect()
    }
}

impl Schema {
    fn of((kind, items): (&'static str, Option<&'static str>)) -> Self {
        let items = items.map(|items| Box::new(Self::of((items, None))));
        Self { kind, items, ..Self::default() }
    }

    /// The schema with one more detail of its own, of its items, or of one of its properties.
    fn grown(&self, depth: usize, reach: Reach) -> Vec<Self> {
        if self.is_whole || depth == 0 {
            return Vec::new();
        }
        let mut all = Vec::new();
        if self.kind == "string" && self.choices < MOST_CHOICES {
            all.push(Self { choices: self.choices + 1, ..self.clone() });
        }
        if let Some(items) = &self.items {
            let grown = items.changed(depth - 1, reach).into_iter();
            all.extend(grown.map(|items| Self { items: Some(Box::new(items)), ..self.clone() }));
        }
        if self.kind != "object" {
            return all;
        }
        let last = self.properties.len().checked_sub(1);
        for (index, property) in self.properties.iter().enumerate() {
            let with = |changed: Property| {
                let mut properties = self.properties.clone();
                properties.splice(index..=index, [changed]);
                Self { properties, ..self.clone() }
            };
            all.push(with(Property { is_required: !property.is_required, ..property.clone() }));
            let changed = match Some(index) == last {
                true => property.schema.changed(depth - 1, reach),
                false => vec![property.schema.described()],
            };
            all.extend(changed.into_iter().map(|schema| with(Property { schema, ..property.clone() })));
        }
        let whole = Schema { is_whole: true, ..Schema::default() };
        let kinds = KINDS.iter().take(if reach == Reach::Near { 1 } else { KINDS.len() }).map(|kind| Self::of(*kind));
        for schema in kinds.flat_map(|schema| [schema.clone(), schema.described()]).chain([whole]) {
            for is_required in [false, true] {
                let mut properties = self.properties.clone();
                properties.push(Property { schema: schema.clone(), is_required });
                all.push(Self { properties, ..self.clone() });
            }
        }
        all
    }

    /// The schema with a description, or without the one it has.
    fn described(&self) -> Self {
        Self { is_described: !self.is_described, ..self.clone() }
    }

    /// The variants of a property or an item, whose type may also change.
    fn changed(&self, depth: usize, reach: Reach) -> Vec<Self> {
        let mut all = vec![self.described()];
        let kinds = KINDS.iter().map(|kind| Self { is_described: self.is_described, ..Self::of(*kind) });
        all.extend(kinds.filter(|_| self.properties.is_empty()));
        all.extend(self.grown(depth, reach));
        all
    }

    fn fill(&self, next: &mut dyn FnMut(Slot) -> Value) -> Value {
        if self.is_whole {
            return next(Slot::Json);
        }
        let mut made = Object::from_iter([("type".to_owned(), Value::from(self.kind))]);
        if self.is_described {
            made.insert("description", next(Slot::Free));
        }
        if self.choices > 0 {
            made.insert("enum", Value::List((0..self.choices).map(|_| next(Slot::Choice)).collect()));
        }
        if let Some(items) = &self.items {
            made.insert("items", items.fill(next));
        }
        if self.kind != "object" {
            return Value::Object(made);
        }
        let mut properties = Object::new();
        let mut required = Vec::new();
        for property in &self.properties {
            let name = next(Slot::Word);
            let schema = property.schema.fill(next);
            properties.extend(name.as_str().map(|name| (name.to_owned(), schema)));
            required.extend(property.is_required.then_some(name));
        }
        made.insert("properties", Value::Object(properties));
        if !required.is_empty() || self.lists_none {
            made.insert("required", Value::List(required));
        }
        Value::Object(made)
    }
}

/// The definitions of tools with these texts, queried in the order of the definitions.
pub(super) fn fill(tools: &[Tool], next: &mut dyn FnMut(Slot) -> Value) -> Value {
    let defined = tools.iter().map(|tool| {
        let mut function = Object::from_iter([("name".to_owned(), next(Slot::Word))]);
        if tool.is_described {
            function.insert("description", next(Slot::Free));
        }
        function.extend(tool.parameters.as_ref().map(|schema| ("parameters".to_owned(), schema.fill(next))));
        schema::function(function)
    });
    Value::List(defined.collect())
}
