//! Probers of small chat templates.

use super::super::request_shape::Absent;
use super::*;
use backchat_chat::RenderErrorKind;

/// Runs a closure with the prober of a chat template, in the request shape that the template accepts.
fn with_prober(source: &str, work: impl FnOnce(&Prober<'_>)) {
    let template = ChatTemplate::compile(source).unwrap();
    let variables = Object::new();
    work(&Prober::new(&template, &variables, None).settled().expect("the template shows content"));
}

/// A chat template whose turns are `<|role|>…<|end|>`; a piece of Jinja about the message `m` writes the answers.
fn chat_template(answer: &str) -> String {
    let turns = "{% for m in messages %}<|{{ m.role }}|>{% if m.role == 'assistant' %}";
    format!("{turns}{answer}{{% else %}}{{{{ m.content }}}}{{% endif %}}<|end|>{{% endfor %}}")
}

fn said(answer: Answer) -> [Message; 2] {
    [Message::User(needle::USER.to_owned()), Message::Assistant(answer)]
}

/// The request shape that a template accepts.
fn settled(source: &str) -> Option<RequestShape> {
    let template = ChatTemplate::compile(source).unwrap();
    let variables = Object::new();
    Some(Prober::new(&template, &variables, None).settled()?.request_shape())
}

#[test]
fn a_prober_settles_on_the_first_request_shape_that_shows_content() {
    let parts = "{% for m in messages %}{% for part in m.content %}{{ part.text }}{% endfor %}{% endfor %}";
    let demanding = "{% if not tools %}{{ raise_exception('tools are required') }}{% endif %}\
                     {% for m in messages %}{{ m.content }}{% endfor %}";
    let table = [
        ("{% for m in messages %}{{ m.content }}{% endfor %}", Some(RequestShape::USUAL)),
        (parts, Some(RequestShape { content_parts: true, ..RequestShape::USUAL })),
        (demanding, Some(RequestShape { offer: Offer::Always, ..RequestShape::USUAL })),
        // The prompt alone is not enough: content must show as well.
        ("{{ messages[0].content }}", None),
        ("{{ raise_exception('no') }}", None),
    ];
    for (source, expected) in table {
        assert_eq!(settled(source), expected, "{source}");
    }
}

#[test]
fn a_conversation_is_rendered_once_by_all_probers_of_a_template() {
    with_prober(&chat_template("{{ m.content }}"), |prober| {
        let messages = said(Answer::content("Hello"));
        let known = prober.renders();
        let first = prober.render(&messages, &Setting::new(), false);
        assert_eq!(first.as_deref(), Some("<|user|>Qzuserq<|end|><|assistant|>Hello<|end|>"));
        assert_eq!(prober.with_reasoning(None).render(&messages, &Setting::new(), false), first);
        assert_eq!(prober.renders(), known + 1);
        prober.render(&messages, &Setting::from([("mode".to_owned(), 1.into())]), false);
        assert_eq!(prober.renders(), known + 2, "another setting is another context");
    });
}

#[test]
fn a_refused_conversation_is_rendered_in_another_request_shape() {
    let source = chat_template(
        "{% if m.tool_calls and m.content is not none %}{{ raise_exception('calls have no content') }}{% endif %}\
         {{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}{% endfor %}",
    );
    with_prober(&source, |prober| {
        let messages = said(Answer::calls(vec![call(0, 0)]));
        let none = Setting::new();
        assert_eq!(prober.render_in(RequestShape::USUAL, &messages, &none, false), None);
        let text = prober.render(&messages, &none, false).unwrap();
        assert!(text.ends_with("<|assistant|>Noneqzname_one<|end|>"), "{text}");
        // Each error message is kept once.
        prober.render_in(RequestShape { arguments_text: true, ..RequestShape::USUAL }, &messages, &none, false);
        assert_eq!(prober.refused(), ["calls have no content"]);
    });
}

#[test]
fn the_errors_of_a_conversation_are_those_in_the_forms_that_take_another_one() {
    let source =
        chat_template("{% if m.tool_calls %}{{ raise_exception('no tools here') }}{% endif %}{{ m.content + '' }}");
    with_prober(&source, |prober| {
        let errors = |taken: Answer| {
            let called = said(Answer { calls: vec![call(0, 1)], ..taken.clone() });
            let errors = prober.refusals(&said(taken), &called, &Setting::new());
            (errors.len(), errors.first().map(|error| error.message.clone()))
        };
        // Content must be a text: in two forms of the arguments and three of absent content, which is not there, or in two
        // of the arguments and two of content, of which neither is there.
        let refused = Some("no tools here".to_owned());
        assert_eq!(errors(Answer::content("Hello")), (6, refused.clone()));
        assert_eq!(errors(Answer::default()), (4, refused));
        assert!(prober.refuses_answers().is_none());
    });
}

#[test]
fn a_refused_request_is_tried_with_additions() {
    let calls = "{{ m.content }}{% for c in m.tool_calls %}{{ c.id }}{% endfor %}";
    let refuses =
        |test: &str| format!("{{% if {test} %}}{{{{ raise_exception('no') }}}}{{% endif %}}{}", chat_template(calls));
    let each = |test: &str| {
        let guard = format!("{{% if {test} %}}{{{{ raise_exception('no') }}}}{{% endif %}}");
        chat_template(&format!("{calls}{{% for c in m.tool_calls %}}{guard}{{% endfor %}}"))
    };
    let named = "c.function.name not in tools | map(attribute='function') | map(attribute='name')";
    let usual = RequestShape::USUAL;
    for (source, helps) in [
        (refuses("tools"), RequestShape { offer: Offer::Never, ..usual }),
        (refuses("messages[0].role != 'system'"), RequestShape { system: true, ..usual }),
        (each("c.id | length < 12"), RequestShape { long_ids: true, ..usual }),
        (each(named), RequestShape { offer: Offer::Called, ..usual }),
    ] {
        with_prober(&source, |prober| {
            let other = usual.tools(&said(Answer::calls(vec![call(2, 1)])));
            let prober = prober.offering(Some(other));
            let messages = said(Answer::calls(vec![call(0, 1)]));
            let shape = prober.accepted(&messages, &Setting::new()).next();
            assert_eq!(shape, Some(helps), "{source}");
            // The render has the original ids, whatever ids the template was given.
            let text = prober.render(&messages, &Setting::new(), false).unwrap();
            assert!(text.ends_with("<|assistant|>qzId1aaaa<|end|>"), "{text}");
        });
    }
}

#[test]
fn the_origins_of_a_render_are_those_of_its_text_with_the_ids_of_the_conversation() {
    let guard = "{% if c.id | length < 12 %}{{ raise_exception('no') }}{% endif %}";
    let calls = format!("{{% for c in m.tool_calls %}}{guard}<{{{{ c.id }}}}>{{% endfor %}}after");
    with_prober(&chat_template(&format!("{{{{ m.content }}}}{calls}")), |prober| {
        let (messages, none) = (said(Answer::calls(vec![call(0, 1)])), Setting::new());
        let text = prober.render(&messages, &none, false).unwrap();
        assert!(text.ends_with("<qzId1aaaa>after<|end|>"), "{text}");
        let origins = prober.origins(&messages, &none, false, &text).expect("the render is known");
        let printed =
            |origin: &Origin| (&text[origin.text.clone()], &prober.template().source()[origin.source.clone()]);
        let printed: Vec<(&str, &str)> = origins.iter().map(printed).collect();
        let of = |written: &str| printed.iter().find(|(text, _)| *text == written).map(|(_, source)| *source);
        assert_eq!(of("qzId1aaaa"), Some("c.id"), "{printed:?}");
        assert_eq!(of("after"), Some("after"), "{printed:?}");
    });
}

#[test]
fn special_tokens_that_are_read_but_not_given_are_unset() {
    let template = ChatTemplate::compile("{{ bos_token }}{{ eos_token }}{{ mode }}").unwrap();
    let variables = Object::from_iter([("eos_token".to_owned(), "</s>".into())]);
    assert_eq!(Prober::new(&template, &variables, None).unset_tokens(), ["bos_token"]);
}

#[test]
fn the_paths_of_a_render_are_the_keys_it_looks_up() {
    with_prober("{% for m in messages %}{{ m.content }}{{ m.thinking }}{% endfor %}", |prober| {
        let paths = prober.paths(RequestShape::USUAL, &said(Answer::content("Hello")), &Setting::new());
        assert!(paths.iter().any(|path| path == "messages[].thinking"), "{paths:?}");
        assert!(!paths.iter().any(|path| path == "messages[].role"), "{paths:?}");
    });
}

#[test]
fn a_context_has_the_tools_that_are_called_offered_or_required() {
    with_prober("{{ tools }}{% for m in messages %}{{ m.content }}{% endfor %}", |prober| {
        let shape = RequestShape { absent: Absent::Null, ..RequestShape::USUAL };
        let names = |prober: &Prober<'_>, answer: Answer| -> Option<String> {
            let context = prober.context(shape, &said(answer), &Setting::new(), false);
            let tools = context.get("tools")?.as_list()?.to_vec();
            let name = |tool: &Value| tool.get("function")?.get("name")?.as_str().map(str::to_owned);
            Some(tools.iter().filter_map(name).collect::<Vec<_>>().join(" "))
        };
        let called = || Answer::calls(vec![call(1, 1)]);
        assert_eq!(names(prober, Answer::content("Hello")), None, "without a tool the variable is missing");
        assert_eq!(names(prober, called()).as_deref(), Some(needle::NAMES[1]));
        let other = shape.tools(&said(Answer::calls(vec![call(2, 1)])));
        let offered = prober.offering(Some(other));
        assert_eq!(names(&offered, called()).as_deref(), Some(needle::NAMES[2]));
    });
}

