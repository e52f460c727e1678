//! The proof: renders conversations, cuts out the last turn of each byte for byte, and parses it back.
//!
//! It works for any response template and any chat template, and does not know how a draft was made. [`Proof::new`] finds
//! out how the chat template takes a conversation, and renders the cases once. [`Proof::judge`] may then be called for
//! any number of candidates: only the few cases that contain a candidate's own markers are rendered again.
//!
//! A [`Failure`] is one cause with its smallest example. Its [`Boundary`](boundary::Boundary) says which field is wrong
//! at which byte of `text`, and how (a `Fault`): that is the choice to vary. A [`Loss`] is a difference that no template can avoid: the
//! message that came back has no less structure and renders to the same bytes. Rank candidates by [`Verdict::failed`],
//! then by [`Verdict::lost`].

mod assumptions;
mod boundary;
mod branches;
mod case;
mod conversations;
mod deviants;
mod deviations;
mod forced;
mod header;
mod hunt;
mod judge;
mod listed;
mod message_values;
mod ordinary;
mod policies;
mod readable;
mod reading;
mod refused;
mod renders;
mod request;
mod scope;
mod switched;
mod together;
mod tolerance;
mod turn_start;
mod turns;
mod unreadable;
mod verdict;

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use super::Options;
use super::recorded::{self, Explained, Prompt, Sample};
use assumptions::{Assumption, Setup};
use backchat_chat::{ChatTemplate, ended};
use backchat_core::distinct;
use backchat_core::json::Value;
use backchat_core::text::slice;
use backchat_parser::parser::Tools;
use backchat_parser::template::Template;
use backchat_probe::probe::{Answer, Message, Prober, REASONING_KEYS, ReasoningInput, RequestShape, Setting};
use branches::Branches;
use case::{Cutter, TurnStarts};
use conversations::TestAnswer;
use judge::Judge;
use ordinary::OrdinaryDelimiters;
use renders::Tokens;
use request::Request;

pub(super) use case::Case;
pub use conversations::{DESCRIPTIONS, tools};
pub use hunt::{Hunt, Hunted};
pub use listed::{Conversation, conversations, with_conversations};
pub use readable::{ReadableTurn, ReadableTurns};
pub use reading::Part;
pub(super) use reading::message_of;
pub use reading::reasoning_field;
pub use refused::RefusedPart;
pub(super) use renders::leaves;
pub use tolerance::{Cuts, PolicyRounds, Tolerance};
pub(super) use turns::Detailed;
pub(super) use verdict::UnreadTurn;
pub use verdict::{Failure, Fate, Loss, Scope, Unverified, Verdict};

/// How many conversations a proof has at most. A chat template with many switches is proved under the first ones,
/// and asked about some others.
const MOST_CASES: usize = 240;

/// A candidate that the proof refuted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tried {
    pub draft: Value,
    /// How many conversations it read wrongly.
    pub failed: usize,
    /// The smallest failure.
    pub refuted: String,
}

/// The cases of one chat template.
pub(super) struct Proof<'t> {
    /// Passes conversations in the first request shape that shows content.
    pub prober: Prober<'t>,
    /// Passes them in the request shape that calls and reasoning need.
    plain: Prober<'t>,
    offering: Prober<'t>,
    pub request: Request,
    cases: Vec<Case>,
    assumptions: Vec<Assumption>,
    /// The branches of the chat template; computed on demand.
    branches: OnceCell<Branches>,
    /// How the last template that was asked about them reads them.
    fates: RefCell<Option<(Value, Rc<[Fate]>)>>,
    tools: Arc<Tools>,
    tokens: Tokens<'t>,
    /// The prompts that end differently, the usual one first; computed on demand.
    prompts: OnceCell<Vec<Prompt>>,
    /// The candidates refuted so far, in order.
    tried: RefCell<Vec<Tried>>,
    /// How turns compare with prompts, computed once.
    turn_starts: RefCell<TurnStarts>,
    /// Whether the reasoning may have a name that the chat template does not read, because the user requested it.
    pub any_reasoning_name: bool,
}

