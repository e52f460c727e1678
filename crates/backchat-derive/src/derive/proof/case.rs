//! The cases: renders conversations, and cuts the last turn out of each, byte for byte.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use super::conversations::{History, Reach, TestAnswer};
use super::renders::{Scene, Tokens, texts};
use super::request::Request;
use super::turn_start::{Cut, TurnStart, shows};
use crate::derive::recorded::Prompt;
use crate::wire::marks;
use backchat_core::json::Value;
use backchat_core::text::slice;
use backchat_probe::coverage::{OtherTools, Place};
use backchat_probe::probe::{Answer, Message, PART_BREAK, Prober, Setting};

/// One turn to parse back.
#[derive(Clone, Debug)]
pub(in crate::derive) struct Case {
    /// A description of the answer and its history.
    pub name: String,
    pub setting: Setting,
    pub prefix: String,
    pub text: String,
    /// The text without the token at which the model stops.
    pub unstopped: Option<String>,
    /// The expected message: the parts of the answer that the text shows.
    pub expected: Answer,
    /// The full answer.
    pub said: Answer,
    /// Whether the text leaves out content of the answer.
    pub drops_content: bool,
    pub cut: Cut,
    /// The prompt's text after the history. Reasoning in it is parsed back as well.
    pub prompted: String,
    /// The conversation before the turn, to render the parsed message instead of the answer.
    pub history: Vec<Message>,
    /// The whole render.
    pub whole: String,
    pub offers_tools: bool,
    /// Other tools on offer than those of the proof.
    pub tools: Option<OtherTools>,
}

impl Case {
    /// The prober that renders it.
    pub fn prober<'t>(&self, plain: &Prober<'t>, offers: &Prober<'t>) -> Prober<'t> {
        match self.offers_tools {
            true => offering(offers, self.tools.as_ref()),
            false => plain.clone(),
        }
    }

    /// The white space that the render writes after the stop.
    pub fn space_after(&self) -> &str {
        let rest =
            self.unstopped.as_ref().and_then(|_| Some(self.whole.rsplit_once(&self.text)?.1)).unwrap_or_default();
        slice(rest, ..rest.len() - rest.trim_start().len())
    }

    /// Whether the prompt begins its first call, the tool of which its setting names.
    pub fn is_begun(&self) -> bool {
        let first =
            self.said.calls.first().filter(|call| self.cut <= Cut::History && self.prompted.contains(&call.name));
        first.is_some_and(|call| texts(&self.setting).any(|text| text == call.name))
    }

    pub fn with(&self, answer: Answer) -> Vec<Message> {
        [self.history.as_slice(), &[Message::Assistant(answer)]].concat()
    }
}

/// A prober that offers other tools, if there are any.
pub(super) fn offering<'t>(offering: &Prober<'t>, others: Option<&OtherTools>) -> Prober<'t> {
    let usual = offering.offered().and_then(Value::as_list);
    let tools = others.zip(usual).map(|(others, usual)| Value::List(others.among(usual)));
    tools.map_or_else(|| offering.clone(), |tools| offering.offering(Some(tools)))
}

/// The shortest case of each kind.
pub(super) fn shortest<'c, K: PartialEq>(
    cases: impl IntoIterator<Item = &'c Case>,
    kind: impl Fn(&Answer) -> K,
) -> Vec<&'c Case> {
    let mut found: Vec<&Case> = Vec::new();
    for case in cases {
        match found.iter_mut().find(|known| kind(&known.expected) == kind(&case.expected)) {
            Some(known) if known.text.len() > case.text.len() => *known = case,
            Some(_) => {}
            None => found.push(case),
        }
    }
    found
}

pub(super) fn parts(answer: &Answer) -> (bool, bool, usize) {
    (answer.reasoning.is_some(), answer.content.is_some(), answer.calls.len().min(2))
}

