mod programs;

use super::*;
use crate::yaml::{CERTIFICATE_PLACEHOLDER_TEMPLATE, CERTIFICATE_TEMPLATE};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::process::Command;
use tar::{Builder, EntryType, Header};

/// Returns an error as `code: message (hint)`, with `DIR` for a directory.
fn told(error: &Fatal, dir: &Path) -> String {
    let dir = dir.display().to_string();
    let text = |text: &str| text.replace(&dir, "DIR");
    let hint = error.hint.as_deref().unwrap_or_default();
    format!("{}: {} ({})", error.code.as_str(), text(&error.message), text(hint))
}

fn tree(files: &[(&str, &str)]) -> ChartTree {
    files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
}

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let file = dir.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

const CHART: &str = "name: widgets\nversion: 1.0.0\n";

/// Returns the header of a file of a package.
fn header(name: &str, size: usize) -> Header {
    let mut header = Header::new_gnu();
    header.set_path(name).unwrap();
    header.set_size(size as u64);
    header.set_mode(0o644);
    header
}

/// An archive, whose entries are added one by one.
struct Archive(Builder<Vec<u8>>);

impl Archive {
    fn new() -> Self {
        Archive(Builder::new(Vec::new()))
    }

    /// Adds a file whose header is changed.
    fn with(mut self, name: &str, text: &str, change: impl Fn(&mut Header)) -> Self {
        let mut header = header(name, text.len());
        change(&mut header);
        header.set_cksum();
        self.0.append(&header, text.as_bytes()).unwrap();
        self
    }

    fn file(self, name: &str, text: &str) -> Self {
        self.with(name, text, |_| ())
    }

    /// Adds a record of the next file.
    fn record(mut self, key: &str, value: &str) -> Self {
        self.0.append_pax_extensions([(key, value.as_bytes())]).unwrap();
        self
    }