impl<'t> Proof<'t> {
    /// Renders the cases; `None` if no render shows an answer.
    pub fn new(template: &'t ChatTemplate, options: &'t Options) -> Option<Self> {
        let mut proof = Self::without_cases(template, options)?;
        let foreign = conversations::foreign(template.literals());
        let named_ids = proof.request.calls.named_ids;
        let said = conversations::answers(named_ids, &foreign);
        let mut cases = proof.cut(|cutter| cutter.cases(&said));
        let between = case::between_arguments(&cases).map(|text| conversations::separated(&text, named_ids));
        cases.extend(between.into_iter().flat_map(|said| proof.cut(|cutter| cutter.cases(&said))));
        // A template that escapes quotes itself has the escaped quote in one of its texts.
        if template.literals().iter().any(|text| text.contains("\\\"")) {
            let partly = proof.cut(|cutter| cutter.cases(&conversations::partly_escaped(named_ids)));
            cases.extend(partly.into_iter().filter(|case| conversations::is_partly_escaped(&case.text)));
        }
        let mut untried = proof.add_together(&said, &mut cases);
        proof.add_syntaxes(&mut cases);
        cases.extend(proof.forced_calls(&said));
        let variables = &options.variables;
        proof.assumptions = proof.cut(|cutter| Setup { template, variables, cutter }.find(&said, &cases));
        proof.cases = cases;
        untried.retain(|case| proof.is_meant(case));
        proof.assumptions.push(Assumption::untried(untried));
        Some(proof)
    }

    /// Finds the request shape of the chat template; renders no case.
    pub fn without_cases(template: &'t ChatTemplate, options: &'t Options) -> Option<Self> {
        let variables = &options.variables;
        let prober = Prober::new(template, variables, options.now.clone()).settled()?;
        let request = request::find(template, &prober, options);
        let plain = prober.with_shape(request.request_shape).with_reasoning(request.reasoning_input.as_ref());
        let offering = plain.offering(Some(offered_as(request.request_shape, tools())));
        let token = |name: &str| variables.get(name).and_then(Value::as_str);
        let tokens = Tokens { bos: token("bos_token"), eos: token("eos_token") };
        let tools = judge::parser_tools()?;
        Some(Self {
            prober,
            plain,
            offering,
            request,
            cases: Vec::new(),
            assumptions: Vec::new(),
            branches: OnceCell::new(),
            fates: RefCell::default(),
            tools,
            tokens,
            prompts: OnceCell::new(),
            tried: RefCell::default(),
            any_reasoning_name: options.any_reasoning_name(),
            turn_starts: RefCell::default(),
        })
    }

    /// Runs a closure with a cutter that has the turn starts of earlier ones.
    fn cut<T>(&self, work: impl FnOnce(&mut Cutter<'_, 't>) -> T) -> T {
        let calls = self.request.calls;
        let histories = conversations::histories(calls.named_ids, calls.several);
        let turn_starts = self.turn_starts.take();
        let Self { plain, offering, request, tokens, .. } = self;
        let cutter = Cutter { plain, offering, request, histories, tokens: *tokens, turn_starts };
        let mut cutter = cutter.with_openings();
        let done = work(&mut cutter);
        self.turn_starts.replace(cutter.turn_starts);
        done
    }

    /// Runs a closure with a cutter for these settings in the place of the usual ones.
    fn cut_under<T>(&self, settings: Vec<Setting>, work: impl FnOnce(Cutter<'_, 't>) -> T) -> T {
        let Self { plain, offering, request, tokens, .. } = self;
        let mut request = request.clone();
        request.usage.settings = settings;
        let histories = conversations::histories(request.calls.named_ids, request.calls.several);
        let turn_starts = TurnStarts::default();
        work(Cutter { plain, offering, request: &request, histories, tokens: *tokens, turn_starts })
    }

    /// Reads samples with a template. Those without a prompt are tried after every end of a prompt.
    pub fn explain(&self, samples: &[Sample], template: &Template) -> Explained {
        let asks = samples.iter().any(|sample| sample.prefix.is_none());
        let prompts = if asks { self.prompts() } else { &[] };
        recorded::explain(samples, template, prompts)
    }

    /// The prompt that most turns follow.
    pub fn usual_prompt(&self) -> &str {
        self.prompts().first().map_or("", |prompt| prompt.text.as_str())
    }

    fn prompts(&self) -> &[Prompt] {
        self.prompts.get_or_init(|| self.cut(|cutter| cutter.prompts()))
    }

