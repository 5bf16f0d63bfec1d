use super::*;

#[test]
fn templates_and_crds_are_counted() {
    for (paths, expected) in [
        (&[] as &[&str], (0, 0)),
        (&["Chart.yaml", "values.yaml", "README.md", "templates/NOTES.txt"], (0, 0)),
        (&["templates/a.yaml", "templates/b/c.yaml"], (2, 0)),
        (&["templates/customresourcedefinition-a.yaml", "templates/a.yaml"], (1, 1)),
        (&["crds/a.yaml", "crds/README.md"], (0, 1)),
        (&["charts/crds/crds/a.yaml", "charts/crds/Chart.yaml"], (0, 1)),
        (&["charts/crds/templates/a.yaml", "charts/crds/templates/b.yaml"], (0, 2)),
    ] {
        let files = paths.iter().map(|path| ((*path).to_owned(), Vec::new())).collect();
        let chart = ChartFiles { dir: "lamp/1.0.0".into(), version: "1.0.0".to_owned(), files };
        assert_eq!((chart.counts(), chart.name()), (expected, "lamp"), "{paths:?}");
    }
}
