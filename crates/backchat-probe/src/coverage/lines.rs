//! A chat template line by line: which conversations run a line, what it prints, and which sides of its conditions they
//! take.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use backchat_chat::{
    Branches, ChatTemplate, NodeKind, Ran, RenderOptions, Rendered, branches, charge, ended, nodes, render_explained,
    render_recorded,
};
use backchat_core::json::Object;
use backchat_core::push_new;
use backchat_core::text::slice;

/// How many different texts that a line prints are kept.
const MOST_PRINTED: usize = 3;

/// A line of a chat template, and what some conversations do with it. Conversations are meant by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoveredLine {
    /// The line, without its end.
    pub text: String,
    /// Whether it has code or text that runs: not only a comment or white space.
    pub has_code: bool,
    /// Those that run it.
    pub run_by: Vec<usize>,
    /// Some texts that it prints.
    pub prints: Vec<String>,
    /// The conditions and loops that begin on it.
    pub conditions: Vec<CoveredCondition>,
}

/// A condition, or what a loop iterates over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoveredCondition {
    pub text: String,
    pub is_loop: bool,
    /// Those in which it is true, or the loop has items.
    pub holds_in: Vec<usize>,
    /// Those in which it is not.
    pub fails_in: Vec<usize>,
    /// Whether only constants of the template decide it.
    pub is_fixed: bool,
}

/// The lines of a chat template under conversations with these contexts. Those that it refuses run nothing.
pub fn lines(template: &ChatTemplate, contexts: &[&Object], options: &RenderOptions) -> Vec<CoveredLine> {
    let source = template.source();
    let plan = Plan::new(source);
    let mut lines: Vec<CoveredLine> =
        source.split('\n').map(|text| CoveredLine { text: text.to_owned(), ..CoveredLine::default() }).collect();
    for (line, needs) in lines.iter_mut().zip(&plan.needs) {
        line.has_code = needs.is_some();
    }
    let mut sides: Sides = HashMap::new();
    for (number, context) in contexts.iter().enumerate() {
        if ended().is_some() {
            break;
        }
        let (rendered, _) = render_explained(template, context, options);
        let Ok(rendered) = rendered else { continue };
        let (_, ran) = render_recorded(template, context, &[], options);
        charge(lines.len());
        for decision in &ran.decisions {
            let [fails, holds] = sides.entry((decision.span.start, decision.span.end)).or_default();
            push_new(if decision.outcome { holds } else { fails }, number);
        }
        for (line, _) in lines.iter_mut().zip(plan.run(&ran)).filter(|(_, runs)| *runs) {
            line.run_by.push(number);
        }
        for (at, printed) in plan.printed(&rendered) {
            let Some(line) = lines.get_mut(at) else { continue };
            // What a macro prints runs its lines, too.
            push_new(&mut line.run_by, number);
            if line.prints.len() < MOST_PRINTED {
                push_new(&mut line.prints, printed.to_owned());
            }
        }
    }
    for condition in &plan.branches.conditions {
        let [fails_in, holds_in] = sides.remove(&(condition.span.start, condition.span.end)).unwrap_or_default();
        let [fails_in, holds_in] = if condition.is_inverted { [holds_in, fails_in] } else { [fails_in, holds_in] };
        let text = slice(source, condition.span.clone()).split_whitespace().collect::<Vec<_>>().join(" ");
        let covered =
            CoveredCondition { text, is_loop: condition.is_loop, holds_in, fails_in, is_fixed: condition.is_fixed };
        if let Some(line) = lines.get_mut(plan.line_of(condition.span.start)) {
            line.conditions.push(covered);
        }
    }
    lines
}

/// The conversations in which a condition fails, and in which it holds, by its bytes.
type Sides = HashMap<(usize, usize), [Vec<usize>; 2]>;

impl CoveredLine {
    /// The conditions of which these conversations take one side only, each with the side that is missing.
    pub fn one_sided(&self) -> impl Iterator<Item = (&CoveredCondition, bool)> {
        self.conditions.iter().filter(|condition| !condition.is_fixed).filter_map(|condition| {
            match (condition.holds_in.is_empty(), condition.fails_in.is_empty()) {
                (false, true) => Some((condition, false)),
                (true, false) => Some((condition, true)),
                _ => None,
            }
        })
    }
}

