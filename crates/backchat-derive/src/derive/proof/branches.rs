//! The branches of a chat template that the proof's own conversations do not take, and conversations that take them.
//!
//! Such a conversation is parsed back like the others. If it comes back differently, that is a loss of the template, named
//! with what distinguishes the conversation: the draft is proved for everything else.

mod alone;
mod reached;
mod search;
mod unsent;
mod untaken;

use std::rc::Rc;
use std::sync::Arc;

use super::assumptions::Assumption;
use super::case::Case;
use super::conversations;
use super::judge::Judge;
use super::request::setting_words;
use super::verdict::{Branching, Fate, Loss, Verdict};
use super::{Part, Proof, judge};
use backchat_core::json::Value;
use backchat_parser::parser::Tools;
use backchat_parser::template::Template;
use backchat_probe::coverage::{Goal, OtherTools, Sought};
use backchat_probe::probe::Setting;
use backchat_probe::probe::marks::Segmentation;
use unsent::Unsent;
use untaken::Untaken;

/// A turn that takes a branch.
pub(in crate::derive) struct Branch {
    pub case: Case,
    /// What distinguishes its conversation, in words that follow "with".
    pub words: String,
    /// The 1-based line of the condition.
    pub line: usize,
    /// The outcome that it has.
    pub goal: Goal,
    /// Whether a template can be expected to read exactly what was said: no filter changes it.
    pub is_exact: bool,
}

/// The branches of a chat template.
#[derive(Default)]
pub(in crate::derive) struct Branches {
    /// Turns that take a branch that the proof's own conversations do not take.
    pub found: Vec<Branch>,
    /// Sides of conditions that no conversation takes.
    untaken: Vec<Untaken>,
    /// Turns with reasoning alone under settings.
    alone: Vec<Case>,
    /// Values that the chat template prints on such sides and that no conversation has.
    unsent: Vec<Unsent>,
    /// The conditions that ran.
    pub branching: Branching,
}

impl Branches {
    /// The tools of the conversations, as the parser takes them. Those of which only the definition is another one keep the
    /// types of the usual ones.
    pub fn tools(&self) -> Value {
        let others = self.found.iter().filter_map(|branch| branch.case.tools.as_ref());
        let mut names: Vec<&str> = others.filter_map(OtherTools::name).collect();
        names.sort_unstable();
        names.dedup();
        let Value::List(mut tools) = conversations::tools() else { return Value::Null };
        tools.extend(names.into_iter().map(|name| conversations::one_tool(name, "A tool.", Vec::new())));
        Value::List(tools)
    }
}

