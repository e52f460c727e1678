//! Rewrites a template in the engine's language, so that the engine does what Jinja2 would have done.
//!
//! White space is already decided, so text goes over as it is. Operators become filters that follow Python's
//! rules, loops go over lists made by Python's rules, and variables that only the caller can have given are
//! asked of the context itself, which keeps a macro from asking for all it mentions when it is declared.

mod expression;

use std::fmt::Write;
use std::ops::Range;

use indexmap::IndexSet;

use crate::chat::jinja::intrinsics;
use crate::chat::jinja::survey::Survey;
use crate::chat::jinja::syntax::tree::{Body, Expr, ExprKind, Parameters, Statement, StatementKind, Target};

/// The name of a template for itself.
const SELF: &str = "self";
/// The longest text of a captured body that the engine may write without being charged.
const SHORT_TEXT: usize = 64;
/// The names of a macro for the arguments beyond its parameters.
const VARARGS: &str = "varargs";
const KWARGS: &str = "kwargs";

/// A template in the engine's language.
#[derive(Debug)]
pub(crate) struct Lowered {
    pub(crate) text: String,
    /// Bytes of `text`, and the bytes of the source they were written for.
    places: Vec<(Range<usize>, Range<usize>)>,
}

impl Lowered {
    /// The bytes of the source that some bytes of the text were written for.
    pub(crate) fn source_span(&self, at: &Range<usize>) -> Option<Range<usize>> {
        let around = self.places.iter().filter(|(text, _)| text.start <= at.start && at.end <= text.end);
        around.min_by_key(|(text, _)| text.len()).map(|(_, source)| source.clone())
    }
}

/// Rewrites a template, whose source has `length` bytes.
pub(crate) fn lower(body: &Body<'_>, survey: &Survey<'_>, length: usize) -> Lowered {
    let out = String::with_capacity(2 * length);
    let mut writer = Writer { survey, out, places: Vec::with_capacity(length / 8), gathering: 0 };
    writer.body(body);
    Lowered { text: writer.out, places: writer.places }
}

struct Writer<'a, 's> {
    survey: &'a Survey<'s>,
    out: String,
    places: Vec<(Range<usize>, Range<usize>)>,
    /// How many bodies around this place are captured instead of written to the output.
    gathering: usize,
}