    fn packed(self) -> Vec<u8> {
        gzip(&self.0.into_inner().unwrap())
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns a package with a file of zeros before Chart.yaml, whose headers have 512 bytes.
fn large(bytes: usize) -> Vec<u8> {
    let header = Archive::new().with("widgets/a", "", |header| header.set_size(bytes as u64));
    let header = &header.0.get_ref()[..512];
    let mut package = gzip(header);
    // Members of gzip, so that the zeros are compressed once.
    let zeros = gzip(&[0; 1 << 10]);
    (0..bytes >> 10).for_each(|_| package.extend(&zeros));
    package.extend(Archive::new().file("widgets/Chart.yaml", CHART).packed());
    package
}

/// Returns the paths of the files of a package, or why it is not read.
fn read(package: &[u8]) -> String {
    match read_archive(package, "widgets.tgz") {
        Ok(Some(files)) => files.into_keys().collect::<Vec<_>>().join(" "),
        Ok(None) => "no chart".to_owned(),
        Err(error) => told(&error, Path::new("/none")),
    }
}

/// Each entry that Helm could read as another file, next to one that it cannot.
#[test]
fn packages_are_read_as_helm_reads_them() {
    let chart = || Archive::new().file("widgets/Chart.yaml", CHART);
    let kind = |kind: EntryType| move |header: &mut Header| header.set_entry_type(kind);
    let mode = |mode: u32| move |header: &mut Header| header.set_mode(mode);
    let star = |header: &mut Header| {
        let bytes = header.as_mut_bytes();
        let end = bytes.len() - 4;
        bytes[end..].copy_from_slice(b"tar\0");
    };
    let size = |size: u64| move |header: &mut Header| header.set_size(size);
    let whole = chart().file("widgets/templates/a.yaml", "a").packed();
    let cut = &whole[..whole.len() - 40];
    let tar = Archive::new().file("widgets/Chart.yaml", CHART).0.into_inner().unwrap();
    let mut shown = String::new();
    for (what, package) in [
        ("a chart", whole.clone()),
        ("not compressed", tar),
        ("empty", Vec::new()),
        ("cut", cut.to_vec()),
        ("no archive", gzip(&[b'x'; 600])),
        ("files without Chart.yaml", Archive::new().file("widgets/a.yaml", "a").packed()),
        ("Chart.yaml of a subchart", Archive::new().file("a/b/Chart.yaml", CHART).packed()),
        ("Chart.yaml without a directory", Archive::new().file("Chart.yaml", CHART).packed()),
        ("a directory", chart().with("widgets/a/", "", kind(EntryType::Directory)).packed()),
        (
            "a directory before a file",
            chart()
                .with("widgets/b/", "", kind(EntryType::Directory))
                .file("widgets/a", "")
                .packed(),
        ),
        ("a global header", chart().with("pax", "", kind(EntryType::XGlobalHeader)).packed()),
        ("a link", chart().with("widgets/a", "", kind(EntryType::Symlink)).packed()),
        (
            "a link in another archive",
            Archive::new().with("a/b", "", kind(EntryType::Link)).packed(),
        ),
        (
            "a link before Chart.yaml",
            Archive::new()
                .with("widgets/a", "", kind(EntryType::Link))
                .with("widgets/b", "", kind(EntryType::Fifo))
                .file("widgets/Chart.yaml", CHART)
                .packed(),
        ),
        ("the mode of a file", chart().with("widgets/a", "", mode(0o100_644)).packed()),
        ("the mode of a program", chart().with("widgets/a", "", mode(0o100_755)).packed()),
        ("the mode of a link", chart().with("widgets/a", "", mode(0o120_644)).packed()),
        ("the mode of a directory", chart().with("widgets/a", "", mode(0o040_644)).packed()),
        ("star's form", chart().with("widgets/a", "", star).packed()),
        ("a comment", chart().record("comment", "a").file("widgets/a", "").packed()),
        ("another size", chart().record("size", "1").file("widgets/a", "a").packed()),
        ("a sparse file", chart().record("GNU.sparse.name", "b").file("widgets/a", "").packed()),
        ("outside of the directory", chart().file("a.yaml", "").packed()),
        ("the largest file", chart().with("widgets/a", "", size(CHART_BYTES)).packed()),
        ("a larger file", chart().with("widgets/a", "", size(CHART_BYTES + 1)).packed()),
        ("a file twice", chart().file("widgets/a", "").file("other/a", "").packed()),
        ("200 MiB before Chart.yaml", large(200 << 20)),
    ] {
        shown += &format!("{what}: {}\n", read(&package));
    }
    insta::assert_snapshot!(shown);

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("widgets.tgz");
    let error = read_package(&file).unwrap_err();
    assert_eq!(
        told(&error, dir.path()),
        "source-unreadable: cannot read `DIR/widgets.tgz`: No such file or directory (os error 2) \
         (check the path and its permissions)"
    );
    fs::write(&file, whole).unwrap();
    let files = tree(&[("Chart.yaml", CHART), ("templates/a.yaml", "a")]);
    assert_eq!(read_package(&file).unwrap(), Some(files));
}

#[test]
fn a_chart_has_at_most_20_000_files_and_100_mib() {
    let mut collector = collector::Collector::new("widgets");
    for number in 0..CHART_FILES {
        collector.add(format!("{number}").as_bytes(), Vec::new()).unwrap();
    }
    let error = collector.add(b"a", Vec::new()).unwrap_err();
    assert_eq!(
        told(&error, Path::new("/none")),
        "chart-unreadable: `widgets` is too large for a chart (pass the directory of one chart)"
    );

    // The sum counts; a sparse file has no bytes on disk.
    let dir = tempfile::tempdir().unwrap();
    for (name, bytes) in [("a", CHART_BYTES - 1), ("b", 1)] {
        fs::File::create(dir.path().join(name)).unwrap().set_len(bytes).unwrap();
    }
    assert_eq!(read_folder(dir.path()).unwrap().len(), 2);
    fs::write(dir.path().join("c"), "c").unwrap();
    let error = read_folder(dir.path()).unwrap_err();
    assert!(error.message.ends_with("is too large for a chart"), "{}", error.message);
}

#[test]
fn only_regular_files_of_directories_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let chart = dir.path().join("widgets");
    write(&chart, &[("Chart.yaml", CHART), ("templates/a.yaml", "a")]);
    assert!(is_chart(&chart) && !is_chart(dir.path()));
    let files = tree(&[("Chart.yaml", CHART), ("templates/a.yaml", "a")]);
    assert_eq!(read_folder(&chart).unwrap(), files);

    let odd = chart.join("odd");
    let refused = || told(&read_folder(&chart).unwrap_err(), dir.path());
    let hint = "remove or rename it: Helm, or another system, would read another chart";
    for target in ["Chart.yaml", "templates", "missing"] {
        std::os::unix::fs::symlink(target, &odd).unwrap();
        assert_eq!(
            refused(),
            format!(
                "chart-unreadable: `odd` in chart `DIR/widgets` is a symbolic link, which is not \
                 followed ({hint})"
            )
        );
        fs::remove_file(&odd).unwrap();
    }
    let socket = std::os::unix::net::UnixListener::bind(&odd).unwrap();
    assert_eq!(
        refused(),
        format!("chart-unreadable: `odd` in chart `DIR/widgets` is not a regular file ({hint})")
    );
    drop(socket);
    fs::remove_file(&odd).unwrap();
    assert_eq!(
        told(&read_folder(&dir.path().join("none")).unwrap_err(), dir.path()),
        "source-unreadable: cannot read `DIR/none`: No such file or directory (os error 2) (check \
         the path and its permissions)"
    );
}

#[test]
fn directories_of_charts_have_their_name_and_version() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path();
    write(
        out,
        &[
            ("widgets/Chart.yaml", CHART),
            ("widgets/1.0.0/Chart.yaml", CHART),
            ("widgets/1.0.1/Chart.yaml", CHART),
            ("gadgets/Chart.yaml", CHART),
            ("empty/a", ""),
            ("unnamed/Chart.yaml", "version: 1.0.0\n"),
            ("unversioned/Chart.yaml", "name: unversioned\n"),
            ("broken/Chart.yaml", "name: {\n"),
            ("blank/Chart.yaml", ""),
        ],
    );
    fs::create_dir(out.join("binary")).unwrap();
    fs::write(out.join("binary/Chart.yaml"), b"\xff").unwrap();
    let mut shown = String::new();
    for dir in [
        "widgets/1.0.0",
        "widgets/1.0.1",
        "gadgets",
        "empty",
        "unnamed",
        "unversioned",
        "broken",
        "blank",
        "binary",
    ] {
        let read = match read_built(out, dir) {
            Ok(files) => format!("{} files", files.len()),
            Err(error) => told(&error, out),
        };
        shown += &format!("{dir}: {read}\n");
    }
    insta::assert_snapshot!(shown);
    let flat = dir.path().join("widgets");
    fs::remove_dir_all(flat.join("1.0.0")).unwrap();
    fs::remove_dir_all(flat.join("1.0.1")).unwrap();
    assert_eq!(read_built(out, "widgets").unwrap(), tree(&[("Chart.yaml", CHART)]));

