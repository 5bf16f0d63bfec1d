//! The contents of a catalog for one package.

use super::ignore::Ignored;
use super::objects::{self, Bundle, Channel, Deprecation, Deprecations, Head, Package};
use super::place::Item;
use super::{invalid, stream};
use crate::diag::{Code, Diagnostic, Diagnostics, Fatal, Place, suggest};
use crate::failure;
use crate::limits::{Limits, at_most, in_bytes};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Names of other packages that are remembered for a hint.
const MOST_NAMES: usize = 10_000;
/// Faults of one catalog that are listed one by one.
const MOST_FAULTS: usize = 20;

/// The objects of one package.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) package: String,
    pub(super) default_channel: Option<String>,
    /// Channels by name.
    pub(super) channels: BTreeMap<String, Vec<objects::ChannelEntry>>,
    /// Bundles by name.
    pub(super) bundles: BTreeMap<String, Bundle>,
    pub(super) deprecations: Vec<Deprecation>,
}

/// An object of the package.
enum Kept {
    Package(Package),
    Channel(Channel),
    Bundle(Bundle),
    Deprecations(Deprecations),
}

/// The contents of one file.
#[derive(Default)]
struct File {
    kept: Vec<Kept>,
    faults: Vec<Diagnostic>,
    /// Objects of any package.
    objects: u64,
}

/// Collects what a catalog has of a package. The order of its files does not matter.
pub(super) struct Reading<'a> {
    package: &'a str,
    limits: &'a Limits,
    files: BTreeMap<String, File>,
    ignored: Ignored,
    others: BTreeSet<String>,
    kept_bytes: u64,
}

impl<'a> Reading<'a> {
    pub(super) fn new(package: &'a str, limits: &'a Limits) -> Self {
        Reading {
            package,
            limits,
            files: BTreeMap::new(),
            ignored: Ignored::default(),
            others: BTreeSet::new(),
            kept_bytes: 0,
        }
    }

    /// Reads a file of the catalog; a later one at the same path replaces it.
    pub(super) fn visit(&mut self, path: &str, item: Item<'_>) -> io::Result<()> {
        let mut file = File::default();
        match item {
            Item::File(content) if path.rsplit('/').next() == Some(".indexignore") => {
                return self.ignored.read(path, content);
            }
            Item::File(content) => {
                let outcome =
                    stream::objects(content, self.package, self.limits, &mut |head, text| {
                        file.objects += 1;
                        match self.keep(path, head, text) {
                            Ok(kept) => file.kept.extend(kept),
                            Err(fault) => file.faults.push(invalid(path, None, &fault)),
                        }
                        // A large file of the wrong kind would have a fault for each of its
                        // objects.
                        file.faults.truncate(MOST_FAULTS);
                    })?;
                if let Err(fault) = outcome {
                    let mut diagnostic = invalid(path, Some(fault.line), &fault.message);
                    if fault.limit {
                        diagnostic.code = Code::SourceLimit;
                    }
                    file.faults.push(diagnostic);
                }
            }
            Item::Other(what) => {
                let message = format!("`{path}` {what}, which catalogs may not contain");
                file.faults.push(
                    Diagnostic::error(Code::UnexpectedEntry, message)
                        .at(Place::file(path))
                        .hint("replace it with a regular file, or add it to `.indexignore`"),
                );
            }
        }
        // Most files of a large catalog have nothing to keep; a finding takes about 1 KiB.
        self.kept_bytes += path.len() as u64 + 64 + 1024 * file.faults.len() as u64;
        // The visitor cannot stop the stream, so the limit is checked after the file's objects.
        let limit = self.limits.kept_bytes;
        at_most(self.kept_bytes, limit, || {
            format!("the catalog's data or errors of the package exceed {}", in_bytes(limit))
        })?;
        self.files.insert(path.to_owned(), file);
        Ok(())
    }

    /// Reads an object if it is of the package.
    fn keep(&mut self, path: &str, head: Head, text: &[u8]) -> Result<Option<Kept>, String> {
        let Some(schema) = head.schema else {
            return Err("an object has no `schema`".to_owned());
        };
        // A package has its name where other objects name their package.
        let own = if schema == "olm.package" { &head.name } else { &head.package };
        if own != self.package {
            // For "did you mean", within bounds.
            if schema == "olm.package" && self.others.len() < MOST_NAMES && head.name.len() < 256 {
                self.others.insert(head.name);
            }
            return Ok(None);
        }
        let named = |error| {
            let name: String = head.name.chars().take(100).collect();
            format!("{schema} `{name}`: {error}")
        };
        let kept = match schema.as_str() {
            "olm.package" => Kept::Package(objects::read(text).map_err(named)?),
            "olm.channel" => Kept::Channel(objects::read(text).map_err(named)?),
            "olm.bundle" => Kept::Bundle(objects::bundle(text, path).map_err(named)?),
            "olm.deprecations" => Kept::Deprecations(objects::read(text).map_err(named)?),
            // Objects for other programs.
            _ => return Ok(None),
        };
        self.kept_bytes += match &kept {
            // The kept fields are short, apart from the reference.
            Kept::Bundle(bundle) => {
                256 + (bundle.name.len() + bundle.image.as_ref().map_or(0, String::len)) as u64
            }
            _ => text.len() as u64,
        };
        Ok(Some(kept))
    }

