//! Diagnostics as workflow commands, which GitHub shows at the lines of a pull request.

use super::location::Locate;
use super::{Diagnostic, Diagnostics, Severity};
use crate::escape;

/// Returns one command (`::error file=…,line=…::…`) for each of `diagnostics`, in order, at the
/// place that `locate` finds.
pub fn render(diagnostics: &Diagnostics, locate: &Locate<'_>) -> String {
    diagnostics.iter().map(|diagnostic| command(diagnostic, locate)).collect()
}

fn command(diagnostic: &Diagnostic, locate: &Locate<'_>) -> String {
    let name = match diagnostic.severity {
        Severity::Note => "notice",
        other => other.as_str(),
    };
    let place = &diagnostic.place;
    let at = locate(place);
    // At least 1: a range that ends at the beginning of a line has no last character in it.
    let last = at.end_column.map(|end| end.max(2) - 1).filter(|end| Some(*end) >= at.column);
    // GitHub only supports columns together with a single line; the last column is inclusive.
    let (column, last, end_line) = match at.end_line {
        Some(end) if Some(end) != at.line => (None, None, Some(end)),
        _ => (at.column, last, None),
    };
    let number = |value: Option<usize>| value.map(|value| value.to_string());
    let properties = [
        ("file", at.file.clone()),
        ("line", number(at.line)),
        ("col", number(column)),
        ("endColumn", number(last)),
        ("endLine", number(end_line)),
        ("title", Some(diagnostic.code.as_str().to_owned())),
    ];
    let known = properties.into_iter().filter_map(|(key, value)| Some((key, value?)));
    let properties: Vec<String> =
        known.map(|(key, value)| format!("{key}={}", escape_property(&value))).collect();

    let mut message = diagnostic.message.clone();
    let facts = [
        ("in", &at.inside),
        ("bundle", &place.bundle),
        ("object", &place.object),
        ("path", &place.path),
    ];
    for (name, fact) in facts {
        if let Some(fact) = fact {
            message.push_str(&format!("\n{name}: {fact}"));
        }
    }
    for (related, why) in &diagnostic.related {
        let at = locate(related);
        // In text, because a command has one place.
        let place = at.inside.clone().or_else(|| at.text());
        let object = related.object.as_deref().map(|object| format!(" ({object})"));
        message.push_str(&format!(
            "\n{}{}: {why}",
            place.unwrap_or_else(|| "note".to_owned()),
            object.unwrap_or_default()
        ));
    }
    if let Some(hint) = &diagnostic.hint {
        message.push_str(&format!("\nhint: {hint}"));
    }
    format!("::{name} {}::{}\n", properties.join(","), escape_data(&message))
}

/// Escapes a message: the characters that the runner decodes, which could end the command, and
/// hidden characters, which could control the terminal that shows the log.
fn escape_data(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| {
            // The percent sign first, because the other escapes contain it.
            let line = line.replace('%', "%25").replace('\r', "%0D");
            escape::line(&line).into_owned()
        })
        .collect();
    lines.join("%0A")
}

fn escape_property(text: &str) -> String {
    // As @actions/core does it (`escapeProperty`): a colon and a comma would end the property.
    escape_data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::super::{Code, Diagnostic, Location, Place, sample};

    #[test]
    fn one_command_each() {
        let text = super::render(&sample::diagnostics(), &|place| Location::from(place));
        assert!(text.lines().all(|line| line.starts_with("::")));
        insta::assert_snapshot!(text, @r#"
        ::error file=bundles.toml,line=5,col=8,endColumn=13,title=duplicate-name::two bundles have the name `über`%0Abundles.toml:2:8: the first one%0Ahint: give each its own
        ::error file=bundles.toml,line=6,endLine=8,title=wrong-type::this range has several lines
        ::warning file=manifests/role%3A a.yaml,line=14,col=3,title=filter-failed::100%25 of it fails,%0Ain two lines%0Abundle: lws%0Aobject: Role/a%0Apath: .rules[0].verbs%0Amanifests/b.yaml (Role/b): here \u{1b}[31mtoo%0Anote: and an unknown place
        ::notice title=unused-setting::the place is unknown
        ::notice file=bundles.toml,title=config-unreadable::only the file is known%0Ahint: look into it%0Awith two lines
        "#);
    }

    #[test]
    fn nothing_in_a_message_or_a_file_name_ends_a_command() {
        let diagnostic = Diagnostic::note(Code::UnusedSetting, "100%\r\n::error::gone")
            .at(Place::file("a,b:c%\n::error::d.yaml"));
        insta::assert_snapshot!(super::render(&diagnostic.into(), &|place| Location::from(place)), @r#"::notice file=a%2Cb%3Ac%25%0A\u{3a}%3Aerror%3A%3Ad.yaml,title=unused-setting::100%25%0D%0A\u{3a}:error::gone"#);
    }
}
