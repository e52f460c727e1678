//! The assumptions of a response template: renders turns with another clock, other variables and more text after them,
//! and reports each kind that the template misreads.

mod repeated;
#[cfg(test)]
mod tests;

use super::case::{Case, Cutter, TurnStarts};
use super::conversations::{self, History, Reach, TestAnswer};
use super::judge::Judge;
use super::message_values::MessageValues;
use super::renders::{Scene, generated};
use super::request::{Request, setting_words};
use super::turn_start::Cut;
use super::verdict::{Fate, Loss};
use backchat_chat::{ChatTemplate, switches, with_members};
use backchat_core::diagnostic::shortened;
use backchat_core::distinct;
use backchat_core::json::{Object, Value};
use backchat_probe::coverage::Place;
use backchat_probe::probe::{Absent, Answer, Message, Prober, ReasoningInput, RequestShape, Setting, call, needle};
use std::cell::OnceCell;

/// An assumption that not every render meets, and turns that do not.
pub(super) struct Assumption {
    message: String,
    cases: Vec<Case>,
    /// The variable that it is about, if it is about one.
    variable: Option<String>,
    /// Whether the turns are written differently because of a key of the message, alike for two of its values, or because of how
    /// its absent content is passed: other drafts may read them, too.
    is_of_message: bool,
}

impl Assumption {
    fn new(message: String, cases: Vec<Case>) -> Self {
        Self { message, cases, variable: None, is_of_message: false }
    }

    /// Its turns that another draft may read.
    pub fn readable(&self) -> &[Case] {
        if self.is_of_message { &self.cases } else { &[] }
    }

    /// That turns for which the proof has no room are like its own.
    pub fn untried(cases: Vec<Case>) -> Self {
        let message = "the draft does not read turns under some combinations of settings".to_owned();
        Self::new(message, cases)
    }

    /// Whether a turn of it has reasoning.
    pub fn shows_reasoning(&self) -> bool {
        self.cases.iter().any(|case| case.expected.reasoning.is_some())
    }

    /// The losses of a template that relies on it: one for each part that the template misreads.
    pub fn losses(&self, judge: &Judge<'_, '_>) -> Vec<Loss> {
        let mut losses: Vec<Loss> = Vec::new();
        for case in &self.cases {
            let Fate::Failed(failure) = judge.fate(case) else { continue };
            // A key that is not named for reasoning may still be written as reasoning.
            let as_reasoning = || Case { expected: case.said.clone(), ..case.clone() };
            if case.said.reasoning != case.expected.reasoning && !matches!(judge.fate(&as_reasoning()), Fate::Failed(_))
            {
                continue;
            }
            for part in failure.parts() {
                match losses.iter_mut().find(|known| known.part == part) {
                    Some(known) => known.count += 1,
                    None => {
                        let loss = Loss::new(part, self.message.clone(), &case.text);
                        losses.push(Loss { is_assumed: true, variable: self.variable.clone(), ..loss });
                    }
                }
            }
        }
        losses
    }
}

/// A time that differs from that of any proof.
const ANOTHER_TIME: &str = "2087-09-30T17:48:59";

/// A value of a key of the message, which is text and looks like a number.
const A_VALUE: &str = "7";

/// Another one, of another length.
const ANOTHER_VALUE: &str = "Amber Lee";

/// How many variables are varied at most.
const MOST_VARIED: usize = 24;

/// How many texts of a system message or a user are tried at most.
const MOST_SOUGHT: usize = 4;

/// The chat template, and how the proof renders it.
pub(super) struct Setup<'p, 't> {
    pub template: &'t ChatTemplate,
    pub variables: &'t Object,
    pub cutter: &'p Cutter<'p, 't>,
}

