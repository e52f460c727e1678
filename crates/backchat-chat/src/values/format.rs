//! String formatting: `%` and `str.format`.

use std::iter::Peekable;
use std::str::Chars;

use minijinja::Value;

use super::arguments::split;
use super::operators;
use super::text::{to_str, write_repr, write_str};
use super::{Kind, Number, Result, error, type_name};
use crate::engine::limits;
use crate::values::markup;
use backchat_core::python::number::{scientific, write_exponent, write_float};
use backchat_core::text::slice;

/// A format specification.
#[derive(Default)]
struct Spec {
    fill: Option<char>,
    align: Option<char>,
    sign: Option<char>,
    alternate: bool,
    zero: bool,
    width: usize,
    group: Option<char>,
    precision: Option<usize>,
    conversion: Option<char>,
}

/// `a % b`, which formats a string.
pub(crate) fn remainder(a: &Value, b: &Value) -> Result<Value> {
    match Kind::of(a) {
        Kind::Str(text) => percent(a, text, b),
        _ => operators::rem(a, b),
    }
}

/// The values of `%`, taken one by one or by their key.
struct Given<'v> {
    values: &'v Value,
    items: std::vec::IntoIter<Value>,
    /// One value that is not a tuple, which need not be used if it is a mapping or if its keys are.
    is_single: bool,
    has_used_key: bool,
}

impl<'v> Given<'v> {
    fn new(values: &'v Value) -> Self {
        let (items, is_single) = match Kind::of(values) {
            Kind::Tuple(items) => (items.to_vec(), false),
            _ => (vec![values.clone()], true),
        };
        Self { values, items: items.into_iter(), is_single, has_used_key: false }
    }

    fn take(&mut self) -> Result<Value> {
        self.items.next().ok_or_else(|| error("not enough arguments for format string"))
    }

    /// The value of a key, or the next one.
    fn argument(&mut self, key: Option<String>) -> Result<Value> {
        let Some(key) = key else { return self.take() };
        self.has_used_key = true;
        let Kind::Dict(dict) = Kind::of(self.values) else { return Err(error("format requires a mapping")) };
        dict.get(&Value::from(key.as_str())).ok_or_else(|| error(format!("missing key '{key}'")))
    }

    /// A width or a precision: digits, or a value in their place.
    fn number(&mut self, chars: &mut Peekable<Chars<'_>>) -> Result<Option<usize>> {
        if chars.next_if_eq(&'*').is_some() {
            let width = super::arguments::integer("%", &self.take()?)?;
            return Ok(Some(usize::try_from(width).unwrap_or(0)));
        }
        count(chars, "width too big")
    }

    /// The flags, the width and the precision of a directive.
    fn spec(&mut self, chars: &mut Peekable<Chars<'_>>) -> Result<Spec> {
        let mut spec = Spec::default();
        while let Some(flag) = chars.next_if(|c| matches!(c, '-' | '+' | ' ' | '#' | '0')) {
            match flag {
                '-' => spec.align = Some('<'),
                '+' => spec.sign = Some('+'),
                ' ' => spec.sign = spec.sign.or(Some(' ')),
                '0' => spec.zero = true,
                _ => spec.alternate = true,
            }
        }
        spec.width = self.number(chars)?.unwrap_or(0);
        if chars.next_if_eq(&'.').is_some() {
            spec.precision = Some(self.number(chars)?.unwrap_or(0));
        }
        while chars.next_if(|c| matches!(c, 'h' | 'l' | 'L')).is_some() {}
        Ok(spec)
    }

    /// Fails if values are left that should have been used.
    fn end(mut self) -> Result<()> {
        let may_be_left = self.is_single && (self.has_used_key || matches!(Kind::of(self.values), Kind::Dict(_)));
        if self.items.next().is_some() && !may_be_left {
            return Err(error("not all arguments converted during string formatting"));
        }
        Ok(())
    }
}

/// `text % values`
pub(crate) fn percent(value: &Value, text: &str, values: &Value) -> Result<Value> {
    let mut given = Given::new(values);
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let key = chars.next_if_eq(&'(').is_some().then(|| {
            let key: String = std::iter::from_fn(|| chars.next_if(|c| *c != ')')).collect();
            chars.next();
            key
        });
        let spec = given.spec(&mut chars)?;
        let Some(conversion) = chars.next() else { return Err(error("incomplete format")) };
        if conversion == '%' {
            out.push('%');
            continue;
        }
        let argument = given.argument(key)?;
        write_percent(&mut out, value.is_safe(), &argument, spec, conversion)?;
        limits::size(out.len())?;
    }
    given.end()?;
    Ok(markup::like(value, out))
}

