//! Recovers tool definitions from any rendered format. They are assembled piece by piece with needles for texts; at
//! each step, the piece whose render explains most of the text is kept. A result is returned only if it renders back.

mod pattern;
mod shape;

use backchat_core::json::Value;
use backchat_probe::probe::needle::Needles;
use pattern::{Match, Pattern};
use shape::{Reach, Slot, Tool, fill, grown};

/// How many renders one text may cost.
const MOST_RENDERS: usize = 6000;
/// How many tools a text may define.
const MOST_TOOLS: usize = 64;

/// Renders messages with tools; `None` if the template refuses them.
pub(super) type Render<'r> = &'r dyn Fn(&[Value], &Value) -> Option<String>;

/// A text, and the messages it is a render of.
#[derive(Clone, Copy)]
pub(super) struct Rendered<'r> {
    pub text: &'r str,
    /// Whether it may end before the render does.
    pub is_open: bool,
    pub messages: &'r [Value],
    /// The message whose content may contain the tools in addition to its own text.
    pub unsure: Option<usize>,
}

/// Messages and tools that render to a text.
#[derive(Debug)]
pub(super) struct Defined {
    pub messages: Vec<Value>,
    pub tools: Value,
}

/// Reads the tools of a render.
pub(super) fn read(render: Render<'_>, rendered: Rendered<'_>) -> Option<Defined> {
    let mut search = Search { render, rendered, renders: 0 };
    let mut best: Option<(Vec<Tool>, Match)> = None;
    loop {
        let known = best.as_ref().map_or(&[][..], |(tools, _)| tools);
        let least = best.as_ref().map_or(i64::MIN, |(_, found)| found.score);
        let better =
            [Reach::Near, Reach::Far].into_iter().find_map(|reach| search.best(grown(known, reach), reach, least));
        let (tools, found) = better.filter(|(tools, _)| tools.len() <= MOST_TOOLS)?;
        if found.is_complete
            && let Some(defined) = search.proved(&tools, &found)
        {
            return Some(defined);
        }
        best = Some((tools, found));
    }
}

struct Search<'s> {
    render: Render<'s>,
    rendered: Rendered<'s>,
    renders: usize,
}