impl Proof<'_> {
    /// The branches of the chat template, found once.
    pub fn branches(&self) -> &Branches {
        self.branches.get_or_init(|| Branches::find(self))
    }

    /// How a template reads each conversation that takes a branch.
    pub fn branch_fates(&self, template: &Template) -> Vec<(&Branch, Fate)> {
        let marks: Vec<String> = super::marks(template);
        let fates = self.known_fates(template);
        let fates = self.branches().found.iter().zip(fates.iter().cloned());
        // No template reads an answer that contains its own marks.
        fates.filter(|(branch, fate)| matches!(fate, Fate::Passed) || !branch.contains_one_of(&marks)).collect()
    }

    /// The same for each of them, which is asked several times of the last template.
    fn known_fates(&self, template: &Template) -> Rc<[Fate]> {
        let draft = template.to_value();
        if let Some((known, fates)) = &*self.fates.borrow()
            && *known == draft
        {
            return fates.clone();
        }
        let judge = Judge::new(template, self.branch_tools(), &self.plain, &self.offering);
        let fates: Rc<[Fate]> = self.branches().found.iter().map(|branch| judge.fate(&branch.case)).collect();
        self.fates.replace(Some((draft, fates.clone())));
        fates
    }

    /// Which of these turns a template reads.
    pub fn reads(&self, template: &Template, turns: &[&Case]) -> Vec<bool> {
        let judge = Judge::new(template, self.branch_tools(), &self.plain, &self.offering);
        turns.iter().map(|case| matches!(judge.fate(case), Fate::Passed)).collect()
    }

    /// Whether a template can mean the values of a setting: not true or false where it prints the value or compares it
    /// with others only, unless one of these is its spelling.
    pub(super) fn is_meant(&self, case: &Case) -> bool {
        case.setting.iter().all(|(name, value)| match value {
            Value::Bool(value) => {
                let spelled = if *value { "True" } else { "False" };
                let compared = self.plain.template().compared_constants().get(name).into_iter().flatten();
                let is_compared = compared.clone().any(|constant| constant.as_bool().is_some());
                let found = self.branches().found.iter().filter_map(|branch| branch.case.setting.get(name));
                let is_spelled = |text: &str| text.eq_ignore_ascii_case(spelled);
                let mut others = compared.chain(found).filter(|value| value.as_bool().is_none()).peekable();
                let is_plain = is_compared || others.peek().is_none();
                !case.text.contains(spelled) && (is_plain || others.filter_map(Value::as_str).any(is_spelled))
            }
            _ => true,
        })
    }

    /// The turns that a template misreads: the proof's own, unless it reads all of them, those that take branches, and those
    /// that show what it assumes.
    pub fn unread_turns(&self, template: &Template, reads_own: bool) -> Vec<(Part, Case)> {
        let judge = self.judge_with(template);
        let own = self.cases.iter().filter(|_| !reads_own).filter_map(|case| match judge.fate(case) {
            Fate::Failed(failure) if self.is_meant(case) => Some((failure.part, case.clone())),
            Fate::Lost(loss) if loss.has_mark && self.is_meant(case) => Some((loss.part, case.clone())),
            Fate::Passed | Fate::Lost(_) | Fate::Failed(_) => None,
        });
        let assumed = self.assumptions.iter().flat_map(Assumption::readable);
        let assumed = assumed.filter_map(|case| match judge.fate(case) {
            Fate::Failed(failure) => Some((failure.part, case.clone())),
            Fate::Passed | Fate::Lost(_) => None,
        });
        let branches = self.branch_fates(template).into_iter().filter_map(|(branch, fate)| match fate {
            Fate::Failed(failure) => Some((failure.part, branch.case.clone())),
            Fate::Lost(loss) if branch.is_exact => Some((loss.part, branch.case.clone())),
            Fate::Passed | Fate::Lost(_) => None,
        });
        own.chain(branches).chain(assumed).collect()
    }

    fn branch_tools(&self) -> Arc<Tools> {
        judge::tools_of(&self.branches().tools()).unwrap_or_else(|| self.tools.clone())
    }

    /// The conversations that a verdict counts besides the proof's own, given the fates of those: text like delimiters, and
    /// branches if all of the own ones are read.
    pub fn other_branches(&self, template: &Template, own: &[Fate]) -> (Vec<Case>, Vec<Fate>) {
        let judge = self.judge_with(template);
        let like = self.cases_like(template).into_iter().flatten().map(|case| (judge.fate(&case), case));
        let mut found: Vec<(Fate, Case)> = like.collect();
        if !own.iter().any(|fate| matches!(fate, Fate::Failed(_))) {
            found.extend(self.branch_fates(template).into_iter().map(|(branch, fate)| (fate, branch.case.clone())));
        }
        found.retain(|(fate, _)| !matches!(fate, Fate::Failed(_)));
        found.into_iter().map(|(fate, case)| (case, fate)).unzip()
    }

    /// Makes losses of failures under settings only: the default ones are proved by themselves.
    fn excuse_settings(&self, template: &Template, verdict: &mut Verdict) {
        let judge = self.judge_with(template);
        let own = self.cases_about(template);
        let mut lost = Vec::new();
        for case in self.cases.iter().chain(&own) {
            if let Fate::Failed(failure) = judge.fate(case) {
                lost.push((case, failure));
            }
        }
        let is_proved = |part: Part| verdict.scope.proved.contains(&part.topic());
        let is_only_set = lost.iter().all(|(case, failure)| !case.setting.is_empty() && is_proved(failure.part));
        // A name that the chat template does not read fails no case.
        if !is_only_set || lost.len() != verdict.failed() {
            return;
        }
        verdict.failures.clear();
        // What a proof assumes is asked only of a draft that reads everything, as this one does now.
        let assumed: Vec<Loss> = self.assumptions.iter().flat_map(|assumption| assumption.losses(&judge)).collect();
        for (case, failure) in lost {
            verdict.cases -= 1;
            if !self.is_meant(case) {
                continue;
            }
            let words = setting_words(&case.setting);
            if self.has_own_prompt(case) {
                verdict.unread_setting.get_or_insert_with(|| words.clone());
            }
            let known = || assumed.iter().filter(|loss| is_about(loss, &case.setting));
            for part in failure.parts().into_iter().filter(|part| !known().any(|loss| loss.part == *part)) {
                let named = known().next().map(|loss| loss.message.clone());
                let message = named.unwrap_or_else(|| unread_words(&case.setting, &words, ""));
                verdict.lose(Loss { is_assumed: true, ..Loss::new(part, message, &failure.text) });
            }
        }
        verdict.losses.extend(assumed);
    }

    /// Whether a setting shows in the prompt: none that says less has the same. After a known prompt a model writes as
    /// usual, however a setting has its earlier turns written.
    fn has_own_prompt(&self, case: &Case) -> bool {
        let says_less = |other: &Setting| {
            other.len() < case.setting.len() && other.iter().all(|(name, value)| case.setting.get(name) == Some(value))
        };
        let is_known = |other: &Case| other.prompted == case.prompted && says_less(&other.setting);
        !case.setting.is_empty() && !case.prompted.is_empty() && !self.cases.iter().any(is_known)
    }

    /// Adds the conversations that take branches to the verdict of a template that reads the proof's own conversations.
    /// Those that it misreads are losses.
    pub fn with_branches(&self, template: &Template, mut verdict: Verdict) -> Verdict {
        if !verdict.holds() {
            self.excuse_settings(template, &mut verdict);
        }
        if !verdict.holds() {
            return verdict;
        }
        let excused = [&mut verdict.excused, &mut verdict.excused_behind].map(std::mem::take);
        for loss in excused.into_iter().flatten() {
            verdict.lose(loss);
        }
        let fates = self.branch_fates(template);
        let failed: Vec<&Branch> =
            fates.iter().filter(|(_, fate)| matches!(fate, Fate::Failed(_))).map(|(branch, _)| *branch).collect();
        for (branch, fate) in fates {
            let is_known = branch.is_assumed(&verdict) || failed.iter().any(|other| branch.only_adds_to(other));
            if let Some(failure) = verdict.count_read(fate).filter(|_| !is_known) {
                let setting = &branch.case.setting;
                if branch.is_exact && self.has_own_prompt(&branch.case) && self.is_meant(&branch.case) {
                    verdict.unread_setting.get_or_insert_with(|| setting_words(setting));
                }
                failure.parts().into_iter().for_each(|part| verdict.lose(branch.loss(part, &failure.text)));
            }
        }
        let judge = Judge::new(template, self.branch_tools(), &self.plain, &self.offering);
        let untaken = self.branches().untaken.iter();
        let untaken: Vec<Loss> = untaken.filter_map(|untaken| untaken.loss(&judge, &verdict.losses)).collect();
        untaken.into_iter().for_each(|loss| verdict.lose(loss));
        self.lost_alone(&judge, &failed, &verdict).into_iter().for_each(|loss| verdict.lose(loss));
        let unsent: Vec<Loss> =
            self.branches().unsent.iter().flat_map(|unsent| unsent.losses(&verdict.scope)).collect();
        verdict.scope.is_open = !unsent.is_empty();
        unsent.into_iter().for_each(|loss| verdict.lose(loss));
        verdict.branching = self.branches().branching.clone();
        verdict.losses.sort_by(|a, b| (a.part, &a.message).cmp(&(b.part, &b.message)));
        verdict
    }
}

