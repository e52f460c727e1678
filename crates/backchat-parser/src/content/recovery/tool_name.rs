//! `tool-names`: a name that differs from a known tool's only in style.

use crate::content::coerce::Tools;

const PREFIXES: [&str; 5] = ["functions", "function", "tools", "tool", "default_api"];

/// The only tool whose name matches, ignoring a prefix, letter case and word separators.
pub(super) fn meant<'t>(name: &str, tools: &'t Tools) -> Option<&'t str> {
    let plain = plain(name);
    let mut same = tools.names().filter(|tool| self::plain(tool) == plain);
    let first = same.next().filter(|_| !plain.is_empty())?;
    same.next().is_none().then_some(first)
}

fn plain(name: &str) -> String {
    let name = name.trim();
    let without = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)?.strip_prefix(['.', ':', '/']));
    let kept = without.unwrap_or(name).chars().filter(|c| !matches!(c, '-' | '_' | '.') && !c.is_whitespace());
    kept.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    #[test]
    fn a_name_may_differ_from_a_tool_in_style() {
        let tools = r#"[{"name": "get_weather"}, {"name": "a-b"}, {"name": "a_b"}, {"name": "x.y"}]"#;
        let tools = Tools::new(&json::read(tools).unwrap()).unwrap();
        for (name, tool) in [
            ("functions.get_weather", Some("get_weather")),
            ("tool:getWeather", Some("get_weather")),
            ("default_api/Get Weather", Some("get_weather")),
            ("X-Y", Some("x.y")),
            ("get_wether", None),
            ("A.B", None),
            ("", None),
            ("my.get_weather", None),
        ] {
            assert_eq!(meant(name, &tools), tool, "{name}");
        }
    }
}
