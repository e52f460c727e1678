//! The result for a request, as the command prints it and Python returns it: the grammar, and what an engine must know
//! beside it.

use super::{Format, names_special_tokens};
use crate::grammar::Grammar;
use crate::notes::Note;
use crate::request::INPUT;
use crate::turn::{Start, Trigger};
use backchat_core::json::{Object, Value, texts};

/// The layout of a grammar, where its format has several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// From the first character on, even if the grammar can start at a call.
    pub is_full: bool,
    /// All rules as text, even if the engine has equivalent formats of its own.
    pub is_text: bool,
}

/// A grammar in a format.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub grammar: Value,
    /// What starts the grammar, if it starts at a call.
    pub triggers: Option<Vec<Trigger>>,
}

/// Writes a grammar: from the first call on, if that is possible and wanted.
pub fn written(grammar: &Grammar, format: Format, layout: Layout) -> Written {
    let target = format.target();
    if let Some((text, triggers)) = target.lazy.filter(|_| !layout.is_full).and_then(|lazy| lazy(grammar)) {
        return Written { grammar: text.into(), triggers: Some(triggers.to_vec()) };
    }
    let write = target.as_text.filter(|_| layout.is_text).unwrap_or(target.write);
    Written { grammar: write(grammar), triggers: None }
}

/// Writes a grammar with all that an engine must know beside it.
pub fn result(grammar: &Grammar, format: Format, layout: Layout) -> Value {
    let Written { grammar: text, triggers } = written(grammar, format, layout);
    let mut out = Object::new();
    out.insert("format", format.name().into());
    out.insert("grammar", text);
    out.insert("lazy", triggers.is_some().into());
    out.insert("triggers", Value::List(triggers.iter().flatten().map(trigger).collect()));
    out.insert("preserved_tokens", texts(&grammar.preserved));
    let special = grammar.special.iter().filter(|_| names_special_tokens(format));
    out.insert("special_tokens", Value::List(special.map(|token| token.text.as_str().into()).collect()));
    let stop = grammar.stop.iter();
    let stop = stop.map(|(text, after)| Value::from([("text", text.as_str().into()), ("after", (*after).into())]));
    out.insert("stop", Value::List(stop.collect()));
    let start = [("inside", grammar.start.inside.into()), ("held", "".into())];
    out.insert("start", Value::from(start));
    out.insert("reasoning", reasoning(&grammar.start));
    if let Some(bans) = &grammar.bans {
        let bans = Value::from([("texts", texts(bans)), ("tokens", texts(&grammar.banned_tokens))]);
        out.insert("bans", bans);
    }
    if !grammar.custom.is_empty() {
        let custom = grammar.custom.iter().map(|name| (name.clone(), INPUT.into())).collect();
        out.insert("custom_tools", Value::Object(custom));
    }
    out.insert("notes", Value::List(grammar.notes.iter().map(Note::to_value).collect()));
    Value::Object(out)
}

fn trigger(trigger: &Trigger) -> Value {
    Value::from([("type", trigger.kind.into()), ("value", trigger.value.as_str().into())])
}

/// The delimiters of reasoning.
fn reasoning(start: &Start) -> Value {
    let thinking = &start.thinking;
    Value::from([
        ("inside", start.inside.is_some().into()),
        ("open", thinking.open.as_deref().into()),
        ("end", thinking.end.as_deref().into()),
        ("force", thinking.force.as_deref().into()),
    ])
}