/// What a draft does not read, with the option that proves it.
fn unread_words(setting: &Setting, words: &str, place: &str) -> String {
    let options: Vec<String> = setting.iter().map(|(name, value)| format!("--set '{name}={value}'")).collect();
    let shown = if options.is_empty() { String::new() } else { format!("; `{}` shows them", options.join(" ")) };
    format!("with {words}, the template writes turns that the draft does not read{place}{shown}")
}

/// Whether a loss is about a variable of a setting.
fn is_about(loss: &Loss, setting: &Setting) -> bool {
    loss.variable.as_ref().is_some_and(|name| setting.contains_key(name))
}

impl Branch {
    /// Whether an answer contains one of these marks, and the template does not put other words in their place.
    fn contains_one_of(&self, marks: &[String]) -> bool {
        let said = &self.case.said;
        let is_replaced = matches!(&self.goal.sought, Sought::Change(name, _) if name == "replace");
        let is_written = |said: &&String| !is_replaced || self.case.text.contains(said.trim());
        let mut texts = said.content.iter().chain(&said.reasoning).filter(is_written);
        let is_mark = |mark: &&String| Segmentation::Words.is_distinctive(mark);
        texts.any(|text| marks.iter().filter(is_mark).any(|mark| text.contains(mark.trim())))
    }

