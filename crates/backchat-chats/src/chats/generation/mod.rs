//! A template with generation blocks: the same renders, byte for byte, and spans of the assistant's text.
//!
//! Markers between the pieces of the source show where each piece writes; the pieces whose markers are at the ends of
//! the masked spans get the tags. The result is always rendered and compared first.

mod gathered;
mod reason;
mod several;
mod source;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::iter;

use super::frames::Frames;
use super::mask::mask_with;
use super::script::{Form, Script};
use backchat_chat::{Budget, ChatTemplate, RenderOptions, charge, ended, examine};
use backchat_core::json::{Object, Value};
use backchat_core::push_new;
use backchat_core::text::slice;
use backchat_probe::probe::{Renderer, context, role_of, stand_ins};
use source::{Piece, PieceKind};

/// A template with generation blocks, and its proof.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    /// The template.
    pub template: String,
    /// How many conversations render to the same bytes and have the spans of the mask.
    pub conversations: usize,
    /// Expressions that had to be split, or duplicated under a condition, because no block could enclose them.
    pub rewritten: Vec<String>,
    /// Whether the template already had blocks, which were checked and left unchanged.
    pub had_blocks: bool,
    /// Whether some blocks begin in the header of a turn, as far as the generation prompt writes that, because they can
    /// begin nowhere else.
    pub begins_in_header: bool,
}

/// Why a template cannot be given generation blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotPatched {
    /// The problem.
    pub message: String,
}

impl std::fmt::Display for NotPatched {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for NotPatched {}

/// The conversations that determine the places of the tags, and more that only prove them.
const SHAPES: &str =
    "UA SUA UAUA UR URUR UC UCT UCTA Uc UcTA Ur UrTA UrTR UD UDTTA UCTAUA UF SUAUCTAUA UAUAU UCTCTA UqTA";

/// The end of the texts in each half of the conversations, and what marks the stand-ins of special tokens that were not
/// given, so that nothing depends on the length of either.
const HALVES: [(&str, &str); 2] = [("", "|"), ("\n\nSecond line, with <b> and {x}", "")];

/// How many places before a text are tried as the beginning of its span.
const MOST_STARTS: usize = 200;
/// How many pairs are tested on every conversation for each choice.
const MOST_CHECKS: usize = 300;

/// How many places or bytes are compared in the time of one step of the evaluator.
const PLACES_PER_STEP: usize = 16;

/// A conversation to prove with.
struct Case {
    messages: Value,
    context: Object,
    text: String,
    /// The assistant's text, in bytes.
    spans: Vec<Span>,
    /// Whether a block may begin in the header, as far as the generation prompt writes that.
    is_lenient: bool,
}

impl Case {
    /// Whether the text between two positions is insignificant: white space, and the token that ends the whole chat.
    fn is_beside(&self, from: usize, to: usize) -> bool {
        let Some(text) = self.text.get(from..to).map(str::trim) else { return false };
        let eos = self.context.get("eos_token").and_then(Value::as_str);
        text.is_empty() || to == self.text.trim_end().len() && Some(text) == eos
    }

    fn is_blank(&self, from: usize, to: usize) -> bool {
        self.text.get(from..to).is_some_and(|text| text.trim().is_empty())
    }

    /// The position `characters` after another one.
    fn later(&self, from: usize, characters: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        from + rest.char_indices().nth(characters).map_or(rest.len(), |(at, _)| at)
    }

    /// The position `characters` before another one.
    fn earlier(&self, from: usize, characters: usize) -> usize {
        let before = self.text.get(..from).unwrap_or_default();
        characters.checked_sub(1).map_or(from, |last| before.char_indices().nth_back(last).map_or(0, |(at, _)| at))
    }

    /// Whether a stretch of the text was written under a condition that does not hold: by an iteration over the messages
    /// that writes no answer, after one, or after the last one.
    fn is_foreign(&self, (start, end): (usize, usize), condition: Condition, iterations: &[usize]) -> bool {
        let own = iterations.iter().rposition(|begin| *begin <= start);
        let begin = |at: Option<usize>| at.and_then(|at| iterations.get(at)).copied();
        let (first, last) = match condition {
            _ if iterations.is_empty() => (start, end),
            Condition::Previous => {
                let Some(previous) = begin(own.and_then(|own| own.checked_sub(1))) else { return true };
                (previous, begin(own).unwrap_or(start))
            }
            Condition::Last => (begin(own).unwrap_or(start), start),
            _ => {
                let last = iterations.iter().find(|begin| **begin >= end).copied().unwrap_or(self.text.len());
                (begin(own).unwrap_or(start), last)
            }
        };
        self.spans.iter().all(|span| last <= span.text || first >= span.end)
    }