#[test]
fn offered_tools_render_like_tools_in_the_context() {
    with_prober("{{ tools | tojson }}{% for m in messages %}{{ m.content }}{% endfor %}", |prober| {
        let tools = RequestShape::USUAL.tools(&said(Answer::calls(vec![call(2, 1)])));
        let offered = prober.offering(Some(tools.clone()));
        let (messages, none) = (said(Answer::content("Hello")), Setting::new());
        let of_context = |prober: &Prober<'_>, setting: &Setting| {
            let context = prober.context(RequestShape::USUAL, &messages, setting, false);
            prober.renderer.template().render(&context, &RenderOptions::default()).unwrap().text
        };
        let shown = offered.render(&messages, &none, false).unwrap();
        assert!(shown.contains(needle::NAMES[2]), "{shown}");
        assert_eq!(shown, of_context(&offered, &none));
        // Tools in a setting take precedence.
        let setting = Setting::from([("tools".to_owned(), Value::List(Vec::new()))]);
        let shown = offered.render(&messages, &setting, false).unwrap();
        assert!(shown.starts_with("[]"), "{shown}");
        assert_eq!(shown, of_context(&offered, &setting));
    });
}

#[test]
fn requests_with_equal_contexts_are_rendered_once() {
    with_prober("{% for m in messages %}{{ m.content }}{% endfor %}", |prober| {
        let messages = said(Answer::content("Hello"));
        let shown = prober.render(&messages, &Setting::new(), false);
        let renders = prober.renders();
        // No content is absent, and the template does not read tools.
        let other =
            prober.with_shape(RequestShape { absent: Absent::Null, offer: Offer::Always, ..RequestShape::USUAL });
        assert_eq!(other.render(&messages, &Setting::new(), false), shown);
        assert_eq!(prober.renders(), renders);
        assert_ne!(prober.render(&said(Answer::content("Goodbye")), &Setting::new(), false), shown);
        assert_eq!(prober.renders(), renders + 1);
    });
}