    /// Whether a loss of the verdict names the variable of its setting already.
    fn is_assumed(&self, verdict: &Verdict) -> bool {
        verdict.losses.iter().any(|loss| is_about(loss, &self.case.setting))
    }

    /// Whether it is the same turn as another one under more settings, which have no part in it.
    fn only_adds_to(&self, other: &Branch) -> bool {
        let (case, other) = (&self.case, &other.case);
        let has = |(name, value): (&str, &Value)| case.setting.get(name) == Some(value);
        case.setting.len() > other.setting.len()
            && other.setting.iter().all(has)
            && (&case.said, &case.text) == (&other.said, &other.text)
    }

    /// The loss of a template that misreads it.
    pub fn loss(&self, part: Part, text: &str) -> Loss {
        let Self { case, words, line, .. } = self;
        let message = unread_words(&case.setting, words, &format!(" (line {line})"));
        Loss { is_assumed: true, ..Loss::new(part, message, text) }
    }
}

#[cfg(test)]
mod tests {
    use crate::derive::by_hand::{ANSWER, CHAT, losses_beside_null, template, with_proof};

    /// The losses of a template, and how many conversations take a branch.
    fn proved(chat_template: &str) -> (Vec<String>, usize) {
        with_proof(chat_template, |proof| {
            let template = template(ANSWER);
            let verdict = proof.with_branches(&template, proof.judge(&template));
            assert!(verdict.holds(), "{:?}", verdict.failures);
            (losses_beside_null(&verdict.losses), proof.branches().found.len())
        })
    }

    #[test]
    fn a_branch_that_no_other_conversation_takes_is_proved_or_named() {
        let (losses, found) =
            proved(&CHAT.replace("{{ m.content }}", "{{ m.content }}{{ '' if m.content.endswith('?') }}"));
        let why = "it is read beside reasoning, a call and both, and alone after each history";
        assert_eq!((losses.as_slice(), found), (&[][..], 10), "{why}");
        let raw = "{% for c in m.tool_calls or [] %}{% if c.function.name == 'python' %}<raw>{{ c.function.arguments.code }}</raw>\
                   {% else %}";
        let tool = CHAT.replacen("{% for c in m.tool_calls or [] %}", raw, 1).replacen(
            "{% endfor %}<end>",
            "{% endif %}{% endfor %}<end>",
            1,
        );
        assert_ne!(tool, CHAT);
        let (losses, _) = proved(&tool);
        assert!(
            losses.iter().any(|loss| loss.starts_with("with a call of \"python\", the template writes")),
            "{losses:?}"
        );
    }

    #[test]
    fn a_setting_without_a_part_in_an_unread_turn_is_not_named() {
        let raw = "{% for c in m.tool_calls or [] %}{% if c.function.name == 'python' %}<raw>{{ c.function.arguments.code }}</raw>\
                   {% else %}";
        let source = CHAT.replacen("{% for c in m.tool_calls or [] %}", raw, 1);
        let source = source.replacen("{% endfor %}<end>", "{% endif %}{% endfor %}<end>", 1);
        let (losses, _) = proved(&format!("<system>{{{{ effort or 'medium' }}}}<end>{source}"));
        assert!(losses.iter().any(|loss| loss.starts_with("with a call of \"python\"")), "{losses:?}");
        assert!(!losses.iter().any(|loss| loss.contains("`effort`")), "{losses:?}");
    }

