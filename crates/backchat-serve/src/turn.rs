//! The answer to one request: the replies of the engine in, what the client gets out, and the data for the record.

use crate::answer::{Answer, problem_values};
use crate::api_error::ApiError;
use crate::custom::{CustomTools, Inputs};
use crate::fault::Fault;
use crate::model::{Model, Prepared};
use crate::record::{Ended, Outcome};
use crate::reply::{End, Reply, Update, Usage};
use crate::request::ChatRequest;
use crate::stop_strings::StopStrings;
use crate::writer::{Finish, Writer};
use backchat_core::distinct;
use backchat_core::json::Value;
use backchat_parser::deltas::{CallDelivery, Delta};
use backchat_parser::parser::Problem;

/// An answer that is being written: one choice, or several of the chat API.
#[derive(Debug)]
pub struct Turn {
    writer: Box<dyn Writer>,
    choices: Vec<Choice>,
    /// The tokens of all choices, from engines that count them together.
    usage: Option<Usage>,
    /// The stop texts of the request.
    stop: Vec<String>,
    /// Problems outside the text.
    problems: Vec<Value>,
}

#[derive(Debug)]
struct Choice {
    answer: Answer,
    inputs: Inputs,
    stops: StopStrings,
    /// The stop text that the engine names.
    stop: Option<String>,
    tokens: Vec<u64>,
    count: Count,
    has_ended: bool,
}

/// The tokens of one choice, as its engine counts them.
#[derive(Debug, Default)]
struct Count {
    usage: Option<Usage>,
    /// Those that came with reasoning.
    reasoning: u64,
    /// Whether the last piece of text has reasoning, or is inside of it.
    reasons: bool,
    has_reasoned: bool,
    /// Whether the last piece of text has something else, too.
    is_mixed: bool,
    /// Whether the last piece of text is not counted yet, and whether the tokens of reasoning in one are not known.
    is_due: bool,
    has_gap: bool,
}

impl Count {
    fn text(&mut self, reasons: bool, is_mixed: bool) {
        self.has_gap |= self.is_due;
        self.is_due = true;
        self.reasons = reasons;
        self.is_mixed = is_mixed;
        self.has_reasoned |= reasons;
    }

    fn counted(&mut self, usage: Usage) {
        let before = self.usage.map_or(0, |usage| usage.completion);
        let new = usage.completion.saturating_sub(before);
        if self.reasons {
            self.reasoning = self.reasoning.saturating_add(new);
        }
        self.has_gap |= self.reasons && self.is_mixed && new > 1;
        self.usage = Some(usage);
        self.is_due = false;
    }

    /// The tokens of reasoning, if they are known.
    fn reasoning(&self) -> Option<u64> {
        let is_known = !self.has_gap && !self.is_due;
        (is_known || !self.has_reasoned).then_some(self.reasoning)
    }
}

impl Turn {
    /// Begins the answer to a request. Fails if the prompt cannot be read.
    pub fn new(
        model: &Model,
        prepared: &Prepared,
        request: &ChatRequest,
        calls: CallDelivery,
        writer: Box<dyn Writer>,
    ) -> Result<Self, ApiError> {
        let delivery = match calls {
            // An answer that is sent as a whole has no call that turned out broken.
            CallDelivery::Growing if !request.stream => CallDelivery::Settled,
            calls => calls,
        };
        let mut writer = writer;
        let inputs = Inputs::new(CustomTools::of(request));
        let mut choices = Vec::new();
        for index in 0..request.n.max(1) {
            let mut count = Count::default();
            let parser = model.parser(prepared)?;
            let answer = Answer::new(parser, request.continues, delivery, &mut |delta| writer.delta(index, delta));
            count.reasons = answer.is_reasoning();
            let stops = if prepared.engine.leaves_stop() { request.stop.as_slice() } else { &[] };
            choices.push(Choice {
                answer,
                inputs: inputs.clone(),
                stops: StopStrings::new(stops),
                stop: None,
                tokens: Vec::new(),
                count,
                has_ended: false,
            });
        }
        let unconstrained = prepared.unconstrained.then(|| Value::from([("kind", "unconstrained".into())]));
        let problems = unconstrained.into_iter().collect();
        Ok(Self { writer, choices, usage: None, stop: request.stop.clone(), problems })
    }

    pub fn id(&self) -> &str {
        self.writer.id()
    }

    /// Applies a reply of the engine, which came after this many milliseconds. Fails if the answer cannot be read.
    pub fn take(&mut self, reply: Reply, after_ms: u32) -> Result<(), Fault> {
        let (choice, update) = match reply {
            Reply::Choice(choice, update) => (choice, update),
            Reply::Usage(usage) => {
                self.usage = Some(usage);
                return Ok(());
            }
            Reply::Done => return Ok(()),
        };
        let Some(own) = self.choices.get_mut(choice).filter(|own| !own.has_ended) else { return Ok(()) };
        match update {
            Update::Text(text) => {
                let text = own.stops.feed(&text);
                own.feed(&text, after_ms, &mut |delta| self.writer.delta(choice, delta))
            }
            Update::Logprobs(tokens) => {
                self.writer.logprobs(choice, tokens);
                Ok(())
            }
            Update::Tokens(ids) => {
                own.tokens.extend(ids);
                Ok(())
            }
            Update::Usage(usage) => {
                own.count.counted(usage);
                Ok(())
            }
            Update::Stop(text) => {
                own.stop = Some(text);
                Ok(())
            }
            Update::End(end) => self.finish(choice, end, after_ms),
            Update::Failed(reason) => Err(Fault::GivenUp(reason)),
        }
    }