impl<'t> Setup<'_, 't> {
    /// The assumptions that matter for this template, with cases of these answers.
    pub fn find(&self, said: &[TestAnswer], cases: &[Case]) -> Vec<Assumption> {
        let Cutter { plain, offering, .. } = self.cutter;
        let usual = self.outlook(plain, offering, &Setting::new());
        let ended = cases.iter().find(|case| case.expected.calls.is_empty() && case.expected.reasoning.is_none());
        let mut found: Vec<Assumption> = self.clock(said, &usual).into_iter().collect();
        found.extend(ended.and_then(|case| self.end(case)));
        found.extend(ended.into_iter().flat_map(|case| self.without_prompt(case)));
        found.extend(self.other_reasoning(said, &usual));
        found.extend(self.rare_reasoning(said));
        found.extend(self.other_keys(said));
        found.extend(self.objects(said, &usual));
        found.extend(self.other_absent(said, &usual));
        found.extend(self.words_in_lists());
        found.extend(self.last_line_break());
        found.extend(self.escaped_name());
        found.extend(self.other_texts(said, cases));
        found.extend(self.begun(cases));
        let given = self.variables.iter().filter(|(name, _)| !name.ends_with("_token"));
        let given = given.map(|(name, value)| (name, other_than(Some(value))));
        let switches = switches(self.template, self.variables).into_iter().map(|(name, _)| (name, other_than(None)));
        let unset = plain.unset_tokens();
        let tokens = unset.iter().filter(|name| self.has_default(&usual, name));
        let tokens = tokens.map(|name| (name.as_str(), other_than(None)));
        for (name, values) in given.chain(switches).chain(tokens).take(MOST_VARIED) {
            let is_given = self.variables.contains_key(name);
            let members = other_than(None).into_iter().filter(|_| !is_given);
            let members =
                members.filter_map(|member| with_members(self.template, name, &Value::Null, &member)).collect();
            for values in [values, members] {
                let settings = values.into_iter().map(|value| Setting::from([(name.to_owned(), value)]));
                found.extend(settings.filter_map(|setting| self.variable(said, &usual, name, setting)).next());
            }
        }
        found
    }

    /// Whether the template has a text in place of a special token that is not given. One that it leaves out is reported
    /// as missing.
    fn has_default(&self, usual: &Outlook, name: &str) -> bool {
        let Cutter { plain, offering, .. } = self.cutter;
        let outlook = self.outlook(plain, offering, &Setting::from([(name.to_owned(), needle::TOKEN.into())]));
        let without = outlook.map(|text| text.map(|text| text.replace(needle::TOKEN, "")));
        without != *usual
    }

    fn clock(&self, said: &[TestAnswer], usual: &Outlook) -> Option<Assumption> {
        let clock = Prober::new(self.template, self.variables, Some(ANOTHER_TIME.to_owned()));
        let request = self.cutter.request;
        let plain = clock.with_shape(request.request_shape).with_reasoning(request.reasoning_input.as_ref());
        let offering = plain.offering(self.cutter.offering.offered().cloned());
        if self.outlook(&plain, &offering, &Setting::new()) == *usual {
            return None;
        }
        let message = "the text around the turn depends on the clock; the draft reads it as written now".to_owned();
        // A setting may change the text before the time, so look under every setting.
        let settings = request.usage.settings.iter().cloned();
        let cases = settings.flat_map(|setting| self.cases(said, &plain, &offering, setting)).collect();
        Some(Assumption::new(message, cases))
    }

    fn variable(&self, said: &[TestAnswer], usual: &Outlook, name: &str, setting: Setting) -> Option<Assumption> {
        let Cutter { plain, offering, request, .. } = self.cutter;
        let outlook = self.outlook(plain, offering, &setting);
        let is_known = |known: &Setting| self.outlook(plain, offering, known) == outlook;
        // A value that only turns a switch on is a setting of the proof.
        if outlook == *usual || outlook.iter().all(Option::is_none) || request.usage.settings.iter().any(is_known) {
            return None;
        }
        let how = if self.variables.contains_key(name) { "with the value given" } else { "without it" };
        let message = format!("the text around the turn depends on `{name}`; the draft reads it as written {how}");
        let cases = self.cases(said, plain, offering, setting);
        Some(Assumption { variable: Some(name.to_owned()), ..Assumption::new(message, cases) })
    }

    /// Reasoning that messages have under another key, if the template writes it in another place.
    fn other_reasoning(&self, said: &[TestAnswer], usual: &Outlook) -> Option<Assumption> {
        let Cutter { plain, offering, request, .. } = self.cutter;
        let Some(ReasoningInput::Key(key)) = &request.reasoning_input else { return None };
        request.usage.reasoning_inputs.iter().find_map(|input| {
            let ReasoningInput::Key(other) = input else { return None };
            if other == key || !input.is_named_for_reasoning() {
                return None;
            }
            let [plain, offering] = [plain, offering].map(|prober| prober.with_reasoning(Some(input)));
            let outlook = self.outlook(&plain, &offering, &Setting::new());
            let is_written = outlook.iter().flatten().any(|text| text.contains(needle::REASONING));
            if outlook == *usual || !is_written {
                return None;
            }
            let message = format!("the template writes `{other}` differently from `{key}`, which the draft reads");
            Some(Assumption::new(message, self.cases(said, &plain, &offering, Setting::new())))
        })
    }

    /// Reasoning that the template writes only in some turns, so that the draft knows of none.
    fn rare_reasoning(&self, said: &[TestAnswer]) -> Option<Assumption> {
        let request = self.cutter.request;
        if request.reasoning_input.is_some() {
            return None;
        }
        let thoughts: Vec<TestAnswer> = said.iter().filter(|said| said.answer.reasoning.is_some()).cloned().collect();
        let is_thought =
            |input: &&ReasoningInput| matches!(input, ReasoningInput::Key(_)) && input.is_named_for_reasoning();
        request.usage.reasoning_inputs.iter().filter(is_thought).find_map(|input| {
            [self.every_history(), self.asked_for()].into_iter().find_map(|histories| {
                let mut cases = self.cases_under(input, &thoughts, histories);
                let shows = |thought: &String, case: &Case| case.text.contains(thought.trim());
                cases.retain(|case| case.said.reasoning.as_ref().is_some_and(|thought| shows(thought, case)));
                let message = "the template writes reasoning in some turns, which the draft does not read".to_owned();
                (!cases.is_empty()).then_some(Assumption::new(message, cases))
            })
        })
    }

    fn main_histories(&self) -> Vec<History> {
        self.cutter.histories.iter().filter(|history| history.is_main).cloned().collect()
    }

    /// All histories, each for any answer.
    fn every_history(&self) -> Vec<History> {
        let histories = self.cutter.histories.iter();
        histories.map(|history| History { is_main: true, is_brief: false, ..history.clone() }).collect()
    }

    /// Histories in which a system message or a user says what the template seeks in a text.
    fn asked_for(&self) -> Vec<History> {
        let variables = self.template.variables();
        let of_message = |path: &str| {
            let root = path.split(['.', '[']).next().unwrap_or_default();
            let is_other = [".role", ".type", ".name"].iter().any(|key| path.ends_with(key));
            !is_other && (root == "messages" || !variables.iter().any(|name| name == root))
        };
        let sought = self.template.compared_constants().iter().filter(|(path, _)| of_message(path));
        let texts = distinct(sought.flat_map(|(_, constants)| constants.iter().filter_map(Value::as_str)));
        let question = || Message::User(conversations::QUESTION.to_owned());
        let asked = texts.into_iter().filter(|text| !text.is_empty()).take(MOST_SOUGHT).flat_map(|text| {
            let said = [vec![Message::System(text.to_owned()), question()], vec![Message::User(text.to_owned())]];
            said.map(|messages| History::main(format!("after {text:?}"), messages))
        });
        asked.collect()
    }

    /// The cases of answers whose reasoning is under this key.
    fn cases_under(&self, input: &ReasoningInput, said: &[TestAnswer], histories: Vec<History>) -> Vec<Case> {
        let Cutter { plain, offering, request, .. } = self.cutter;
        let [plain, offering] = [plain, offering].map(|prober| prober.with_reasoning(Some(input)));
        let mut request = (*request).clone();
        request.usage.settings = vec![Setting::new()];
        request.reasoning_input = Some(input.clone());
        self.cases_asked(request, said, [&plain, &offering], histories)
    }

    /// Turns whose message has another key that the template reads.
    fn other_keys(&self, said: &[TestAnswer]) -> Vec<Assumption> {
        let request = self.cutter.request;
        let plain_answers = said.iter().filter(|said| said.reach == Reach::Settings && said.answer.reasoning.is_none());
        let given: Vec<TestAnswer> = plain_answers
            .map(|said| TestAnswer {
                answer: said.answer.clone().with_reasoning(A_VALUE),
                reach: Reach::Histories,
                // Whether or not the text shows it.
                keeps: Some(Place::Reasoning),
                ..said.clone()
            })
            .collect();
        let inputs = request.usage.attributes.iter().chain(&request.usage.reasoning_inputs);
        let others =
            inputs.filter(|input| !input.is_named_for_reasoning() && Some(*input) != request.reasoning_input.as_ref());
        let source = self.template.source();
        let values = OnceCell::new();
        let assumption = |input: &ReasoningInput| {
            let ReasoningInput::Key(key) = input else { return None };
            let mut cases = self.cases_under(input, &given, self.main_histories());
            for case in &mut cases {
                case.expected.reasoning = None;
            }
            let message = format!("the draft does not read turns whose message has `{key}`");
            // A text has no members: what the template writes for it is an empty frame, which no draft should read.
            let has_members = || values.get_or_init(|| MessageValues::new(source)).prints_members(key);
            let is_of_message = !cases.is_empty() && self.is_by_presence(input, &given, &cases) && !has_members();
            (!cases.is_empty()).then_some(Assumption { is_of_message, ..Assumption::new(message, cases) })
        };
        others.filter_map(assumption).collect()
    }

    /// Whether the turns of these answers with this key are the same for another value, so that its presence decides. One that
    /// does not extend its prompt begins with another message, such as one with tools.
    fn is_by_presence(&self, input: &ReasoningInput, given: &[TestAnswer], cases: &[Case]) -> bool {
        let other = |said: &TestAnswer| TestAnswer {
            answer: said.answer.clone().with_reasoning(ANOTHER_VALUE),
            ..said.clone()
        };
        let others: Vec<TestAnswer> = given.iter().map(other).collect();
        let histories = self.main_histories().into_iter().take(1).collect();
        let is_same = |other: &Case| {
            other.cut == Cut::Exact && cases.iter().any(|case| case.name == other.name && case.text == other.text)
        };
        let others = self.cases_under(input, &others, histories);
        !others.is_empty() && others.iter().all(is_same)
    }

    /// Arguments that are objects, if the proof gives them as text and the template writes objects in another way.
    fn objects(&self, said: &[TestAnswer], usual: &Outlook) -> Option<Assumption> {
        let Cutter { plain, offering, request, .. } = self.cutter;
        let request_shape = RequestShape { arguments_text: false, ..request.request_shape };
        if !request.request_shape.arguments_text {
            return None;
        }
        let [plain, offering] = [plain, offering].map(|prober| prober.with_shape(request_shape));
        let outlook = self.outlook(&plain, &offering, &Setting::new());
        let is_written = outlook.iter().flatten().any(|text| text.contains(needle::VALUES[0]));
        if outlook == *usual || !is_written {
            return None;
        }
        let message =
            "the template writes arguments that are objects differently from JSON text, which the draft reads"
                .to_owned();
        let called: Vec<TestAnswer> = said.iter().filter(|said| !said.answer.calls.is_empty()).cloned().collect();
        Some(Assumption::new(message, self.cases_of(&called, &plain, &offering, Setting::new())))
    }

    /// Calls whose absent content is passed in another way, if the template writes another text for it.
    fn other_absent(&self, said: &[TestAnswer], usual: &Outlook) -> Option<Assumption> {
        let own = self.cutter.request.request_shape.absent;
        let others = [Absent::Empty, Absent::Null, Absent::Missing].into_iter().filter(|other| *other != own);
        let mut printed = None;
        for found in others.filter_map(|other| self.absent(other, said, usual)) {
            if found.is_of_message {
                return Some(found);
            }
            printed.get_or_insert(found);
        }
        printed
    }

    /// The same for content that is absent like this. No draft learns null as Python prints it: that is a fault of the template,
    /// and an answer may be this word.
    fn absent(&self, absent: Absent, said: &[TestAnswer], usual: &Outlook) -> Option<Assumption> {
        let Cutter { plain, offering, request, histories, .. } = self.cutter;
        let request_shape = RequestShape { absent, ..request.request_shape };
        let messages = [&histories.first()?.messages[..], &[Message::Assistant(called())]].concat();
        let [_, _, usual] = usual;
        offering.render_in(request_shape, &messages, &Setting::new(), false)?;
        let [plain, offering] = [plain, offering].map(|prober| prober.with_shape(request_shape));
        let [_, _, other] = self.outlook(&plain, &offering, &Setting::new());
        let other = other.filter(|text| usual.as_ref() != Some(text) && text.contains(needle::VALUES[0]))?;
        let (described, own) = (absent.describe(), request.request_shape.absent.describe());
        let nulls = |text: &str| text.matches("None").count();
        let is_printed = nulls(&other) > usual.as_deref().map_or(0, nulls);
        let message = match is_printed {
            true => format!(
                "the template prints `None` for content that is {described} beside calls, which comes back as content"
            ),
            false => format!(
                "the template writes calls whose content is {described} differently from calls whose content is {own}, which the draft reads"
            ),
        };
        let is_lone_call = |said: &&TestAnswer| !said.answer.calls.is_empty() && said.answer.content.is_none();
        let said: Vec<TestAnswer> = said.iter().filter(is_lone_call).cloned().collect();
        let cases = self.cases_of(&said, &plain, &offering, Setting::new());
        Some(Assumption { is_of_message: !is_printed, ..Assumption::new(message, cases) })
    }

    /// Truth values in a list, if the template prints the list as Python does.
    fn words_in_lists(&self) -> Option<Assumption> {
        let message = "the template writes true, false and null in a list as `True`, `False` and `None`, which the draft does not read";
        self.written("get_route", r#"{"city": "Ghent", "sizes": [true, false, null]}"#, "True", message)
    }

    /// The line break at the end of a call's last argument, if the template writes it as it is: the end of the call follows
    /// it, around which models write white space that is not meant.
    fn last_line_break(&self) -> Option<Assumption> {
        let message = "the draft does not read the line break that ends the last argument of a call";
        self.written("run_code", r#"{"code": "far(43)\nprint(far(51))\n"}"#, "print(far(51))\n", message)
    }

    /// An argument whose name has an escape in JSON.
    fn escaped_name(&self) -> Option<Assumption> {
        let message = "the draft does not read the escape in the name of an argument, such as that of a quote";
        self.written("run_code", r#"{"a\"b": "far(43)"}"#, r#""a\"b""#, message)
    }

    /// A call with these arguments, if this shows how the template writes them.
    fn written(&self, tool: &str, arguments: &str, shown: &str, message: &str) -> Option<Assumption> {
        let Cutter { plain, offering, request, .. } = self.cutter;
        if !request.calls.shown {
            return None;
        }
        let answer = Answer::calls(vec![conversations::call("a1B2c3D4e", tool, arguments)]);
        let said = TestAnswer::new(message, answer, Reach::Histories, request.calls.named_ids);
        let mut cases = self.cases_of(&[said], plain, offering, Setting::new());
        cases.retain(|case| case.text.contains(shown));
        (!cases.is_empty()).then(|| Assumption::new(message.to_owned(), cases))
    }

    /// The end of a turn, if the template writes more after it and no stop token ends it.
    fn end(&self, case: &Case) -> Option<Assumption> {
        let rest = rest(case)?;
        let is_stopped = self.cutter.tokens.eos.is_some_and(|eos| !eos.is_empty() && case.text.ends_with(eos));
        if rest.trim().is_empty() || is_stopped {
            return None;
        }
        let written = shortened(rest.trim(), 60);
        let message = format!("every turn is followed by `{written}`, which the draft takes for the next prompt");
        let text = format!("{}{rest}", case.text);
        Some(Assumption::new(message, vec![Case { text, unstopped: None, ..case.clone() }]))
    }

    /// The settings under which the template writes no generation prompt, with which all turns of the proof start: the whole
    /// prompt comes before the turn.
    fn without_prompt(&self, case: &Case) -> Vec<Assumption> {
        let Cutter { plain, offering, request, .. } = self.cutter;
        if generated(plain, &case.history, &Setting::new()).is_empty() {
            return Vec::new();
        }
        let settings = request.usage.settings.iter().filter(|setting| !setting.is_empty());
        let lacking = settings.filter(|setting| generated(plain, &case.history, setting).is_empty());
        let assumption = |setting: &Setting| {
            let prompts = [(plain, false), (offering, true)].into_iter().filter_map(|(prober, offers_tools)| {
                let prefix = prober.render(&case.history, setting, true)?;
                let whole = prober.render(&case.with(case.said.clone()), setting, false)?;
                let text = whole.strip_prefix(&prefix)?.trim_end().to_owned();
                let setting = setting.clone();
                Some(Case { prefix, text, whole, setting, offers_tools, unstopped: None, ..case.clone() })
            });
            let words = setting_words(setting);
            let message = format!("with {words}, the template writes no generation prompt, at which the draft starts");
            let variable = setting.keys().next().map(str::to_owned);
            Assumption { variable, ..Assumption::new(message, prompts.collect()) }
        };
        lacking.map(assumption).collect()
    }

    fn outlook(&self, plain: &Prober<'_>, offering: &Prober<'_>, setting: &Setting) -> Outlook {
        let said = Answer::content(needle::CONTENT);
        let shown = |prober: &Prober<'_>, answer: Option<Answer>| {
            let history = self.cutter.histories.first()?;
            let is_prompt = answer.is_none();
            let messages: Vec<Message> = answer.map(Message::Assistant).into_iter().collect();
            let text = Scene { prober, history, setting }.render(&messages, is_prompt)?;
            Some(text.get(text.rfind(&*history.last)?..)?.to_owned())
        };
        [shown(plain, None), shown(plain, Some(said)), shown(offering, Some(called()))]
    }

    fn cases(&self, said: &[TestAnswer], plain: &Prober<'t>, offering: &Prober<'t>, setting: Setting) -> Vec<Case> {
        let said: Vec<TestAnswer> = said
            .iter()
            .filter(|said| said.reach == Reach::Settings)
            .map(|said| TestAnswer { reach: Reach::Histories, ..said.clone() })
            .collect();
        self.cases_of(&said, plain, offering, setting)
    }

    fn cases_of(&self, said: &[TestAnswer], plain: &Prober<'t>, offering: &Prober<'t>, setting: Setting) -> Vec<Case> {
        let mut request = self.cutter.request.clone();
        request.usage.settings = vec![setting];
        self.cases_asked(request, said, [plain, offering], self.main_histories())
    }

    fn cases_asked(
        &self,
        request: Request,
        said: &[TestAnswer],
        [plain, offering]: [&Prober<'t>; 2],
        histories: Vec<History>,
    ) -> Vec<Case> {
        let tokens = &self.cutter.tokens;
        let turn_starts = TurnStarts::default();
        let cutter = Cutter { plain, offering, request: &request, histories, tokens: *tokens, turn_starts };
        cutter.with_openings().cases(said)
    }
}

/// A call after reasoning, without content.
fn called() -> Answer {
    Answer { calls: vec![call(0, 1)], ..Answer::default() }.with_reasoning(needle::REASONING)
}

/// The text of a render after a turn that extends its prompt.
fn rest(case: &Case) -> Option<&str> {
    case.whole.strip_prefix(&case.prefix)?.strip_prefix(&case.text)
}

/// The text of a prompt and of two turns after the end of the history.
type Outlook = [Option<String>; 3];

/// Other values of the type of the given one, or values of several types.
fn other_than(given: Option<&Value>) -> Vec<Value> {
    match given {
        Some(Value::Number(_)) => vec![7.into()],
        Some(Value::Bool(value)) => vec![(!value).into()],
        Some(Value::String(_)) => vec!["Amber Lee".into()],
        Some(_) => Vec::new(),
        None => vec!["Amber Lee".into(), 7.into()],
    }
}
