//! Diagnostics as SARIF 2.1.0, for code scanning services.

use super::json::known;
use super::location::Locate;
use super::{Code, Diagnostic, Diagnostics, Place};
use crate::escape;
use serde_json::{Value, json};

/// Returns a SARIF log with one run, pretty-printed; its rules are all diagnostic codes. Results
/// are at the places that `locate` finds.
pub fn render(diagnostics: &Diagnostics, locate: &Locate<'_>) -> String {
    let rules: Vec<Value> = Code::ALL
        .iter()
        .map(|code| {
            let known = code.explanation();
            json!({
                "id": known.code,
                "shortDescription": { "text": known.title },
                "fullDescription": { "text": known.explanation },
                "defaultConfiguration": { "level": known.level },
                "properties": { "tags": [known.area] },
            })
        })
        .collect();
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "bundle2chart",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            // As `Location` counts them; the other kind is UTF-16 code units.
            "columnKind": "unicodeCodePoints",
            "results": diagnostics.iter().map(|found| result(found, locate)).collect::<Vec<_>>(),
        }],
    });
    // `{:#}` of a JSON value is its pretty-printed form.
    escape::json(&format!("{log:#}\n")).into_owned()
}

fn result(diagnostic: &Diagnostic, locate: &Locate<'_>) -> Value {
    let in_bundle = |text: &str, place: &Place| match locate(place).inside {
        Some(inside) => format!("{text}\nin: {inside}"),
        None => text.to_owned(),
    };
    let mut message = in_bundle(&diagnostic.message, &diagnostic.place);
    if let Some(hint) = &diagnostic.hint {
        message.push_str(&format!("\nhint: {hint}"));
    }
    let related = diagnostic.related.iter().filter_map(|(place, why)| {
        let mut location = location(place, locate)?;
        location["message"] = json!({ "text": in_bundle(why, place) });
        Some(location)
    });

    known(json!({
        "ruleId": diagnostic.code.as_str(),
        // All codes are rules of the log, in this order.
        "ruleIndex": Code::ALL.iter().position(|code| *code == diagnostic.code),
        "level": diagnostic.severity.as_str(),
        "message": { "text": message },
        "locations": location(&diagnostic.place, locate).as_slice(),
        "relatedLocations": related.collect::<Vec<_>>(),
    }))
}

fn location(place: &Place, locate: &Locate<'_>) -> Option<Value> {
    let at = locate(place);
    let region = known(json!({
        "startLine": at.line,
        "startColumn": at.column,
        "endLine": at.end_line,
        "endColumn": at.end_column,
    }));
    let physical = known(json!({
        "artifactLocation": at.file.as_ref().map(|file| json!({ "uri": uri(file) })),
        // A region must begin with a line.
        "region": at.file.as_ref().and(at.line).map(|_| region),
    }));
    let logical: Vec<Value> =
        // The kinds that SARIF suggests for code and JSON, because it has none for bundles and
        // objects.
        [("module", &place.bundle), ("object", &place.object), ("member", &place.path)]
            .into_iter()
            .filter_map(|(kind, name)| Some(json!({ "name": name.as_ref()?, "kind": kind })))
            .collect();
    let location = known(json!({ "physicalLocation": physical, "logicalLocations": logical }));
    Some(location).filter(|location| *location != json!({}))
}

/// Returns `file` as a URI reference: everything but unreserved characters and `/` is encoded
/// (RFC 3986, section 2). A file outside of the repository is an absolute URI (SARIF 2.1.0, 3.4.3).
fn uri(file: &str) -> String {
    let start = if file.starts_with('/') { "file://" } else { "" };
    start.to_owned() + &escape::percent(&file.replace('\\', "/"), b"-._~/")
}

#[cfg(test)]
mod tests {
    use super::super::{Code, Location, sample};
    use serde_json::Value;

    #[test]
    fn a_log_with_rules_and_results() {
        let log: Value = serde_json::from_str(&super::render(&sample::diagnostics(), &|place| {
            Location::from(place)
        }))
        .unwrap();
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        assert_eq!(rules.len(), Code::ALL.len());
        // Indices move with every new code, so they are not in the snapshot.
        let mut results = run["results"].clone();
        for result in results.as_array_mut().unwrap() {
            let index = result.as_object_mut().unwrap().shift_remove("ruleIndex").unwrap();
            let index = usize::try_from(index.as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
        }
        insta::assert_snapshot!(format!("{results:#}"), @r#"
        [
          {
            "ruleId": "duplicate-name",
            "level": "error",
            "message": {
              "text": "two bundles have the name `über`\nhint: give each its own"
            },
            "locations": [
              {
                "physicalLocation": {
                  "artifactLocation": {
                    "uri": "bundles.toml"
                  },
                  "region": {
                    "startLine": 5,
                    "startColumn": 8,
                    "endLine": 5,
                    "endColumn": 14
                  }
                }
              }
            ],
            "relatedLocations": [
              {
                "physicalLocation": {
                  "artifactLocation": {
                    "uri": "bundles.toml"
                  },
                  "region": {
                    "startLine": 2,
                    "startColumn": 8,
                    "endLine": 2,
                    "endColumn": 14
                  }
                },
                "message": {
                  "text": "the first one"
                }
              }
            ]
          },
          {
            "ruleId": "wrong-type",
            "level": "error",
            "message": {
              "text": "this range has several lines"
            },
            "locations": [
              {
                "physicalLocation": {
                  "artifactLocation": {
                    "uri": "bundles.toml"
                  },
                  "region": {
                    "startLine": 6,
                    "startColumn": 11,
                    "endLine": 8,
                    "endColumn": 2
                  }
                }
              }
            ]
          },
          {
            "ruleId": "filter-failed",
            "level": "warning",
            "message": {
              "text": "100% of it fails,\nin two lines"
            },
            "locations": [
              {
                "physicalLocation": {
                  "artifactLocation": {
                    "uri": "manifests/role%3A%20a.yaml"
                  },
                  "region": {
                    "startLine": 14,
                    "startColumn": 3
                  }
                },
                "logicalLocations": [
                  {
                    "name": "lws",
                    "kind": "module"
                  },
                  {
                    "name": "Role/a",
                    "kind": "object"
                  },
                  {
                    "name": ".rules[0].verbs",
                    "kind": "member"
                  }
                ]
              }
            ],
            "relatedLocations": [
              {
                "physicalLocation": {
                  "artifactLocation": {
                    "uri": "manifests/b.yaml"
                  }
                },
                "logicalLocations": [
                  {
                    "name": "Role/b",
                    "kind": "object"
                  }
                ],
                "message": {
                  "text": "here \u001b[31mtoo"
                }
              }
            ]
          },
          {
            "ruleId": "unused-setting",
            "level": "note",
            "message": {
              "text": "the place is unknown"
            }
          },
          {
            "ruleId": "config-unreadable",
            "level": "note",
            "message": {
              "text": "only the file is known\nhint: look into it\nwith two lines"
            },
            "locations": [
              {
                "physicalLocation": {
                  "artifactLocation": {
                    "uri": "bundles.toml"
                  }
                }
              }
            ]
          }
        ]
        "#);
    }

    #[test]
    fn names_of_files_become_uris() {
        assert_eq!(super::uri("a b/é:%.yaml"), "a%20b/%C3%A9%3A%25.yaml");
        assert_eq!(super::uri("charts\\a.yaml"), "charts/a.yaml");
    }
}