    /// Returns the objects of the package. An invalid file is an error, also if it is of another
    /// package.
    pub(super) fn finish(self, diagnostics: &mut Diagnostics) -> Result<Contents, Fatal> {
        let mut contents = Contents { package: self.package.to_owned(), ..Contents::default() };
        let mut found = Vec::new();
        let mut package_file = None;
        let mut channel_files: BTreeMap<String, String> = BTreeMap::new();
        let mut faults = Vec::new();
        let mut objects = 0;

        for (path, file) in self.files {
            // `.indexignore` files may come after the files that they are about.
            if self.ignored.covers(&path) {
                continue;
            }
            objects += file.objects;
            faults.extend(file.faults);
            for kept in file.kept {
                match kept {
                    Kept::Package(package) => {
                        if let Some(first) = package_file.replace(path.clone()) {
                            found.push(twice("package", self.package, &path, &first));
                        }
                        contents.default_channel =
                            package.default_channel.filter(|channel| !channel.is_empty());
                    }
                    Kept::Channel(Channel { name, entries }) => {
                        if let Some(first) = channel_files.insert(name.clone(), path.clone()) {
                            found.push(twice("channel", &name, &path, &first));
                        }
                        contents.channels.insert(name, entries.unwrap_or_default());
                    }
                    Kept::Bundle(bundle) => match contents.bundles.entry(bundle.name.clone()) {
                        Entry::Vacant(place) => {
                            place.insert(bundle);
                        }
                        Entry::Occupied(first) => {
                            found.push(twice("bundle", &bundle.name, &path, &first.get().file));
                        }
                    },
                    Kept::Deprecations(Deprecations { entries }) => {
                        contents.deprecations.extend(entries.into_iter().flatten());
                    }
                }
            }
        }

        let more = faults.len().saturating_sub(MOST_FAULTS);
        found.extend(faults.into_iter().take(MOST_FAULTS));
        if more > 0 {
            let message = format!("{more} more errors in the catalog");
            found.push(Diagnostic::error(Code::CatalogInvalid, message));
        }
        diagnostics.fail_with(found)?;
        // Not a catalog at all, which is another mistake than a missing package.
        if objects == 0 {
            let hint = "a file-based catalog has objects such as `{\"schema\": \"olm.package\", …}` in \
                    JSON or YAML files";
            return Err(failure(Code::NotACatalog, "no catalog objects found", hint));
        }

        if package_file.is_none() {
            return Err(no_package(self.package, &self.others));
        }
        Ok(contents)
    }
}

fn twice(what: &str, name: &str, path: &str, first: &str) -> Diagnostic {
    let message = format!("the catalog defines the {what} `{}` twice", name.escape_debug());
    Diagnostic::error(Code::CatalogInvalid, message)
        .at(Place::file(path))
        .related(Place::file(first), "first defined here")
        .hint("report this to the owner of the catalog")
}

fn no_package(wanted: &str, others: &BTreeSet<String>) -> Fatal {
    let names: Vec<&str> = others.iter().map(String::as_str).collect();
    let hint = match suggest::alike(wanted, &names).as_slice() {
        [] if names.len() <= 20 => suggest::hint(wanted, &names, "packages"),
        [] => format!("the catalog has {} packages, none with a similar name", names.len()),
        [near] => format!("did you mean `{near}`?"),
        several => format!("did you mean one of `{}`?", several.join("`, `")),
    };
    failure(Code::PackageNotFound, format!("the package `{wanted}` is not in the catalog"), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads files `(path, text)` with a limit of kept bytes.
    fn read(files: &[(String, &str)], kept_bytes: u64) -> Result<Contents, String> {
        let limits = Limits { kept_bytes, ..Limits::default() };
        let mut reading = Reading::new("lamp", &limits);
        for (path, text) in files {
            let mut content = text.as_bytes();
            reading.visit(path, Item::File(&mut content)).map_err(|error| error.to_string())?;
        }
        let mut diagnostics = Diagnostics::new();
        let contents = reading.finish(&mut diagnostics);
        diagnostics
            .report(contents)
            .ok_or_else(|| diagnostics.iter().map(|found| found.message.clone() + "\n").collect())
    }

    const PACKAGE: &str = r#"{"schema": "olm.package", "name": "lamp"}"#;
    const OTHER: &str = r#"{"schema": "olm.package", "name": "lantern"}"#;

    #[test]
    fn files_come_in_any_order_and_replace_each_other() {
        let file = |path: &str, text| (path.to_owned(), text);
        let ignore = file("a/.indexignore", "*.md\n");
        let readme = file("a/README.md", "{");
        let good = file("a/index.json", PACKAGE);
        for files in
            [[ignore.clone(), readme.clone(), good.clone()], [good.clone(), readme, ignore]]
        {
            assert!(read(&files, 1 << 20).is_ok());
        }
        assert!(read(&[file("a/index.json", "{"), good.clone()], 1 << 20).is_ok());
        assert!(read(&[good, file("b", PACKAGE)], 1 << 20).unwrap_err().contains("twice"));
        let missing = read(&[file("b", OTHER)], 1 << 20).unwrap_err();
        assert_eq!(missing, "the package `lamp` is not in the catalog\n");
    }

    #[test]
    fn what_is_kept_and_what_is_wrong_have_a_limit() {
        let many = |text| (0..200).map(|n| (format!("{n}.json"), text)).collect::<Vec<_>>();
        assert!(read(&many(OTHER), 50_000).unwrap_err().contains("is not in the catalog"));
        let found = read(&many("{"), 1 << 20).unwrap_err();
        assert!(found.contains("180 more errors"), "{found}");
        assert!(read(&many("{"), 50_000).unwrap_err().contains("exceed"));
        assert!(read(&many(PACKAGE), 10_000).unwrap_err().contains("exceed"));
    }
}
