use super::*;

/// A comparison with one path in one of its lists.
fn with(list: fn(&mut Comparison) -> &mut Vec<PathBuf>) -> Comparison {
    let mut comparison = Comparison::default();
    list(&mut comparison).push(PathBuf::from("b"));
    comparison
}

#[test]
fn every_list_is_a_difference() {
    assert!(Comparison::default().is_current());
    let lists: [fn(&mut Comparison) -> &mut Vec<PathBuf>; 4] =
        [|it| &mut it.missing, |it| &mut it.stale, |it| &mut it.extra, |it| &mut it.foreign];
    for list in lists {
        let mut comparison = with(list);
        assert!(!comparison.is_current());

        let mut more = with(list);
        *list(&mut more) = vec![PathBuf::from("a"), PathBuf::from("c")];
        let refusal = |text: &str| Some(text.to_owned());
        comparison.append(Comparison { needs_replace: true, refusal: refusal("a"), ..more });
        assert_eq!(list(&mut comparison).as_slice(), ["a", "b", "c"].map(PathBuf::from));
        assert!(comparison.needs_replace);
        comparison.append(Comparison { refusal: refusal("b"), ..Comparison::default() });
        assert!(comparison.needs_replace);
        assert_eq!(comparison.refusal, refusal("a"));
    }
}