    /// Whether the conversations had turns with calls, or neither renders nor the template have calls.
    pub fn saw_calls(&self, template: &Template, verdict: &Verdict) -> bool {
        !verdict.scope.not_shown.contains(&"calls") || (template.field("tool_calls").is_none() && !self.shows_calls())
    }

    /// Whether renders show calls.
    pub fn shows_calls(&self) -> bool {
        self.request.calls.shown || self.request.calls.garbled
    }

    /// Two turns with the same text whose calls differ only in keys or names.
    fn turns_alike(&self) -> Vec<UnreadTurn> {
        let history = [Message::User("How far is it to Brzeg?".to_owned())];
        let turn = |[name, key]: [&str; 2]| {
            let call = conversations::call("a1B2c3D4e", name, &format!("{{\"{key}\": \"Ghent\"}}"));
            let answer = Answer::calls(vec![call]);
            let setting = Setting::new();
            let prefix = self.plain.render(&history, &setting, true)?;
            let whole = [history.as_slice(), &[Message::Assistant(answer.clone())]].concat();
            let text = self.plain.render(&whole, &setting, false)?;
            let text = text.strip_prefix(&prefix).unwrap_or(&text).to_owned();
            let case = format!("a call of {name} with the argument {key}");
            Some(UnreadTurn { case, prefix, text, expected: reading::message_of(&answer, None) })
        };
        let pairs = [[["get_route", "from"], ["get_route", "to"]], [["get_route", "to"], ["GET_ROUTE", "to"]]];
        let pairs = pairs.map(|pair| pair.into_iter().filter_map(turn).collect::<Vec<_>>());
        let is_alike = |turns: &Vec<UnreadTurn>| turns.array_windows().any(|[a, b]| a.text == b.text);
        pairs.into_iter().find(is_alike).unwrap_or_default()
    }

    /// The two shortest turns with calls, whose calls differ.
    pub fn turns_with_calls(&self) -> Vec<UnreadTurn> {
        if self.request.calls.garbled {
            return self.turns_alike();
        }
        let mut cases: Vec<&Case> = self.cases.iter().filter(|case| !case.expected.calls.is_empty()).collect();
        cases.sort_by_key(|case| case.text.len());
        let turn = |case: &Case| UnreadTurn {
            case: case.name.clone(),
            prefix: case.prefix.clone(),
            text: case.text.clone(),
            expected: reading::message_of(&case.expected, None),
        };
        let mut turns: Vec<UnreadTurn> = cases.into_iter().map(turn).collect();
        turns.dedup_by(|one, other| one.expected == other.expected);
        turns.truncate(2);
        turns
    }

    /// Whether renders show reasoning.
    pub fn shows_reasoning(&self) -> bool {
        self.request.reasoning_input.is_some()
    }

    /// Whether every conversation came back, and renders show all parts of a turn.
    pub fn covers(&self, verdict: &Verdict) -> bool {
        let shows_all = verdict.scope.broken().is_none() && !self.request.reasoning_is_changed;
        verdict.holds() && shows_all && verdict.unread_setting.is_none()
    }

    /// The candidates refuted so far, in order.
    pub fn tried(&self) -> Vec<Tried> {
        self.tried.borrow().clone()
    }

    /// What recovery policies do to the conversations, for a template that reads all of them; with `thorough`, also to turns
    /// cut at every character.
    pub fn policies(&self, template: &Template, thorough: bool) -> PolicyRounds {
        let judge = self.judge_with(template);
        policies::find(&judge, &self.cases, thorough)
    }