    /// Where a block of a span may begin.
    fn earliest(&self, span: &Span) -> usize {
        if self.is_lenient { span.prompt } else { span.start }
    }

    /// The span that a stretch of the text belongs to.
    fn span_of(&self, (start, end): (usize, usize)) -> Option<usize> {
        self.spans.iter().position(|span| start < span.end && end > span.start)
    }
}

#[derive(Clone, Copy, Debug)]
struct Span {
    /// The end of the text before it.
    header: usize,
    /// Where the generation prompt begins to write what is before it.
    prompt: usize,
    start: usize,
    text: usize,
    end: usize,
}

/// For which messages a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Condition {
    /// For all that write there.
    Always,
    /// For the assistant's.
    Own,
    /// For the one after the assistant's, whose end it writes.
    Previous,
    /// For the end of a conversation whose last message is the assistant's.
    Last,
}

impl Condition {
    fn is_any(self) -> bool {
        self != Self::Always
    }

    /// The condition as the template asks it; the messages are `variable` in their loop.
    fn test(self, variable: &str) -> String {
        match self {
            Self::Always => "true".to_owned(),
            Self::Own => format!("{variable}['role'] == 'assistant'"),
            Self::Previous => "not loop.first and loop.previtem['role'] == 'assistant'".to_owned(),
            Self::Last => "messages[-1]['role'] == 'assistant'".to_owned(),
        }
    }
}

/// The two places of a block in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Pair {
    from: usize,
    to: usize,
    condition: Condition,
    /// How many characters at the start and the end of the text are not the model's. If there are any, the text is
    /// captured and split.
    around: (usize, usize),
    /// Texts after these characters that only some turns have and that are not the model's either, the longest first.
    leads: [Option<Stretch>; 2],
}

impl Pair {
    fn plain(from: usize, to: usize, condition: Condition) -> Self {
        Self { from, to, condition, around: (0, 0), leads: [None; 2] }
    }

    fn is_apart(&self, other: &Self) -> bool {
        self.to <= other.from || self.from >= other.to
    }

    /// The texts that only some turns have after their header.
    fn leads<'c>(&self, cases: &'c [Case]) -> Vec<&'c str> {
        self.leads.iter().flatten().map(|lead| lead.text(cases)).collect()
    }
}

/// A stretch of a conversation's render, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Stretch {
    case: usize,
    start: usize,
    end: usize,
}

impl Stretch {
    fn text(self, cases: &[Case]) -> &str {
        cases.get(self.case).map_or("", |case| slice(&case.text, self.start..self.end))
    }
}

/// Compares a template's own generation blocks with [`mask`](super::mask()): the number of conversations in which they
/// mark the assistant's text, or the first text they get wrong. `None` if the template has no blocks, or renders no
/// conversation.
pub fn check_generation_blocks(
    template: &ChatTemplate,
    variables: &Object,
    options: &RenderOptions,
) -> Option<Result<usize, String>> {
    if !template.has_generation_blocks() {
        return None;
    }
    examine(Budget::default(), || {
        let cases = cases(template, variables, options);
        let checked = (!cases.is_empty()).then(|| prove(template.source(), &cases, options, true));
        // Without the rest of the conversations, those that agree prove nothing.
        checked.filter(|checked| checked.is_err() || ended().is_none())
    })
}

/// Adds generation blocks to a template.
pub fn add_generation_blocks(source: &str, variables: &Object, options: &RenderOptions) -> Result<Patched, NotPatched> {
    examine(Budget::default(), || {
        let patched = patch(source, variables, options);
        ended().map_or(patched, |why| Err(NotPatched { message: format!("the examination ended early: {why}") }))
    })
}

