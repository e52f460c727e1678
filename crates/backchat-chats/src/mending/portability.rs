//! What a repair writes that an engine for templates lacks.

/// A construct: its name, what it is found by, and the engines that lack it.
struct Construct {
    name: &'static str,
    found: fn(&str) -> bool,
    lacking: &'static str,
}

/// What repairs write beyond what Jinja2's sandbox, minijinja and llama.cpp's engine all have.
const CONSTRUCTS: [Construct; 3] = [
    Construct { name: "`dict(…, key=value)`", found: |text| text.contains("dict("), lacking: "llama.cpp's engine" },
    Construct {
        name: "`dict(…)` of pairs and `rejectattr` by position",
        found: |text| text.contains("rejectattr(0"),
        lacking: "minijinja and llama.cpp's engine",
    },
    Construct {
        name: "`sum(start=[])`",
        found: |text| text.contains("sum(start="),
        lacking: "minijinja and llama.cpp's engine",
    },
];

/// What the new source has and the old one has not, with the engines that lack it, in words.
pub(super) fn lacking(old: &str, new: &str) -> Vec<String> {
    let is_new = |construct: &&Construct| (construct.found)(new) && !(construct.found)(old);
    CONSTRUCTS.iter().filter(is_new).map(|it| format!("{} is not in {}", it.name, it.lacking)).collect()
}

#[cfg(test)]
mod tests {
    use super::lacking;

    #[test]
    fn only_what_the_repair_brings_is_named() {
        let new = "{{ dict(message, role='system') }}{{ a | sum(start=[]) }}";
        assert_eq!(
            lacking("{{ a }}", new),
            [
                "`dict(…, key=value)` is not in llama.cpp's engine",
                "`sum(start=[])` is not in minijinja and llama.cpp's engine"
            ]
        );
        assert!(lacking(new, new).is_empty());
    }
}
