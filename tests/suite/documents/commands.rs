//! The reference of commands: the help texts of the program.

use super::up_to_date;
use crate::support::command::Case;
use std::fmt::Write as _;

const HEAD: &str = "\
# Commands

Reports, tables and lists go to stdout; diagnostics, and what was written, go to stderr. Exit codes: 0 for success, 1 for
differences or findings that a command was asked to report, 2 for wrong usage and errors, after which nothing is written.

| exit code 1 | if |
|---|---|
| `build --check` | charts are missing, stale or foreign |
| `lock --check` | bundles.lock would change |
| `outdated --exit-code` | a bundle is outdated |
| `package --check`, `push --check` | charts.lock or the registry has other packages |
| `diff --exit-code`, `diff --fail-on breaking\\|risky` | there are differences, or findings of this class |
| `verify` | the chart is not what its bundle compiles to |
| `inspect` | the bundle does not compile |
| `check-serving` | there are findings |

`--message-format json|github|sarif` prints diagnostics machine-readable to stdout, or to stderr if stdout has a report. `github`
and `sarif` locations are files of the repository: in the bundle directory, or the `[[bundle]]` line of an image. `NO_COLOR` and
`--color` are honoured. [Security](../security.md) describes trusted and untrusted inputs.

Generated from `bundle2chart COMMAND --help`.
";

#[test]
fn reference_of_commands() {
    let case = Case::new();
    let help = |arguments: &[&str]| {
        let seen = case.run(arguments);
        assert_eq!(seen.code, Some(0), "{}", seen.text());
        seen.stdout
    };
    let overview = help(&["--help"]);
    let commands: Vec<&str> = overview
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .collect();
    assert!(commands.len() > 15, "{commands:?}");

    let mut text = format!("{HEAD}\n```text\n{}\n```\n", overview.trim_end());
    for command in commands {
        let help = help(&[command, "--help"]);
        // The options of all commands are above.
        let own: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        let _ = write!(text, "\n## {command}\n\n```text\n{}\n```\n", own.join("\n"));
    }
    up_to_date("docs/reference/commands.md", &text);
}
