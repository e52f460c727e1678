//! Chat templates with one unusual feature each, at their smallest: the draft reads turns that no render of the
//! derivation showed.

use backchat::json::{self, Object, Value};
use backchat::{Parser, Template};
use backchat_derive::derive::{Options, Status, derive};

const THOUGHT: &str = "{% if m.reasoning %}<mull>{{ m.reasoning }}</mull>{% endif %}";
const CALLS: &str =
    "{% for c in m.tool_calls or [] %}<use>{{ c.function.name }} {{ c.function.arguments | tojson }}</use>{% endfor %}";

/// The pieces of a chat template, and the text around them.
struct Chat<'c> {
    header: &'c str,
    turn: &'c str,
    end: &'c str,
}

const PLAIN: Chat<'static> = Chat { header: "<assistant>", turn: "", end: "<fin>" };

impl Chat<'_> {
    fn source(&self) -> String {
        let Chat { header, turn, end } = self;
        let turn = match *turn {
            "" => format!("{THOUGHT}{{{{ m.content or '' }}}}{CALLS}"),
            turn => turn.replace("THOUGHT", THOUGHT).replace("CALLS", CALLS),
        };
        // The number of the next turn is that of the messages before it.
        let asked = header.replace("loop.index0", "messages | length");
        format!(
            "{{% for m in messages %}}{{% if m.role == 'assistant' %}}{header}{turn}{end}{{% else %}}\
             <{{{{ m.role }}}}>{{{{ m.content }}}}<fin>{{% endif %}}{{% endfor %}}\
             {{% if add_generation_prompt %}}{asked}{{% endif %}}"
        )
    }
}

/// Reads a text after a prompt with the draft of a chat template, which has to be proved.
fn read(chat: &Chat<'_>, prompt: &str, text: &str) -> String {
    let source = chat.source();
    let options = Options::default().variables(Object::from([("eos_token".to_owned(), "<fin>".into())]));
    let derivation = derive(&source, &options.now("2026-01-02T03:04:05".to_owned()));
    let draft = derivation.response_template.as_ref().unwrap_or_else(|| panic!("{source}"));
    assert_eq!(derivation.status, Status::Proved, "{source}\n{}\n{}", derivation.headline(), draft.to_pretty("  "));
    let template = Template::load(&draft.to_string()).unwrap().template;
    let mut parser = Parser::new(&template, prompt, Default::default()).unwrap();
    parser.feed(text).unwrap();
    let mut message = parser.finish().unwrap().message;
    message.shift_remove("role");
    Value::Object(message).to_string()
}

/// Each text after a prompt, and the message that it is.
fn reads(chat: &Chat<'_>, prompt: &str, turns: &[(&str, &str)]) {
    for (text, message) in turns {
        let expected = json::read(message).unwrap();
        let message = json::read(&read(chat, prompt, text)).unwrap();
        let calls = message
            .get("tool_calls")
            .and_then(Value::as_list)
            .map(|calls| calls.iter().map(|call| call.get("function").unwrap().clone()).collect::<Vec<Value>>());
        let part = |key: &str| message.get(key).cloned().unwrap_or_default();
        let thought = [part("reasoning"), part("reasoning_content"), part("thinking")].into_iter();
        let read = (part("content"), thought.max_by_key(|text| text.as_str().map(str::len)), calls.unwrap_or_default());
        let part = |key: &str| expected.get(key).cloned().unwrap_or_default();
        let calls = part("calls").as_list().map(<[Value]>::to_vec).unwrap_or_default();
        assert_eq!(read, (part("content"), Some(part("reasoning")), calls), "{}\n{text}", chat.source());
    }
}