fn write_percent(out: &mut String, safe: bool, argument: &Value, mut spec: Spec, conversion: char) -> Result<()> {
    match conversion {
        's' | 'r' | 'a' => {
            let mut text = String::new();
            if conversion == 's' {
                write_str(&mut text, argument)
            } else {
                write_repr(&mut text, argument)
            }
            if safe && !argument.is_safe() {
                let plain = std::mem::take(&mut text);
                markup::escape_into(&mut text, &plain);
            }
            if let Some(precision) = spec.precision {
                text = text.chars().take(precision).collect();
            }
            pad(out, &text, spec.fill.unwrap_or(' '), spec.align.unwrap_or('>'), spec.width)
        }
        'c' => {
            let text = match Kind::of(argument) {
                Kind::Str(text) if text.chars().count() == 1 => text.to_owned(),
                Kind::Int(code) => {
                    u32::try_from(code).ok().and_then(char::from_u32).map(String::from).unwrap_or_default()
                }
                _ => return Err(error("%c requires int or char")),
            };
            pad(out, &text, ' ', spec.align.unwrap_or('>'), spec.width)
        }
        'd' | 'i' | 'u' | 'x' | 'X' | 'o' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            let conversion = if matches!(conversion, 'i' | 'u') { 'd' } else { conversion };
            let number = match Number::of(argument) {
                Some(Number::Float(value)) if conversion == 'd' && value.is_finite() => {
                    Some(Number::Int(value.trunc() as i128))
                }
                Some(Number::Float(_)) if matches!(conversion, 'd' | 'x' | 'X' | 'o') => None,
                number => number,
            };
            let refused = || error(format!("%{conversion} format: a number is required, not {}", type_name(argument)));
            let number = number.ok_or_else(refused)?;
            if spec.align == Some('<') {
                spec.zero = false;
            }
            spec.conversion = Some(conversion);
            write_number(out, &number, &spec)
        }
        other => Err(error(format!("unsupported format character '{other}'"))),
    }
}

/// `text.format(…)`
pub(crate) fn format(value: &Value, text: &str, arguments: &[Value]) -> Result<String> {
    let (positional, keywords) = split(arguments);
    let mut next = 0;
    let mut numbered = false;
    let mut out = String::new();
    let mut lookup = |name: &str| -> Result<Value> {
        let (first, rest) = match name.find(['.', '[']) {
            Some(end) => name.split_at(end),
            None => (name, ""),
        };
        let base = if first.is_empty() {
            next += 1;
            positional.get(next - 1).cloned()
        } else if let Ok(index) = first.parse::<usize>() {
            numbered = true;
            positional.get(index).cloned()
        } else {
            keywords.as_ref().filter(|keywords| keywords.has(first)).and_then(|keywords| keywords.peek(first).ok())
        };
        if numbered && next > 0 {
            return Err(error("cannot switch between automatic field numbering and manual field specification"));
        }
        let base = base.ok_or_else(|| match first.bytes().all(|b| b.is_ascii_digit()) {
            true => error("Replacement index out of range for positional args tuple"),
            false => error(format!("missing argument '{first}' of format()")),
        })?;
        follow(base, rest).map(|found| markup::escaped_for(value, &found))
    };
    format_into(&mut out, text, &mut lookup, 0)?;
    Ok(out)
}

fn format_into(
    out: &mut String,
    text: &str,
    lookup: &mut dyn FnMut(&str) -> Result<Value>,
    depth: usize,
) -> Result<()> {
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(slice(rest, ..at));
        let after = slice(rest, at + 1..);
        let brace = if slice(rest, at..).starts_with('{') { '{' } else { '}' };
        if let Some(more) = after.strip_prefix(brace) {
            out.push(brace);
            rest = more;
            continue;
        }
        if brace == '}' {
            return Err(error("Single '}' encountered in format string"));
        }
        let end = field_end(after).ok_or_else(|| error("expected '}' before end of string"))?;
        let field = slice(after, ..end);
        rest = slice(after, end + 1..);
        format_field(out, field, lookup, depth)?;
        limits::size(out.len())?;
    }
    out.push_str(rest);
    Ok(())
}

