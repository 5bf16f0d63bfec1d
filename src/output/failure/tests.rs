use super::*;
use std::io::ErrorKind as Kind;
use walkdir::WalkDir;

#[test]
fn messages_have_the_cause_and_what_a_user_can_do_about_it() {
    let disk = "free disk space in the output directory (or raise the quota or file size limit) and \
        build again";
    let permission = "make the output directory and its charts writable, or use another directory \
        with `--out`";
    let mount = "use another directory with `--out`: a chart cannot be replaced if its directory is \
        a mount point or comes from a container image layer";
    for (kind, hint) in [
        (Kind::StorageFull, disk),
        (Kind::QuotaExceeded, disk),
        (Kind::FileTooLarge, disk),
        (Kind::PermissionDenied, permission),
        (Kind::ReadOnlyFilesystem, permission),
        (Kind::CrossesDevices, mount),
        (Kind::ResourceBusy, mount),
        (Kind::NotADirectory, "check the output directory, or use another one with `--out`"),
    ] {
        let found = failed("write", Path::new("out/a"), &kind.into());
        assert_eq!(found.code, Code::OutputFailed);
        assert_eq!(found.message, format!("cannot write `out/a`: {}", io::Error::from(kind)));
        assert_eq!(found.place, Place::file("out/a"));
        assert_eq!(found.hint.as_deref(), Some(hint), "{kind}");
    }
}

/// A file in place of a directory is an error for everyone; permissions are none for root.
#[test]
fn paths_that_cannot_be_read_are_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let below = file.path().join("below");
    let expected = format!("cannot read `{}`: Not a directory (os error 20)", below.display());
    assert_eq!(metadata_of(&below).unwrap_err().message, expected);
    let walked = WalkDir::new(&below).into_iter().next().unwrap().unwrap_err();
    assert_eq!(walk_failed(Path::new("out"), walked).message, expected);
    assert!(metadata_of(&file.path().with_extension("missing")).unwrap().is_none());
}