fn patch(source: &str, variables: &Object, options: &RenderOptions) -> Result<Patched, NotPatched> {
    let not = |message: String| NotPatched { message };
    let template = ChatTemplate::compile(source).map_err(|error| not(error.to_string()))?;
    let cases = cases(&template, variables, options);
    if cases.is_empty() {
        return Err(not(super::no_answer(&template, variables, options)));
    }
    if template.has_generation_blocks() {
        return match prove(source, &cases, options, true) {
            Ok(conversations) => Ok(Patched {
                template: source.to_owned(),
                conversations,
                rewritten: Vec::new(),
                had_blocks: true,
                begins_in_header: false,
            }),
            Err(message) => Err(not(format!("the template's own generation blocks are wrong: {message}"))),
        };
    }
    // Jinja drops the line break at the end of a file.
    let end = source.strip_prefix(template.source()).unwrap_or_default();
    let source = template.source();
    let pieces = source::cut(source);
    let traces = trace(&pieces, source, &cases, options)
        .ok_or_else(|| not("the template reads its own output: no place for a block can be found".to_owned()))?;
    let mut found = place(&pieces, &cases, &traces, options);
    if found.is_err() {
        // Conventions differ on the text that the generation prompt writes, so a block may begin in it.
        let mut lenient = cases;
        lenient.iter_mut().for_each(|case| case.is_lenient = true);
        let patched = place(&pieces, &lenient, &traces, options);
        found = patched.map(|patched| Patched { begins_in_header: true, ..patched }).or(found);
    }
    found.map(|patched| Patched { template: patched.template + end, ..patched }).map_err(not)
}

/// One block per span if possible, else several in a row, else text that is captured and split. A condition duplicates a
/// part of the source, so blocks without conditions are tried first.
fn place(pieces: &[Piece], cases: &[Case], traces: &[Trace], options: &RenderOptions) -> Result<Patched, String> {
    let mut singles = (0..12).map_while(|skip| choose(pieces, cases, traces, skip)).peekable();
    let several = |conditions: &[Condition]| several::choose(pieces, cases, traces, conditions);
    let repeats = singles.peek().is_some_and(|pairs| pairs.iter().any(|pair| pair.condition.is_any()));
    let plain = repeats.then(|| several(&[])).flatten();
    let gathered = || gathered::choose(pieces, cases, traces);
    let last = iter::once_with(|| several(&[Condition::Own]))
        .chain(iter::once_with(|| several(&[Condition::Own, Condition::Previous, Condition::Last])))
        .chain(iter::once_with(gathered))
        .flatten();
    let mut message = None;
    let mut refuted: Vec<Vec<Pair>> = Vec::new();
    for pairs in plain.into_iter().chain(singles).chain(last).take_while(|_| ended().is_none()) {
        if refuted.contains(&pairs) {
            continue;
        }
        let Some(patched) = build(pieces, &pairs, cases) else { continue };
        match prove(&patched.template, cases, options, false) {
            Ok(conversations) => return Ok(Patched { conversations, ..patched }),
            Err(why) => message = Some(why),
        }
        refuted.push(pairs);
    }
    Err(message.unwrap_or_else(|| reason::why(pieces, cases, traces)))
}

fn cases(template: &ChatTemplate, variables: &Object, options: &RenderOptions) -> Vec<Case> {
    let renderer = Renderer::new(template, options.clone());
    let mut cases = Vec::new();
    for (suffix, mark) in HALVES {
        let mut variables = variables.clone();
        variables.extend(stand_ins(template, &variables, mark));
        let form = Frames::form(&renderer, &variables);
        let prompt = prompt(&renderer, &variables, &form);
        for tools in ["", "aa"] {
            for shape in SHAPES.split(' ') {
                if ended().is_some() {
                    return cases;
                }
                if form.reasoning.is_none() && shape.contains(['R', 'r', 'q']) {
                    continue;
                }
                let script = Script::new(shape, tools, &form, suffix);
                let context = context(&variables, &script.messages, &script.tools, false);
                let Ok(masked) = mask_with(&renderer, &context) else { continue };
                // A turn whose call the template drops has no text to mask.
                let answers = script.messages.iter().filter(|message| role_of(message) == Some("assistant"));
                let mut shown: Vec<usize> = masked.parts.iter().map(|part| part.message).collect();
                shown.dedup();
                if shown.is_empty() || shown.len() != answers.count() || !masked.problems.is_empty() {
                    continue;
                }
                let byte = bytes_of_points(&masked.text);
                let spans = masked.spans.iter().zip(&masked.headers).map(|((start, end), (header, _))| {
                    let within = |part: &&super::mask::PartSpan| part.start >= *start && part.end <= *end;
                    let text = masked.parts.iter().filter(within).map(|part| part.start).min().unwrap_or(*start);
                    let start = byte(*start);
                    let prompt = start - prompted(slice(&masked.text, ..start), &prompt);
                    Span { header: byte(*header), prompt, start, text: byte(text), end: byte(*end) }
                });
                let messages = Value::List(script.messages);
                let spans = spans.collect();
                cases.push(Case { messages, context, spans, text: masked.text, is_lenient: false });
            }
        }
    }
    cases
}