fn field_end(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn format_field(
    out: &mut String,
    field: &str,
    lookup: &mut dyn FnMut(&str) -> Result<Value>,
    depth: usize,
) -> Result<()> {
    let (name, spec) = field.split_once(':').unwrap_or((field, ""));
    let (name, conversion) = match name.split_once('!') {
        Some((name, conversion)) => (name, Some(conversion)),
        None => (name, None),
    };
    let mut value = lookup(name)?;
    value = match conversion {
        None => value,
        Some("s") => Value::from(to_str(&value).into_owned()),
        Some("r" | "a") => {
            let mut text = String::new();
            write_repr(&mut text, &value);
            Value::from(text)
        }
        Some(other) => return Err(error(format!("Unknown conversion specifier '{other}'"))),
    };
    let mut written = String::new();
    if spec.contains('{') {
        if depth > 0 {
            return Err(error("Max string recursion exceeded"));
        }
        format_into(&mut written, spec, lookup, depth + 1)?;
    } else {
        written.push_str(spec);
    }
    write_formatted(out, &value, &written)
}

fn follow(mut value: Value, path: &str) -> Result<Value> {
    let mut rest = path;
    while !rest.is_empty() {
        let (key, after) = if let Some(attribute) = rest.strip_prefix('.') {
            let end = attribute.find(['.', '[']).unwrap_or(attribute.len());
            let (name, after) = attribute.split_at(end);
            (Value::from(name), after)
        } else {
            let inner = rest.strip_prefix('[').and_then(|inner| inner.split_once(']'));
            let (name, after) = inner.ok_or_else(|| error("Missing ']' in format string"))?;
            (name.parse::<i64>().map_or_else(|_| Value::from(name), Value::from), after)
        };
        value = value.get_item(&key)?;
        if value.is_undefined() {
            return Err(error(format!("nothing under '{path}' in format()")));
        }
        rest = after;
    }
    Ok(value)
}

/// `format(value, spec)`
fn write_formatted(out: &mut String, value: &Value, spec: &str) -> Result<()> {
    if spec.is_empty() {
        write_str(out, value);
        return Ok(());
    }
    let spec = parse_spec(spec)?;
    match Kind::of(value) {
        Kind::Str(text) => {
            if !matches!(spec.conversion, None | Some('s')) {
                return Err(error("Unknown format code for object of type 'str'"));
            }
            let text: String = text.chars().take(spec.precision.unwrap_or(usize::MAX)).collect();
            let fill = spec.fill.unwrap_or(if spec.zero { '0' } else { ' ' });
            pad(out, &text, fill, spec.align.unwrap_or('<'), spec.width)
        }
        _ => match Number::of(value) {
            Some(number) => write_number(out, &number, &spec),
            None => Err(error(format!("unsupported format string passed to {}.__format__", type_name(value)))),
        },
    }
}

fn parse_spec(text: &str) -> Result<Spec> {
    let mut spec = Spec::default();
    let mut chars = text.chars().peekable();
    let mut ahead = text.chars();
    if let (Some(fill), Some(align @ ('<' | '>' | '^' | '='))) = (ahead.next(), ahead.next()) {
        (spec.fill, spec.align) = (Some(fill), Some(align));
        chars.next();
        chars.next();
    } else if let Some(align) = chars.next_if(|c| matches!(c, '<' | '>' | '^' | '=')) {
        spec.align = Some(align);
    }
    spec.sign = chars.next_if(|c| matches!(c, '+' | '-' | ' '));
    spec.alternate = chars.next_if_eq(&'#').is_some();
    spec.zero = chars.next_if_eq(&'0').is_some();
    let too_long = "Too many decimal digits in format string";
    spec.width = count(&mut chars, too_long)?.unwrap_or(0);
    spec.group = chars.next_if(|c| matches!(c, ',' | '_'));
    if chars.next_if_eq(&'.').is_some() {
        spec.precision = Some(count(&mut chars, too_long)?.ok_or_else(|| error("Format specifier missing precision"))?);
    }
    spec.conversion = chars.next();
    if chars.next().is_some() {
        return Err(error(format!("Invalid format specifier '{text}'")));
    }
    Ok(spec)
}

/// The digits that come next as a number, if any do.
fn count(chars: &mut Peekable<Chars<'_>>, too_long: &str) -> Result<Option<usize>> {
    let digits: String = std::iter::from_fn(|| chars.next_if(char::is_ascii_digit)).collect();
    if digits.is_empty() { Ok(None) } else { digits.parse().map(Some).map_err(|_| error(too_long)) }
}

fn write_number(out: &mut String, number: &Number, spec: &Spec) -> Result<()> {
    let precision = spec.precision.unwrap_or(6).min(1000);
    let (negative, mut digits) = match (number, spec.conversion) {
        (Number::Int(integer), None | Some('d' | 'x' | 'X' | 'o' | 'b' | 'c' | 'n')) => {
            let size = integer.unsigned_abs();
            let digits = match spec.conversion {
                Some('x') => format!("{}{size:x}", if spec.alternate { "0x" } else { "" }),
                Some('X') => format!("{}{size:X}", if spec.alternate { "0X" } else { "" }),
                Some('o') => format!("{}{size:o}", if spec.alternate { "0o" } else { "" }),
                Some('b') => format!("{}{size:b}", if spec.alternate { "0b" } else { "" }),
                Some('c') => u32::try_from(size).ok().and_then(char::from_u32).map(String::from).unwrap_or_default(),
                _ => size.to_string(),
            };
            (*integer < 0, digits)
        }
        (number, conversion) => {
            let number = number.as_f64();
            let size = number.abs();
            let digits = match conversion {
                _ if size.is_nan() => "nan".to_owned(),
                _ if size.is_infinite() => "inf".to_owned(),
                Some('f' | 'F') => format!("{size:.precision$}"),
                Some('%') => format!("{:.precision$}%", size * 100.0),
                Some('e' | 'E') => exponent(size, precision),
                Some('g' | 'G') => general(size, precision.max(1), spec.alternate),
                None if spec.precision.is_some() => general(size, precision.max(1), false),
                None => {
                    let mut text = String::new();
                    write_float(&mut text, size);
                    text
                }
                Some(other) => return Err(error(format!("Unknown format code '{other}'"))),
            };
            let digits = if matches!(conversion, Some('E' | 'G' | 'F')) { digits.to_uppercase() } else { digits };
            (number.is_sign_negative() && !number.is_nan(), digits)
        }
    };
    if let Some(mark) = spec.group {
        digits = grouped(&digits, mark);
    }
    let sign = match spec.sign {
        _ if negative => "-",
        Some('+') => "+",
        Some(' ') => " ",
        _ => "",
    };
    let (fill, align) = match (spec.align, spec.zero) {
        (None, true) => ('0', '='),
        (align, zero) => (spec.fill.unwrap_or(if zero { '0' } else { ' ' }), align.unwrap_or('>')),
    };
    if align == '=' {
        out.push_str(sign);
        pad(out, &digits, fill, '>', spec.width.saturating_sub(sign.len()))
    } else {
        pad(out, &format!("{sign}{digits}"), fill, align, spec.width)
    }
}

fn exponent(size: f64, precision: usize) -> String {
    let (mut digits, exponent) = scientific(size, Some(precision));
    write_exponent(&mut digits, exponent);
    digits
}

fn general(size: f64, precision: usize, keep_zeros: bool) -> String {
    let (digits, power) = scientific(size, Some(precision - 1));
    let significant = i64::try_from(precision).unwrap_or(i64::MAX);
    let trim = |digits: &str| -> String {
        if keep_zeros || !digits.contains('.') {
            digits.to_owned()
        } else {
            digits.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    };
    if power < -4 || i64::from(power) >= significant {
        let mut out = trim(&digits);
        write_exponent(&mut out, power);
        out
    } else {
        // The power is less than the significant digits here, so there is no negative count.
        let decimals = usize::try_from(significant - 1 - i64::from(power)).unwrap_or(0);
        trim(&format!("{size:.decimals$}"))
    }
}

fn grouped(digits: &str, mark: char) -> String {
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (whole, rest) = digits.split_at(end);
    let mut out = String::new();
    for (index, c) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            out.push(mark);
        }
        out.push(c);
    }
    out.push_str(rest);
    out
}

fn pad(out: &mut String, text: &str, fill: char, align: char, width: usize) -> Result<()> {
    let margin = width.saturating_sub(text.chars().count());
    limits::size(out.len().saturating_add(margin.saturating_mul(fill.len_utf8())))?;
    let left = match align {
        '<' => 0,
        '^' => margin / 2,
        _ => margin,
    };
    out.extend(std::iter::repeat_n(fill, left));
    out.push_str(text);
    out.extend(std::iter::repeat_n(fill, margin - left));
    Ok(())
}
