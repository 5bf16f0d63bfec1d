use super::*;

/// As if the directory of this package were a chart in the directory around it.
#[test]
fn a_chart_that_contains_the_working_directory_is_not_replaced() {
    let here = fs::canonicalize(".").unwrap();
    let (out, name) = (here.parent().unwrap(), here.file_name().unwrap());
    let directory = OutputDirectory::open(out, Mode::Check, &mut Diagnostics::new()).unwrap();
    let missing = Path::new("no-such-chart");
    assert!(directory.check_working_directory(&[missing]).is_ok());
    assert!(directory.check_working_directory(&[&Path::new(name).join("src")]).is_ok());
    let found = directory.check_working_directory(&[missing, Path::new(name)]).unwrap_err();
    let shown = here.display();
    let message = format!("cannot replace `{shown}`: it contains the working directory");
    assert_eq!((found.code, found.message), (Code::OutputUnsuitable, message));
    let hint = "change to a directory outside the chart and build again";
    assert_eq!(found.hint.as_deref(), Some(hint));
}