/// What the generation prompt adds to a user's message.
fn prompt(renderer: &Renderer<'_>, variables: &Object, form: &Form) -> String {
    let script = Script::new("U", "", form, "");
    let render = |prompt| renderer.text(&context(variables, &script.messages, &script.tools, prompt));
    let added =
        render(true).zip(render(false)).and_then(|(with, without)| Some(with.strip_prefix(&without)?.to_owned()));
    added.unwrap_or_default()
}

/// How many bytes at the end of a text are the beginning of a prompt.
fn prompted(text: &str, prompt: &str) -> usize {
    let starts = prompt.char_indices().map(|(at, character)| at + character.len_utf8());
    starts.filter(|length| text.ends_with(slice(prompt, ..*length))).max().unwrap_or(0)
}

/// Gives the byte at which each code point of a text begins.
fn bytes_of_points(text: &str) -> impl Fn(usize) -> usize + 'static {
    let (bytes, end): (Vec<usize>, usize) = (text.char_indices().map(|(at, _)| at).collect(), text.len());
    move |point| bytes.get(point).copied().unwrap_or(end)
}

/// The positions in a render at which each place of the source was reached, in order.
type Trace = Vec<(usize, usize)>;

/// The character that represents a place of the source in a traced render.
fn marker(place: usize) -> Option<char> {
    char::from_u32(0xF_0000 + u32::try_from(place).ok()?)
}

/// Renders every case with a marker at every place of the source, if that changes nothing else.
fn trace(pieces: &[Piece], source: &str, cases: &[Case], options: &RenderOptions) -> Option<Vec<Trace>> {
    if source.chars().any(|character| ('\u{F0000}'..='\u{FFFFD}').contains(&character)) {
        return None;
    }
    let captured = |at: usize| {
        let gathers = |block: &Piece| matches!(block.keyword(), "macro" | "set" | "call" | "filter");
        source::body_at(pieces, at).is_some_and(|body| body.iter().any(|block| pieces.get(*block).is_some_and(gathers)))
    };
    // Text that is captured before it is written may be stripped or compared; then only other text is marked.
    [false, true].into_iter().find_map(|outside_only| {
        let tag = |at: usize| {
            if outside_only && captured(at) {
                return None;
            }
            let (left, right) = source::marks(pieces, at);
            Some(format!("{{%{left} if true %}}{}{{% endif {right}%}}", marker(at)?))
        };
        let traced = source::join(pieces, 0, pieces.len(), &tag);
        let template = ChatTemplate::compile(&traced).ok()?;
        cases.iter().map(|case| read_trace(&template.render(&case.context, options).ok()?.text, &case.text)).collect()
    })
}

/// The markers of a traced render, if the rest of it is the plain render.
fn read_trace(traced: &str, plain: &str) -> Option<Trace> {
    let mut trace = Trace::new();
    let mut at = 0;
    for character in traced.chars() {
        match u32::from(character).checked_sub(0xF_0000) {
            Some(place) if character <= '\u{FFFFD}' => trace.push((at, usize::try_from(place).ok()?)),
            _ => {
                if plain.get(at..)?.chars().next()? != character {
                    return None;
                }
                at += character.len_utf8();
            }
        }
    }
    (at == plain.len()).then_some(trace)
}