impl Search<'_> {
    /// The number of the needle that is the name of the first tool.
    fn first_name(&self) -> usize {
        usize::from(self.rendered.unsure.is_some())
    }

    /// The tools that explain most of the text, if they explain more than `least` and the name of the first one is
    /// found.
    fn best(&mut self, all: Vec<Vec<Tool>>, reach: Reach, least: i64) -> Option<(Vec<Tool>, Match)> {
        let mut best: Option<(Vec<Tool>, Match)> = None;
        for tools in all {
            let Some(found) = self.matched(&tools, reach) else { continue };
            if !found.bound.contains_key(&self.first_name()) {
                continue;
            }
            if found.score > best.as_ref().map_or(least, |(_, known)| known.score) {
                best = Some((tools, found));
            }
        }
        best
    }

    /// How much of the text the render of these tools explains.
    fn matched(&mut self, tools: &[Tool], reach: Reach) -> Option<Match> {
        self.renders += 1;
        if self.renders > MOST_RENDERS {
            return None;
        }
        let mut needles = Needles::new(self.rendered.text);
        let mut slots = Vec::new();
        let mut next = |slot: Slot| {
            slots.push(slot);
            let needle = needles.draw();
            match slot {
                Slot::Json => Value::from([(needle.as_str(), true.into())]),
                Slot::Word | Slot::Choice | Slot::Free => needle.into(),
            }
        };
        let messages = self.messages_with(self.rendered.unsure.map(|_| next(Slot::Free)).as_ref());
        let tools = fill(tools, &mut next);
        let rendered = (self.render)(&messages, &tools)?;
        Some(Pattern::new(&rendered, &needles, &slots, reach)?.follow(self.rendered.text))
    }

    /// The tools with the texts that were found, if they render to the text. The texts are either plain, or encoded as
    /// inside a JSON string.
    fn proved(&self, tools: &[Tool], found: &Match) -> Option<Defined> {
        let text = self.rendered.text;
        let as_written = |text: &str| text.to_owned();
        let decoded = |text: &str| super::frames::Spelling::Json.decode(text);
        [&as_written as &dyn Fn(&str) -> String, &decoded].into_iter().find_map(|spelled| {
            let mut number = 0;
            let mut next = |slot: Slot| {
                let found = found.bound.get(&number).and_then(|place| text.get(place.clone())).unwrap_or("");
                number += 1;
                match slot {
                    Slot::Json => backchat_core::json::read(found).unwrap_or_default(),
                    Slot::Word | Slot::Choice => found.into(),
                    Slot::Free => spelled(found).into(),
                }
            };
            let messages = self.messages_with(self.rendered.unsure.map(|_| next(Slot::Free)).as_ref());
            let tools = fill(tools, &mut next);
            let rendered = (self.render)(&messages, &tools)?;
            let is_same = rendered == text || self.rendered.is_open && rendered.starts_with(text);
            is_same.then_some(Defined { messages, tools })
        })
    }

    /// The messages with this content in place of the unsure one.
    fn messages_with(&self, content: Option<&Value>) -> Vec<Value> {
        let mut messages = self.rendered.messages.to_vec();
        let unsure = self.rendered.unsure.and_then(|index| messages.get_mut(index));
        if let (Some(Value::Object(message)), Some(content)) = (unsure, content) {
            let as_part = || Value::from([("type", "text".into()), ("text", content.clone())]);
            let content = match message.get("content") {
                Some(Value::List(_)) => Value::List(vec![as_part()]),
                _ => content.clone(),
            };
            message.insert("content", content);
        }
        messages
    }
}

#[cfg(test)]
mod tests {
    use crate::chats::{Chat, Unrenderer};
    use backchat_chat::{ChatTemplate, RenderOptions};
    use backchat_core::json::{self, Object, Value};

    /// A template that writes each tool in this format, after the words of a system message.
    fn template(tool: &str) -> ChatTemplate {
        let source = "{% set lead = messages[0].content if messages[0].role == 'system' else '' %}\
            {% if lead or tools %}<system>{{ lead }}{% if tools %}\n# Tools\n{% for t in tools %}{% set f = t.function %}\
            {% set p = f.parameters.properties %}{% set r = f.parameters.required or [] %}TOOL\
            {% endfor %}# End{% endif %}</system>{% endif %}\
            {% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}\
            {% if add_generation_prompt %}<assistant>{% endif %}";
        ChatTemplate::compile(&source.replace("TOOL", tool)).unwrap()
    }