    fn judge_with<'a>(&'a self, template: &'a Template) -> Judge<'a, 't> {
        Judge::new(template, self.tools.clone(), &self.plain, &self.offering)
    }

    /// The cases with the beginnings of a template's own delimiters, but none in which the chat template takes one of them for a
    /// mark and writes the rest elsewhere.
    fn cases_about(&self, template: &Template) -> Vec<Case> {
        let said = conversations::about(&marks(template), self.request.calls.named_ids);
        let mut cases = self.cut(|cutter| cutter.cases(&said));
        let is_whole = |case: &Case| {
            let Some(content) = case.said.content.as_deref().map(str::trim) else { return true };
            let json = Value::from(content).to_string();
            [content, slice(&json, 1..json.len() - 1)].iter().any(|written| case.text.contains(written))
        };
        if self.cases.iter().any(|case| case.expected.content.is_some() && is_whole(case)) {
            cases.retain(is_whole);
        }
        cases
    }

    /// The cases with text like a template's own delimiters, if that is ordinary text, and those with the open of a call
    /// behind the end of another one.
    fn cases_like(&self, template: &Template) -> [Vec<Case>; 2] {
        let (delimiters, named_ids) = (OrdinaryDelimiters::of(template), self.request.calls.named_ids);
        let cases = |said: Vec<TestAnswer>| match said.is_empty() {
            true => Vec::new(),
            false => self.cut(|cutter| cutter.cases(&said)),
        };
        let begun = delimiters.begun(&self.cases, named_ids);
        let wrapped = delimiters.wrapped(&self.cases, named_ids);
        let emphasized = delimiters.emphasized(named_ids);
        let alone = delimiters.answers(named_ids).into_iter().chain(begun).chain(emphasized).chain(wrapped).collect();
        [cases(alone), cases(delimiters.behind_calls(named_ids))]
    }

    /// Parses every case back with a template.
    pub fn judge(&self, template: &Template) -> Verdict {
        let judge = self.judge_with(template);
        let own = self.cases_about(template);
        let mut verdict = Verdict::default();
        let mut passed: Vec<&Case> = Vec::new();
        let mut passed_with_reasoning = 0;
        for case in self.cases.iter().chain(&own).take_while(|_| ended().is_none()) {
            verdict.cases += 1;
            verdict.recut += usize::from(case.cut != turn_start::Cut::Exact);
            match judge.fate(case) {
                Fate::Passed => {
                    verdict.passed += 1;
                    passed_with_reasoning += usize::from(case.expected.reasoning.is_some());
                    passed.push(case);
                }
                Fate::Lost(loss) => {
                    passed.push(case);
                    verdict.lose(loss);
                }
                Fate::Failed(failure) => verdict.fail(*failure),
            }
        }
        if let Some(failure) = self.unread_name(template, &passed) {
            // All conversations with reasoning fail, including those with losses.
            verdict.passed -= passed_with_reasoning;
            verdict.failures.push(failure);
        }
        let [alone, behind] = self.cases_like(template);
        for case in alone {
            if let Some(failure) = verdict.count_read(judge.fate(&case)) {
                verdict.excused.push(excused(&case, &failure));
            }
        }
        for case in behind {
            if let Some(failure) = verdict.count_read(judge.fate(&case)) {
                let loss = excused(&case, &failure);
                let is_known = verdict.excused.iter().any(|known| known.message == loss.message);
                verdict.excused_behind.extend((!is_known).then_some(loss));
            }
        }
        verdict.failures.sort_by_key(|failure| failure.text.len());
        verdict.losses.sort_by(|a, b| (a.part, &a.message).cmp(&(b.part, &b.message)));
        (verdict.scope, verdict.unverified) = scope::find(template, &self.request, &self.cases, &passed);
        // Reasoning that some turns have is not missing, though no conversation of the proof's own shows it.
        if self.assumptions.iter().any(Assumption::shows_reasoning) {
            verdict.scope.not_shown.retain(|part| *part != "reasoning");
        }
        if verdict.holds() && ended().is_none() {
            verdict.losses.extend(self.assumptions.iter().flat_map(|assumption| assumption.losses(&judge)));
            verdict.tolerance = deviations::find(&judge, &passed);
        }
        verdict.ended = ended();
        if let Some(failure) = verdict.failures.first() {
            let (draft, failed, refuted) = (template.to_value(), verdict.failed(), failure.describe());
            self.tried.borrow_mut().push(Tried { draft, failed, refuted });
        }
        verdict
    }
}

/// The keys to which transformers copies the reasoning, under any name, before it renders.
const COPIES: [&str; 2] = ["reasoning_content", "thinking"];