    #[test]
    fn a_branch_behind_conditions_that_refuse_a_conversation_is_found() {
        let guards: String = (0..8)
            .map(|at| {
                format!("{{% if m.content and 'bad{at}' in m.content %}}{{{{ raise_exception('no') }}}}{{% endif %}}")
            })
            .collect();
        let marked =
            format!("{guards}{{% for c in m.tool_calls or [] %}}{{{{ '<py>' if c.function.name == 'python' }}}}");
        let (losses, _) = proved(&CHAT.replacen("{% for c in m.tool_calls or [] %}", &marked, 1));
        assert!(losses.iter().any(|loss| loss.contains("\"python\"")), "{losses:?}");
    }

    #[test]
    fn reasoning_is_tried_after_a_system_message_that_a_condition_asks_for() {
        let close = "{{ '</deep>' if messages[0].role == 'system' else '</weigh>' }}";
        let (losses, found) = proved(&CHAT.replacen("</weigh>", close, 1));
        assert!(found > 0);
        assert!(losses.iter().any(|loss| loss.starts_with("with a system message, the template")), "{losses:?}");
    }

    #[test]
    fn a_text_with_more_pieces_than_a_slice_keeps_is_a_named_loss() {
        for sign in ["\\n", "\\n\\n", " "] {
            let cut = format!("{{{{ m.content.split('{sign}')[:12] | join('{sign}') if m.content }}}}");
            let (losses, _) = proved(&CHAT.replacen("{{ m.content }}", &cut, 1));
            assert!(!losses.is_empty(), "{sign:?}");
        }
    }

    #[test]
    fn a_branch_that_several_conditions_decide_is_found() {
        for condition in [
            "m.content.endswith('end.') and m.content.startswith('For')",
            "m.content.count('(') > 4 and m.content[0] == 'P'",
            "m.content | wordcount > 9 and 'coat' in m.content",
            // The proof's own answers have each of these texts, but not beside the other part.
            "m.content.startswith('Yes') and m.tool_calls and m.reasoning_content",
            "'```' in m.content and m.tool_calls",
            "m.content.count('(') > 1 and m.reasoning_content",
        ] {
            let marked = format!("{{{{ '<both>' if {condition} }}}}{{{{ m.content }}}}");
            let (losses, _) = proved(&CHAT.replacen("{{ m.content }}", &marked, 1));
            assert!(!losses.is_empty(), "{condition}");
        }
    }

    #[test]
    fn a_setting_and_the_number_of_turns_decide_together() {
        let count = "{% set n = messages | selectattr('role', 'equalto', 'user') | list | length %}";
        for condition in ["brief and n > 1", "n == 2 and brief"] {
            let marked = format!("{{{{ '<late>' if {condition} }}}}{{{{ m.content }}}}");
            let (losses, _) = proved(&format!("{count}{}", CHAT.replacen("{{ m.content }}", &marked, 1)));
            assert!(losses.iter().any(|loss| loss.contains("`brief` set to true")), "{condition}: {losses:?}");
        }
    }

    #[test]
    fn a_setting_that_is_compared_as_a_number_or_a_text_is_read_or_named() {
        for (condition, value) in [
            ("brief is defined and brief | int < 100", "99"),
            ("brief is defined and brief * 2 < 1000", "499"),
            ("brief is defined and brief % 2 == 0", "0"),
            ("brief | default(0.5) > 0.7", "0.8"),
            ("brief is defined and brief == 0.0", "0.0"),
            ("brief is defined and brief | string | lower == 'false'", "false"),
            ("brief is defined and brief | lower in ['0', 'false']", "false"),
            ("(brief | default('1.0')).split('.')[0] | int >= 2", "\"2\""),
        ] {
            let marked = format!("{{{{ '<late>' if {condition} }}}}{{{{ m.content }}}}");
            let (losses, _) = proved(&CHAT.replacen("{{ m.content }}", &marked, 1));
            let named = format!("with `brief` set to {value}, the template");
            assert!(losses.iter().any(|loss| loss.starts_with(&named)), "{condition}: {losses:?}");
        }
    }

