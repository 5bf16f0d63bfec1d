//! `[lints]`, `[bundle.lints]` and `[chart.lints]`: the levels of diagnostic codes.

use super::*;
use crate::diag::LintLevel;

/// Levels by code; codes that are not in it keep theirs.
pub type Lints = BTreeMap<Code, LintLevel>;

/// A table of [`Lints`].
pub struct Levels;

impl Form for Levels {
    type Value = Lints;
    const KIND: Kind = Kind::Map(&Kind::String(Some("^(allow|deny)$")));

    fn read(reader: &mut Reader<'_>, _: &Key, value: &Node<'_>) -> Option<Lints> {
        let mut lints = Lints::new();
        for ((name, level), range) in entries(value).filter(|((_, one), _)| one.get_ref().is_str())
        {
            let code = Code::ALL.iter().copied().find(|code| code.as_str() == name);
            if code.is_none() {
                let known: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
                let hint = suggest::did_you_mean(name, &known).unwrap_or_else(|| {
                    "write the code in brackets of a warning or note, such as `run-as-user-missing`"
                        .to_owned()
                });
                let message = format!("unknown diagnostic code `{name}`");
                reader.error(Code::UnknownKey, &range, message, hint);
            }

            // Level and code are both checked, so that one run reports both.
            let words = [("allow", LintLevel::Allow), ("deny", LintLevel::Deny)];
            let wanted = reader.word(level, "lint level", words);
            lints.extend(code.zip(wanted));
        }
        Some(lints)
    }
}

impl Config {
    /// Applies `[lints]` to warnings and notes. For those about a bundle, its own `lints` win.
    pub fn set_levels(&self, diagnostics: &mut Diagnostics) {
        diagnostics.set_levels(|found| {
            let name = found.place.bundle.as_deref();
            let bundle = self.bundles.iter().find(|bundle| Some(bundle.name.as_str()) == name);
            self.level(found.code, bundle)
        });
    }

    /// Returns the level of a code for findings about a bundle.
    pub fn level(&self, code: Code, bundle: Option<&BundleConfig>) -> Option<LintLevel> {
        // The more specific table first, also if it allows what `[lints]` denies.
        let own = bundle.and_then(|bundle| bundle.lints.get(&code));
        own.or_else(|| self.lints.get(&code)).copied()
    }
}