impl CoveredCondition {
    /// The side that no conversation takes, in words.
    pub fn never(&self, side: bool) -> String {
        let never = match (self.is_loop, side) {
            (true, true) => "never has items",
            (true, false) => "is never empty",
            (false, true) => "is never true",
            (false, false) => "is never false",
        };
        format!("`{}` {never}", self.text)
    }
}

/// How many lines with code there are, how many of them run, how many conditions there are, and how many go both ways.
pub fn counts(lines: &[CoveredLine]) -> [usize; 4] {
    let code = lines.iter().filter(|line| line.has_code);
    let run = code.clone().filter(|line| !line.run_by.is_empty());
    let open: Vec<&CoveredCondition> =
        lines.iter().flat_map(|line| &line.conditions).filter(|condition| !condition.is_fixed).collect();
    let both = open.iter().filter(|condition| !condition.holds_in.is_empty() && !condition.fails_in.is_empty());
    [code.count(), run.count(), open.len(), both.count()]
}

/// The first byte of each line that runs: not white space, and not in a comment or at the end of a block.
fn first_code(source: &str, starts: &[usize]) -> Vec<Option<usize>> {
    let mut comments: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    while let Some(start) = source.get(from..).and_then(|rest| rest.find("{#")).map(|at| from + at) {
        let end = source.get(start..).and_then(|rest| rest.find("#}")).map_or(source.len(), |at| start + at + 2);
        comments.push(start..end);
        from = end;
    }
    let ends = starts.iter().skip(1).copied().chain([source.len() + 1]);
    let of_line = |(start, end): (&usize, usize)| {
        let line = slice(source, *start..end.saturating_sub(1).min(source.len()));
        let mut ended = *start;
        for (within, c) in line.char_indices() {
            let at = start + within;
            let is_comment = comments.iter().any(|comment| comment.contains(&at));
            if at < ended || is_comment || c.is_whitespace() {
                continue;
            }
            let rest = slice(source, at..);
            if !is_end(rest) {
                return Some(at);
            }
            ended = at + rest.find("%}").map_or(rest.len(), |length| length + 2);
        }
        None
    };
    starts.iter().zip(ends).map(of_line).collect()
}

/// Whether a text begins with the tag that ends a block, which runs with the block.
fn is_end(text: &str) -> bool {
    let tag = text.strip_prefix("{%").map(|rest| rest.trim_start_matches(['-', '+']).trim_start());
    tag.is_some_and(|tag| tag.starts_with("end") || tag.starts_with("else") || tag.starts_with("elif"))
}

/// What must happen for each line of a source to run.
struct Plan {
    branches: Branches,
    macros: Vec<Range<usize>>,
    /// The first byte of each line.
    starts: Vec<usize>,
    /// The numbers of the parts and of the macro around the code of each line; `None` if it has none.
    needs: Vec<Option<(Vec<usize>, Option<usize>)>>,
}

impl Plan {
    fn new(source: &str) -> Self {
        let branches = branches(source);
        let macros = nodes(source).into_iter().filter(|node| matches!(node.kind, NodeKind::Macro));
        let macros: Vec<Range<usize>> = macros.map(|node| node.span).collect();
        let starts: Vec<usize> = std::iter::once(0).chain(source.match_indices('\n').map(|(at, _)| at + 1)).collect();
        let needs = |at: usize| {
            let parts = branches.parts.iter().enumerate().filter(|(_, part)| part.span.contains(&at));
            let of_macro = macros.iter().position(|span| span.contains(&at) && span.start < at);
            (parts.map(|(number, _)| number).collect(), of_macro)
        };
        let needs = first_code(source, &starts).into_iter().map(|first| first.map(needs)).collect();
        Self { branches, macros, starts, needs }
    }