    assert_eq!(folders(&out.join("none")).unwrap(), [""; 0]);
    fs::write(out.join("a file"), "").unwrap();
    let names =
        ["binary", "blank", "broken", "empty", "gadgets", "unnamed", "unversioned", "widgets"];
    assert_eq!(folders(out).unwrap(), names);
    fs::create_dir(out.join(std::ffi::OsStr::from_bytes(b"a\xff"))).unwrap();
    assert_eq!(
        told(&folders(out).unwrap_err(), out),
        "chart-unreadable: the directory `a\\xff` in `DIR` has a name that is not UTF-8 (remove or \
         rename it)"
    );
}

#[test]
fn documents_and_values_are_utf_8() {
    let documents = |text: &[u8]| {
        documents("templates/a.yaml", text).map_err(|error| {
            let file = error.place.file.clone().unwrap_or_default();
            format!("{file} {}", told(&error, Path::new("/none")))
        })
    };
    let json = serde_json::json!({"a": 1});
    assert_eq!(documents(b"---\n---\na: 1\n---\nnull\n"), Ok(vec![json.clone()]));
    let two = tree(&[("Chart.yaml", "a: 1\n---\na: 2\n")]);
    assert_eq!(metadata(&two), Ok(json));
    assert_eq!(
        documents(b"\xff"),
        Err(
            "templates/a.yaml chart-unreadable: `templates/a.yaml` is not UTF-8 text (convert the \
             file to UTF-8)"
                .to_owned()
        )
    );
    let error = documents(b"a: {").unwrap_err();
    let start = "templates/a.yaml chart-unreadable: `templates/a.yaml` is not valid YAML: ";
    assert!(
        error.starts_with(start) && error.ends_with("(check the rendered template)"),
        "{error}"
    );

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("values.yaml");
    let values = || read_values(&file).map_err(|error| told(&error, dir.path()));
    let refused = |why: &str| {
        Err(format!(
            "source-unreadable: cannot read values `DIR/values.yaml`: {why} (pass a readable YAML \
             file)"
        ))
    };
    assert_eq!(values(), refused("No such file or directory (os error 2)"));
    fs::write(&file, b"\xff").unwrap();
    assert_eq!(values(), refused("it is not UTF-8 text"));
    fs::write(&file, "a: 1").unwrap();
    assert_eq!(values(), Ok("a: 1".to_owned()));
    fs::File::create(&file).unwrap().set_len((16 << 20) + 1).unwrap();
    assert!(values().is_err());
}