/// Renders conversations of one chat template into cases.
pub(super) struct Cutter<'p, 't> {
    /// Offers tools only in `offering`.
    pub plain: &'p Prober<'t>,
    pub offering: &'p Prober<'t>,
    pub request: &'p Request,
    pub histories: Vec<History>,
    pub tokens: Tokens<'p>,
    pub turn_starts: TurnStarts,
}

/// The turn starts of one template: by history, setting and whether tools are offered.
#[derive(Default)]
pub(super) struct TurnStarts {
    known: HashMap<(usize, usize, bool), Option<Rc<TurnStart>>>,
    /// The opening of reasoning, under any setting.
    openings: Option<Vec<String>>,
}

impl<'p, 't> Cutter<'p, 't> {
    /// Learns the openings of reasoning, unless the turn starts know them: the opening under one setting is needed to judge
    /// the prompts of others.
    pub fn with_openings(mut self) -> Self {
        if self.turn_starts.openings.is_none() {
            for setting in 0..self.request.usage.settings.len() {
                self.turn_start(0, setting, false);
            }
            self.turn_starts.known.clear();
        }
        self
    }

    /// The cases of these answers, each turn once.
    pub fn cases(&mut self, said: &[TestAnswer]) -> Vec<Case> {
        let mut seen = HashSet::new();
        let mut cases: Vec<Case> = said.iter().flat_map(|said| self.cases_of(said, &mut seen)).collect();
        // A turn that no prompt leads to is a case only if its answer has no better one.
        let weakness = |case: &Case| case.cut.max(Cut::Shared);
        let mut best: HashMap<String, Cut> = HashMap::new();
        for case in &cases {
            let known = best.entry(answer_name(case)).or_insert(weakness(case));
            *known = weakness(case).min(*known);
        }
        cases.retain(|case| best.get(&answer_name(case)).is_none_or(|best| weakness(case) <= *best));
        cases
    }

    fn cases_of(&mut self, said: &TestAnswer, seen: &mut HashSet<(String, String)>) -> Vec<Case> {
        let request = self.request;
        let calls = said.answer.calls.len();
        if (calls > 0 && !request.calls.shown)
            || (calls > 1 && !request.calls.several)
            || (said.answer.reasoning.is_some() && request.reasoning_input.is_none())
        {
            return Vec::new();
        }
        let is_plain = calls == 0 && said.answer.reasoning.is_none();
        let is_brief = is_plain || (calls == 1 && said.answer.content.is_none() && said.answer.reasoning.is_none());
        let mut cases: Vec<Case> = Vec::new();
        for history in 0..self.histories.len() {
            let Some(known) = self.histories.get(history) else { continue };
            let (is_main, skips) = (known.is_main, known.is_brief && !is_brief);
            let once = matches!(said.reach, Reach::Value | Reach::Rewritten);
            if (history > 0 && once) || skips {
                continue;
            }
            let before = cases.len();
            for setting in 0..request.usage.settings.len() {
                // One setting is enough unless the answer must be tried under all of them.
                let is_tried = match said.reach {
                    Reach::Settings => is_main || cases.len() == before,
                    Reach::Rewritten => true,
                    Reach::Value | Reach::Histories => cases.len() == before,
                };
                if !is_tried {
                    break;
                }
                if let Some(case) = self.case(said, history, setting)
                    && (said.reach != Reach::Rewritten || self.is_rewritten(&case))
                    && seen.insert((case.prefix.clone(), case.text.clone()))
                {
                    cases.push(case);
                }
            }
        }
        cases
    }

    /// Whether a setting has a turn written differently.
    fn is_rewritten(&self, case: &Case) -> bool {
        let prober = case.prober(self.plain, self.offering);
        let usual = prober.render(&case.with(case.said.clone()), &Setting::new(), false);
        usual.is_none_or(|usual| !usual.contains(&case.text))
    }