impl Proof<'_> {
    /// The failure of a template that gives reasoning a name that the chat template does not read.
    fn unread_name(&self, template: &Template, passed: &[&Case]) -> Option<Failure> {
        let Some(ReasoningInput::Key(key)) = &self.request.reasoning_input else { return None };
        let field = reading::reasoning_field(template).filter(|field| !self.any_reasoning_name && field != key)?;
        let cases = passed.iter().filter(|case| case.expected.reasoning.is_some());
        let first = cases.clone().min_by_key(|case| case.text.len())?;
        // The template may read several keys: check whether the turn is the same under this name.
        let copies: &[&str] = if REASONING_KEYS.contains(&field) { &COPIES } else { &[] };
        let prober = first.prober(&self.plain, &self.offering);
        let messages = first.with(first.said.clone());
        let is_read = std::iter::once(&field).chain(copies).any(|name| {
            let prober = prober.with_reasoning(Some(&ReasoningInput::Key((*name).to_owned())));
            prober.render(&messages, &first.setting, false).is_some_and(|text| text == first.whole)
        });
        if is_read {
            return None;
        }
        let what = format!("the reasoning, which the chat template reads as `{key}` and not as `{field}`,");
        let [expected, got] = [key.as_str(), field].map(|name| reading::message_of(&first.expected, Some(name)));
        let failure = Failure::new(first, Part::Reasoning, what, expected, got);
        Some(Failure { count: cases.count(), ..failure })
    }
}

impl Verdict {
    /// Counts a conversation that a template reads, with or without a loss; returns the failure of another one.
    fn count_read(&mut self, fate: Fate) -> Option<Failure> {
        match fate {
            Fate::Passed => self.passed += 1,
            Fate::Lost(loss) => self.lose(loss),
            Fate::Failed(failure) => return Some(*failure),
        }
        self.cases += 1;
        None
    }

    fn lose(&mut self, loss: Loss) {
        match self.losses.iter_mut().find(|known| known.part == loss.part && known.message == loss.message) {
            Some(known) => {
                known.count += 1;
                if loss.example.len() < known.example.len() {
                    known.example = loss.example;
                }
            }
            None => self.losses.push(loss),
        }
    }

    /// Whether a failure has the cause of a known one.
    fn knows(&self, failure: &Failure) -> bool {
        self.failures.iter().any(|known| known.is_like(failure))
    }

    fn fail(&mut self, failure: Failure) {
        match self.failures.iter_mut().find(|known| known.is_like(&failure)) {
            Some(known) => {
                let count = known.count + 1;
                if failure.text.len() < known.text.len() {
                    *known = failure;
                }
                known.count = count;
            }
            None => self.failures.push(failure),
        }
    }
}

/// Tools in the request shape that the chat template takes.
fn offered_as(request_shape: RequestShape, tools: Value) -> Value {
    let Value::List(tools) = tools else { return Value::Null };
    let bare = |tool: Value| tool.get("function").cloned().unwrap_or(tool);
    Value::List(if request_shape.bare_tools { tools.into_iter().map(bare).collect() } else { tools })
}

/// The loss of a template that takes ordinary text for a delimiter.
fn excused(case: &Case, failure: &Failure) -> Loss {
    let (said, _) = case.name.split_once(" after ").unwrap_or((&case.name, ""));
    let message = format!("{said} is taken for a delimiter");
    Loss { is_assumed: true, ..Loss::new(failure.part, message, &failure.text) }
}

