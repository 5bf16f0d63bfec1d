//! `[output]`: the directory of charts.

use super::*;

table! {
    /// Output directory settings.
    #[derive(PartialEq, Eq)]
    pub struct Output at "[output]" {
        /// Directory for the charts, relative to this file; it must not contain this file. Default:
        /// `out`.
        dir: Directory = Output::default().dir;
        /// `versioned` (default): DIR/CHART/VERSION, keeps all versions. `flat`: DIR/CHART, one
        /// version at a time.
        layout: Layout;
        /// Number of versions of each chart, including the built one. A build removes earlier
        /// versions above it, only directories that it wrote. Default: all versions are kept.
        keep: Option<Integer<1, 1_000>>;
    }
}

choices! {
    /// The layout of charts in the output directory.
    pub enum Layout {
        /// `out/<chart>/<version>/`: versions live side by side.
        Versioned = "versioned",
        /// `out/<chart>/`: one version at a time.
        Flat = "flat",
    }
}

impl Default for Output {
    fn default() -> Self {
        Output { dir: PathBuf::from("out"), layout: Layout::default(), keep: None }
    }
}

/// The output directory, relative to the configuration, without `.` and redundant `..`.
pub struct Directory;

impl Form for Directory {
    type Value = PathBuf;
    const KIND: Kind = Kind::String(None);

    fn read(reader: &mut Reader<'_>, key: &Key, value: &Node<'_>) -> Option<PathBuf> {
        let text = value.get_ref().as_str()?;
        let path = Path::new(text);
        // No shell expands `~` here: it would be a directory of this name.
        let is_absolute = path.has_root() || text.starts_with('~');
        let absolute = || {
            let message = "`dir` is not a relative path, so it differs between machines";
            let hint = "write a relative path such as `out`, or use `--out` on the command line";
            is_absolute.then(|| (message.to_owned(), hint.to_owned()))
        };
        let fault = Filled::fault(key, text).or_else(absolute);
        let dir = reader.valid(value, fault.map_or_else(|| Ok(plain(path)), Err))?;

        // Also true for `.`, of which no component is left.
        let upwards = dir.components().all(|component| component == Component::ParentDir);
        if upwards || plain(reader.base).starts_with(plain(&reader.base.join(&dir))) {
            reader.error(
                Code::OverlappingOutput,
                &value.span(),
                "the output directory contains this configuration",
                "use a separate directory, such as `out`: charts in the output directory are \
                    written, replaced and deleted",
            );
            return None;
        }
        Some(dir)
    }
}
