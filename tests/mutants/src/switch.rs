
/// Returns true if the mutant is selected by `MUTANT`. With `MUTANTS_REACHED`, the numbers of all
/// mutants whose places are reached are appended to that file.
#[doc(hidden)]
#[allow(clippy::all, clippy::pedantic, clippy::disallowed_methods, missing_docs)]
pub fn __mutant(id: usize) -> bool {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    static SELECTED: OnceLock<(Option<usize>, Option<std::ffi::OsString>)> = OnceLock::new();
    static REACHED: [AtomicBool; NUMBER_OF_MUTANTS] =
        [const { AtomicBool::new(false) }; NUMBER_OF_MUTANTS];
    let (selected, reached) = SELECTED.get_or_init(|| {
        let selected = std::env::var("MUTANT").ok().and_then(|id| id.parse().ok());
        (selected, std::env::var_os("MUTANTS_REACHED"))
    });
    if let Some(path) = reached {
        if !REACHED[id].swap(true, Relaxed) {
            use std::io::Write as _;
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            let _ = file.and_then(|mut file| file.write_all(format!("{id}\n").as_bytes()));
        }
    }
    *selected == Some(id)
}