#[test]
fn numbers_and_dates_in_marks_are_read_by_their_class() {
    let numbered = Chat { header: "<assistant {{ loop.index0 }}>", ..PLAIN };
    reads(&numbered, "<user>1<fin><assistant 17>", &[("Yes.<fin>", r#"{"content": "Yes."}"#)]);
    let dated = Chat { header: "<assistant on {{ strftime_now('%a %d %b %Y') }}>", ..PLAIN };
    reads(&dated, "<user>1<fin><assistant on Thu 11 Feb 2027>", &[("Yes.<fin>", r#"{"content": "Yes."}"#)]);
    let measured = "{% if m.reasoning %}<mull>{{ m.reasoning }}[{{ m.reasoning | length }} signs]</mull>{% endif %}\
                    {{ m.content or '' }}CALLS";
    let measured = Chat { turn: measured, ..PLAIN };
    let turns = [("<mull>Hm [3].[1234 signs]</mull>Yes.<fin>", r#"{"content": "Yes.", "reasoning": "Hm [3]."}"#)];
    reads(&measured, "<assistant>", &turns);
    let stopped = Chat { end: "<fin {{ loop.index0 }}>", ..PLAIN };
    reads(&stopped, "<assistant>", &[("Yes.<fin 21>", r#"{"content": "Yes."}"#)]);
    let named = Chat { header: "<assistant in {{ mood | default('calm') }} mood>", ..PLAIN };
    reads(&named, "<user>1<fin><assistant in great mood>", &[("Yes.<fin>", r#"{"content": "Yes."}"#)]);
}

#[test]
fn a_mark_of_each_part_may_hold_the_date() {
    let turn = "{% set day = strftime_now('%Y-%m-%d') %}{% if m.reasoning %}<mull {{ day }}>{{ m.reasoning }}</mull>{% endif %}\
                {{ m.content or '' }}{% for c in m.tool_calls or [] %}[{{ day }} use {{ c.function.name }}]\
                {{ c.function.arguments | tojson }}[/use]{% endfor %}[done {{ day }}]";
    let turns = [
        ("<mull 2031-05-06>Hm.</mull>Yes.[done 2031-05-06]<fin>", r#"{"content": "Yes.", "reasoning": "Hm."}"#),
        (
            r#"[2031-05-06 use f]{"a": 1}[/use][done 2031-05-06]<fin>"#,
            r#"{"calls": [{"name": "f", "arguments": {"a": 1}}]}"#,
        ),
    ];
    reads(&Chat { turn, ..PLAIN }, "<assistant>", &turns);
}

#[test]
fn a_time_alone_may_be_a_mark() {
    let turn = "{{ m.content or '' }}{% for c in m.tool_calls or [] %}<{{ strftime_now('%H:%M') }} {{ c.function.name }}>\
                {{ c.function.arguments | tojson }}</use>{% endfor %}{{ '\n' ~ strftime_now('%H:%M') }}";
    let turns = [
        ("Meet at 10:30 please.\n17:45<fin>", r#"{"content": "Meet at 10:30 please."}"#),
        ("<17:45 f>{\"a\": \"10:30\"}</use>\n17:45<fin>", r#"{"calls": [{"name": "f", "arguments": {"a": "10:30"}}]}"#),
    ];
    reads(&Chat { turn, ..PLAIN }, "<assistant>", &turns);
}

#[test]
fn a_header_may_hold_words_of_settings_and_of_the_clock() {
    let yes = [("Yes.<fin>", r#"{"content": "Yes."}"#)];
    for (header, asked) in [
        ("<assistant;{{ effort | default('low') }};{{ style | default('warm') }}>", "<assistant;dreamy;cold>"),
        ("<assistant;{{ effort | default('low') }};{{ strftime_now('%A') }}>", "<assistant;dreamy;Tuesday>"),
        (
            "<assistant;{{ {'low': 'lo', 'high': 'hi'}[effort | default('low')] }};{{ strftime_now('%A') }}>",
            "<assistant;hi;Tuesday>",
        ),
    ] {
        reads(&Chat { header, ..PLAIN }, asked, &yes);
    }
}

#[test]
fn numbers_of_calls_are_read_by_their_class() {
    let turn = "THOUGHT{{ m.content or '' }}{% for c in m.tool_calls or [] %}<use_{{ loop.index }}>{{ c.function | tojson }}\
                </use_{{ loop.index }}>{% endfor %}";
    let calls =
        r#"<use_9>{"name": "f", "arguments": {}}</use_9><use_10>{"name": "g", "arguments": {"a": 1}}</use_10><fin>"#;
    let message = r#"{"calls": [{"name": "f", "arguments": {}}, {"name": "g", "arguments": {"a": 1}}]}"#;
    reads(&Chat { turn, ..PLAIN }, "<assistant>", &[(calls, message)]);
}

#[test]
fn a_number_alone_may_be_the_mark_of_a_call() {
    let turn = "{{ m.content or '' }}{% for c in m.tool_calls or [] %}<{{ loop.index }}>{{ c.function.name }} \
                {{ c.function.arguments | tojson }}</{{ loop.index }}>{% endfor %}";
    let turns = [
        ("Footnote 3 explains it.<fin>", r#"{"content": "Footnote 3 explains it."}"#),
        (
            r#"<1>f {"a": 1}</1><2>g {}</2><fin>"#,
            r#"{"calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}]}"#,
        ),
    ];
    reads(&Chat { turn, ..PLAIN }, "<assistant>", &turns);
}

#[test]
fn regions_that_repeat_are_joined() {
    let steps = "{% if m.reasoning %}{% for l in m.reasoning.split('\\n') %}<step>{{ l }}</step>{% endfor %}{% endif %}\
                 {{ m.content or '' }}CALLS";
    let turns =
        [("<step>One.</step><step>- two</step>Yes.<fin>", r#"{"content": "Yes.", "reasoning": "One.\n- two"}"#)];
    reads(&Chat { turn: steps, ..PLAIN }, "<assistant>", &turns);
    let parts = "THOUGHT{% if m.content is string %}{% if m.content %}<p>{{ m.content }}</p>{% endif %}{% else %}\
                 {% for p in m.content or [] %}<p>{{ p.text }}</p>{% endfor %}{% endif %}CALLS";
    let turns = [("<p>One,</p><p> two, </p><p>three.</p><fin>", r#"{"content": "One, two, three."}"#)];
    reads(&Chat { turn: parts, ..PLAIN }, "<assistant>", &turns);
}

#[test]
fn reasoning_may_come_last() {
    let called = r#"{"content": "Yes.", "reasoning": "Hm.", "calls": [{"name": "f", "arguments": {}}]}"#;
    let last = Chat { turn: "{{ m.content or '' }}CALLSTHOUGHT", ..PLAIN };
    let turns = [
        ("Yes.\n<mull>Hm.</mull>\n<fin>", r#"{"content": "Yes.", "reasoning": "Hm."}"#),
        ("Yes.<use>f {}</use><mull>Hm.</mull><fin>", called),
    ];
    reads(&last, "<assistant>", &turns);
    let between = Chat { turn: "{{ m.content or '' }}THOUGHTCALLS", ..PLAIN };
    reads(&between, "<assistant>", &[("Yes.<mull>Hm.</mull><use>f {}</use><fin>", called)]);
}

#[test]
fn a_mark_between_the_calls_and_the_stop_is_no_content() {
    let paused = Chat { end: "{% if m.tool_calls %}<wait>{% endif %}<fin>", ..PLAIN };
    let called = r#"{"calls": [{"name": "f", "arguments": {}}]}"#;
    reads(&paused, "<assistant>", &[("<use>f {}</use><wait><fin>", called), ("Yes.<fin>", r#"{"content": "Yes."}"#)]);
}

/// Content that is empty instead of null is also written as a turn, after the calls and their stop.
#[test]
fn content_beside_calls_may_be_a_turn_of_its_own() {
    let guard = "{% if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('one call') }}{% endif %}";
    let several = "{% if m.tool_calls %}CALLS{% if m.content is not none %}<fin><assistant>{% endif %}{% endif %}\
                   {{ m.content or '' }}";
    for turn in [several.to_owned(), format!("{guard}{several}")] {
        let called = r#"{"calls": [{"name": "f", "arguments": {}}]}"#;
        let both = r#"{"calls": [{"name": "f", "arguments": {}}], "content": "Yes."}"#;
        let turns = [("<use>f {}</use><fin>", called), ("<use>f {}</use><fin><assistant>Yes.<fin>", both)];
        reads(&Chat { turn: &turn, ..PLAIN }, "<assistant>", &turns);
    }
}

#[test]
fn a_label_of_the_answer_is_no_content() {
    let turn = "THOUGHT{% if m.content and m.reasoning %}Answer: {% endif %}{{ m.content or '' }}CALLS";
    let turns = [
        ("<mull>Hm.</mull>Answer: Yes.<fin>", r#"{"content": "Yes.", "reasoning": "Hm."}"#),
        ("The Answer: Yes.<fin>", r#"{"content": "The Answer: Yes."}"#),
    ];
    reads(&Chat { turn, ..PLAIN }, "<assistant>", &turns);
}

/// Outside the loop there is no message `m`: what such a header adds is the prompt's own.
#[test]
fn a_label_of_some_answers_is_no_content_whatever_the_prompt_adds() {
    for own in ["", "\n", "[reminder] Be brief.\n"] {
        let header = format!("{{% if m is undefined %}}{own}{{% endif %}}<assistant>\n");
        for header in [&header, &format!("<assistant>\n{{% if m is undefined %}}{own}{{% endif %}}")] {
            let turn = "{% if style is defined %}Answer:\n{% endif %}{{ m.content or '' }}CALLS";
            let prompt = header.replace("{% if m is undefined %}", "").replace("{% endif %}", "");
            let said = r#"{"content": "Yes."}"#;
            let turns = [("Answer:\nYes.<fin>", said), ("Yes.<fin>", said)];
            reads(&Chat { header, turn, ..PLAIN }, &prompt, &turns);
        }
    }
}

#[test]
fn the_mark_before_each_part_may_end_the_prompt() {
    let guard = "{% if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('one call') }}{% endif %}";
    let parts = "{% if m.content %}>>>all\n{{ m.content }}{% endif %}{% for c in m.tool_calls or [] %}>>>\
                 {{ c.function.name }}\n{{ c.function.arguments | tojson }}{% endfor %}";
    let always = "<assistant>\n{% if m is undefined %}>>>{% endif %}";
    let not_after_a_result = "{% if m is defined or messages[-1].role != 'tool' %}<assistant>\n\
                              {% if m is undefined %}>>>{% endif %}{% endif %}";
    for (header, turn) in
        [(always, parts.to_owned()), (always, format!("{guard}{parts}")), (not_after_a_result, parts.to_owned())]
    {
        let call = r#"{"calls": [{"name": "f", "arguments": {}}]}"#;
        let both = r#"{"content": "Yes.", "calls": [{"name": "f", "arguments": {}}]}"#;
        let turns =
            [("all\nYes.<fin>", r#"{"content": "Yes."}"#), ("f\n{}<fin>", call), ("all\nYes.>>>f\n{}<fin>", both)];
        reads(&Chat { header, turn: &turn, ..PLAIN }, "<assistant>\n>>>", &turns);
    }
}

/// Any text may follow the bracket that ends a call, and values may hold brackets: what is before it tells.
#[test]
fn content_may_come_after_calls_that_a_bracket_ends() {
    let turn = "THOUGHT{% for c in m.tool_calls or [] %}<use>{{ c.function.name }}({% for k, v in \
                c.function.arguments.items() %}<key>{{ k }}</key><val>{{ v if v is string else v | tojson }}</val>\
                {% endfor %}){% if not loop.last %}, {% endif %}{% endfor %}{{ m.content or '' }}";
    let call = r#"{"name": "f", "arguments": {"a": "x) (y"}}"#;
    let (one, two) =
        (format!(r#"{{"calls": [{call}]}}"#), format!(r#"{{"calls": [{call}, {call}], "content": "Yes."}}"#));
    let text = "<use>f(<key>a</key><val>x) (y</val>)";
    let turns = [(format!("{text}<fin>"), one.as_str()), (format!("{text}, {text}Yes.<fin>"), two.as_str())];
    let turns = turns.each_ref().map(|(text, message)| (text.as_str(), *message));
    reads(&Chat { turn, ..PLAIN }, "<assistant>", &turns);
}

#[test]
fn a_word_in_the_quotes_of_another_language_is_no_call() {
    let turn = "THOUGHT{{ m.content or '' }}\
                {% for c in m.tool_calls or [] %}«{{ c.function.name }}»{{ c.function.arguments | tojson }}«/»{% endfor %}";
    let turns = [
        ("«lookup»{\"a\": \"x\"}«/»<fin>", r#"{"calls": [{"name": "lookup", "arguments": {"a": "x"}}]}"#),
        ("Привет, «Мир»!<fin>", r#"{"content": "Привет, «Мир»!"}"#),
    ];
    reads(&Chat { turn, ..PLAIN }, "<user>Hello<fin><assistant>", &turns);
}

#[test]
fn a_line_in_parentheses_is_no_call() {
    let turn = "THOUGHT{{ m.content or '' }}{% for c in m.tool_calls or [] %}{{ '\\n(' + c.function.name }}\
                {% for k, v in c.function.arguments.items() %} :{{ k }} {{ v | tojson }}{% endfor %}){% endfor %}";
    let aside = "Yes.\n(Or no.)";
    let turns = [
        ("\n(look :a \"x\" :b 2)<fin>", r#"{"calls": [{"name": "look", "arguments": {"a": "x", "b": 2}}]}"#),
        ("\n(look)<fin>", r#"{"calls": [{"name": "look", "arguments": {}}]}"#),
        (&format!("{aside}<fin>"), &Value::Object(Object::from([("content".to_owned(), aside.into())])).to_string()),
    ];
    reads(&Chat { turn, ..PLAIN }, "<user>Hello<fin><assistant>", &turns);
}

/// A value may hold the sign that closes its call, also where unmarked text follows a call.
#[test]
fn a_string_may_hold_what_closes_its_call() {
    let attributes = "THOUGHT{{ m.content or '' }}{% for c in m.tool_calls or [] %}<use fn=\"{{ c.function.name }}\"\
                      {% for k, v in c.function.arguments.items() %} {{ k }}={{ v | tojson }}{% endfor %}/>{% endfor %}";
    let called = r#"{"calls": [{"name": "f", "arguments": {"a": "<br/>", "b": 2}}]}"#;
    reads(&Chat { turn: attributes, ..PLAIN }, "<assistant>", &[("<use fn=\"f\" a=\"<br/>\" b=2/><fin>", called)]);
    let named_last = "THOUGHT{{ m.content or '' }}{% for c in m.tool_calls or [] %}<use>\
                      {{ c.function.arguments | tojson }} -> {{ c.function.name }}</use>{% endfor %}";
    let called = r#"{"calls": [{"name": "f", "arguments": {"a": "x -> y"}}]}"#;
    reads(&Chat { turn: named_last, ..PLAIN }, "<assistant>", &[("<use>{\"a\": \"x -> y\"} -> f</use><fin>", called)]);
    let before_text = "THOUGHT{% for c in m.tool_calls or [] %}<use>\
                       {\"name\": \"{{ c.function.name }}\", \"arguments\": {{ c.function.arguments | tojson }}}\
                       {% endfor %}{{ m.content or '' }}";
    let called = r#"{"calls": [{"name": "f", "arguments": {"a": "Dear {{you}} there"}}], "content": "Yes."}"#;
    let text = "<use>{\"name\": \"f\", \"arguments\": {\"a\": \"Dear {{you}} there\"}}Yes.<fin>";
    reads(&Chat { turn: before_text, ..PLAIN }, "<assistant>", &[(text, called)]);
}

#[test]
fn a_mark_behind_the_stop_of_the_last_turn_is_no_content() {
    let turn = "{{ m.content or '' }}{% for c in m.tool_calls or [] %}<use>{{ c.function.name }}\n\
                {{ c.function.arguments | tojson }}{% endfor %}";
    let last = Chat { header: "<assistant>", turn, end: "<fin>{% if loop.last %}<last>{% endif %}" };
    let called = r#"{"calls": [{"name": "f", "arguments": {}}]}"#;
    for text in ["<use>f\n{}<fin><last>", "<use>f\n{}<fin>"] {
        reads(&last, "<assistant>", &[(text, called)]);
    }
    reads(&last, "<assistant>", &[("Yes.<fin><last>", r#"{"content": "Yes."}"#)]);
}

#[test]
fn content_may_be_a_json_string_or_a_member_of_one_object() {
    let string = Chat { turn: "THOUGHT{% if m.content %}<say>{{ m.content | tojson }}</say>{% endif %}CALLS", ..PLAIN };
    reads(&string, "<assistant>", &[(r#"<say>"A \"b\".\n"</say><fin>"#, r#"{"content": "A \"b\".\n"}"#)]);
    let object = "{ {%- if m.reasoning %}\"why\": {{ m.reasoning | tojson }}, {% endif %}\"say\": {{ (m.content or '') | tojson }}\
                  {%- if m.tool_calls %}, \"do\": [{% for c in m.tool_calls %}{{ {'f': c.function.name, 'with': c.function.arguments} | tojson }}\
                  {%- if not loop.last %}, {% endif %}{% endfor %}]{% endif %}}";
    let turns = [
        (
            r#"{"why": "Hm.", "say": "\"}<", "do": [{"f": "g", "with": {"a": ["]}"]}}]}<fin>"#,
            r#"{"content": "\"}<", "reasoning": "Hm.", "calls": [{"name": "g", "arguments": {"a": ["]}"]}}]}"#,
        ),
        (r#"{"say": "Yes."}"#, r#"{"content": "Yes."}"#),
    ];
    reads(&Chat { turn: object, ..PLAIN }, "<assistant>", &turns);
    // The prompt may begin the object.
    let begun = Chat { header: "<assistant>{{ '{' }}", turn: object.strip_prefix("{ ").unwrap(), ..PLAIN };
    let rests = turns.map(|(text, message)| (&text[1..], message));
    reads(&begun, "<assistant>{", &rests);
}

#[test]
fn a_call_without_arguments_may_lack_their_frame() {
    let turn = "THOUGHT{{ m.content or '' }}{% for c in m.tool_calls or [] %}<use>({{ c.function.name }}\
                {% for k, v in c.function.arguments.items() %} :{{ k }} {{ v | tojson }}{% endfor %})</use>{% endfor %}";
    let turns = [(
        r#"<use>(now)</use><use>(f :a "x :b 2" :c [1, ")"])</use><fin>"#,
        r#"{"calls": [{"name": "now", "arguments": {}}, {"name": "f", "arguments": {"a": "x :b 2", "c": [1, ")"]}}]}"#,
    )];
    reads(&Chat { turn, ..PLAIN }, "<assistant>", &turns);
}

#[test]
fn a_call_without_arguments_may_follow_another_call() {
    let each = |call: &str| {
        format!(
            "THOUGHT{{{{ m.content or '' }}}}{{% if m.tool_calls %}}<calls>{{% for c in m.tool_calls %}}{call}\
             {{% endfor %}}\n</calls>{{% endif %}}"
        )
    };
    let calls = r#"{"calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "now", "arguments": {}},
        {"name": "f", "arguments": {"a": "x"}}]}"#;
    for (call, text) in [
        (
            "<call>{{ c.function.name }}{% if c.function.arguments %}<with>{{ c.function.arguments | tojson }}{% endif %}",
            r#"<calls><call>f<with>{"a": 1}<call>now<call>f<with>{"a": "x"}"#,
        ),
        (
            "{{ '\n* ' }}{{ c.function.name }}{% if c.function.arguments %} with {{ c.function.arguments | tojson }}{% endif %}",
            "<calls>\n* f with {\"a\": 1}\n* now\n* f with {\"a\": \"x\"}",
        ),
    ] {
        let turn = each(call);
        reads(&Chat { turn: &turn, ..PLAIN }, "<assistant>", &[(&format!("{text}\n</calls><fin>"), calls)]);
    }
}

#[test]
fn a_label_before_every_answer_may_close_calls() {
    let turn = "{% if m.reasoning %}Thought: {{ m.reasoning }}\n{% endif %}{% for c in m.tool_calls or [] %}Action: \
                {{ c.function.name }}\nInput: {{ c.function.arguments | tojson }}\n{% endfor %}\
                {% if m.content %}Answer: {{ m.content }}\n{% endif %}";
    let turns = [
        ("Answer: The label Answer: is text.\n<fin>", r#"{"content": "The label Answer: is text."}"#),
        ("Thought: Hm, Answer: no.\nAnswer: Yes.\n<fin>", r#"{"reasoning": "Hm, Answer: no.", "content": "Yes."}"#),
        (
            "Thought: Hm.\nAction: f\nInput: {\"a\": \"Answer: no\"}\nAction: g\nInput: {}\nAnswer: My Answer: no.\n<fin>",
            r#"{"reasoning": "Hm.", "content": "My Answer: no.", "calls": [
                {"name": "f", "arguments": {"a": "Answer: no"}}, {"name": "g", "arguments": {}}]}"#,
        ),
    ];
    reads(&Chat { turn, ..PLAIN }, "<assistant>", &turns);
}

#[test]
fn a_sign_that_ends_the_turn_may_occur_in_arguments() {
    let turn = "{% for c in m.tool_calls or [] %}Call: {{ c.function.name }}; {{ c.function.arguments | tojson }}\n{% endfor %}\
                To: user\n\n{{ m.content or '' }}";
    let turns = [(
        "Call: math.add; {\"a\": 2.5}\nTo: user\n\nIt is. So.\n.\n",
        r#"{"content": "It is. So.", "calls": [{"name": "math.add", "arguments": {"a": 2.5}}]}"#,
    )];
    reads(&Chat { turn, end: "\n.\n", ..PLAIN }, "<assistant>", &turns);
}

#[test]
fn arguments_may_begin_with_the_bracket_of_calls() {
    let turn = "{{ m.content or '' }}{% if m.tool_calls %}⟨calls⟩{% for c in m.tool_calls %}⟨{{ c.function.name }}/\
                {{ c.function.arguments | length }}⟩{% for k, v in c.function.arguments.items() %}⟨{{ k }}=⟩{{ v | tojson }}\
                {% endfor %}{% endfor %}⟨/calls⟩{% endif %}";
    let turns = [(
        "⟨calls⟩⟨f/1⟩⟨a=⟩\"x\"⟨f/2⟩⟨a=⟩\"y\"⟨b=⟩1⟨/calls⟩<fin>",
        r#"{"calls": [{"name": "f", "arguments": {"a": "x"}}, {"name": "f", "arguments": {"a": "y", "b": 1}}]}"#,
    )];
    reads(&Chat { turn, ..PLAIN }, "<assistant>", &turns);
}

#[test]
fn arguments_may_be_a_list_of_pairs() {
    let turn = "THOUGHT{{ m.content or '' }}{% for c in m.tool_calls or [] %}<use>{{ c.function.name }} [\
                {% for k, v in c.function.arguments.items() %}{\"key\": \"{{ k }}\", \"value\": {{ v | tojson }}}\
                {% if not loop.last %}, {% endif %}{% endfor %}]</use>{% endfor %}";
    let turns = [(
        r#"<use>f [{"key": "a", "value": "}, {"}, {"key": "b", "value": {"c": [2]}}]</use><use>g []</use><fin>"#,
        r#"{"calls": [{"name": "f", "arguments": {"a": "}, {", "b": {"c": [2]}}}, {"name": "g", "arguments": {}}]}"#,
    )];
    reads(&Chat { turn, ..PLAIN }, "<assistant>", &turns);
}

#[test]
fn a_mark_may_be_a_control_character() {
    for mark in ["\u{1}", "\u{2}", "\u{3}", "\u{1f}", "\u{7f}"] {
        let (header, end) = (format!("<assistant{mark}"), format!("{mark}fin{mark}"));
        let turn = format!("{{{{ m.content or '' }}}}{}", CALLS.replace("<use>", mark).replace("</use>", mark));
        let chat = Chat { header: &header, turn: &turn, end: &end };
        let turns = [
            (format!("Yes.{end}"), r#"{"content": "Yes."}"#),
            (format!("{mark}f {{\"a\": 1}}{mark}{end}"), r#"{"calls": [{"name": "f", "arguments": {"a": 1}}]}"#),
        ];
        reads(
            &chat,
            &format!("<user>1<fin>{header}"),
            &turns.each_ref().map(|(text, message)| (text.as_str(), *message)),
        );
    }
}