    /// The prompts that end differently, the usual one first.
    pub fn prompts(&mut self) -> Vec<Prompt> {
        let mut prompts: Vec<Prompt> = Vec::new();
        for history in 0..self.histories.len() {
            for setting in 0..self.request.usage.settings.len() {
                let Some(turn_start) = self.turn_start(history, setting, history > 0) else { continue };
                let end = turn_start.prompted().to_owned();
                if !prompts.iter().any(|known| known.end == end) {
                    prompts.push(Prompt { text: turn_start.prompt.clone(), end });
                }
            }
        }
        prompts
    }

    /// Renders turns after one of the histories, under one of the settings.
    fn scene(&self, history: usize, setting: usize, offers: bool) -> Option<Scene<'_, 't>> {
        let prober = if offers { self.offering } else { self.plain };
        let (history, setting) = (self.histories.get(history)?, self.request.usage.settings.get(setting)?);
        Some(Scene { prober, history, setting })
    }

    /// The end of the prompt with tools after the first history, under the first setting.
    pub fn prompt_end(&self) -> Option<String> {
        let scene = self.scene(0, 0, true)?;
        let prompt = scene.render(&[], true)?;
        Some(prompt.rsplit_once(&*scene.history.last)?.1.to_owned())
    }

    pub fn turn_start(&mut self, history: usize, setting: usize, offers: bool) -> Option<Rc<TurnStart>> {
        let key = (history, setting, offers);
        if let Some(known) = self.turn_starts.known.get(&key) {
            return known.clone();
        }
        let mut openings = self.turn_starts.openings.take().unwrap_or_default();
        let found = self.scene(history, setting, offers);
        let found = found.and_then(|scene| TurnStart::find(&scene, &self.tokens, &mut openings)).map(Rc::new);
        self.turn_starts.openings = Some(openings);
        self.turn_starts.known.insert(key, found.clone());
        found
    }

    /// The case of an answer after one of the histories, under one of the settings; `None` if the template refuses it, or
    /// shows only a part of it.
    pub fn case(&mut self, said: &TestAnswer, history: usize, setting: usize) -> Option<Case> {
        let offers_tools = self.request.offers_tools(&self.histories.get(history)?.messages, &said.answer);
        let turn_start = self.turn_start(history, setting, offers_tools)?;
        let scene = self.scene(history, setting, offers_tools)?;
        let said = &said.begun_with(&turn_start.begun_thought);
        let parts = said.answer.content.as_deref().and_then(|content| content.split_once(PART_BREAK));
        if parts.is_some() && !takes_parts(&scene) {
            return None;
        }
        let openings = self.turn_starts.openings.as_deref().unwrap_or(&[]);
        let (piece, whole) = turn_start.cut(&scene, &said.answer, openings)?;
        if parts.is_some_and(|(first, second)| !are_marked(&piece.text, first, second)) {
            return None;
        }
        let mut expected = shown(&said.answer, &[turn_start.begun(piece.cut), &piece.text].concat());
        if let Some(content) = said.answer.content.as_ref().filter(|_| expected.content.is_none()) {
            // A filter may leave no word of the content as it is: turns with none and with more of it differ, then.
            let differs = |content: Option<String>| {
                let other = turn_start.cut(&scene, &Answer { content, ..said.answer.clone() }, openings);
                other.is_some_and(|(other, _)| !is_same_but_space(&other.text, &piece.text))
            };
            let is_written = differs(None) && differs(Some(format!("{content}\n{content}")));
            expected.content = is_written.then(|| content.clone());
        }
        if let Some(keeps) = said.keeps {
            keep(&mut expected, &said.answer, keeps);
        }
        if self.request.ids_are_made {
            expected.calls.iter_mut().for_each(|call| call.id.clear());
        }
        expected.content = expected.content.map(|content| content.replace(PART_BREAK, ""));
        let is_whole = expected.calls.len() == said.answer.calls.len()
            && expected.reasoning.is_some() == said.answer.reasoning.is_some();
        // Without its calls or its reasoning it is another answer, which has its own cases.
        if !is_whole || (expected.content.is_none() && expected.calls.is_empty() && expected.reasoning.is_none()) {
            return None;
        }
        Some(Case {
            name: format!("{} {}", said.name, scene.history.name),
            said: said.answer.clone(),
            setting: scene.setting.clone(),
            unstopped: turn_start.without_stop(&piece.text, self.tokens.eos).map(str::to_owned),
            drops_content: said.answer.content.is_some() && expected.content.is_none(),
            prefix: piece.prefix,
            text: piece.text,
            expected,
            cut: piece.cut,
            prompted: turn_start.prompted().to_owned(),
            history: scene.history.messages.clone(),
            whole,
            offers_tools,
            tools: None,
        })
    }
}