#[test]
fn places_of_errors_begin_with_the_path_of_the_chart() {
    let error = |place: Place| Fatal::from(Diagnostic::error(Code::ChartUnreadable, "m").at(place));
    let file = |place: Place| located("out/widgets", error(place)).place.file.clone();
    assert_eq!(file(Place::default()).as_deref(), Some("out/widgets"));
    assert_eq!(file(Place::file("a.yaml")).as_deref(), Some("out/widgets/a.yaml"));
    let source = crate::diag::SourceText { name: "n".to_owned(), text: "t".to_owned() };
    let span = crate::diag::Span::new(&std::sync::Arc::new(source), 0..1);
    let place = Place { span: Some(span), ..Place::default() };
    assert_eq!(file(place), None);

    let files = tree(&[("a/b", "1"), ("a/c/d", "2"), ("ab/c", "3"), ("b", "4")]);
    assert_eq!(below(files, "a"), tree(&[("b", "1"), ("c/d", "2")]));
}

/// A repository in a temporary directory.
struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Repository(tempfile::tempdir().unwrap());
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn git(&self, arguments: &[&str]) -> String {
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        let mut git = Command::new("git");
        let git = git.args(author).args(arguments).current_dir(self.0.path());
        let output = git.output().unwrap();
        assert!(output.status.success(), "{arguments:?} {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message=a"]);
    }

    fn read(&self, folder: &str, revision: &str, path: &str) -> Result<ChartTree, String> {
        read_revision(&self.path(folder), revision, path)
            .map_err(|error| told(&error, self.0.path()))
    }
}

#[test]
fn charts_of_a_revision() {
    let repository = Repository::new();
    let files = [("Chart.yaml", CHART), ("templates/a.yaml", "a\r\n\n"), ("empty", "")];
    write(&repository.path("out/widgets"), &files);
    write(&repository.path("out"), &[("bundles.lock", "lock")]);
    repository.commit();
    fs::write(repository.path("out/widgets/Chart.yaml"), "later").unwrap();

    let inside = files.map(|(path, text)| (format!("widgets/{path}"), text));
    let inside: Vec<(&str, &str)> = inside.iter().map(|(path, text)| (&**path, *text)).collect();
    assert_eq!(repository.read("out", "HEAD", "widgets"), Ok(tree(&inside)));
    assert_eq!(
        repository.read("out", "main", "bundles.lock"),
        Ok(tree(&[("bundles.lock", "lock")]))
    );
    let list = |folder: &str, revision: &str| {
        list_revision(&repository.path(folder), revision)
            .map_err(|error| told(&error, repository.0.path()))
    };
    let paths = ["bundles.lock", "widgets/Chart.yaml", "widgets/empty", "widgets/templates/a.yaml"];
    assert_eq!(list("out", "HEAD"), Ok(paths.map(str::to_owned).to_vec()));
    fs::create_dir(repository.path("new")).unwrap();
    assert_eq!(list("new", "HEAD"), Ok(Vec::new()));

    let mut shown = String::new();
    for revision in ["", "-h", "missing"] {
        shown += &format!("{revision}: {}\n", list("out", revision).unwrap_err());
        shown += &format!("  {}\n", repository.read("out", revision, "widgets").unwrap_err());
    }
    for (folder, path) in [("out", "gadgets"), ("none", "widgets")] {
        shown +=
            &format!("{folder} {path}: {}\n", repository.read(folder, "HEAD", path).unwrap_err());
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let error = list_revision(elsewhere.path(), "HEAD").unwrap_err();
    shown += &format!("elsewhere: {}\n", error.hint.as_deref().unwrap_or_default());

    // What a commit cannot have as a file of a chart.
    std::os::unix::fs::symlink("bundles.lock", repository.path("out/widgets/link")).unwrap();
    repository.commit();
    shown += &format!("link: {}\n", repository.read("out", "HEAD", "widgets").unwrap_err());
    fs::remove_file(repository.path("out/widgets/link")).unwrap();
    repository.commit();
    let head = repository.git(&["rev-parse", "HEAD"]);
    let module = format!("160000,{head},out/widgets/module");
    repository.git(&["update-index", "--add", "--cacheinfo", &module]);
    repository.git(&["commit", "--quiet", "--message=a"]);
    shown += &format!("module: {}\n", repository.read("out", "HEAD", "widgets").unwrap_err());
    repository.git(&["rm", "--quiet", "--cached", "out/widgets/module"]);
    fs::write(repository.path("out").join(std::ffi::OsStr::from_bytes(b"a\xff")), "").unwrap();
    repository.commit();
    shown += &format!("name: {}\n", list("out", "HEAD").unwrap_err());
    let object = repository.git(&["rev-parse", "HEAD:out/bundles.lock"]);
    let (start, end) = object.split_at(2);
    fs::remove_file(repository.path(&format!(".git/objects/{start}/{end}"))).unwrap();
    let lost = repository.read("out", "HEAD", "bundles.lock").unwrap_err();
    shown += &format!("lost: {lost}\n");
    insta::assert_snapshot!(shown);
}

#[test]
fn the_cause_is_the_line_of_git_that_says_it() {
    let of_mount = "fatal: not a git repository (or any parent up to mount point /srv)";
    for (text, cause, hint) in [
        (
            format!("warning: a\n{of_mount}\nStopping at filesystem boundary.\n"),
            of_mount,
            "name two",
        ),
        ("warning: a\nfatal: b\n".to_owned(), "fatal: b", "other"),
        ("a\nb\n".to_owned(), "b", "other"),
        (
            "git: program not found in PATH".to_owned(),
            "git: program not found in PATH",
            "install git",
        ),
        (String::new(), "", "other"),
    ] {
        let error = revision::failed("list", &text, "other");
        assert_eq!(error.message, format!("cannot list: {cause}"));
        assert!(error.hint.as_deref().unwrap_or_default().contains(hint), "{:?}", error.hint);
    }
}

#[test]
fn a_file_is_committed_or_not_or_unknown() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("a"), "").unwrap();
    assert_eq!(committed(outside.path(), "a"), Committed::Unknown);
    assert_eq!(committed(&outside.path().join("none"), "a"), Committed::Unknown);

    let repository = Repository::new();
    write(repository.0.path(), &[("out/a", "1"), ("out/ignored", ""), (".gitignore", "ignored")]);
    let of = |path: &str| committed(&repository.path("out"), path);
    assert_eq!(of("a"), Committed::Absent);
    repository.commit();
    fs::write(repository.path("out/a"), "2").unwrap();
    fs::write(repository.path("out/b"), "2").unwrap();
    assert_eq!(of("a"), Committed::File(b"1".to_vec()));
    assert_eq!(of("b"), Committed::Absent);
    assert_eq!(of("ignored"), Committed::Unknown);
}