    #[test]
    fn a_branch_that_the_tools_on_offer_decide_is_named() {
        for (condition, words) in [
            ("tools | length > 9", "10 tools on offer"),
            ("tools | length <= 2", "2 tools on offer"),
            ("'integer' not in tools | tojson", "tools without parameters"),
            ("tool.function.strict", "a tool whose `function.strict` is true"),
            ("tool.type == 'builtin'", "a tool whose `type` is \"builtin\""),
            ("tool.function.server is defined", "a tool whose `function.server` is true"),
            ("tool.get('x-async', false)", "a tool whose `x-async` is true"),
            (
                "'old' in tool.function.description",
                "a tool whose `function.description` is \"Answers what was asked. old\"",
            ),
            ("tool.function.description | length > 30", "a tool whose `function.description` is \"Word by word it"),
            (
                "tool.function.parameters.required | length > 1",
                "a tool whose `function.parameters.required` is [\"query\", \"limit\"]",
            ),
            ("tools | selectattr('type', 'equalto', 'builtin') | list", "a tool whose `type` is \"builtin\""),
        ] {
            let each = "{% for c in m.tool_calls or [] %}";
            let marked = format!(
                "{each}{{% for tool in tools or [] if tool.function.name == c.function.name %}}\
                 {{{{ '<late>' if {condition} }}}}{{% endfor %}}"
            );
            let (losses, _) = proved(&CHAT.replacen(each, &marked, 1));
            let named = format!("with {words}");
            assert!(losses.iter().any(|loss| loss.starts_with(&named)), "{condition}: {losses:?}");
        }
    }

    #[test]
    fn conditions_on_tools_that_change_nothing_leave_renders_for_those_that_do() {
        let each = "{% for c in m.tool_calls or [] %}";
        let idle: String =
            ["'x' in tool.function.description", "tool.function.description | length > 20", "tool.function.a"]
                .map(|condition| format!("{{% if {condition} %}}{{% endif %}}"))
                .concat();
        let marked = format!(
            "{each}{{% for tool in tools or [] if tool.function.name == c.function.name %}}{idle}\
             {{{{ '<late>' if tool.function.server is defined }}}}{{% endfor %}}"
        );
        let (losses, _) = proved(&CHAT.replacen(each, &marked, 1));
        let named = "with a tool whose `function.server` is true";
        assert!(losses.iter().any(|loss| loss.starts_with(named)), "{losses:?}");
    }

    #[test]
    fn tools_that_only_the_prompt_describes_are_no_branch() {
        let listed = "{% for tool in tools or [] %}{{ 'strict ' if tool.function.strict }}{{ tool.function.name }}\
                      {{ ', of many' if tools | length > 9 }}{% endfor %}";
        assert_eq!(proved(&format!("{listed}{CHAT}")), proved(CHAT));
    }

    #[test]
    fn reasoning_is_tried_after_messages_that_only_the_plainest_answers_follow() {
        for limit in [4, 5] {
            let close = format!("{{{{ '</deep>' if messages | length > {limit} else '</weigh>' }}}}");
            let (losses, _) = proved(&CHAT.replacen("</weigh>", &close, 1));
            let named = "with an earlier call, the template";
            assert!(losses.iter().any(|loss| loss.starts_with(named)), "{limit}: {losses:?}");
        }
    }

    #[test]
    fn a_message_before_decides_about_the_turn_and_not_only_about_an_earlier_one() {
        let each = "{% for c in m.tool_calls or [] %}";
        let condition = "loop.index0 > 0 and 'miles' in messages[loop.index0 - 1].content";
        let marked = format!("{{{{ '<far>' if m.tool_calls and {condition} }}}}{each}");
        let (losses, _) = proved(&CHAT.replacen(each, &marked, 1));
        let named = "with the user's message \"How far is it";
        assert!(losses.iter().any(|loss| loss.starts_with(named)), "{losses:?}");
    }