/// How well a stretch of a render fits a span: 0 is exact, `None` is no fit. White space after the stop does not belong
/// to the span.
fn fit(case: &Case, span: &Span, start: usize, end: usize) -> Option<usize> {
    if end != span.end {
        return None;
    }
    if start == span.start || (start < span.start && case.is_blank(start, span.start)) {
        return Some(0);
    }
    if start < span.start && start >= case.earliest(span) {
        return Some(2);
    }
    (start > span.start && start <= span.text).then_some(if case.is_blank(span.start, start) { 0 } else { 1 })
}

/// Chooses pairs of places that cover every span and nothing else; `skip` leaves out the first choices.
fn choose(pieces: &[Piece], cases: &[Case], traces: &[Trace], skip: usize) -> Option<Vec<Pair>> {
    // Each pair with the spans it covers, and its cost.
    let mut found: BTreeMap<Pair, Spans> = BTreeMap::new();
    let mut costs: HashMap<Pair, usize> = HashMap::new();
    for (case_index, (case, trace)) in cases.iter().zip(traces).enumerate() {
        for (span_index, span) in case.spans.iter().enumerate() {
            let steps = trace.iter().copied().enumerate();
            let starts: Vec<_> = steps.filter(|(_, (at, _))| *at <= span.text).collect();
            for (first, (start, from)) in starts.into_iter().rev().take(MOST_STARTS) {
                if ended().is_some() {
                    return None;
                }
                let mut seen: Vec<usize> = Vec::new();
                for (end, to) in trace.iter().skip(first + 1).copied() {
                    if end > span.end {
                        break;
                    }
                    if seen.contains(&to) || to <= from {
                        continue;
                    }
                    charge(seen.len() / PLACES_PER_STEP + 1);
                    seen.push(to);
                    let Some(cost) = fit(case, span, start, end) else { continue };
                    for condition in [Condition::Always, Condition::Own] {
                        let pair = Pair::plain(from, to, condition);
                        if push_new(found.entry(pair).or_default(), (case_index, span_index)) {
                            *costs.entry(pair).or_default() += cost;
                        }
                    }
                }
            }
        }
    }
    let bodies: HashMap<usize, Vec<usize>> =
        (0..=pieces.len()).filter_map(|at| Some((at, source::body_at(pieces, at)?))).collect();
    found.retain(|pair, _| {
        let variable = !pair.condition.is_any() || message_loop(pieces, pair.from).is_some();
        variable && bodies.get(&pair.from) == bodies.get(&pair.to)
    });
    let mut valid: HashMap<Pair, bool> = HashMap::new();
    let rank = |pair: &Pair| (pair.condition, costs.get(pair).copied(), divided(pieces, pair), pair.to - pair.from);
    cover(cases, &found, skip, rank, |pair| {
        *valid.entry(*pair).or_insert_with(|| marks_only_answers(pieces, pair, cases, traces))
    })
}

/// Spans by the numbers of their case and in it.
type Spans = Vec<(usize, usize)>;

/// Chooses pairs that cover every span one by one: of those that cover most, the best by rank that fits; `skip` leaves
/// out the first choices.
fn cover<K: Ord>(
    cases: &[Case],
    found: &BTreeMap<Pair, Spans>,
    mut skip: usize,
    rank: impl Fn(&Pair) -> K,
    mut fits: impl FnMut(&Pair) -> bool,
) -> Option<Vec<Pair>> {
    let spans_of = |(index, case): (usize, &Case)| (0..case.spans.len()).map(move |span| (index, span));
    let mut left: Spans = cases.iter().enumerate().flat_map(spans_of).collect();
    let mut chosen: Vec<Pair> = Vec::new();
    while !left.is_empty() {
        let apart = found.iter().filter(|(pair, _)| chosen.iter().all(|other| pair.is_apart(other)));
        let counted = apart.map(|(pair, spans)| (pair, spans.iter().filter(|span| left.contains(span)).count()));
        let mut ranked: Vec<(&Pair, usize)> = counted.filter(|(_, covered)| *covered > 0).collect();
        ranked.sort_by_key(|(pair, covered)| (Reverse(*covered), rank(pair)));
        let best = *ranked.into_iter().take(MOST_CHECKS).map(|(pair, _)| pair).filter(|pair| fits(pair)).nth(skip)?;
        skip = 0;
        let covered = found.get(&best)?;
        left.retain(|span| !covered.contains(span));
        chosen.push(best);
    }
    chosen.sort();
    Some(chosen)
}

