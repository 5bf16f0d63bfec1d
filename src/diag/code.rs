//! The closed list of diagnostic codes.

/// Declares [`Code`]: a variant, its kebab-case name, one line of description, and the text that
/// `bundle2chart explain` shows.
macro_rules! codes {
    ($($(#[$section:meta])* $variant:ident $name:literal $description:literal $explanation:literal;)*) => {
        /// The kind of a diagnostic. Codes are stable: they are never reused for something else.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $description] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// The kebab-case name.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $name),* }
            }

            /// What it means, in one line.
            pub fn description(self) -> &'static str {
                match self { $(Code::$variant => $description),* }
            }

            /// Why it matters and what to do, in a paragraph.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$variant => $explanation),* }
            }
        }
    };
}

codes! {
    // --- config: bundles.toml -------------------------------------------------------------
    ConfigUnreadable "config-unreadable"
        "The configuration file cannot be read."
        "bundle2chart reads `bundles.toml` in the working folder, or the file named with `-c`. It must exist and be UTF-8 text.";
    ConfigSyntax "config-syntax"
        "The configuration file is not valid TOML."
        "The excerpt shows where the TOML reader stopped understanding the file. Nothing was built.";
    UnknownKey "unknown-key"
        "A table has a key that bundle2chart does not know."
        "An unknown key is usually a typing error, and ignoring it would silently change what is built. The hint names the nearest known key.";
    WrongType "wrong-type"
        "A key has a value of the wrong type."
        "The message says which type is expected and which one was found.";
    MissingKey "missing-key"
        "A required key is missing."
        "The table named in the message cannot be understood without this key.";
    InvalidValue "invalid-value"
        "A key has a value that is of the right type but not allowed."
        "The message says what is allowed.";
    DuplicateName "duplicate-name"
        "Two bundles have the same name."
        "The name of a bundle is the name of its chart, so it must be unique in bundles.toml.";
    OverlappingOutput "overlapping-output"
        "Two bundles, or a bundle and the configuration, would write to the same place."
        "Each chart owns its folder; charts cannot be nested in each other.";
    InvalidFilter "invalid-filter"
        "A jq filter does not compile."
        "The excerpt marks the position inside the filter where the jq reader stopped.";
    RefusedFilter "refused-filter"
        "A jq filter uses something that a filter may not use."
        "Filters decide whether one object is kept. They may not read files or the environment, and they may not use constructs that can run or allocate without end (def, reduce, foreach, label, range, repeat, recurse with a function, assignments, multiplication) or build values far larger than the object. `any`, `all`, `map` and `select` do what such filters are for.";
    RequiredVersion "required-version"
        "This bundle2chart is not the version that the configuration requires."
        "`required-version` in bundles.toml names the versions of bundle2chart that may build it. Install one of these, or change the requirement.";

    // --- passes: filters ------------------------------------------------------------------
    FilterFailed "filter-failed"
        "A jq filter failed on an object."
        "A filter that fails is neither true nor false, so the build stops rather than guess. Use `?` or `//` in the filter to say what a missing field means.";
    FilterTimeout "filter-timeout"
        "A jq filter ran for too long."
        "A filter has a few seconds for all objects of a bundle. Make it simpler.";
    UnusedFilter "unused-filter"
        "A jq filter matched no object."
        "The filter may be misspelt, or the bundle no longer ships what it was written for.";
}

#[cfg(test)]
mod tests {
    use super::Code;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_kebab_case_and_unique_and_texts_are_sentences() {
        let mut names = BTreeSet::new();
        for code in Code::ALL {
            let name = code.as_str();
            assert!(names.insert(name), "{name} is used twice");
            let words = || name.split('-');
            assert!(words().all(|word| !word.is_empty()
                && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())));
            // The variant is the same words.
            let variant: String = format!("{code:?}").to_lowercase();
            assert_eq!(variant, words().collect::<String>());
            for text in [code.description(), code.explanation()] {
                let begins = |c: char| c.is_uppercase() || c == '`';
                let sentence = text.starts_with(begins) || text.starts_with("bundle2chart");
                assert!(sentence && text.ends_with('.'), "{name}: {text}");
            }
        }
    }
}
