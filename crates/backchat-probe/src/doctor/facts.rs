//! The definition of each fact: which conversations are rendered, and what in the renders decides.

use super::Fact;
use super::messages::{ARGUMENTS, answer, call, calling, later, result, system, tools, user, with};
use super::probe::{Chat, Outcome, Probe};
use crate::probe::{REASONING_KEYS, RequestShape, needle, said, text_part};
use backchat_core::json::Value;
use backchat_core::text::common_start;

/// How many variables are varied, in the order in which the template looks them up: each takes several renders.
const MOST_VARIABLES: usize = 64;

/// The treatment of one part of the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Rendered,
    /// Rendered, but encoded a second time as a JSON string.
    Escaped,
    /// The template renders, and drops it.
    Dropped,
    /// Every way of passing it raises an error.
    Refused,
}

impl Fate {
    fn word(self) -> Value {
        Value::from(match self {
            Fate::Rendered => "rendered",
            Fate::Escaped => "escaped",
            Fate::Dropped => "dropped",
            Fate::Refused => "refused",
        })
    }

    fn is_shown(self) -> bool {
        matches!(self, Fate::Rendered | Fate::Escaped)
    }
}

/// The treatment of an input, from renders that pass it in different ways. The first one that shows it decides.
fn fate(outcomes: impl IntoIterator<Item = Outcome>, shown: impl Fn(&str) -> bool) -> Fate {
    let mut fate = Fate::Refused;
    for outcome in outcomes {
        match outcome {
            Ok(text) if shown(&text) => return Fate::Rendered,
            Ok(_) => fate = Fate::Dropped,
            Err(_) => {}
        }
    }
    fate
}

/// Shows the key and the value of the first call.
fn shows_call(text: &str) -> bool {
    text.contains(needle::KEYS[0]) && text.contains(needle::VALUES[0])
}

/// The facts about the template so far. Later facts depend on earlier ones.
struct Examination<'t> {
    probe: Probe<'t>,
    facts: Vec<Fact>,
    tools: Value,
    /// The forms of arguments that show a call, in the order in which they were tried.
    arguments: Vec<RequestShape>,
    reasoning: Vec<&'static str>,
}

/// Examines everything, in the order of the definitions.
pub(super) fn find(probe: &Probe<'_>) -> Vec<Fact> {
    let mut examination = Examination {
        probe: probe.clone(),
        facts: Vec::with_capacity(36),
        tools: tools(),
        arguments: Vec::new(),
        reasoning: Vec::new(),
    };
    examination.content();
    examination.roles();
    examination.tools();
    examination.calls();
    examination.results();
    examination.reasoning();
    examination.variables();
    examination.documents();
    examination.prefixes();
    examination.turn();
    examination.facts
}