    /// Ends a choice.
    fn finish(&mut self, choice: usize, end: End, after_ms: u32) -> Result<(), Fault> {
        let Some(own) = self.choices.get_mut(choice) else { return Ok(()) };
        let mut sink = |delta: Delta<'_>| self.writer.delta(choice, delta);
        let rest = own.stops.finish();
        own.feed(&rest, after_ms, &mut sink)?;
        own.answer.finish(end, &mut |delta| own.inputs.delta(delta, &mut sink))?;
        own.inputs.finish(&mut sink);
        own.has_ended = true;
        let stop = own.stop.as_deref().or_else(|| own.stops.found());
        // Each once, as an answer that is sent whole lists those of all its choices.
        let problems = distinct(problem_values(own.answer.problems(), &self.problems));
        let finish = Finish {
            reason: own.answer.finish_reason(),
            stop: stop.filter(|text| self.stop.iter().any(|known| known == text)).map(str::to_owned),
            problems: (!problems.is_empty()).then_some(Value::List(problems)),
        };
        self.writer.finish(choice, finish);
        Ok(())
    }

    /// Whether the engine has written something.
    pub fn has_begun(&self) -> bool {
        self.choices.iter().any(|choice| choice.has_ended || !choice.answer.text().is_empty())
    }

    /// Whether every choice has ended.
    pub fn has_ended(&self) -> bool {
        self.choices.iter().all(|choice| choice.has_ended)
    }

    /// The tokens of the answer, once the engine has counted them.
    pub fn count(&self) -> Option<Usage> {
        let of_choices = || {
            self.choices.iter().try_fold(Usage::default(), |sum, choice| {
                let usage = choice.count.usage?;
                let completion = sum.completion.saturating_add(usage.completion);
                Some(Usage { prompt: usage.prompt.max(sum.prompt), completion, reasoning: None })
            })
        };
        let reasoning = self.choices.iter().map(|choice| choice.count.reasoning()).sum();
        Some(Usage { reasoning, ..self.usage.or_else(of_choices)? })
    }

    /// What is to be sent now.
    pub fn unsent(&mut self) -> String {
        std::mem::take(self.writer.unsent())
    }

    /// Whether there is something to send.
    pub fn has_unsent(&mut self) -> bool {
        !self.writer.unsent().is_empty()
    }

    /// Writes the last events of a stream.
    pub fn end(&mut self) {
        let usage = self.count();
        self.writer.end(usage);
    }

    /// Writes the event of a failure.
    pub fn fail(&mut self, error: &ApiError) {
        self.writer.fail(error);
    }

    /// Whether a stream may end after the event of a failure.
    pub fn ends_by_failing(&self) -> bool {
        self.writer.ends_by_failing()
    }

    /// The whole answer.
    pub fn whole(&mut self) -> Value {
        let usage = self.count();
        self.writer.whole(usage)
    }

    /// The problems in the texts.
    pub fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.choices.iter().flat_map(|choice| choice.answer.problems())
    }

    /// Whether what the request requires was not enforced.
    pub fn is_unconstrained(&self) -> bool {
        !self.problems.is_empty()
    }

    /// How many characters the engine has written.
    pub fn characters(&self) -> u64 {
        let chunks = self.choices.iter().flat_map(|choice| choice.answer.chunks());
        chunks.map(|(length, _)| u64::from(*length)).sum()
    }

    /// The choices for the record.
    pub fn choices(&self, outcome: Outcome, total_ms: u32) -> impl Iterator<Item = Ended<'_>> {
        let count = self.count();
        let shares = self.choices.len() == 1;
        self.choices.iter().enumerate().map(move |(index, choice)| Ended {
            choice: index,
            answer: &choice.answer,
            // A choice that ended is complete, whatever happened to the others.
            outcome: if choice.has_ended { Outcome::Complete } else { outcome },
            usage: count.filter(|_| shares).or(choice.count.usage),
            problems: &self.problems,
            token_ids: &choice.tokens,
            total_ms,
        })
    }
}

impl Choice {
    fn feed(&mut self, text: &str, after_ms: u32, sink: &mut dyn FnMut(Delta<'_>)) -> Result<(), Fault> {
        if text.is_empty() {
            return Ok(());
        }
        let (mut reasons, mut answers) = (false, false);
        let result = self.answer.feed(text, after_ms, &mut |delta: Delta<'_>| {
            let is_reasoning = matches!(delta, Delta::Reasoning(_));
            reasons |= is_reasoning;
            answers |= !is_reasoning;
            self.inputs.delta(delta, sink);
        });
        // A marker that ends reasoning is no part of it.
        let is_mixed = answers || (reasons && !self.answer.is_reasoning());
        self.count.text(reasons || self.answer.is_reasoning(), is_mixed);
        result
    }
}
