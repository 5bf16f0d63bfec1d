//! Requests for every resource that a server has, and for those that rules name.

use crate::control_plane::{Answer, Client};
use crate::grants::Grant;
use serde_json::{Value as Json, json};
use std::fmt;

/// Verbs that are requests. Others (`approve`, `bind`, `impersonate`) are asked about within some.
const VERBS: [&str; 8] =
    ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// A resource, or a subresource of one.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) group: String,
    version: String,
    kind: String,
    /// `deployments` or `deployments/status`.
    pub(crate) resource: String,
    namespaced: bool,
    pub(crate) verbs: Vec<String>,
}

/// The scope of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A namespace.
    Namespace(String),
    /// All namespaces, or objects outside of them.
    Cluster,
}

/// A request that changes nothing.
pub(crate) struct Request {
    method: &'static str,
    path: String,
    body: Option<Json>,
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.resource, self.group)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Namespace(name) => formatter.write_str(name),
            Place::Cluster => formatter.write_str("the cluster"),
        }
    }
}

impl Request {
    pub(crate) fn send(&self, client: &Client) -> Answer {
        client.send(self.method, &self.path, self.body.as_ref())
    }
}

impl Target {
    /// A resource as rules name it, of a version that a server may not have: it asks for
    /// permissions before it looks.
    pub(crate) fn of(group: &str, resource: &str) -> Self {
        Target {
            group: group.to_owned(),
            version: "v1".to_owned(),
            kind: "Unknown".to_owned(),
            resource: resource.to_owned(),
            namespaced: true,
            verbs: VERBS.map(str::to_owned).to_vec(),
        }
    }

    /// Scopes of objects: each of these namespaces, or in none.
    pub(crate) fn places(&self, namespaces: &[&str]) -> Vec<Place> {
        let mut places = vec![Place::Cluster];
        if self.namespaced {
            for namespace in namespaces {
                let place = Place::Namespace((*namespace).to_owned());
                if !places.contains(&place) {
                    places.push(place);
                }
            }
        }
        places
    }

    /// The request with this verb; nothing for verbs that do not go there.
    pub(crate) fn request(&self, verb: &str, place: &Place, name: &str) -> Option<Request> {
        let (resource, sub) = match self.resource.split_once('/') {
            Some((resource, sub)) => (resource, Some(sub)),
            None => (&*self.resource, None),
        };
        let collection = matches!(verb, "create" | "deletecollection" | "list" | "watch");
        // Objects in a namespace are reached through it, and so are subresources.
        if self.namespaced && *place == Place::Cluster && (!matches!(verb, "list" | "watch")) {
            return None;
        }
        if sub.is_some() && matches!(verb, "deletecollection" | "list" | "watch") {
            return None;
        }

        let root = match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        };
        let mut path = match place {
            Place::Namespace(namespace) => format!("{root}/namespaces/{namespace}/{resource}"),
            Place::Cluster => format!("{root}/{resource}"),
        };
        if !collection || sub.is_some() {
            path = format!("{path}/{name}");
        }
        if let Some(sub) = sub {
            path = format!("{path}/{sub}");
        }
        let version = path.split('/').skip(2).take(if self.group.is_empty() { 1 } else { 2 });
        let mut object = json!({
            "apiVersion": version.collect::<Vec<_>>().join("/"),
            "kind": self.kind,
            "metadata": { "name": name },
        });
        if let Place::Namespace(namespace) = place {
            object["metadata"]["namespace"] = json!(namespace);
        }
        let (method, query, body) = match verb {
            "get" => ("GET", "", None),
            "list" => ("GET", "?limit=1", None),
            "watch" => ("GET", "?watch=1&timeoutSeconds=1", None),
            "create" => ("POST", "?dryRun=All", Some(object)),
            "update" => ("PUT", "?dryRun=All", Some(object)),
            "patch" => ("PATCH", "?dryRun=All", Some(json!({}))),
            "delete" | "deletecollection" => ("DELETE", "?dryRun=All", None),
            _ => return None,
        };
        Some(Request { method, path: format!("{path}{query}"), body })
    }
}

/// All resources of a server, in the version that it prefers.
pub(crate) fn discover(client: &Client) -> Vec<Target> {
    let mut found = resources(client, "", "v1", "/api/v1");
    for group in client.get("/apis").body["groups"].as_array().expect("groups") {
        let name = group["name"].as_str().expect("a name");
        let version = group["preferredVersion"]["version"].as_str().expect("a version");
        found.extend(resources(client, name, version, &format!("/apis/{name}/{version}")));
    }
    found
}

fn resources(client: &Client, group: &str, version: &str, path: &str) -> Vec<Target> {
    let answer = client.get(path);
    // An API that an operator would serve does not answer.
    let resources = answer.body["resources"].as_array().cloned().unwrap_or_default();
    let target = |resource: &Json| {
        let text = |key: &str| resource[key].as_str().unwrap_or_default().to_owned();
        let verbs = resource["verbs"].as_array().expect("verbs").iter();
        Target {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: text("kind"),
            resource: text("name"),
            namespaced: resource["namespaced"] == true,
            verbs: verbs.filter_map(Json::as_str).map(str::to_owned).collect(),
        }
    };
    resources.iter().map(target).collect()
}

/// Resources that rules name and the server does not have, which it allows and refuses all the same.
pub(crate) fn mentioned(grants: &[Grant], known: &[Target]) -> Vec<Target> {
    let mut found: Vec<Target> = Vec::new();
    for (group, resource) in grants.iter().flat_map(Grant::resources) {
        let is = |t: &Target| t.group == group && t.resource == resource;
        if !resource.contains('*') && group != "*" && !known.iter().chain(&found).any(is) {
            found.push(Target::of(&group, &resource));
        }
    }
    found
}