/// How many expressions a pair splits.
fn divided(pieces: &[Piece], pair: &Pair) -> usize {
    [pair.from, pair.to].into_iter().filter(|at| divides(pieces, *at).is_some()).count()
}

/// The expression that a tag in front of a piece would split.
fn divides(pieces: &[Piece], at: usize) -> Option<usize> {
    let expression = pieces.get(at)?.expression()?;
    let before = pieces.get(at.checked_sub(1)?)?;
    (before.expression() == Some(expression)).then_some(expression)
}

/// Whether every stretch between the places of a pair is a span or, under a condition, belongs to no answer.
fn marks_only_answers(pieces: &[Piece], pair: &Pair, cases: &[Case], traces: &[Trace]) -> bool {
    let messages = message_loop(pieces, pair.from);
    let leads = pair.leads(cases);
    cases.iter().zip(traces).all(|(case, trace)| {
        charge(trace.len() + case.text.len() / PLACES_PER_STEP);
        let iterations = messages.as_ref().map_or_else(Vec::new, |messages| messages.iterations(trace));
        let mut start = None;
        trace.iter().all(|(at, place)| {
            if *place == pair.from {
                start = Some(*at);
                return true;
            }
            let Some(begin) = start.filter(|_| *place == pair.to) else { return true };
            start = None;
            let fits = case.spans.iter().any(|span| {
                let (before, after) = pair.around;
                let (mut begin, end) = (case.later(begin, before), case.earlier(*at, after));
                let text = case.text.get(begin..*at).unwrap_or_default();
                begin += leads.iter().find(|lead| text.starts_with(**lead)).map_or(0, |lead| lead.len());
                fit(case, span, begin, end).is_some()
            });
            fits || begin == *at
                || (pair.condition.is_any() && case.is_foreign((begin, *at), pair.condition, &iterations))
        })
    })
}

struct MessageLoop {
    /// The piece that opens it.
    block: usize,
    /// Its variable.
    variable: String,
}

impl MessageLoop {
    /// The positions in a render at which its iterations begin.
    fn iterations(&self, trace: &Trace) -> Vec<usize> {
        trace.iter().filter(|(_, place)| *place == self.block + 1).map(|(at, _)| *at).collect()
    }
}

fn message_loop(pieces: &[Piece], at: usize) -> Option<MessageLoop> {
    let body = source::body_at(pieces, at)?;
    body.iter().rev().find_map(|number| {
        let block = pieces.get(*number)?;
        let name = block.text.split_whitespace().skip_while(|word| *word != "for").nth(1)?;
        let is_loop = block.keyword() == "for" && !name.contains(',');
        let asks = [format!("{name}.role"), format!("{name}['role']"), format!("{name}[\"role\"]")];
        let asked = pieces.iter().any(|piece| asks.iter().any(|ask| piece.text.contains(ask.as_str())));
        (is_loop && asked).then(|| MessageLoop { block: *number, variable: name.to_owned() })
    })
}

/// The loop over the messages that ends before a place.
fn loop_before(pieces: &[Piece], at: usize) -> Option<MessageLoop> {
    let block = (0..at).rev().find(|block| message_loop(pieces, block + 1).is_some_and(|it| it.block == *block))?;
    message_loop(pieces, block + 1)
}