#[test]
fn a_conversation_that_every_form_refuses_is_tried_in_each_form_once() {
    let chat = "{% for m in messages %}{{ m.content }}{{ raise_exception('no') if m.tool_calls }}{% endfor %}";
    with_prober(chat, |prober| {
        let none = Setting::new();
        let accepted = |answer: Answer| prober.accepted(&said(answer), &none).count();
        assert_eq!(accepted(Answer::calls(vec![call(0, 1)])), 0);
        let renders = prober.renders();
        assert_eq!(accepted(Answer::calls(vec![call(1, 1)])), 0);
        assert_eq!(prober.renders(), renders);
        assert!(accepted(Answer::content("Hello")) > 0);
    });
}

#[test]
fn a_template_that_never_ends_is_rendered_once() {
    let endless = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}";
    let template = ChatTemplate::compile(endless).unwrap();
    let variables = Object::new();
    let prober = Prober::new(&template, &variables, None);
    assert_eq!(prober.refuses_answers().map(|error| error.kind()), Some(RenderErrorKind::Exhausted));
    assert_eq!((prober.renders(), prober.at("2026-01-01T00:00:00").settled().is_none()), (1, true));
    // Nothing is kept of what is asked after that, in any request shape.
    let messages = said(Answer::content("Hello"));
    assert_eq!(prober.render(&messages, &Setting::new(), false), None);
    for shape in RequestShape::USUAL.forms() {
        let request = Request { shape, messages: &messages, setting: &Setting::new(), generation_prompt: false };
        assert!(prober.known_context(prober.request_hash(request), request).is_none());
    }
}

#[test]
fn a_setting_overrides_the_variables_of_every_render() {
    let template = ChatTemplate::compile("{{ mode }}").unwrap();
    let variables = Object::from_iter([("mode".to_owned(), "usual".into())]);
    let prober = Prober::new(&template, &variables, None);
    let shown = |setting: &Setting| prober.render(&[], setting, false).unwrap();
    assert_eq!(shown(&Setting::new()), "usual");
    assert_eq!(shown(&Setting::from([("mode".to_owned(), "brief".into())])), "brief");
}