impl Examination<'_> {
    fn note(&mut self, name: &'static str, value: impl Into<Value>) {
        self.facts.push(Fact { name, value: value.into(), evidence: self.probe.exhibits() });
    }

    fn render(&self, messages: Vec<Value>) -> Outcome {
        self.probe.render(&Chat::new(messages))
    }

    fn content(&mut self) {
        let shown = |text: &str| text.contains(needle::USER);
        let listed = |text: &str| text.contains("'type'") || text.contains("\"type\"");
        let probe = self.probe.clone();
        let parts =
            |parts: Vec<Value>| probe.exactly(&Chat::new(vec![with(user(), [("content", Value::List(parts))])]));
        let as_text = fate([probe.exactly(&Chat::new(vec![user()]))], shown);
        self.note("content_text", as_text.word());
        let alone = parts(vec![text_part(needle::USER)]);
        let in_parts = fate([alone.clone()], |text| shown(text) && !listed(text));
        self.note("content_parts", in_parts.word());
        if !as_text.is_shown() && in_parts.is_shown() {
            self.probe = probe.giving_parts_first();
        }
        for kind in ["image", "video", "audio"] {
            let both = parts(vec![Value::from([("type", kind.into())]), text_part(needle::USER)]);
            let differs = |text: &str| alone.as_ref().is_ok_and(|alone| alone != text);
            let kind_fate = fate([both], |text| in_parts.is_shown() && shown(text) && differs(text));
            self.note(kind, kind_fate.word());
        }
    }

    fn roles(&mut self) {
        let shows = |words: &'static [&'static str]| move |text: &str| words.iter().all(|word| text.contains(word));
        let other = |role: &str| said(role, needle::OTHER);
        let cases: [(&'static str, Vec<Value>, &'static [&'static str]); 5] = [
            ("system", vec![system(), user()], &[needle::SYSTEM]),
            ("developer", vec![other("developer"), user()], &[needle::OTHER]),
            ("other_role", vec![user(), other("narrator"), later()], &[needle::OTHER]),
            ("user_twice", vec![user(), later()], &[needle::USER, needle::LATER]),
            ("assistant_first", vec![answer(), user()], &[needle::CONTENT, needle::USER]),
        ];
        for (name, messages, words) in cases {
            let found = fate([self.render(messages)], shows(words));
            self.note(name, found.word());
        }
    }

    fn tools(&mut self) {
        let shows = |word: &'static str| move |text: &str| text.contains(word);
        let offered: Vec<_> = [vec![user()], vec![system(), user()]]
            .into_iter()
            .map(|messages| self.probe.render(&Chat::new(messages).with("tools", self.tools.clone())))
            .collect();
        let named = shows(needle::NAMES[0]);
        let exhibits = self.probe.exhibits();
        let first = offered.iter().find(|outcome| outcome.as_ref().is_ok_and(|text| named(text))).cloned();
        let renders = first.map_or(offered, |first| vec![first]);
        for (name, word) in [
            ("tools", needle::NAMES[0]),
            ("tool_description", needle::DESCRIPTIONS[0]),
            ("tool_parameters", needle::KEYS[0]),
        ] {
            let value = fate(renders.clone(), shows(word)).word();
            self.facts.push(Fact { name, value, evidence: exhibits.clone() });
        }
    }

    /// The conversations with a message that calls: alone and answered, without tools and with them.
    fn shapes(&self, message: &Value) -> Vec<Chat> {
        self.offerings(&[vec![user(), message.clone()], vec![user(), message.clone(), result()]])
    }

    /// Conversations without tools, and with them.
    fn offerings(&self, conversations: &[Vec<Value>]) -> Vec<Chat> {
        let offered = [None, Some(&self.tools)].into_iter();
        let chats =
            offered.flat_map(|tools| conversations.iter().map(move |said| Chat::new(said.clone()).offered(tools)));
        chats.collect()
    }

    /// How these conversations treat an input.
    fn fate_in(&self, chats: &[Chat], shown: impl Fn(&str) -> bool) -> Fate {
        fate(chats.iter().map(|chat| self.probe.render(chat)), shown)
    }

    /// The treatment of a part of a calling message: in every shape, with every form of arguments that is shown.
    fn beside(&self, message: impl Fn(RequestShape) -> Value, shown: impl Fn(&str) -> bool) -> Fate {
        if self.arguments.is_empty() {
            return Fate::Dropped;
        }
        let chats: Vec<Chat> = self.arguments.iter().flat_map(|form| self.shapes(&message(*form))).collect();
        self.fate_in(&chats, shown)
    }

    /// The form of arguments to call with.
    fn form(&self) -> RequestShape {
        self.arguments.first().copied().unwrap_or(RequestShape::USUAL)
    }

    fn calls(&mut self) {
        let escaped = |text: &str| text.contains(&format!("\\\"{}", needle::KEYS[0]));
        let mut fates = Vec::new();
        for (name, form) in ARGUMENTS {
            let chats = self.shapes(&calling("", vec![call(0, form)]));
            let outcomes: Vec<_> = chats.iter().map(|chat| self.probe.render(chat)).collect();
            let mut found = fate(outcomes.iter().cloned(), shows_call);
            let first = outcomes.iter().flatten().find(|text| shows_call(text));
            if form.arguments_text && first.is_some_and(|text| escaped(text)) {
                found = Fate::Escaped;
            }
            if found.is_shown() {
                self.arguments.push(form);
            }
            fates.push(found);
            self.note(name, found.word());
        }
        // Text that is encoded twice counts as a way of calling only if there is no better one.
        if fates.first().is_some_and(|object| object.is_shown()) && fates.get(1) == Some(&Fate::Escaped) {
            self.arguments.truncate(1);
        }
        let calls = match self.arguments.first() {
            Some(_) => Fate::Rendered,
            None if fates.iter().all(|fate| *fate == Fate::Refused) => Fate::Refused,
            None => Fate::Dropped,
        };
        self.note("tool_calls", calls.word());
        let two = |form| calling("", vec![call(0, form), call(1, form)]);
        let shows_two =
            |text: &str| shows_call(text) && text.contains(needle::KEYS[1]) && text.contains(needle::VALUES[1]);
        let parallel = self.beside(two, shows_two);
        self.note("parallel_calls", parallel.word());
        let content = self.beside(
            |form| calling(needle::CONTENT, vec![call(0, form)]),
            |text| shows_call(text) && text.contains(needle::CONTENT),
        );
        self.note("content_beside_call", content.word());
        let id = self.beside(|form| calling("", vec![call(0, form)]), |text| text.contains(needle::IDS[0]));
        self.note("call_id", id.word());
        let null = self.null_content();
        self.note("null_content_beside_call", null);
    }

    /// Content that is null next to a call: the word None must not appear.
    fn null_content(&self) -> Value {
        if self.arguments.is_empty() {
            return Fate::Dropped.word();
        }
        let message = calling(Value::Null, vec![call(0, self.form())]);
        let empty = calling("", vec![call(0, self.form())]);
        for offered in [None, Some(&self.tools)] {
            let chat = |message: &Value| Chat::new(vec![user(), message.clone()]).offered(offered);
            if let Ok(text) = self.probe.render(&chat(&message)) {
                let usual = self.probe.render(&chat(&empty)).map_or(0, |text| text.matches("None").count());
                if text.matches("None").count() > usual {
                    return "printed".into();
                }
                return if shows_call(&text) { Fate::Rendered.word() } else { Fate::Dropped.word() };
            }
        }
        Fate::Refused.word()
    }

    fn results(&mut self) {
        let message = calling("", vec![call(0, self.form())]);
        let chats = self.offerings(&[vec![user(), message, result()], vec![user(), result()]]);
        let found = self.fate_in(&chats, |text| text.contains(needle::RESULT));
        self.note("tool_results", found.word());
    }

    /// A message with reasoning under every key that the template shows.
    fn thought(&self, message: Value, reasoning: &str) -> Value {
        with(message, self.reasoning.iter().map(|key| (*key, reasoning.into())))
    }

    fn reasoning(&mut self) {
        let form = self.form();
        for key in REASONING_KEYS {
            let think = |message: Value| with(message, [(key, needle::REASONING.into())]);
            let messages = [think(answer()), think(calling("", vec![call(0, form)]))];
            let chats = self.offerings(&messages.map(|message| vec![user(), message]));
            let shown = self.fate_in(&chats, |text| text.contains(needle::REASONING));
            if shown.is_shown() {
                self.reasoning.push(key);
            }
        }
        let keys: Vec<Value> = self.reasoning.iter().map(|key| (*key).into()).collect();
        self.note("reasoning_keys", keys);
        let after_user = self.kept_after_user();
        self.note("reasoning_kept_after_user", after_user);
        let in_loop = self.kept_in_tool_loop();
        self.note("reasoning_kept_in_tool_loop", in_loop);
    }

    fn kept_after_user(&self) -> Value {
        if self.reasoning.is_empty() {
            return Value::Null;
        }
        let first = self.thought(answer(), needle::REASONING);
        let second = self.thought(said("assistant", needle::ANSWER), needle::AFTER);
        match self.render(vec![user(), first, later(), second]) {
            Ok(text) if text.contains(needle::CONTENT) => text.contains(needle::REASONING).into(),
            _ => Value::Null,
        }
    }

    fn kept_in_tool_loop(&self) -> Value {
        if self.reasoning.is_empty() {
            return Value::Null;
        }
        let message = self.thought(calling("", vec![call(0, self.form())]), needle::REASONING);
        for offered in [Some(&self.tools), None] {
            let chat = Chat::new(vec![user(), message.clone(), result()]).offered(offered).prompted();
            if let Ok(text) = self.probe.render(&chat)
                && shows_call(&text)
                && text.contains(needle::RESULT)
            {
                return text.contains(needle::REASONING).into();
            }
        }
        Value::Null
    }

    fn variables(&mut self) {
        let found = self.changing();
        let names: Vec<Value> = found.iter().map(|name| name.as_str().into()).collect();
        self.note("variables", names);
        let bare = self.render(vec![user()]).ok();
        let asked = self.probe.render(&Chat::new(vec![user()]).prompted()).ok();
        let prompt = |bare: &Option<String>, asked: &Option<String>| {
            asked.as_deref()?.strip_prefix(bare.as_deref()?).map(str::to_owned)
        };
        let default = prompt(&bare, &asked);
        self.note("generation_prompt", default.clone());
        let mut switches = backchat_core::json::Object::new();
        for name in found {
            let under = |value: bool| {
                let chat = Chat::new(vec![user()]).with(&name, value.into());
                prompt(&self.probe.render(&chat).ok(), &self.probe.render(&chat.prompted()).ok())
            };
            let (on, off) = (under(true), under(false));
            if let (Some(on), Some(off)) = (on, off)
                && on != off
            {
                let which = match &default {
                    Some(default) if *default == on => "true",
                    Some(default) if *default == off => "false",
                    _ => "other",
                };
                let row = [("true", on.into()), ("false", off.into()), ("default", which.into())];
                switches.insert(name, Value::from(row));
            }
        }
        self.note("switches", switches);
    }

    /// The variables whose value changes a render.
    fn changing(&self) -> Vec<String> {
        const GIVEN: [&str; 4] = ["messages", "tools", "documents", "add_generation_prompt"];
        let chats = [
            Chat::new(vec![user()]).prompted(),
            Chat::new(vec![user(), answer()]),
            Chat::new(vec![system(), user(), self.thought(answer(), needle::REASONING), later()]),
            Chat::new(vec![user(), self.thought(calling("", vec![call(0, self.form())]), needle::REASONING), result()])
                .with("tools", self.tools.clone())
                .prompted(),
        ];
        let values = [Value::Bool(true), Value::Bool(false), needle::SETTING.into()];
        let changes = |name: &str| {
            chats.iter().any(|chat| {
                let usual = self.probe.render(chat);
                values.iter().any(|value| {
                    let varied = self.probe.render(&chat.clone().with(name, value.clone()));
                    matches!((&usual, varied), (Ok(usual), Ok(varied)) if *usual != varied)
                })
            })
        };
        let asked = self.probe.template().variables().iter();
        let other = asked.filter(|name| !GIVEN.contains(&name.as_str()) && !name.ends_with("_token"));
        other.take(MOST_VARIABLES).filter(|name| changes(name)).cloned().collect()
    }

    fn documents(&mut self) {
        let keys = ["title", "text", "content", "contents"];
        let document = Value::from(keys.map(|key| (key, needle::DOCUMENT.into())));
        let chat = Chat::new(vec![user()]).with("documents", Value::List(vec![document]));
        let found = fate([self.probe.render(&chat)], |text| text.contains(needle::DOCUMENT));
        self.note("documents", found.word());
    }

    fn prefixes(&mut self) {
        let begins = |longer: &Chat, shorter: &Chat| match (self.probe.render(longer), self.probe.render(shorter)) {
            (Ok(longer), Ok(shorter)) => Value::from(longer.starts_with(&shorter)),
            _ => Value::Null,
        };
        drop(self.probe.exhibits());
        let chat = |message: Value| {
            begins(&Chat::new(vec![user(), message.clone(), later()]).prompted(), &Chat::new(vec![user(), message]))
        };
        let mut found = Vec::new();
        let mut note = |name: &'static str, value: Value| {
            found.push(Fact { name, value, evidence: self.probe.exhibits() });
        };
        note("prefix_generation", begins(&Chat::new(vec![user(), answer()]), &Chat::new(vec![user()]).prompted()));
        note("prefix_chat", chat(answer()));
        let thinking = match self.reasoning.is_empty() {
            true => Value::Null,
            false => chat(self.thought(answer(), needle::REASONING)),
        };
        note("prefix_reasoning", thinking);
        note("prefix_tool", self.prefix_tool(&begins));
        self.facts.extend(found);
    }

    fn prefix_tool(&self, begins: &impl Fn(&Chat, &Chat) -> Value) -> Value {
        if self.arguments.is_empty() {
            return Value::Null;
        }
        let message = calling("", vec![call(0, self.form())]);
        let longer = Chat::new(vec![user(), message.clone(), result()]).prompted();
        begins(&longer, &Chat::new(vec![user(), message]))
    }

    fn turn(&mut self) {
        let alone = self.render(vec![user(), answer()]);
        let followed = self.render(vec![user(), answer(), later()]);
        let tail = |outcome: &Outcome| {
            let (_, tail) = outcome.as_ref().ok()?.rsplit_once(needle::CONTENT)?;
            Some(tail.to_owned())
        };
        let end = tail(&alone).zip(tail(&followed)).map(|(one, other)| common_start(&one, &other).to_owned());
        let eos = match (&end, self.probe.eos_token()) {
            (None, _) | (_, None | Some("")) => Value::Null,
            (Some(end), Some(eos)) => end.contains(eos).into(),
        };
        let (tagged, masked) = self.tags();
        self.note("generation_blocks", tagged);
        self.note("stop_masked", masked);
        self.note("turn_end", end);
        self.note("eos_ends_turn", eos);
    }

    /// Whether the source has generation tags, and whether they mask the end of the turn.
    fn tags(&self) -> (bool, Value) {
        let tagged = self.probe.template().has_generation_blocks();
        if !tagged {
            return (false, Value::Null);
        }
        let chat = Chat::new(vec![user(), answer(), later()]);
        let Ok((text, spans)) = self.probe.spans(&chat) else { return (true, Value::Null) };
        let Some(at) = text.find(needle::CONTENT) else { return (true, Value::Null) };
        let after = at + needle::CONTENT.len();
        let blank = text.get(after..).map_or(0, |rest| rest.len() - rest.trim_start().len());
        let begins = text.get(..after + blank).map_or(0, |before| before.chars().count());
        (true, spans.iter().any(|(start, end)| *start <= begins && *end > begins).into())
    }
}