    #[test]
    fn messages_in_another_form_that_have_the_turn_written_differently_are_named() {
        for (condition, words) in [
            ("messages[0].role == 'developer'", "a message of the role \"developer\""),
            ("loop.index0 and messages[loop.index0 - 1].role == 'ipython'", "a result of the role \"ipython\""),
            ("messages | selectattr('role', 'equalto', 'tool') | list | length > 3", "4 results"),
            ("messages[0].images", "the key \"images\" of a message"),
            ("messages[0].content is not string", "content in parts"),
            (
                "messages[0].content is not string and messages[0].content[0].type == 'image'",
                "a part of the type \"image\" in a message",
            ),
        ] {
            let marked = format!("{{{{ '<late>' if m.role == 'assistant' and {condition} }}}}{{{{ m.content }}}}");
            let (losses, found) = proved(&CHAT.replacen("{{ m.content }}", &marked, 1));
            let start = format!("with {words}, the template");
            assert!(found > 0 && losses.iter().any(|loss| loss.starts_with(&start)), "{condition}: {losses:?}");
            let unmarked = format!("{{{{ '' if {condition} }}}}{{{{ m.content }}}}");
            let (losses, _) = proved(&CHAT.replacen("{{ m.content }}", &unmarked, 1));
            assert_eq!(losses, [""; 0], "{condition}: the turn is the usual one");
        }
    }

    #[test]
    fn a_key_whose_items_are_printed_is_given_no_text() {
        for images in ["m.images", "m['images']", "m.get('images', [])", "(m.images or [])[:2]"] {
            let looped = format!("{{% for image in {images} %}}<image>{{% endfor %}}");
            let read = format!(
                "{{{{ '<late>' if m.role == 'assistant' and messages[0].images }}}}{looped}{{{{ m.content }}}}"
            );
            let (losses, _) = proved(&CHAT.replacen("{{ m.content }}", &read, 1));
            assert!(losses.iter().all(|loss| !loss.starts_with("with the key")), "{images}: {losses:?}");
        }
    }

    #[test]
    fn a_branch_of_a_long_conversation_is_named_by_how_many_messages_come_before() {
        let late = "{{ '<late>' if messages | length > 6 }}{{ m.content }}";
        let (losses, found) = proved(&CHAT.replacen("{{ m.content }}", late, 1));
        assert!(found > 0);
        assert!(losses.iter().any(|loss| loss.starts_with("with 6 earlier messages, the template")), "{losses:?}");
    }

    #[test]
    fn a_branch_that_earlier_messages_decide_is_named_by_their_text() {
        for (condition, words) in [
            (
                "messages[0].role == 'system' and 'loud' in messages[0].content",
                "the system message \"Answer in one line. loud",
            ),
            (
                "messages[0].role == 'developer' and 'loud' in messages[0].content",
                "the message of the role \"developer\" \"Answer in one line. loud",
            ),
            (
                "messages[loop.index0 - 1].role == 'observation' and 'ERR' in messages[loop.index0 - 1].content",
                "the message of the role \"observation\" ",
            ),
            ("messages[loop.index0 - 1].content.endswith('/raw')", "the user's message \"How far is it"),
            ("messages[loop.index0 - 1].name == 'python'", "a result of the tool \"python\""),
            ("messages[loop.index0 - 1].content | length > 90", "the user's message \"Word by word"),
            (
                "m.role == 'assistant' and loop.index0 > 1 and messages[loop.index0 - 2].content == 'Really?'",
                "the earlier answer \"Really?\"",
            ),
        ] {
            let marked = format!("{{{{ '<late>' if loop.index0 > 0 and {condition} }}}}{{{{ m.content }}}}");
            let (losses, found) = proved(&CHAT.replacen("{{ m.content }}", &marked, 1));
            let start = format!("with {words}");
            assert!(found > 0 && losses.iter().any(|loss| loss.starts_with(&start)), "{condition}: {losses:?}");
        }
    }

    #[test]
    fn a_call_that_shows_neither_name_nor_keys_for_an_argument_is_named() {
        for condition in ["c.function.arguments.code", "'code' in c.function.arguments"] {
            let each = "{% for c in m.tool_calls or [] %}";
            let raw = format!("{each}{{% if {condition} %}}<raw>{{{{ c.function.arguments.code }}}}</raw>{{% else %}}");
            let tool = CHAT.replacen(each, &raw, 1).replacen("{% endfor %}<end>", "{% endif %}{% endfor %}<end>", 1);
            let (losses, _) = proved(&tool);
            let named = "with the argument named \"code\"";
            assert!(losses.iter().any(|loss| loss.starts_with(named)), "{condition}: {losses:?}");
        }
    }
}