#[test]
fn names_that_helm_allows() {
    let render = |name: &str, namespace: &str| {
        helm_template(name, &ChartTree::new(), Form::Directory, namespace, "")
            .map_err(|error| told(&error, Path::new("/none")))
    };
    let hint = "set `name` in Chart.yaml to letters, digits, `-`, `_` and `.`, starting with a \
                letter or digit";
    let long = "a".repeat(251);
    for (name, shown) in
        [("", ""), ("-a", "-a"), (".a", ".a"), ("a/b", "a/b"), ("a\n", "a\\n"), (&long, &long)]
    {
        let refused = format!("chart-unreadable: invalid chart name `{shown}` ({hint})");
        assert_eq!(render(name, "ns"), Err(refused));
    }
    // A valid name leads to the check of the namespace.
    for name in ["a", "7", "A-b_c.d", &long[1..]] {
        for (namespace, shown) in [("A", "A"), ("a\n", "a\\n"), ("", "")] {
            let hint = "use lower-case letters, digits and `-` in `--namespace`";
            let refused = format!("invalid-value: invalid namespace `{shown}` ({hint})");
            assert_eq!(render(name, namespace), Err(refused), "{name}");
        }
    }
}

/// Helm gets the files that were read, with placeholders for generated certificates.
#[test]
fn charts_are_written_as_they_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let files = [("Chart.yaml", CHART), ("templates/_c.tpl", CERTIFICATE_TEMPLATE), ("a/b/c", "")];
    let expected = [
        ("Chart.yaml", CHART),
        ("templates/_c.tpl", CERTIFICATE_PLACEHOLDER_TEMPLATE),
        ("a/b/c", ""),
    ];
    let (folder, package) = (dir.path().join("chart"), dir.path().join("chart.tgz"));
    helm::write(&tree(&files), Form::Directory, &folder).unwrap();
    helm::write(&tree(&files), Form::Package, &package).unwrap();
    assert_eq!(read_folder(&folder).unwrap(), tree(&expected));
    let stored = flate2::read::GzDecoder::new(fs::File::open(&package).unwrap());
    for entry in tar::Archive::new(stored).entries().unwrap() {
        assert_eq!(entry.unwrap().header().mode().unwrap(), 0o644);
    }
    match read_package(&package) {
        Ok(read) => assert_eq!(read, Some(tree(&expected))),
        Err(error) => panic!("{}", error.message),
    }
}
