//! The names of the methods of Python's types. Calling one that has no implementation is an error.

/// The types that have methods, as bits.
pub(crate) mod types {
    pub(crate) const STR: u8 = 1;
    pub(crate) const LIST: u8 = 2;
    pub(crate) const TUPLE: u8 = 4;
    pub(crate) const DICT: u8 = 8;
}

/// The types with a method of this name, which takes precedence over a key of the same name.
pub(crate) fn types_with(name: &str) -> u8 {
    use types::{DICT, LIST, STR, TUPLE};
    match name {
        "count" | "index" => STR | LIST | TUPLE,
        "clear" | "copy" | "pop" => LIST | DICT,
        "append" | "extend" | "insert" | "remove" | "reverse" | "sort" => LIST,
        "fromkeys" | "get" | "items" | "keys" | "popitem" | "setdefault" | "update" | "values" => DICT,
        "capitalize" | "casefold" | "center" | "encode" | "endswith" | "expandtabs" | "find" | "format"
        | "format_map" | "isalnum" | "isalpha" | "isascii" | "isdecimal" | "isdigit" | "isidentifier" | "islower"
        | "isnumeric" | "isprintable" | "isspace" | "istitle" | "isupper" | "join" | "ljust" | "lower" | "lstrip"
        | "maketrans" | "partition" | "removeprefix" | "removesuffix" | "replace" | "rfind" | "rindex" | "rjust"
        | "rpartition" | "rsplit" | "rstrip" | "split" | "splitlines" | "startswith" | "strip" | "swapcase"
        | "title" | "translate" | "upper" | "zfill" => STR,
        _ => 0,
    }
}

/// Methods that change the object they are called on, which the sandbox refuses.
pub(crate) const CHANGING: &[&str] =
    &["append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update"];

/// Whether some type has a method with this name.
pub(crate) fn is_method(name: &str) -> bool {
    types_with(name) != 0
}