/// Whether the template writes content in one part like a string.
fn takes_parts(scene: &Scene<'_, '_>) -> bool {
    const TEXT: &str = "Yes, 43 km.";
    let written = |content: &str| scene.render(&[Message::Assistant(Answer::content(content))], false);
    let in_parts = written(&format!("{TEXT}{PART_BREAK}"));
    in_parts.is_some() && in_parts == written(TEXT)
}

/// Whether two turns have the same words.
fn is_same_but_space(one: &str, other: &str) -> bool {
    one.split_whitespace().eq(other.split_whitespace())
}

/// Whether there is more than white space between two parts of a text.
fn are_marked(text: &str, first: &str, second: &str) -> bool {
    let gap = text.split_once(first).and_then(|(_, rest)| Some(rest.split_once(second)?.0));
    gap.is_some_and(|gap| !gap.trim().is_empty() && !gap.contains(PART_BREAK))
}

fn answer_name(case: &Case) -> String {
    case.name.split_once(" after ").map_or(case.name.as_str(), |(answer, _)| answer).to_owned()
}

/// Expects a part back, whether or not the text shows it.
fn keep(expected: &mut Answer, said: &Answer, place: Place) {
    match place {
        Place::Content => expected.content.clone_from(&said.content),
        Place::Reasoning => expected.reasoning.clone_from(&said.reasoning),
        Place::Id(_) => expected.calls.clone_from(&said.calls),
        Place::Name(_) | Place::Key(..) => {
            expected.calls.clone_from(&said.calls);
            expected.calls.iter_mut().for_each(|call| call.id.clear());
        }
        Place::Value(..) => {}
    }
}

/// The parts of an answer that a text shows. An id that it does not show is empty.
fn shown(answer: &Answer, text: &str) -> Answer {
    let part = |part: &Option<String>| part.clone().filter(|part| shows(text, part));
    let mut calls = answer.calls.clone();
    calls.retain(|call| text.contains(&call.name));
    for call in &mut calls {
        if !text.contains(&call.id) {
            call.id.clear();
        }
    }
    Answer { content: part(&answer.content), reasoning: part(&answer.reasoning), calls }
}

/// The text between two arguments of a call, if renders have arguments one by one and a value may contain that text.
pub(super) fn between_arguments(cases: &[Case]) -> Option<String> {
    let calls = cases.iter().filter_map(|case| Some((&case.expected.calls.first()?.arguments, &case.text)));
    calls.into_iter().find_map(|(arguments, text)| {
        let arguments: Vec<(&str, Option<&str>)> =
            arguments.iter().map(|(key, value)| (key, value.as_str().filter(|text| !text.is_empty()))).collect();
        arguments.array_windows().find_map(|[(_, first), (key, second)]| {
            let (between, _) = text.split_once((*first)?)?.1.split_once((*second)?)?;
            let is_text = between.contains(key) && !between.contains(&format!("\"{key}\""));
            (is_text && !between.contains(marks::is_opening)).then(|| between.to_owned())
        })
    })
}