/// The source with blocks at the pairs.
fn build(pieces: &[Piece], pairs: &[Pair], cases: &[Case]) -> Option<Patched> {
    let mut rewritten = Vec::new();
    let mut template = String::new();
    let mut at = 0;
    for pair in pairs {
        for place in [pair.from, pair.to] {
            if let Some(expression) = divides(pieces, place) {
                let whole = source::expression(pieces, expression);
                push_new(&mut rewritten, whole);
            }
        }
        // A position inside an expression splits the expression.
        let none = |place: usize| (place == pair.from).then(String::new);
        template += &source::join(pieces, at, pair.from, &none);
        let inside = source::join(pieces, pair.from, pair.to, &|_| None);
        let (left, right) = (source::marks(pieces, pair.from).0, source::marks(pieces, pair.to).1);
        let data = |piece: Option<&Piece>| piece.is_some_and(|piece| piece.kind == PieceKind::Data);
        let begins = if data(pieces.get(pair.from)) { "+" } else { "" };
        let ends = if data(pieces.get(pair.to.checked_sub(1)?)) { "+" } else { "" };
        let is_gathered = pair.around != (0, 0) || pair.leads != [None; 2];
        let leads = pair.leads(cases);
        if pair.condition.is_any() || is_gathered {
            rewritten.push(inside.trim().to_owned());
        }
        if pair.condition.is_any() {
            let test = pair.condition.test(&message_loop(pieces, pair.from).map_or_else(String::new, |it| it.variable));
            let block = if is_gathered {
                gathered::block(pieces, pair, &leads, &inside, [("", begins), (ends, "")])?
            } else {
                format!("{{% generation {begins}%}}{inside}{{%{ends} endgeneration %}}")
            };
            template +=
                &format!("{{%{left} if {test} %}}{block}{{% else {begins}%}}{inside}{{%{ends} endif {right}%}}");
        } else if is_gathered {
            template += &gathered::block(pieces, pair, &leads, &inside, [(left, begins), (ends, right)])?;
        } else {
            let (begins, ends) = (source::marks(pieces, pair.from).1, source::marks(pieces, pair.to).0);
            template += &format!("{{%{left} generation {begins}%}}{inside}{{%{ends} endgeneration {right}%}}");
        }
        at = pair.to;
    }
    template += &source::join(pieces, at, pieces.len(), &|_| None);
    Some(Patched { template, conversations: 0, rewritten, had_blocks: false, begins_in_header: false })
}

/// Renders every conversation with the patched template: the same bytes, and the spans of the mask.
///
/// A template's own blocks may begin earlier, inside the header, and end later, after white space or the token that
/// ends the chat: these are conventions, not errors.
fn prove(source: &str, cases: &[Case], options: &RenderOptions, own_blocks: bool) -> Result<usize, String> {
    let template = ChatTemplate::compile(source).map_err(|error| error.to_string())?;
    for case in cases {
        let rendered = template.render(&case.context, options);
        let rendered = rendered.map_err(|error| format!("{error} on {}", case.messages))?;
        if rendered.text != case.text {
            return Err(format!("a block changes the render of {}", case.messages));
        }
        let byte = bytes_of_points(&case.text);
        let spans = rendered.assistant_spans.iter().map(|(start, end)| (byte(*start), byte(*end)));
        let spans = joined(case, spans.collect());
        let fits = |wanted: &Span, span: &(usize, usize)| {
            let (mut start, mut end) = *span;
            if own_blocks {
                start = if start >= wanted.header { start.max(wanted.start) } else { start };
                end = if case.is_beside(wanted.end, end) { wanted.end } else { end };
            }
            fit(case, wanted, start, end).is_some()
        };
        let known = spans.iter().all(|span| case.spans.iter().any(|wanted| fits(wanted, span)));
        let covered = case.spans.iter().all(|wanted| spans.iter().any(|span| fits(wanted, span)));
        if !known || !covered {
            let quoted = |start: usize, end: usize| {
                let text = slice(&case.text, start..end);
                backchat_core::diagnostic::shortened(&format!("{text:?}"), 80).into_owned()
            };
            let wanted = case.spans.iter().find(|wanted| !spans.iter().any(|span| fits(wanted, span)));
            let marked = spans.iter().find(|span| !case.spans.iter().any(|wanted| fits(wanted, span)));
            let wanted = wanted.map_or("nothing".to_owned(), |wanted| quoted(wanted.start, wanted.end));
            let marked = marked.map_or("nothing".to_owned(), |(start, end)| quoted(*start, *end));
            return Err(format!("the blocks mark {marked}, the assistant wrote {wanted}, in {}", case.messages));
        }
    }
    Ok(cases.len())
}

/// The spans with text in them; those of one answer with only white space in between are joined.
fn joined(case: &Case, mut spans: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    spans.retain(|(start, end)| !case.is_blank(*start, *end));
    spans.sort_unstable();
    let mut joined: Vec<(usize, usize)> = Vec::new();
    for (start, end) in spans {
        match joined.last_mut() {
            Some((first, before))
                if case.span_of((*first, *before)) == case.span_of((start, end))
                    && (start <= *before || case.is_blank(*before, start)) =>
            {
                *before = end.max(*before);
            }
            _ => joined.push((start, end)),
        }
    }
    joined
}
