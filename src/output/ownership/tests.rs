#![expect(clippy::disallowed_methods, reason = "tests write ownership files")]

use super::*;

fn sample() -> Ownership {
    let files = BTreeMap::from([
        ("templates/a b.yaml".to_owned(), b"x\n".to_vec()),
        ("Chart.yaml".to_owned(), Vec::new()),
    ]);
    Ownership::of(Some("1.0.0+build.1"), &files)
}

#[test]
fn is_spelt_sorted_and_read_back() {
    let text = sample().to_text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[0],
        "# Files written and owned by bundle2chart. Verify: sha256sum -c .bundle2chart"
    );
    assert_eq!(lines[1], "# chart version: 1.0.0+build.1");
    assert_eq!(
        lines[2],
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  Chart.yaml"
    );
    assert!(lines[3].ends_with("  templates/a b.yaml"));
    assert_eq!(Ownership::parse(&text), Ok(sample()));
}

#[test]
fn is_read_with_the_line_ends_of_a_windows_checkout() {
    let text = sample().to_text().replace('\n', "\r\n");
    assert_eq!(Ownership::parse(&text), Ok(sample()));
}

#[test]
fn refuses_what_it_would_not_write() {
    let sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    for bad in [
        "<<<<<<< ours\n".to_owned(),
        format!("{sum} one-space\n"),
        format!("{}  short\n", &sum[1..]),
        format!("{}  upper\n", sum.to_uppercase()),
        format!("{sum}  ../../etc/passwd\n"),
        format!("{sum}  /etc/passwd\n"),
        format!("{sum}  a//b\n"),
        format!("{sum}  {FILE_NAME}\n"),
    ] {
        assert_eq!(Ownership::parse(&format!("{VERSION}1.0.0\n{bad}")), Err(2), "{bad}");
    }
}

#[test]
fn the_list_of_deployment_files_has_no_version() {
    let text = Ownership::of(None, &BTreeMap::new()).to_text();
    assert_eq!(
        text,
        "# Deployment files written and owned by bundle2chart. Verify: sha256sum -c .bundle2chart\n"
    );
    let read = Ownership { version: None, sums: BTreeMap::new() };
    assert_eq!(Ownership::parse(&text), Ok(read));
}

#[test]
fn charts_are_the_same_whatever_their_upgrade_reports_are() {
    let other = |change: fn(&mut Ownership)| {
        let mut other = sample();
        change(&mut other);
        sample().is_same_chart(&other) && other.is_same_chart(&sample())
    };
    assert!(other(|_| {}));
    assert!(other(|it| drop(it.sums.insert(UPGRADE_REPORT.to_owned(), String::new()))));
    assert!(!other(|it| drop(it.sums.insert("values.yaml".to_owned(), String::new()))));
    assert!(!other(|it| it.version = Some("1.0.1".to_owned())));
}

#[test]
fn a_file_that_is_too_large_or_no_text_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(FILE_NAME);
    assert_eq!(Ownership::read(folder.path()).unwrap(), Recorded::Missing);
    let empty = || Recorded::Files(Ownership { version: None, sums: BTreeMap::new() });
    let limit = 8 * 1024 * 1024;
    for (text, expected) in [
        (b"#".repeat(limit), empty()),
        (b"#".repeat(limit + 1), Recorded::Damaged(1)),
        (b"#\n\xff".to_vec(), Recorded::Damaged(1)),
        (b"#\n\n".to_vec(), Recorded::Damaged(2)),
    ] {
        fs::write(&file, &text).unwrap();
        assert_eq!(Ownership::read(folder.path()).unwrap(), expected, "{} bytes", text.len());
    }

    fs::rename(&file, folder.path().join("target")).unwrap();
    std::os::unix::fs::symlink("target", &file).unwrap();
    assert_eq!(Ownership::read(folder.path()).unwrap(), Recorded::Damaged(1));
}