#[cfg(test)]
impl Case {
    /// A case whose text has this answer, after an unknown prompt.
    pub(super) fn by_hand(text: &str, expected: Answer) -> Self {
        Self {
            name: "an answer after a question".to_owned(),
            setting: Setting::new(),
            prefix: String::new(),
            text: text.to_owned(),
            unstopped: None,
            said: expected.clone(),
            expected,
            drops_content: false,
            cut: Cut::Exact,
            prompted: String::new(),
            history: Vec::new(),
            whole: text.to_owned(),
            offers_tools: false,
            tools: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{CHAT, calls_answer, with_proof};

    #[test]
    fn a_case_expects_only_what_its_text_shows() {
        let mut said = calls_answer(&[("get_route", "{}"), ("get_time", "{}")]).with_content("Yes, 43 km.");
        said.calls[0].id = "a1".to_owned();
        said.calls[1].id = "b2".to_owned();
        let expected = shown(&said.with_reasoning("A long thought."), "<call>get_route a1</call><call>get_time</call>");
        assert_eq!((expected.content, expected.reasoning), (None, None));
        let calls: Vec<(&str, &str)> =
            expected.calls.iter().map(|call| (call.name.as_str(), call.id.as_str())).collect();
        assert_eq!(calls, [("get_route", "a1"), ("get_time", "")]);
    }

    #[test]
    fn a_name_describes_the_answer_and_its_history() {
        let mut case = Case::by_hand("Yes.", Answer::content("Yes."));
        assert_eq!(answer_name(&case), "an answer");
        case.name = "an answer".to_owned();
        assert_eq!(answer_name(&case), "an answer");
    }

    #[test]
    fn a_turn_is_cut_where_its_prompt_ends_and_its_stop_is_known() {
        with_proof(CHAT, |proof| {
            assert!(proof.cases.iter().all(|case| case.cut == Cut::Exact && case.prefix.ends_with("<assistant>")));
            let case = proof.cases.iter().find(|case| case.name == "paragraphs after a question").unwrap();
            assert_eq!(case.text, format!("{}<end>", case.expected.content.as_deref().unwrap()));
            assert_eq!(case.unstopped.as_deref(), case.expected.content.as_deref());
            assert_eq!(case.whole, format!("{}{}", case.prefix, case.text));
            // Each turn occurs once: the same text after the same prompt proves nothing new.
            let mut turns: Vec<(&str, &str)> =
                proof.cases.iter().map(|case| (case.prefix.as_str(), case.text.as_str())).collect();
            turns.sort_unstable();
            let all = turns.len();
            turns.dedup();
            assert_eq!(turns.len(), all);
        });
    }

    #[test]
    fn parts_that_the_template_never_renders_have_no_case() {
        let bare = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
                    {% if add_generation_prompt %}<assistant>{% endif %}";
        with_proof(bare, |proof| {
            assert!(!proof.cases.is_empty());
            let has_more = |case: &Case| !case.expected.calls.is_empty() || case.expected.reasoning.is_some();
            assert!(!proof.cases.iter().any(has_more));
        });
    }

    #[test]
    fn only_text_that_a_value_may_contain_is_between_arguments() {
        for (text, between) in [
            ("<call>f?a=Brno&b=Ghent</call>", Some("&b=")),
            ("<call>f(a=\"Brno\", b=\"Ghent\")</call>", Some("\", b=\"")),
            ("a: Brno\nb: Ghent\n", Some("\nb: ")),
            // JSON escapes its quotes, and prose contains no marks.
            (r#"{"name": "f", "arguments": {"a": "Brno", "b": "Ghent"}}"#, None),
            ("<a>Brno</a><b>Ghent</b>", None),
            ("{a:<|q|>Brno<|q|>,b:<|q|>Ghent<|q|>}", None),
            ("Brno Ghent", None),
            ("Brno", None),
        ] {
            let cases = [Case::by_hand(text, calls_answer(&[("f", r#"{"a": "Brno", "b": "Ghent"}"#)]))];
            assert_eq!(between_arguments(&cases).as_deref(), between, "{text}");
        }
        assert_eq!(between_arguments(&[]), None);
    }
}
