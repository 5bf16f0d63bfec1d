//! The jq filters that a configuration may call, and how much each may put out.

/// What a filter makes of its input.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rule {
    /// A boolean, a number or a short string.
    Scalar,
    /// At most one value, at most so many times the size of the input.
    Sized(f64),
    /// The input, once for every output of the argument.
    Select,
    /// Nothing.
    Empty,
    /// Every value inside the input.
    Recurse,
    /// A boolean about the argument's outputs for every entry of the input.
    EachScalar,
    /// A boolean about the second argument's outputs for every output of the first.
    PipeScalar,
    /// One of the argument's outputs.
    One,
    /// A list of the argument's outputs for every entry of the input.
    Map,
    /// An object of the argument's outputs for every entry of the input.
    MapEntries,
    /// The input in another order or less of it; the argument's outputs are kept meanwhile.
    By,
    /// The parts of a string, each an output.
    Splits,
    /// The argument's outputs put together.
    Add,
    /// The entries of the input put together with the argument between them.
    Join,
    /// The input without what the argument names.
    Delete,
    /// The input with each entry replaced by the argument's output for it.
    MapValues,
}

/// A filter by name and number of arguments.
pub(super) type Allowed = (&'static str, usize, Rule);

use Rule::{
    Add, By, Delete, EachScalar, Empty, Join, Map, MapEntries, MapValues, One, PipeScalar, Recurse,
    Scalar, Select, Sized, Splits,
};

/// Writing a value as text takes at most this many times its size (a control character becomes
/// six characters).
pub(super) const TEXT: f64 = 6.0;

/// Everything that may be called. All of it ends on every input; `growth` bounds the memory.
/// Not here although harmless in itself: `fromjson` and with it `tonumber` and `toboolean`, which
/// recurse with text from the bundle.
pub(super) const ALLOWED: &[Allowed] = &[
    ("true", 0, Scalar),
    ("false", 0, Scalar),
    ("null", 0, Scalar),
    ("not", 0, Scalar),
    ("type", 0, Scalar),
    ("length", 0, Scalar),
    ("utf8bytelength", 0, Scalar),
    ("has", 1, Scalar),
    ("in", 1, Scalar),
    ("contains", 1, Scalar),
    ("inside", 1, Scalar),
    ("index", 1, Scalar),
    ("rindex", 1, Scalar),
    ("startswith", 1, Scalar),
    ("endswith", 1, Scalar),
    ("test", 1, Scalar),
    ("test", 2, Scalar),
    ("IN", 1, Scalar),
    ("IN", 2, PipeScalar),
    ("isempty", 1, Scalar),
    ("any", 0, Scalar),
    ("all", 0, Scalar),
    ("any", 1, EachScalar),
    ("all", 1, EachScalar),
    ("any", 2, PipeScalar),
    ("all", 2, PipeScalar),
    ("select", 1, Select),
    ("values", 0, Sized(1.0)),
    ("nulls", 0, Sized(1.0)),
    ("booleans", 0, Sized(1.0)),
    ("numbers", 0, Sized(1.0)),
    ("strings", 0, Sized(1.0)),
    ("arrays", 0, Sized(1.0)),
    ("objects", 0, Sized(1.0)),
    ("iterables", 0, Sized(1.0)),
    ("scalars", 0, Sized(1.0)),
    ("empty", 0, Empty),
    ("recurse", 0, Recurse),
    ("first", 0, Sized(1.0)),
    ("last", 0, Sized(1.0)),
    ("nth", 1, Sized(1.0)),
    ("first", 1, One),
    ("last", 1, One),
    ("map", 1, Map),
    ("keys", 0, Sized(2.0)),
    ("keys_unsorted", 0, Sized(2.0)),
    ("to_entries", 0, Sized(8.0)),
    ("from_entries", 0, Sized(2.0)),
    ("with_entries", 1, MapEntries),
    ("sort", 0, Sized(1.0)),
    ("sort_by", 1, By),
    ("reverse", 0, Sized(1.0)),
    ("unique", 0, Sized(2.0)),
    ("unique_by", 1, By),
    ("group_by", 1, By),
    ("min", 0, Sized(1.0)),
    ("max", 0, Sized(1.0)),
    ("min_by", 1, By),
    ("max_by", 1, By),
    ("flatten", 0, Sized(1.0)),
    ("add", 0, Sized(1.0)),
    ("add", 1, Add),
    ("split", 1, Sized(2.0)),
    ("split", 2, Sized(2.0)),
    ("splits", 1, Splits),
    ("splits", 2, Splits),
    ("join", 1, Join),
    ("ltrimstr", 1, Sized(1.0)),
    ("rtrimstr", 1, Sized(1.0)),
    ("trim", 0, Sized(1.0)),
    ("ltrim", 0, Sized(1.0)),
    ("rtrim", 0, Sized(1.0)),
    ("ascii_downcase", 0, Sized(1.0)),
    ("ascii_upcase", 0, Sized(1.0)),
    ("tostring", 0, Sized(TEXT)),
    ("tojson", 0, Sized(TEXT)),
];

/// What patches may call besides, since they change what they are given.
pub(super) const IN_PATCHES: &[Allowed] = &[("del", 1, Delete), ("map_values", 1, MapValues)];

/// Filters of jq that jaq does not define, so that they are refused rather than unknown.
pub(super) const OTHER_JQ: &[&str] = &[
    "input",
    "inputs",
    "input_filename",
    "input_line_number",
    "builtins",
    "modulemeta",
    "get_search_list",
    "env",
    "now",
    "localtime",
    "strflocaltime",
    "halt",
    "halt_error",
    "debug",
    "stderr",
    "INDEX",
    "GROUP_BY",
    "UNIQUE_BY",
    "ascii",
    "isvalid",
    "trimstr",
    "toarray",
    "leaf_paths",
];

/// What to use instead of a filter that is refused.
pub(super) fn instead_of(name: &str) -> &'static str {
    match name {
        "getpath" => "write the path itself: `.a.b`, with `?` where it may be missing",
        "limit" | "skip" | "range" | "until" | "while" | "repeat" => {
            "ask about all entries at once: `any(.items[]?; CONDITION)` or `first(F)`"
        }
        "recurse" | "walk" | "paths" | "leaf_paths" => {
            "to look into everything, write `any(..; CONDITION)`"
        }
        "tonumber" | "fromjson" | "toboolean" => {
            "compare with text: `.metadata.annotations.count == \"3\"`"
        }
        "match" | "capture" | "scan" | "sub" | "gsub" => "to look for a pattern, use `test`",
        "env" | "$ENV" | "now" | "input" | "inputs" | "input_filename" | "localtime" => {
            "a filter sees one object and nothing else, so that a build is the same everywhere"
        }
        "map_values" | "del" | "delpaths" | "setpath" | "to_number" => {
            "a filter looks at an object and does not change it: use `map`, `select`, `any` or `all`"
        }
        "error" => "to drop nothing and say nothing, write `false` or `empty`",
        name if name.starts_with('@') => "for text, use `tostring` or \"\\(…)\"",
        _ => "use `any`, `all`, `map` and `select` with conditions on fields",
    }
}