    /// Type declarations, with optional parameters marked after their names.
    const DECLARED: &str = "// {{ f.description }}\ntype {{ f.name }} = (_: {\n{% for n, s in p.items() %}\
        {% if s.description %}// {{ s.description }}\n{% endif %}{{ n }}{{ '' if n in r else '?' }}: \
        {% if s.enum %}\"{{ s.enum | join('\" | \"') }}\"\
        {% elif s.type == 'array' %}{{ s['items'].type }}[]{% else %}{{ s.type }}{% endif %},\n{% endfor %}}) => any;\n";
    /// A dialect of JSON with keys in order and the required ones last.
    const SORTED: &str = "<tool>{{ f.name }}(note:`{{ f.description }}`,takes:(\
        {% for n, s in p | dictsort %}{{ n }}:({% if s.description %}note:`{{ s.description }}`,{% endif %}\
        {% if s.enum %}one:[{% for e in s.enum %}`{{ e }}`{{ ',' if not loop.last }}{% endfor %}],{% endif %}\
        {% if s['items'] %}each:{{ s['items'].type | upper }},{% endif %}type:{{ s.type | upper }})\
        {{ ',' if not loop.last }}{% endfor %}){% if r %},needs:[{{ r | join(',') }}]{% endif %})</tool>";
    /// A tag for each detail, and JSON for the less usual ones.
    const TAGGED: &str = "<tool>\n<name>{{ f.name }}</name>\n<about>{{ f.description }}</about>\n\
        {% for n, s in p.items() %}<takes>\n<name>{{ n }}</name>\n<type>{{ s.type }}</type>\n\
        {% if s.description %}<about>{{ s.description }}</about>\n{% endif %}\
        {% for k, v in s.items() if k not in ['type', 'description'] %}<{{ k }}>{{ v | tojson }}</{{ k }}>\n{% endfor %}\
        </takes>\n{% endfor %}<required>{{ r | tojson }}</required>\n</tool>\n";
    const TOOLS: [&str; 3] = [
        r#"[{"type": "function", "function": {"name": "tell_time", "description": "Tell the time.",
            "parameters": {"type": "object", "properties": {}}}}]"#,
        r#"[{"type": "function", "function": {"name": "add_note", "description": "Add a note.", "parameters": {
            "type": "object", "properties": {"text": {"type": "string", "description": "The words"},
            "week": {"type": "integer", "description": "Its number, 1 to 53"}}, "required": ["text"]}}}]"#,
        r#"[{"type": "function", "function": {"name": "book", "description": "Book a table, or two.", "parameters": {
            "type": "object", "properties": {"at": {"type": "string", "description": "Where"},
            "kind": {"type": "string", "description": "Which one", "enum": ["inside", "by the window", "outside"]},
            "names": {"type": "array", "description": "For whom", "items": {"type": "string"}},
            "quiet": {"type": "boolean", "description": "Not loud"}}, "required": ["at", "kind"]}}},
            {"type": "function", "function": {"name": "cancel", "description": "Cancel it.", "parameters": {
            "type": "object", "properties": {"number": {"type": "integer", "description": "Its number"}},
            "required": ["number"]}}}]"#,
    ];

    fn chat(lead: &str, tools: &str) -> (Vec<Value>, Value) {
        let said = |role: &str, text: &str| Value::from([("role", role.into()), ("content", text.into())]);
        let turns = [said("user", "Hello."), said("assistant", "How may I help?"), said("user", "Go on.")];
        let lead = (!lead.is_empty()).then(|| said("system", lead));
        (lead.into_iter().chain(turns).collect(), json::read(tools).unwrap())
    }

    fn unrendered(template: &ChatTemplate, messages: &[Value], tools: &Value) -> Chat {
        let context = backchat_probe::probe::context(&Object::new(), messages, tools, true);
        let text = template.render(&context, &RenderOptions::default()).unwrap().text;
        let unrenderer = Unrenderer::new(template, Object::new(), RenderOptions::default());
        unrenderer.unrender(&text).unwrap_or_else(|why| panic!("{why}: {text}"))
    }

    #[test]
    fn tools_are_recovered_from_any_format() {
        for (name, format) in [("declared", DECLARED), ("sorted", SORTED), ("tagged", TAGGED)] {
            let template = template(format);
            for (tools, lead) in TOOLS.iter().flat_map(|tools| [(tools, ""), (tools, "Be brief.")]) {
                let (messages, tools) = chat(lead, tools);
                let chat = unrendered(&template, &messages, &tools);
                let found = chat.tools.clone().unwrap_or_default();
                assert_eq!((chat.exact, found.to_string()), (true, tools.to_string()), "{name}: {:?}", chat.messages);
                assert_eq!(chat.messages, messages, "{name}");
            }
        }
    }

    #[test]
    fn a_system_message_about_tools_stays_a_system_message() {
        let (messages, _) = chat("\n# Tools\n// none\n# End", TOOLS[0]);
        let chat = unrendered(&template(DECLARED), &messages, &Value::Null);
        assert_eq!((chat.exact, chat.tools, chat.messages), (true, None, messages));
    }
}
