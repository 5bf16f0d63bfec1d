//! The types of a ClusterServiceVersion, which only check: OLM decodes all of its fields, also those
//! that do not matter to a chart.
//!
//! OLM: operator-framework/api, pkg/operators/v1alpha1.

use k8s_openapi::api::admissionregistration::v1::RuleWithOperations;
use k8s_openapi::api::apps::v1::DeploymentSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Defines structs whose fields are named as in JSON and may be missing.
macro_rules! types {
    ($($(#[$about:meta])* $name:ident { $($field:ident: $type:ty,)* })*) => {$(
        $(#[$about])*
        #[derive(Deserialize, Serialize)]
        #[allow(non_snake_case, reason = "as in JSON, where it is not one word")]
        pub(super) struct $name {
            $($field: Option<$type>,)*
        }

        impl $name {
            #[allow(dead_code, reason = "asked for webhooks only")]
            pub(super) const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];
        }
    )*};
}

type Texts = Vec<String>;
type TextMap = BTreeMap<String, String>;

types! {
    /// The whole object.
    Csv { metadata: ObjectMeta, spec: Spec, }
    Spec {
        install: Install,
        version: String,
        maturity: String,
        customresourcedefinitions: Definitions,
        apiservicedefinitions: Definitions,
        webhookdefinitions: Vec<Webhook>,
        nativeAPIs: Vec<Reference>,
        minKubeVersion: String,
        displayName: String,
        description: String,
        keywords: Texts,
        maintainers: Vec<Named>,
        provider: Named,
        links: Vec<Named>,
        icon: Vec<Icon>,
        installModes: Vec<Mode>,
        replaces: String,
        labels: TextMap,
        annotations: TextMap,
        selector: LabelSelector,
        cleanup: Cleanup,
        skips: Texts,
        relatedImages: Vec<Named>,
    }
    Install { strategy: String, spec: Strategy, }
    Strategy {
        deployments: Vec<Deployment>,
        permissions: Vec<Permissions>,
        clusterPermissions: Vec<Permissions>,
    }
    Deployment { name: String, label: TextMap, spec: DeploymentSpec, }
    /// Its rules are checked as those of the roles that have them.
    Permissions { serviceAccountName: String, rules: Vec<Json>, }
    Definitions { owned: Vec<Definition>, required: Vec<Definition>, }
    /// A CRD or an APIService.
    Definition {
        name: String,
        group: String,
        version: String,
        kind: String,
        deploymentName: String,
        containerPort: i32,
        displayName: String,
        description: String,
        resources: Vec<Reference>,
        statusDescriptors: Vec<Descriptor>,
        specDescriptors: Vec<Descriptor>,
        actionDescriptors: Vec<Descriptor>,
    }
    Descriptor { path: String, displayName: String, description: String, }
    Webhook {
        generateName: String,
        r#type: String,
        deploymentName: String,
        containerPort: i32,
        targetPort: IntOrString,
        rules: Vec<RuleWithOperations>,
        failurePolicy: String,
        matchPolicy: String,
        objectSelector: LabelSelector,
        sideEffects: String,
        timeoutSeconds: i32,
        admissionReviewVersions: Texts,
        reinvocationPolicy: String,
        webhookPath: String,
        conversionCRDs: Texts,
    }
    /// A reference to a resource or a kind.
    Reference { name: String, group: String, version: String, kind: String, }
    /// A maintainer, provider, link or image.
    Named { name: String, email: String, url: String, image: String, }
    Icon { base64data: String, mediatype: String, }
    Mode { r#type: String, supported: bool, }
    Cleanup { enabled: bool, }
}