    fn line_of(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Whether each line ran in a render.
    fn run(&self, ran: &Ran) -> impl Iterator<Item = bool> {
        let outcomes: HashSet<(usize, usize, bool)> =
            ran.decisions.iter().map(|decision| (decision.span.start, decision.span.end, decision.outcome)).collect();
        let is_taken = |(span, outcome): &(Range<usize>, bool)| outcomes.contains(&(span.start, span.end, *outcome));
        let parts: Vec<bool> = self.branches.parts.iter().map(|part| part.after.iter().any(is_taken)).collect();
        // Nothing records a call of a macro but what happens in it.
        let is_called = |span: &Range<usize>| ran.decisions.iter().any(|decision| span.contains(&decision.span.start));
        let macros: Vec<bool> = self.macros.iter().map(is_called).collect();
        self.needs.iter().map(move |needs| {
            let is_run = |known: &[bool], number: usize| known.get(number).copied().unwrap_or_default();
            needs.as_ref().is_some_and(|(around, of_macro)| {
                around.iter().all(|part| is_run(&parts, *part)) && of_macro.is_none_or(|number| is_run(&macros, number))
            })
        })
    }

    /// What lines print in a render. Pieces that one line prints one after another are one text.
    fn printed<'r>(&self, rendered: &'r Rendered) -> impl Iterator<Item = (usize, &'r str)> {
        let mut printed: Vec<(usize, Range<usize>)> = Vec::new();
        for origin in rendered.origins.iter().filter(|origin| !origin.text.is_empty()) {
            let line = self.line_of(origin.source.start);
            match printed.last_mut().filter(|(known, text)| *known == line && text.end == origin.text.start) {
                Some((_, text)) => text.end = origin.text.end,
                None => printed.push((line, origin.text.clone())),
            }
        }
        printed.into_iter().map(|(line, text)| (line, slice(&rendered.text, text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    const SOURCE: &str = "{#- a comment -#}\n\
        {%- for m in messages %}\n\
        {%- if m.role == 'user' %}\n\
        {{- '<user>' ~ m.content }}\n\
        {%- elif m.role == 'tool' %}\n\
        {{- m.content }}\n\
        {%- else %}\n\
        <bot>{{- m.content }}\n\
        {%- endif %}\n\
        {%- endfor %}{{ after }}";

    fn covered(chats: &[&str]) -> Vec<CoveredLine> {
        let template = ChatTemplate::compile(SOURCE).unwrap();
        let contexts: Vec<Object> =
            chats.iter().map(|chat| json::read(chat).unwrap().as_object().unwrap().clone()).collect();
        lines(&template, &contexts.iter().collect::<Vec<_>>(), &RenderOptions::default())
    }

    #[test]
    fn each_line_has_the_conversations_that_run_it_and_what_they_print() {
        let lines = covered(&[
            r#"{"messages": [{"role": "user", "content": "Hi"}]}"#,
            r#"{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]}"#,
        ]);
        let run: Vec<String> = lines
            .iter()
            .map(|line| if line.has_code { format!("{:?}", line.run_by) } else { "-".to_owned() })
            .collect();
        assert_eq!(run.join(" "), "- [0, 1] [0, 1] [0, 1] - [] - [1] - [0, 1]");
        assert_eq!(lines[3].prints, ["<user>Hi"]);
        let missing: Vec<String> =
            lines.iter().flat_map(CoveredLine::one_sided).map(|(condition, side)| condition.never(side)).collect();
        assert_eq!(missing, ["`messages` is never empty", "`m.role == 'tool'` is never true"]);
        assert_eq!(counts(&lines), [6, 5, 3, 1]);
    }

    #[test]
    fn a_negated_condition_holds_where_what_is_written_holds() {
        let source =
            "{% if m.a != 1 %}{% endif %}{% if m.a not in [1] %}{% endif %}{% if m.a is not number %}{% endif %}";
        let template = ChatTemplate::compile(source).unwrap();
        let contexts = [r#"{"m": {"a": 1}}"#].map(|text| json::read(text).unwrap().as_object().unwrap().clone());
        let lines = lines(&template, &contexts.iter().collect::<Vec<_>>(), &RenderOptions::default());
        let missing: Vec<String> =
            lines.iter().flat_map(CoveredLine::one_sided).map(|(condition, side)| condition.never(side)).collect();
        assert_eq!(
            missing,
            ["`m.a != 1` is never true", "`m.a not in [1]` is never true", "`m.a is not number` is never true"]
        );
    }

    #[test]
    fn a_conversation_that_is_refused_runs_nothing() {
        let template = ChatTemplate::compile("{{ raise_exception('no') }}\nx").unwrap();
        let lines = lines(&template, &[&Object::new()], &RenderOptions::default());
        assert!(lines.iter().all(|line| line.run_by.is_empty()));
    }
}
