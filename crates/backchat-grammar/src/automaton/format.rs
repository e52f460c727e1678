//! The enforced formats of strings, as patterns.

use std::sync::OnceLock;

use super::Automaton;
use backchat_parser::pattern::of_schema;

const NAMES: [&str; 10] = ["date", "time", "date-time", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri"];

/// The texts of each format, built on first use, because they cost as much as the rest of a request.
static TEXTS: [OnceLock<Option<Automaton>>; NAMES.len()] = [const { OnceLock::new() }; NAMES.len()];

/// The texts of a format; `None` if the format is not known.
pub(crate) fn texts(format: &str) -> Option<&'static Automaton> {
    let known = TEXTS.get(NAMES.iter().position(|name| *name == format)?)?;
    known.get_or_init(|| Automaton::from_pattern(&of_schema(pattern(format)?).ok()??)).as_ref()
}

pub(crate) fn is_format(texts: &Automaton) -> bool {
    TEXTS.iter().filter_map(OnceLock::get).flatten().any(|own| own == texts)
}

fn pattern(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => {
            r"^(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)$"
        }
        // A leap second is the last one of a day, here in UTC alone.
        "time" => {
            r"^(?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])|23:59:60(?:\.[0-9]+)?(?:[Zz]|[+-]00:00))$"
        }
        "date-time" => {
            r"^(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)[Tt](?:(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])|23:59:60(?:\.[0-9]+)?(?:[Zz]|[+-]00:00))$"
        }
        "duration" => {
            r"^P(?:[0-9]+W|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)(?:T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))?|T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))$"
        }
        "email" => {
            r"^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$"
        }
        "hostname" => {
            r"^[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$"
        }
        "ipv4" => {
            r"^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])$"
        }
        "ipv6" => {
            r"^(?:(?:[0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}|(?:[0-9A-Fa-f]{1,4}:){1,7}:|(?:[0-9A-Fa-f]{1,4}:){1,6}:[0-9A-Fa-f]{1,4}|(?:[0-9A-Fa-f]{1,4}:){1,5}(?::[0-9A-Fa-f]{1,4}){1,2}|(?:[0-9A-Fa-f]{1,4}:){1,4}(?::[0-9A-Fa-f]{1,4}){1,3}|(?:[0-9A-Fa-f]{1,4}:){1,3}(?::[0-9A-Fa-f]{1,4}){1,4}|(?:[0-9A-Fa-f]{1,4}:){1,2}(?::[0-9A-Fa-f]{1,4}){1,5}|[0-9A-Fa-f]{1,4}:(?::[0-9A-Fa-f]{1,4}){1,6}|:(?:(?::[0-9A-Fa-f]{1,4}){1,7}|:)|(?:(?:[0-9A-Fa-f]{1,4}:){6}|::(?:[0-9A-Fa-f]{1,4}:){0,5}|(?:[0-9A-Fa-f]{1,4}:){1}:(?:[0-9A-Fa-f]{1,4}:){0,4}|(?:[0-9A-Fa-f]{1,4}:){2}:(?:[0-9A-Fa-f]{1,4}:){0,3}|(?:[0-9A-Fa-f]{1,4}:){3}:(?:[0-9A-Fa-f]{1,4}:){0,2}|(?:[0-9A-Fa-f]{1,4}:){4}:(?:[0-9A-Fa-f]{1,4}:){0,1}|(?:[0-9A-Fa-f]{1,4}:){5}:)(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9]))$"
        }
        "uuid" => r"^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}$",
        "uri" => r"^[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#@!$&'()*+,;=-]|\[|\]|%[0-9A-Fa-f]{2})*$",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::{NAMES, texts};

    #[test]
    fn formats_accept_their_texts_only() {
        let table = [
            (
                "date",
                vec!["2026-11-20", "2026-02-28", "2024-02-29", "2000-02-29"],
                vec!["2026-13-01", "2026-02-29", "1900-02-29", "2024-02-30", "tomorrow", "2026-1-1"],
            ),
            ("time", vec!["08:30:00Z", "08:30:00.5+02:00", "23:59:60Z"], vec!["24:00:00Z", "8:30", "22:59:60Z"]),
            ("date-time", vec!["2026-11-20T08:30:00Z", "2024-02-29T00:00:00Z"], vec!["2026-11-20", "2026-11-20 08:30"]),
            ("duration", vec!["P1D", "PT5M", "P3W"], vec!["P", "PT", "1D"]),
            ("email", vec!["a.b@c.example"], vec!["a@", "@b", "a b@c"]),
            ("hostname", vec!["a-b.example"], vec!["-a", "a..b"]),
            ("ipv4", vec!["192.168.0.255"], vec!["256.1.1.1", "1.2.3"]),
            (
                "ipv6",
                vec!["::1", "2001:db8::1", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1::2:1.2.3.4", "1:2:3:4:5:6:1.2.3.4"],
                vec!["1:2:3", ":::1", "1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "1:2:3::4:5:6:1.2.3.4", "::1.2.3"],
            ),
            ("uuid", vec!["123e4567-e89b-12d3-a456-426614174000"], vec!["123e4567"]),
            // The path may be empty.
            ("uri", vec!["https://a.example/b?c=d#e", "mailto:a@b", "a:"], vec!["no scheme", ":a", "1a:", "a"]),
        ];
        assert_eq!(table.each_ref().map(|(format, ..)| *format), NAMES);
        for (format, good, bad) in table {
            let known = texts(format).unwrap();
            good.iter().for_each(|text| assert!(known.accepts(text), "{format}: {text}"));
            bad.iter().for_each(|text| assert!(!known.accepts(text), "{format}: {text}"));
        }
        assert_eq!(texts("color"), None);
    }
}