impl<'s> Writer<'_, 's> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Applies a filter to the expression that was written last.
    fn apply(&mut self, filter: &str) {
        self.put("|");
        self.put(filter);
    }

    fn body(&mut self, body: &Body<'s>) {
        for statement in body {
            let start = self.out.len();
            self.statement(statement);
            self.places.push((start..self.out.len(), statement.span.clone()));
        }
    }

    /// A captured body with variables of its own.
    fn scoped(&mut self, body: &Body<'s>) {
        self.put("{%with%}");
        self.gathered(body);
        self.put("{%endwith%}");
    }

    /// A body whose text is captured for a variable, a filter or a caller.
    fn gathered(&mut self, body: &Body<'s>) {
        self.gathering += 1;
        self.body(body);
        self.gathering -= 1;
    }

    fn statement(&mut self, statement: &Statement<'s>) {
        match &statement.kind {
            StatementKind::Text(text) => self.text(text),
            StatementKind::Output(value) => {
                self.put("{{ ");
                self.printed(value);
                self.put(" }}");
            }
            StatementKind::Set(Target::Field(namespace, name), value) => {
                self.assign(namespace, name, |writer| writer.expression(value))
            }
            StatementKind::Set(target, value) => {
                self.put("{%set ");
                self.target(target);
                self.put("=");
                self.unpacked(target, value);
                self.put("%}");
            }
            StatementKind::SetBlock { target, filter, body } => self.set_block(target, filter.as_ref(), body),
            StatementKind::If { branches, otherwise } => {
                for (index, (test, body)) in branches.iter().enumerate() {
                    self.put(if index == 0 { "{%if " } else { "{%elif " });
                    self.expression(test);
                    self.put("%}");
                    self.body(body);
                }
                if !otherwise.is_empty() {
                    self.put("{%else%}");
                    self.body(otherwise);
                }
                self.put("{%endif%}");
            }
            StatementKind::For { target, over, only, recursive, body, otherwise } => {
                self.put("{%for ");
                self.target(target);
                self.put(" in ");
                self.iterated(
                    over,
                    if matches!(target, Target::Tuple(_)) { intrinsics::ROWS } else { intrinsics::ITERATE },
                );
                if let Some(only) = only {
                    self.put(" if ");
                    self.expression(only);
                }
                self.put(if *recursive { " recursive%}" } else { "%}" });
                self.body(body);
                if !otherwise.is_empty() {
                    self.put("{%else%}");
                    self.body(otherwise);
                }
                self.put("{%endfor%}");
            }
            StatementKind::Macro { name, parameters, body } => self.macro_statement(name, parameters, body),
            StatementKind::CallBlock { parameters, call, body } => {
                self.put("{%call");
                if !parameters.is_empty() {
                    self.parameters(parameters, &[]);
                }
                self.put(" ");
                self.expression(call);
                self.put("%}");
                self.function_body(parameters, body);
                self.put("{%endcall%}");
            }
            StatementKind::Generation(body) => {
                let _ = write!(self.out, "{{%call {}.{}()%}}", intrinsics::CONTEXT, intrinsics::GENERATION);
                self.function_body(&Vec::new(), body);
                self.put("{%endcall%}");
            }
            StatementKind::With { bindings, body } => {
                // The values are evaluated before any of the names is bound.
                self.put("{%with ");
                if let [(target, value)] = bindings.as_slice() {
                    self.target(target);
                    self.put("=");
                    self.unpacked(target, value);
                } else if !bindings.is_empty() {
                    self.put("(");
                    bindings.iter().for_each(|(target, _)| {
                        self.target(target);
                        self.put(",");
                    });
                    self.put(")=[");
                    bindings.iter().for_each(|(target, value)| {
                        self.unpacked(target, value);
                        self.put(",");
                    });
                    self.put("]");
                }
                self.put("%}");
                self.body(body);
                self.put("{%endwith%}");
            }
            StatementKind::FilterBlock { filter, body } => {
                self.put("{%filter ");
                self.expression(filter);
                self.put("%}");
                self.scoped(body);
                self.put("{%endfilter%}");
            }
            StatementKind::AutoEscape { enabled, body } => {
                self.put("{%autoescape ");
                self.expression(enabled);
                self.apply(intrinsics::TRUTH);
                self.put("%}");
                self.scoped(body);
                self.put("{%endautoescape%}");
            }
            StatementKind::Block { name, body } => {
                let _ = write!(self.out, "{{%block {name}%}}");
                // `self` may render it anywhere.
                self.gathered(body);
                self.put("{%endblock%}");
            }
            StatementKind::Load(tag) => {
                let message = format!("'{tag}' needs other templates, and a chat template has none");
                self.put("{{ ");
                self.string(&message);
                self.apply(intrinsics::REFUSE);
                self.put(" }}");
            }
            StatementKind::Break => self.put("{%break%}"),
            StatementKind::Continue => self.put("{%continue%}"),
        }
    }

    /// Text, as it is unless the engine would take a part of it for a tag or could capture too much of it: only what is
    /// printed is counted.
    fn text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let opens =
            memchr::memchr_iter(b'{', bytes).any(|at| matches!(bytes.get(at + 1), None | Some(b'{' | b'%' | b'#')));
        if opens || self.gathering > 0 && text.len() > SHORT_TEXT {
            self.put("{{ ");
            self.string(text);
            self.put(if self.survey.escapes { "|safe }}" } else { " }}" });
        } else {
            self.put(text);
        }
    }

    fn assign(&mut self, namespace: &str, name: &str, value: impl FnOnce(&mut Self)) {
        self.put("{%do ");
        self.name(namespace);
        let _ = write!(self.out, ".{}(\"{name}\",", intrinsics::ASSIGN);
        value(self);
        self.put(")%}");
    }

    fn set_block(&mut self, target: &Target<'s>, filter: Option<&Expr<'s>>, body: &Body<'s>) {
        let field = match target {
            Target::Field(namespace, name) => Some((*namespace, *name)),
            _ => None,
        };
        self.put("{%set ");
        match field {
            Some(_) => self.put(intrinsics::GATHERED),
            None => self.target(target),
        }
        if let Some(filter) = filter {
            self.put("|");
            self.expression(filter);
        }
        self.put("%}");
        self.scoped(body);
        self.put("{%endset%}");
        if let Some((namespace, name)) = field {
            self.assign(namespace, name, |writer| writer.put(intrinsics::GATHERED));
        }
    }

    fn target(&mut self, target: &Target<'s>) {
        match target {
            Target::Name(SELF) => self.put(intrinsics::BOUND_SELF),
            Target::Name(name) => self.put(name),
            Target::Field(namespace, name) => {
                let _ = write!(self.out, "{namespace}.{name}");
            }
            Target::Tuple(parts) => {
                self.put("(");
                for part in parts {
                    self.target(part);
                    self.put(",");
                }
                self.put(")");
            }
        }
    }

    /// A value to assign; a list of its items if the target unpacks it.
    fn unpacked(&mut self, target: &Target<'s>, value: &Expr<'s>) {
        if matches!(target, Target::Tuple(_)) {
            self.iterated(value, intrinsics::ITERATE);
        } else {
            self.expression(value);
        }
    }

    /// A value as a list of its items. Errors point at the value.
    fn iterated(&mut self, value: &Expr<'s>, filter: &str) {
        let start = self.out.len();
        self.expression(value);
        self.apply(filter);
        self.places.push((start..self.out.len(), value.span.clone()));
    }

    /// A macro; one that mentions `varargs` or `kwargs` takes them as parameters, and a wrapper fills them in.
    fn macro_statement(&mut self, name: &str, parameters: &Parameters<'s>, body: &Body<'s>) {
        let mut names = IndexSet::new();
        mentioned(body, &mut names);
        let extra: Vec<&str> = [VARARGS, KWARGS].into_iter().filter(|extra| names.contains(extra)).collect();
        let _ = write!(self.out, "{{%macro {name}");
        self.parameters(parameters, &extra);
        self.put("%}");
        self.function_body(parameters, body);
        self.put("{%endmacro%}");
        if !extra.is_empty() {
            let _ = write!(self.out, "{{%set {name}={name}|{}([", intrinsics::MACRO_VARARGS);
            for (parameter, _) in parameters {
                let _ = write!(self.out, "\"{parameter}\",");
            }
            let _ = write!(self.out, "],{},{})%}}", extra.contains(&VARARGS), extra.contains(&KWARGS));
        }
    }

    /// Parameters without their defaults: the body sets those, in their order.
    fn parameters(&mut self, parameters: &Parameters<'s>, extra: &[&str]) {
        self.put("(");
        for name in parameters.iter().map(|(name, _)| name).chain(extra) {
            self.put(if *name == SELF { intrinsics::BOUND_SELF } else { name });
            self.put(",");
        }
        self.put(")");
    }

    /// The body of a macro or call block. The engine hands such a body the outer variables it finds mentioned,
    /// and does not look everywhere: a branch that is never taken mentions all of them.
    fn function_body(&mut self, parameters: &Parameters<'s>, body: &Body<'s>) {
        let mut names = IndexSet::new();
        mentioned(body, &mut names);
        for (_, default) in parameters {
            default.iter().for_each(|default| names_in(default, &mut names));
        }
        names.retain(|name| self.survey.bound.contains(name) || matches!(*name, "loop" | "caller"));
        let _ = write!(self.out, "{{%if false%}}{{{{ [{}", intrinsics::CONTEXT);
        for name in names {
            self.put(",");
            self.name(name);
        }
        self.put("] }}{%endif%}");
        for (name, default) in parameters {
            if let Some(default) = default {
                let _ = write!(self.out, "{{%if {name} is undefined%}}{{%set {name}=");
                self.expression(default);
                self.put("%}{%endif%}");
            }
        }
        self.gathered(body);
    }
}

fn names_in<'s>(expression: &Expr<'s>, names: &mut IndexSet<&'s str>) {
    if let ExprKind::Name(name) = &expression.kind {
        names.insert(name);
    }
    expression.children(&mut |child| names_in(child, names));
}

/// Every name that occurs anywhere in a body.
fn mentioned<'s>(body: &Body<'s>, names: &mut IndexSet<&'s str>) {
    for statement in body {
        let mut bodies = Vec::new();
        statement.parts(&mut |expression| names_in(expression, names), &mut |body| bodies.push(body));
        bodies.into_iter().for_each(|body| mentioned(body, names));
        if let StatementKind::Set(Target::Field(namespace, _), _)
        | StatementKind::SetBlock { target: Target::Field(namespace, _), .. } = &statement.kind
        {
            names.insert(namespace);
        }
    }
}