/// The literals of a template's delimiters.
fn marks(template: &Template) -> Vec<String> {
    let delimiters = template.fields().iter().flat_map(|field| field.open.iter().chain(&field.close));
    distinct(delimiters.filter_map(|delimiter| delimiter.literals()).flatten().cloned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, CHAT, template, value, with_proof};

    #[test]
    fn the_right_template_reads_everything() {
        with_proof(CHAT, |proof| {
            let verdict = proof.judge(&template(ANSWER));
            assert!(verdict.holds(), "{:?}", verdict.failures);
            assert_eq!(
                verdict.scope.proved,
                ["content", "reasoning", "calls", "several calls", "content beside calls"]
            );
            assert_eq!(verdict.scope.not_shown, ["ids"]);
            assert!(proof.tried().is_empty());
        });
    }

    #[test]
    fn a_refuted_template_is_recorded_with_its_smallest_failure() {
        with_proof(CHAT, |proof| {
            let wrong = template(&ANSWER.replace("</weigh>", "</other>"));
            let verdict = proof.judge(&wrong);
            let shortest = verdict.failures.iter().map(|failure| failure.text.len()).min();
            assert_eq!(verdict.failures.first().map(|failure| failure.text.len()), shortest);
            let [tried] = proof.tried().try_into().unwrap();
            assert_eq!((tried.failed, tried.draft), (verdict.failed(), wrong.to_value()));
        });
    }

    #[test]
    fn reasoning_needs_a_name_under_which_the_chat_template_reads_it() {
        let verdict = |name: &str, any_name: bool| {
            with_proof(CHAT, |mut proof| {
                proof.any_reasoning_name = any_name;
                proof.judge(&template(&ANSWER.replace("\"reasoning_content\"", &format!("\"{name}\""))))
            })
        };
        let unread = verdict("notes", false);
        assert_eq!((unread.holds(), unread.failures[0].part), (false, Part::Reasoning));
        assert!(unread.failures[0].what.contains("reads as `reasoning_content` and not as `notes`"));
        // Programs copy these names to one another, and the user may request another name.
        assert!(verdict("thinking", false).holds());
        assert!(verdict("notes", true).holds());
        // A program may pass the reasoning under any key that the template reads.
        let several = CHAT.replace("m.reasoning_content", "(m.thought or m.reasoning_content)");
        let named = |name: &str| ANSWER.replace("\"reasoning_content\"", &format!("\"{name}\""));
        let holds = |name: &str| with_proof(&several, |proof| proof.judge(&template(&named(name))).holds());
        assert_eq!(["thought", "thinking", "reasoning", "notes"].map(holds), [true, true, true, false]);
    }

    #[test]
    fn calls_that_renders_show_but_no_conversation_has_are_not_proved() {
        let saw = |chat_template: &str, answer: &str, not_shown: &[&'static str]| {
            with_proof(chat_template, |proof| {
                let mut verdict = Verdict::default();
                verdict.scope.not_shown = not_shown.to_vec();
                proof.saw_calls(&template(answer), &verdict)
            })
        };
        let plain = r#"{"start_anchor": "<assistant>", "fields": {"content": {"close": "<end>"}}}"#;
        let silent = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}";
        assert!(saw(CHAT, ANSWER, &[]) && saw(silent, plain, &["calls"]));
        assert!(!saw(CHAT, plain, &["calls"]), "renders show calls");
        assert!(!saw(silent, ANSWER, &["calls"]), "the template claims to read calls");
    }

    #[test]
    fn content_in_which_the_chat_template_finds_a_mark_is_no_case() {
        let answer = template(&ANSWER.replace("</weigh>", "</weigh><answer>"));
        let about = |content: &str| {
            let source = CHAT.replace("{{ m.content }}", content);
            with_proof(&source, |proof| {
                proof.cases_about(&answer).iter().filter(|case| case.said.content.is_some()).count()
            })
        };
        assert_eq!([about("{{ m.content }}"), about("{{ m.content.split('</weigh>')[-1] }}")], [1, 0]);
    }

    #[test]
    fn there_is_no_proof_for_a_template_that_shows_no_answer() {
        let silent = ChatTemplate::compile("{{ messages | length }}").unwrap();
        assert!(Proof::new(&silent, &Options::default()).is_none());
    }

    #[test]
    fn one_cause_is_counted_once_with_its_shortest_text() {
        let failure = |text: &str, what: &str| Failure {
            count: 1,
            case: String::new(),
            setting: Default::default(),
            part: Part::Content,
            what: what.to_owned(),
            boundary: None,
            is_malformed: false,
            prefix: String::new(),
            text: text.to_owned(),
            expected: Value::Null,
            got: Value::Null,
        };
        let mut verdict = Verdict::default();
        for (text, what) in [("longer", "content"), ("short", "content"), ("longest", "content"), ("x", "calls")] {
            verdict.fail(failure(text, what));
        }
        let kept: Vec<(usize, &str)> =
            verdict.failures.iter().map(|known| (known.count, known.text.as_str())).collect();
        assert_eq!(kept, [(3, "short"), (1, "x")]);
        for example in ["longer", "short"] {
            verdict.lose(Loss::new(Part::Content, "alike".to_owned(), example));
        }
        assert_eq!(
            (verdict.losses.len(), verdict.losses[0].count, verdict.losses[0].example.as_str()),
            (1, 2, "short")
        );
    }

    #[test]
    fn tools_are_offered_in_the_shape_that_the_template_takes() {
        let tool = value(r#"[{"type": "function", "function": {"name": "f"}}]"#);
        let bare = RequestShape { bare_tools: true, ..RequestShape::USUAL };
        assert_eq!(offered_as(RequestShape::USUAL, tool.clone()), tool);
        assert_eq!(offered_as(bare, tool), value(r#"[{"name": "f"}]"#));
    }
}
