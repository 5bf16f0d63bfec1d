//! The closed list of diagnostic codes.

/// Declares [`Code`]: a variant, its kebab-case name, one line of description, and the text that
/// `bundle2chart explain` shows.
macro_rules! codes {
    ($($(#[$section:meta])* $variant:ident $name:literal $description:literal $explanation:literal;)*) => {
        /// The kind of a diagnostic. Codes are stable: they are never reused for something else.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $description] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$variant),*];

            /// The kebab-case name.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $name),* }
            }

            /// What it means, in one line.
            pub fn description(self) -> &'static str {
                match self { $(Code::$variant => $description),* }
            }

            /// Why it matters and what to do, in a paragraph.
            pub fn explanation(self) -> &'static str {
                match self { $(Code::$variant => $explanation),* }
            }
        }
    };
}

codes! {
    // --- config: bundles.toml -------------------------------------------------------------
    ConfigUnreadable "config-unreadable"
        "The configuration file cannot be read."
        "bundle2chart reads `bundles.toml` in the working folder, or the file named with `-c`. It must exist and be UTF-8 text.";
    ConfigSyntax "config-syntax"
        "The configuration file is not valid TOML."
        "The excerpt shows where the TOML reader stopped understanding the file. Nothing was built.";
    UnknownKey "unknown-key"
        "A table has a key that bundle2chart does not know."
        "An unknown key is usually a typing error, and ignoring it would silently change what is built. The hint names the nearest known key.";
    WrongType "wrong-type"
        "A key has a value of the wrong type."
        "The message says which type is expected and which one was found.";
    MissingKey "missing-key"
        "A required key is missing."
        "The table named in the message cannot be understood without this key.";
    InvalidValue "invalid-value"
        "A key has a value that is of the right type but not allowed."
        "The message says what is allowed.";
    DuplicateName "duplicate-name"
        "Two bundles have the same name."
        "The name of a bundle is the name of its chart, so it must be unique in bundles.toml.";
    OverlappingOutput "overlapping-output"
        "Two bundles, or a bundle and the configuration, would write to the same place."
        "Each chart owns its folder; charts cannot be nested in each other.";
    InvalidFilter "invalid-filter"
        "A jq filter does not compile."
        "The excerpt marks the position inside the filter where the jq reader stopped.";
    RefusedFilter "refused-filter"
        "A jq program uses something other than the object."
        "All of jq is available that sees one object and answers. What reads the environment, the clock, the time zone, files or other input (`env`, `$ENV`, `now`, `localtime`, `input`, `import`), or writes to stderr or ends the process (`debug`, `stderr`, `halt`), is not: the same bundle and the same configuration must give the same chart everywhere. Very long and very deeply nested programs are refused as well.";
    RequiredVersion "required-version"
        "This bundle2chart is not the version that the configuration requires."
        "`required-version` in bundles.toml names the versions of bundle2chart that may build it. Install one of these, or change the requirement.";

    // --- passes: filters ------------------------------------------------------------------
    FilterFailed "filter-failed"
        "A jq filter failed on an object, or gives something other than a condition."
        "An output of a filter is `true`, `false`, `null`, or the object itself, which `select` gives; a filter without output is false, and one with several outputs is true when any of them is. Anything else, such as the text of `exclude = ['\"Route\"']`, is probably not what was meant: write `.kind == \"Route\"`, and for a field that is set `.spec.replicas != null`. A filter that fails is neither true nor false. The build stops rather than guess; use `?` or `//` in the filter to say what a missing field means.";
    FilterBudget "filter-budget"
        "A jq program took too many steps, or too much processor time or memory."
        "A program may take 50 million steps for one object, 10 s of processor time, and 1 GiB of memory, which is far more than any condition on an object needs. What takes more usually has no end, or doubles a value with each step. Nothing is written.";
    FilteredOut "filtered-out"
        "Filters leave nothing of a bundle, or none of its Deployments or CRDs."
        "Filters that leave nothing are an error, because such a chart would install nothing. That no Deployment or no CRD is left where the bundle has some is a warning, because CRDs are sometimes installed by other means. `exclude = ['true']` excludes everything; a kind is excluded by `.kind == \"Route\"`.";
    UnusedFilter "unused-filter"
        "A jq filter matched no object."
        "The filter may be misspelt, or the bundle no longer ships what it was written for.";

    // --- bundle: manifests and metadata -----------------------------------------------------
    AnnotationsMissing "annotations-missing"
        "The file metadata/annotations.yaml is missing or has no usable `annotations` map."
        "The file names the package and the folders of a bundle. A folder or image without it is not a registry+v1 bundle.";
    UnsupportedMediaType "unsupported-media-type"
        "The bundle is not of media type registry+v1."
        "Bundles may also hold Helm charts or plain manifests. Those need no compiler.";
    PackageNameEmpty "package-name-empty"
        "The bundle does not name its package."
        "OLM refuses such a bundle as well. The package name is an annotation in metadata/annotations.yaml.";
    CsvMissing "csv-missing"
        "The bundle has no ClusterServiceVersion."
        "The ClusterServiceVersion says what to install. It is recognised by its kind alone, in any file of the manifests folder.";
    SeveralCsvs "several-csvs"
        "The bundle has more than one ClusterServiceVersion."
        "OLM v1 silently takes the last one in file order and OLM v0 the first. bundle2chart does not guess.";
    CsvFieldType "csv-field-type"
        "A field of the ClusterServiceVersion has the wrong type."
        "OLM reads the field with the Kubernetes API's types and would fail on it too. The JSON path says which one.";
    UnsupportedStrategy "unsupported-strategy"
        "The ClusterServiceVersion uses an install strategy other than `deployment`."
        "OLM knows no other strategy.";
    NotUtf8 "not-utf8"
        "A manifest is not UTF-8 text."
        "Kubernetes reads manifests as UTF-8. Files in UTF-16 or Latin-1 must be converted.";
    ByteOrderMark "byte-order-mark"
        "A manifest begins with a byte order mark."
        "It is skipped, as Kubernetes' reader does.";
    CarriageReturns "carriage-returns"
        "A manifest has Windows line ends."
        "YAML reads them as plain line ends, so they do not reach the chart.";
    ManifestSyntax "manifest-syntax"
        "A manifest is not valid YAML or JSON."
        "Every file of the manifests folder is read, whatever its extension, as OLM does.";
    ManifestLimit "manifest-limit"
        "A manifest is too large, too deep, or repeats itself through aliases without end."
        "The limits stop hostile files from exhausting the machine; they are far above every real bundle.";
    NotAnObject "not-an-object"
        "A document of a manifest is not a Kubernetes object with apiVersion, kind and metadata.name."
        "OLM refuses the bundle as well.";
    DuplicateKey "duplicate-key"
        "A map in a manifest has the same key twice."
        "Kubernetes' reader takes the last one, and so does bundle2chart. That is seldom what the author meant.";

    // --- olm: from the ClusterServiceVersion to objects -------------------------------------
    InvalidName "invalid-name"
        "A name is not one that Kubernetes accepts."
        "The API server would refuse the object.";
    DuplicateDeployment "duplicate-deployment"
        "The ClusterServiceVersion has two strategy deployments of the same name."
        "Only one of them could exist in a cluster. OLM refuses the bundle as well.";
    DuplicateCrd "duplicate-crd"
        "The bundle has the same CustomResourceDefinition twice."
        "OLM refuses the bundle as well.";
    OwnedCrdMissing "owned-crd-missing"
        "The ClusterServiceVersion owns a CustomResourceDefinition that the bundle does not hold."
        "The operator would wait for it forever. OLM refuses the bundle as well.";
    CrdApiVersion "crd-api-version"
        "A CustomResourceDefinition is not apiextensions.k8s.io/v1, or has no versions."
        "Kubernetes 1.22 removed v1beta1. OLM v1 reads such a CRD as one without versions; bundle2chart refuses it.";
    InstallModeUnsupported "install-mode-unsupported"
        "The operator does not support watching the wanted namespaces."
        "The install modes in the ClusterServiceVersion say which namespaces an operator can watch: its own, one other, several, or all. `watch` in bundles.toml must be one of those.";

    // --- passes: objects on their way into a chart ------------------------------------------
    UnsupportedKind "unsupported-kind"
        "The bundle ships an object of a kind that registry+v1 does not allow."
        "OLM refuses such a bundle. Where the object is not needed off OpenShift, exclude it with a filter.";
    DuplicateObject "duplicate-object"
        "Two objects of a chart have the same kind, namespace and name."
        "The second would overwrite the first in the cluster. Exclude one of them.";
    NamespaceLiteral "namespace-literal"
        "An object names the operator's namespace in a place that is not rewritten."
        "Namespaces are rewritten where their meaning is known: metadata, subjects, conversion webhooks and service hosts. In free text bundle2chart does not guess.";

    // --- pipeline ---------------------------------------------------------------------------
    UnknownBundle "unknown-bundle"
        "The command line names a bundle that the configuration does not have."
        "Names after `build` are those of [[bundle]] tables.";
    InvalidVersion "invalid-version"
        "The version of the ClusterServiceVersion cannot be the version of a chart."
        "Helm charts have semantic versions. Set `chart-version` for the bundle.";

    // --- output: the output folder ------------------------------------------------------------
    ChartVersionExists "chart-version-exists"
        "A chart of this version exists with other content."
        "What is under a chart version must not change: somebody may have installed it, and Helm and Argo CD take two charts of one version for the same. Raise `chart-version` of the bundle in bundles.toml, so that the new content gets a version of its own. `--replace` replaces the old content; use it only where nobody has the old chart.";
    ChartEdited "chart-edited"
        "Files of a chart that bundle2chart wrote were edited by hand."
        "Every chart folder has a `.bundle2chart` file with the SHA-256 of each file. A file whose content is another one has been edited, and writing the chart would lose the edit. Declare the change in bundles.toml (for example as an overlay), or let `--replace` discard it.";
    NotOurs "not-ours"
        "The folder of a chart exists and was not written by bundle2chart."
        "bundle2chart changes a chart folder only when it holds the `.bundle2chart` file that bundle2chart put there. Move the folder away, or give the bundle another name or another output folder.";
    ForeignFile "foreign-file"
        "A chart folder holds a file that bundle2chart did not write."
        "Helm packages whatever is in a chart folder, so such a file would become part of the chart without anybody having declared it, and the next version of the chart would not have it. Nothing is written until it is moved out or declared in bundles.toml, for example as an overlay.";
    OwnershipFile "ownership-file"
        "The `.bundle2chart` file of a chart folder cannot be understood."
        "This file says which files of the folder bundle2chart owns; without it, bundle2chart does not touch the folder. Damage often comes from a merge conflict: restore the file from Git, or delete the whole chart folder and build again.";
    LayoutChanged "layout-changed"
        "The output folder holds charts of the other layout."
        "With the versioned layout a chart is in `out/NAME/VERSION`, with the flat layout in `out/NAME`. A chart cannot be inside another one, so after a change of layout the old charts have to be moved or deleted, or another output folder be used.";
    OrphanChart "orphan-chart"
        "The output folder holds a chart that is no longer configured."
        "The folder was written by bundle2chart, and no `[[bundle]]` has its name any more. It is kept, because only a person can know whether it is still in use. Delete it when it is not.";
    ChartPath "chart-path"
        "A chart, or a file in it, has a path that cannot be written."
        "Paths are relative and `/`-separated, without empty segments, `.`, `..`, backslashes and control characters; a chart cannot be inside another one, and a path cannot be a file and a folder at once.";
    OutputBusy "output-busy"
        "Another build is writing to the output folder."
        "Builds into one output folder take turns, so that it is always the result of one build. Wait for the other one; the lock ends with its process, also when it is killed.";
    OutputUnsuitable "output-unsuitable"
        "The output folder, or a chart in it, cannot be replaced."
        "Each chart folder is replaced in one step, so that nobody ever sees half of a chart. That is not possible when the output folder is a file, or when the chart folder holds the working directory.";
    OutputFailed "output-failed"
        "The operating system refused to read or write the output folder."
        "The message names the path and the cause. As an error it means that the output folder is as it was; as a warning, that the new output is complete and something of the old is left in it, which the next build removes.";

    // --- source: folders, image layouts and tars ------------------------------------------
    InvalidReference "invalid-reference"
        "A reference to an image is malformed."
        "References are written in full: registry host, repository, and a tag or a digest, for example `registry.redhat.io/team/operator-bundle:1.0`. Short names are refused because what they mean depends on the machine.";
    SourceNotFound "source-not-found"
        "The path of a bundle or of a mirror does not exist."
        "Relative paths in bundles.toml start from its folder; on the command line, from the working folder.";
    SourceUnreadable "source-unreadable"
        "A file cannot be read."
        "The operating system refused to give the file; the message says why. Inside an image layout symbolic links are not followed.";
    UnknownSource "unknown-source"
        "A path names nothing that holds a bundle."
        "A path names a bundle folder, which has `manifests/` or `metadata/annotations.yaml`, an OCI image layout, which has `oci-layout`, a tar of either, or a Docker archive, which has `manifest.json`.";
    ImageNotFound "image-not-found"
        "An image layout does not have the image."
        "An image is found by its digest, or by the annotation `org.opencontainers.image.ref.name` in the layout's index.json: the full reference, the part of it after the mirror's prefix, or the bare tag where that is unambiguous. The hint lists what is there.";
    AmbiguousImage "ambiguous-image"
        "Several images of a layout fit."
        "Name the image in full, or pin it by digest, so that it is certain which one is built.";
    BareTag "bare-tag"
        "An image was found by its tag alone."
        "The layout names the image by tag only, so nothing says that it is the repository that was asked for. Copy the image under its full name, or make the mirror's `from` name the whole repository.";
    InvalidLayout "invalid-layout"
        "An image layout, index, manifest or configuration is malformed."
        "The document cannot be read as what it is said to be, or contradicts another one. Nothing of the image was used.";
    MissingBlob "missing-blob"
        "A part of an image is missing."
        "The layout's index leads to a blob that is not in the layout; the copy was probably interrupted.";
    BlobMismatch "blob-mismatch"
        "A part of an image is not what its descriptor says."
        "Every blob is checked against the size and the digest by which it is referred to, and every layer's content against the image's configuration. A difference means damage or tampering; nothing of the image was used.";
    UnknownMediaType "unknown-media-type"
        "A part of an image has a media type that a bundle image does not have."
        "Registries hold more than container images. A bundle is an OCI or Docker (schema 2) image whose layers are tars.";
    LayerType "layer-type"
        "A layer is compressed in another way than its media type says."
        "The layer was read as what it is, and its digest is right, but other tools may fail on it.";
    BrokenArchive "broken-archive"
        "A compressed file or tar cannot be read."
        "The file is cut short, has something after its end, or is not a tar at all.";
    SourceLimit "source-limit"
        "Reading a bundle would cost too much."
        "Layers, files, documents and their expansion have limits far above what bundles need, so that a hostile image cannot exhaust memory, disk or time.";
    UnexpectedEntry "unexpected-entry"
        "A bundle has something in its folders that may not be there."
        "The manifests and metadata folders hold regular files with plain names; the manifests folder has no folders in it, as OLM requires. Links, devices and paths with `..` are refused there, because what they mean depends on where they are unpacked.";
    NoManifests "no-manifests"
        "There is no bundle in the folder or image."
        "The manifests folder is the one that annotations.yaml names, else the one that the image's labels name, else `manifests`. It must have files.";
    FolderMismatch "folder-mismatch"
        "The image's labels and annotations.yaml name different folders."
        "The file annotations.yaml is authoritative, as it is to OLM, but other tools read the labels.";

    // --- source: registries, cache, lock -----------------------------------------------------
    RegistryUnreachable "registry-unreachable"
        "A registry cannot be reached, or the connection to it is not secure or breaks."
        "bundle2chart speaks HTTPS to registries, through the proxy that HTTPS_PROXY names. It tries again when a connection breaks, and goes on where a download broke off, as often as `retries` in `[network]` says. An authority of your own is named with `ca` in a `[[registry]]` table; plain HTTP must be asked for there.";
    RegistryDenied "registry-denied"
        "A registry wants credentials, or other ones."
        "Credentials are looked for where `podman login` and `docker login` leave them: the file that REGISTRY_AUTH_FILE names, else containers/auth.json, else Docker's config.json, with their credential helpers. Some registries say this also of images that do not exist.";
    RegistryFailed "registry-failed"
        "A registry answers with an error, or not as registries do."
        "Answers 429 and 5xx are tried again, when the registry says or after growing pauses, as often as `retries` in `[network]` says. Other errors are final. `-vv` shows every request.";
    UnsafeRedirect "unsafe-redirect"
        "A registry redirects to where no registry is looked for."
        "Redirects are followed to other hosts over HTTPS, without credentials. They are not followed to plain HTTP, to link-local addresses, where clouds hand out the credentials of machines, or to this machine, unless the registry is on it.";
    UnsafeRealm "unsafe-realm"
        "A registry sends clients for a token to a host that may not have the credentials."
        "Credentials are sent to the registry itself. If the registry's operator documents another host for tokens, name it with `auth-hosts` in a `[[registry]]` table. A token is never fetched over plain HTTP for a registry that speaks HTTPS.";
    InvalidCredentials "invalid-credentials"
        "A file of credentials or a credential helper cannot be used."
        "The message names the file or the program, and never what is in it. Log in again, or run the helper by hand.";
    CacheUnusable "cache-unusable"
        "The cache of blobs cannot be read or written."
        "Blobs are kept by digest in the folder that BUNDLE2CHART_CACHE names, else in `bundle2chart` in XDG_CACHE_HOME or `.cache` at home. It may be deleted at any time.";
    Offline "offline"
        "Something is not at hand, and the network may not be used."
        "With `--offline`, images come from folders, layouts and the cache only. Build once without it, or vendor the images.";
    LockInvalid "lock-invalid"
        "The lock file cannot be used."
        "`bundles.lock` is written by bundle2chart and belongs into Git beside bundles.toml. A conflict in it is best solved by taking one side and running `bundle2chart lock`.";
    LockStale "lock-stale"
        "The lock file does not cover the configuration, and may not be changed."
        "With `--locked`, as in a release pipeline, nothing may be built that is not locked. Run `bundle2chart lock` and commit bundles.lock.";
    PackageMismatch "package-mismatch"
        "A bundle is of another package than bundles.toml, the catalog or bundles.lock says."
        "A chart keeps its name, so another operator under the same name in bundles.toml would replace the first one on `helm upgrade`. `package` in a `[[bundle]]` says which package its image or path must hold; without it, that is the package in bundles.lock. For a bundle of a catalog, the package in its annotations must be the catalog's.";
    WatchChanged "watch-changed"
        "A new version of an operator would watch other namespaces, and bundles.toml does not say which."
        "Without `watch`, the install modes of the bundle decide: all namespaces where it supports AllNamespaces, else its own. A version that adds AllNamespaces would turn its Roles into ClusterRoles, with access to Secrets of all namespaces if they include any. bundles.lock records what was decided; another default stops the build until `watch` says which one is wanted. What `watch` says always holds.";
    // --- source: catalogs -----------------------------------------------------------------
    NotACatalog "not-a-catalog"
        "A source is not a file-based catalog."
        "A catalog is a folder of JSON and YAML files with objects such as olm.package, olm.channel and olm.bundle, or an image whose label operators.operatorframework.io.index.configs.v1 names such a folder.";
    CatalogInvalid "catalog-invalid"
        "An object of a catalog cannot be read."
        "Every file of a catalog's folder is read, whatever its name, unless `.indexignore` leaves it out. The objects of the wanted package must have the fields that OLM defines; those of other packages are skipped.";
    PackageNotFound "package-not-found"
        "A catalog does not have the package."
        "The hint names packages with similar names.";
    ChannelNotFound "channel-not-found"
        "A package does not have the channel."
        "Channels come and go with releases of an operator. Without `channel`, the package's default channel is taken.";
    VersionNotFound "version-not-found"
        "A channel does not have the version."
        "Versions are those that the bundles of the channel state about themselves, not what their names look like.";
    AmbiguousVersion "ambiguous-version"
        "Several bundles of a channel have the same version."
        "Nothing says which one is meant, so bundle2chart does not guess.";
    ChannelHead "channel-head"
        "A channel does not have exactly one head."
        "The head of a channel is the bundle that no other one replaces or skips. OLM refuses a catalog in which there are several or none.";
    Deprecated "deprecated"
        "The catalog calls a package, channel or bundle deprecated."
        "The message is the catalog's own. What is deprecated still works, but will not get fixes for long.";
    BundleIncomplete "bundle-incomplete"
        "A catalog does not say how to get a bundle."
        "A bundle of a catalog has an image, or all of its manifests as olm.bundle.object properties. Newer catalogs have only parts of the ClusterServiceVersion, from which nothing can be installed.";

    // --- images -----------------------------------------------------------------------------
    ImageNotPinned "image-not-pinned"
        "An image is named by a tag only."
        "A tag can mean another image tomorrow. Clusters without access to the registry pull from mirrors by digest, which do not serve tags.";
    ImageNotDeclared "image-not-declared"
        "A pod uses an image that the ClusterServiceVersion does not list."
        "Tools such as oc-mirror copy what `spec.relatedImages` lists. An image that is missing there is missing in the mirror, and the pod cannot start.";

    // --- dependencies -----------------------------------------------------------------------
    DependencyInvalid "dependency-invalid"
        "A dependency or property of a bundle cannot be read."
        "The files metadata/dependencies.yaml and metadata/properties.yaml, the annotation `olm.properties` and the required APIs of the ClusterServiceVersion have the fields and the ranges of versions that OLM defines.";
    DependencyMissing "dependency-missing"
        "A bundle needs a package or an API that no bundle of the configuration has."
        "OLM would install what is missing by itself. Here, add a bundle that has it and name that in `depends-on`. Where the cluster has it already, or gets it in another way, say so with `provided`. This is checked when the whole configuration is built.";
    DependencyOrder "dependency-order"
        "A bundle needs another one that its `depends-on` does not lead to."
        "Both are in the configuration, but nothing says that one must be installed before the other. `depends-on` also tells the reader of the chart.";
    DependencyNotChecked "dependency-not-checked"
        "A bundle has a constraint that only OLM can check."
        "Rules in CEL and labels are about the properties of all operators of a cluster. Look at the constraint, and see to it yourself.";
    UnusedProvided "unused-provided"
        "Something is said to be provided that no bundle needs."
        "The entry of `provided` may be misspelt, or the bundle no longer needs what it was written for.";
    // --- olm: what an operator serves -----------------------------------------------------
    ServerMissing "server-missing"
        "A webhook or an owned APIService names a Deployment that the ClusterServiceVersion does not have."
        "Nobody would answer the API server. OLM refuses the bundle as well. `deploymentName` is the name of an entry of the install strategy's deployments.";
    DuplicateWebhook "duplicate-webhook"
        "Two webhooks of one type have the same name, or two owned APIServices the same group and version."
        "The name is that of the object in the cluster, so only one of them could exist. OLM refuses the bundle as well.";
    ConversionWebhook "conversion-webhook"
        "A conversion webhook cannot work as it is declared."
        "A CRD is converted by one webhook, which must belong to an operator that owns the CRD and watches all namespaces, since a CRD is the same for the whole cluster; and the CRD must not preserve unknown fields. OLM refuses such a bundle as well.";
    ForbiddenRule "forbidden-rule"
        "An admission webhook wants to intercept what no operator may."
        "A webhook for every API group, or for webhook configurations themselves, could lock everybody out of a cluster, also those who would repair it. OLM refuses the bundle as well.";
    PortConflict "port-conflict"
        "Two definitions have one port of a Service lead to two target ports."
        "All webhooks and APIServices of a Deployment share a Service, whose ports are their `containerPort`s. One port of a Service leads to one target port.";
    ShippedService "shipped-service"
        "The bundle ships a Service that has the name of the one for its webhooks."
        "The Service of a Deployment with webhooks has a fixed name, which the API server is told. Only one object can have it, and the made one has the ports that the webhooks need; OLM v0 replaces the shipped one too.";
    NoCertificate "no-certificate"
        "An operator serves webhooks or APIServices, and nothing makes its certificate."
        "With `certificates = \"none\"` no certificate is made or mounted, and the API server is told of no CA. That works only for operators that do both themselves.";

    // --- passes: what breaks off OpenShift, or everywhere ---------------------------------
    AccountMissing "account-missing"
        "A Deployment runs as a ServiceAccount that the chart does not have."
        "A ServiceAccount is made for each that the permissions of the ClusterServiceVersion name, and those that the bundle ships are kept. Without its account a pod does not start.";
    AuthReaderMissing "auth-reader-missing"
        "An operator asks the API server who its callers are, and cannot read how."
        "Servers with delegated authentication read the ConfigMap extension-apiserver-authentication in kube-system when they start, and some stop when they cannot. OpenShift lets everybody read it. Elsewhere `auth-reader = true` adds the RoleBinding. Operators that only have kube-rbac-proxy or controller-runtime check tokens do not need it.";
    ForeignKind "foreign-kind"
        "A chart has objects of kinds that Kubernetes does not have."
        "Helm refuses a release as a whole when the cluster does not know the kind of one object. Install what brings the kind, or exclude the objects with a filter.";
    IncompleteRule "incomplete-rule"
        "A role has a rule that lacks something."
        "A rule has verbs, and for them resources with their apiGroups, or nonResourceURLs, which only ClusterRoles may have. The API server refuses any other, and Helm with it the release.";
    OpenshiftOnly "openshift-only"
        "An operator wants to use APIs of OpenShift."
        "Rules for APIs that are missing do no harm, but an operator that cannot do without them does not work. SecurityContextConstraints have no counterpart elsewhere; there, pod security admission decides by namespace.";
    RunAsUserMissing "run-as-user-missing"
        "A container must not run as root, and nothing says as whom it shall run."
        "OpenShift picks a user for each namespace. Elsewhere the image's own user counts, and the container does not start when that is root or a name instead of a number.";
    SelectorMatchesNothing "selector-matches-nothing"
        "A Service or disruption budget selects none of the chart's pods."
        "It may be for pods that the operator makes, or its labels are not those of the Deployment.";

    // --- bundle: what is left out, and what it needs ---------------------------------------
    IgnoredField "ignored-field"
        "An object of the bundle has a field that does not exist."
        "Kubernetes has types for objects of its own kinds, and OLM has them for the definitions in a ClusterServiceVersion. Both drop fields that these types do not have, except when the API server applies an object itself, as Helm 4 asks it to: then it refuses the object. So bundle2chart drops them. What the author wanted with the field does not happen; if it is only in the wrong place, a `[[bundle.patch]]` can move it. Custom resources, and other kinds whose types are not known, stay as they are.";



    // --- diff: what is compared ------------------------------------------------------------
    ChartNotFound "chart-not-found"
        "There is no such chart."
        "`NAME@VERSION` names a chart in the output folder, `NAME` the highest version of it there. With `--rev` both are looked for in that revision of the output folder.";
    ChartUnreadable "chart-unreadable"
        "A chart cannot be read."
        "A chart is a folder with a Chart.yaml, or a gzipped tar of one. The message names the file that cannot be understood.";
    HelmMissing "helm-missing"
        "A chart needs the `helm` program to be rendered, and there is none."
        "Charts that bundle2chart wrote are rendered by bundle2chart itself. Other charts may use all of Helm's template language, so Helm must render them: install `helm` and put it on PATH.";
    HelmFailed "helm-failed"
        "The `helm` program could not render a chart."
        "The message ends with what Helm said. Values that the chart requires can be given with `--values`.";
    GitFailed "git-failed"
        "The `git` program could not give an earlier revision."
        "`--rev` reads the output folder as it was in a Git revision, or, where that is not committed, `bundles.lock`. One of them must be inside of a Git repository, and have been committed in that revision.";
    ValuesUnreadable "values-unreadable"
        "A file of values cannot be read."
        "Files given with `--values` are YAML or JSON with one map.";
    InvalidPattern "invalid-pattern"
        "A pattern for changes cannot be understood."
        "A pattern is `KIND`, `KIND/NAME`, `KIND/NAMESPACE/NAME`, a path such as `.spec.replicas`, or both, joined by a colon: `Deployment/manager:.spec.replicas`. `*` stands for any characters of a segment and `**` for any segments of a path.";
    UnusedIgnore "unused-ignore"
        "An `[[ignore]]` or `--ignore` left nothing out."
        "It may be misspelt, or what it was written for is over. `diff` says so, because a pattern that is left behind can hide something later.";
    ValuesRefused "values-refused"
        "Helm refuses the values that were given for a chart."
        "`values.schema.json` of the chart does not know a value, or wants another type, so that `helm upgrade` with these values stops before it does anything. The comparison goes on without what is refused meaning anything.";
    // --- chart: CRDs and the size of a release ---------------------------------------------
    ReleaseSize "release-size"
        "A release of a chart takes most of the Secret where Helm keeps it, or does not fit into it."
        "Helm keeps each revision of a release in a Secret, and Kubernetes limits those to 1 MiB. What counts is compressed: the chart with its files, but not what is in subcharts, and the rendered manifest. CRDs are nearly always the reason: with `crds = \"separate\"` they are in a release of their own, with `strip-descriptions` they count little, and with `crds = \"subchart\"`, which leaves their upgrades to kubectl, they do not count at all.";
    CrdsMoved "crds-moved"
        "The CRDs of a chart are in another place than in the version before."
        "Helm treats CRDs in a crds/ folder and CRDs in templates as different things: `helm upgrade` does not touch the former, and it refuses to take over the latter from another release or from kubectl. An upgrade of an existing release needs the steps that the hint names; a new installation does not.";

    CrdsSeparate "crds-separate"
        "The CRDs of a bundle are in a chart of their own."
        "Helm asks the cluster for the kinds of all objects of a release before it creates any, so a release cannot have both CRDs as templates and custom resources of their kinds. Where bundles.toml does not say where CRDs go, they are then in the chart NAME-crds, which is installed and upgraded first.";

    // --- overlay: what is kept beside a bundle ----------------------------------------------
    OverlayUnreadable "overlay-unreadable"
        "An overlay cannot be read."
        "The path of a `[[bundle.overlay]]` is a file, or a folder with files that end in .yaml, .yml or .json, relative to bundles.toml. Each file belongs to one overlay.";
    OverlayInvalid "overlay-invalid"
        "An object of an overlay is not what the API server would take."
        "Custom resources are checked against the CRDs of the bundle: versions, scope, types, required fields, allowed values, bounds and patterns, and fields that the CRD does not have, which the API server would drop without a word. What is found when the chart is built is not found when it is installed.";
    OverlayPhase "overlay-phase"
        "An object of an overlay would be installed before what it needs."
        "Helm asks the cluster for the kinds of all objects of a release before it makes any, so a custom resource cannot be in one release with its CRD, unless that is in a crds/ folder or in the chart NAME-crds. `docs/two-step-install.md` says which phase is for what.";
    OverlayUnchecked "overlay-unchecked"
        "An object of an overlay is of a kind that neither Kubernetes nor the bundle defines."
        "It is carried through as it is. If nothing brings its kind to the cluster before, the release is refused.";
    PatchFailed "patch-failed"
        "A patch fails on an object, or makes something else of it."
        "A patch gives one object for each that it matches, with the same kind, version, name and namespace. Values that only Helm knows can be kept or removed, but not looked at.";
    UnusedPatch "unused-patch"
        "A patch matches no object."
        "It may be misspelt, or the bundle no longer ships what it was written for.";
    // --- deploy ------------------------------------------------------------------------------
    CertificatesRenewed "certificates-renewed"
        "Argo CD would make new certificates with every sync."
        "With `certificates = \"helm\"` a chart makes its certificates when Helm installs it and finds them again in the cluster. Argo CD renders charts without looking into the cluster, so each sync makes new ones, and whoever has the old authority stops trusting the operator.";

    // --- serving: models, their pools and pickers ------------------------------------------
    ServingProfile "serving-profile"
        "An API profile does not have what is asked for."
        "An API profile (`api`) fixes versions of objects, flags and images that belong together. Older ones lack some of what newer ones have.";
    ServingGroupSize "serving-group-size"
        "The ranks of a model do not fit the pods of a group."
        "Tensor, pipeline and data parallelism together say how many devices a replica has, and a group of pods has as many as its pods have. A rank too few or too many waits for ever. Known from kserve#4946.";
    ServingNothing "serving-nothing"
        "Manifests to check have nothing about serving models."
        "A check that looks at nothing would always succeed. It needs pods with a known model server, InferencePools, or endpoint pickers.";
    ServingPoolEmpty "serving-pool-empty"
        "An InferencePool selects no pods."
        "The pool's selector must be labels of pods that answer requests. A pool without pods makes the picker answer 503.";
    ServingPoolPorts "serving-pool-ports"
        "An InferencePool has other ports than its pods answer on."
        "Every port of the pool is an endpoint of its own on every pod. Requests to a port that nobody listens on fail, and ranks whose port is missing stay idle. Known from llm-d#1855: data parallelism behind one port, and eight ports in the pool.";
    ServingHeadlessSelected "serving-headless-selected"
        "An InferencePool selects pods without a server."
        "The workers of a group that only its leader answers for must not have the labels that the pool selects by. Known from llm-d-router#220.";
    ServingPoolShape "serving-pool-shape"
        "An InferencePool is not what its CRD takes."
        "A pool has one to eight different ports, labels to select by, and a failure mode FailOpen or FailClose. The API server refuses anything else; FailClosed, which the upstream chart's README names, is such a word.";
    ServingPoolMissing "serving-pool-missing"
        "Something refers to an InferencePool that is not there."
        "HTTPRoutes, InferenceObjectives and InferenceModelRewrites name their pool by group and name, in their own namespace unless a route says another. A wrong one is not an error to the API server: nothing happens.";
    ServingPickerMissing "serving-picker-missing"
        "An InferencePool names a picker that is not there."
        "Gateways ask the Service of `endpointPickerRef` on its port. Without it, routes to the pool are not accepted (GAIE#2915).";
    ServingPickerPort "serving-picker-port"
        "A picker listens on another port than gateways ask."
        "`endpointPickerRef`, the Service, and the picker's `--grpc-port` (9002 when it is not said) must agree. The upstream chart's `extProcPort` changes the first two only.";
    ServingPickerPool "serving-picker-pool"
        "A picker watches another pool than the one that names it."
        "`--pool-name`, `--pool-namespace` and `--pool-group` say which pool a picker works for. With another, it answers with pods of another model, or never becomes ready.";
    ServingPickerRights "serving-picker-rights"
        "A picker may not read what it must."
        "A picker lists and watches pods, its pool, and the objectives and rewrites of the groups that it knows; with leader election it writes leases. Without one of these it never becomes ready (istio.io#17528).";
    ServingPickerReplicas "serving-picker-replicas"
        "Several pickers get in each other's way."
        "With leader election, only one pod is ever ready: rolling updates never end, so the strategy must be Recreate (GAIE#1619), and the probes must ask for `liveness` and `readiness`. Without it, each pod knows only of its own requests.";
    ServingPickerConfig "serving-picker-config"
        "A picker's configuration is not valid."
        "Pickers check their EndpointPickerConfig when they start, and stop at unknown plugins, references, gates and fields (llm-d-router#1134). This is the same check before anything starts.";
    ServingDeprecated "serving-deprecated"
        "A plugin or flag goes in a coming release."
        "What is deprecated works in the release of the API profile and stops the program in a later one (llm-d-router#936, llm-d-router#761).";
    ServingRoles "serving-roles"
        "A picker looks for roles that no pod has, or the other way around."
        "Filters for prefill, decode and encode go by the label llm-d.ai/role. When no pod passes a filter, requests fail; when no filter looks at roles, pods that only read prompts get whole requests (llm-d-router#220).";
    ServingModel "serving-model"
        "A picker, or pods of one pool, are about different models."
        "A picker that makes tokens with another model's tokenizer finds no prefix in any cache, and says nothing (llm-d#2221). Pods of a pool are taken for equal.";
    ServingDevices "serving-devices"
        "A pod asks for more or fewer accelerators than its ranks use."
        "Tensor, pipeline and data parallelism in a pod multiply to the number of devices. With too few, the engine waits for ever; with too many, the rest is paid for and idle (kserve#4946, kserve#5773, kserve#6044). A TPU v7 counts as two devices.";
    ServingStartup "serving-startup"
        "Pods of a group wait for each other."
        "A leader is ready when its workers have joined. With `startupPolicy: LeaderReady` they are made only after that, so nothing ever starts (lws#135).";
    ServingLeaderAddress "serving-leader-address"
        "A worker may start before its leader has a name."
        "The name in LWS_LEADER_ADDRESS resolves once the leader's pod runs. A worker whose image is there earlier fails and takes its group with it; waiting with `getent hosts` helps (lws#746).";
    ServingSidecar "serving-sidecar"
        "A routing sidecar and its engine do not fit together."
        "In prefill and decode, requests come to a sidecar in front of each decoding engine, which must know the engine's port and have as many ports as the engine (llm-d-router#329, llm-d-routing-sidecar#59). Without the sidecar, prefill is never asked.";
    ServingSidecarFlag "serving-sidecar-flag"
        "A routing sidecar gets a flag that its release does not have."
        "The sidecar stops at unknown flags. `--connector` and the flags for TLS of single roles went in 0.10 (llm-d-router#761).";
    ServingPortClash "serving-port-clash"
        "Two containers of a pod listen on one port."
        "Containers of a pod share its ports. The second one to start fails, again and again (llm-d-router#329).";
    ServingProbe "serving-probe"
        "A probe asks where nobody answers."
        "A probe on a port that nobody listens on kills or hides the pod for ever. Workers without a server cannot have HTTP probes (aibrix#2116).";
    ServingImage "serving-image"
        "An image is missing or stands for another."
        "A pod with a placeholder for an image cannot start; one without an image depends on something that puts it in.";
    ServingSharedMemory "serving-shared-memory"
        "An engine on several GPUs has little shared memory."
        "Ranks of a pod exchange data over /dev/shm, of which containers have 64 MiB unless a volume in memory is mounted there. Without it, engines fail under load (llm-d#352).";
    ServingPair "serving-pair"
        "Prefill and decode are not alike."
        "Caches travel from prefill to decode only when both have the same engine, block size and type of cache.";
    ServingGroup "serving-group"
        "A LeaderWorkerSet or DisaggregatedSet is refused by its webhook."
        "Names of groups are DNS labels that begin with a letter, an update needs a pod that may be missing or more, subgroups divide groups evenly, and the roles of a DisaggregatedSet have all replicas or none.";
    ServingAutoscaler "serving-autoscaler"
        "An autoscaler has no target, or several have one."
        "Autoscalers name what they scale by kind and name. Two of them, or `replicas` in the object, undo each other's work. Pickers keep state and are not scaled by load.";
    ServingDisruption "serving-disruption"
        "A disruption budget never allows an eviction."
        "Nodes under such pods cannot be drained, and cluster upgrades stop.";
    ServingDestination "serving-destination"
        "A DestinationRule is about another host than the picker."
        "Istio talks to pickers over TLS with a certificate that nobody signed, so it needs a DestinationRule for the very host of the picker's Service. The upstream chart writes the cluster's domain as cluster.local.";
    ServingJoin "serving-join"
        "The pods of a group do not become one engine."
        "Every pod of a group runs the same command, and is told where the leader is and which ranks are its own: `--nnodes`, `--node-rank` and `--master-addr`, or `--data-parallel-size-local`, `--data-parallel-start-rank` and `--data-parallel-address`, with `--headless` where only the leader answers. Charts of llm-d-modelservice made groups without them.";
    ServingEngineFlags "serving-engine-flags"
        "The engine is given flags that do not go together."
        "Flags are what vLLM checks before anything else. It stops at combinations that it does not have, and the pod starts again and again.";
    ServingRay "serving-ray"
        "The command starts Ray, and the image has no Ray."
        "The images of vLLM have no Ray since 0.19 (lws#835). Its processes span nodes without it: topology `lws-mp`, or `--nnodes`. With Ray, the image must be one that has it.";
    ServingPickerFlags "serving-picker-flags"
        "The flags of an endpoint picker do not go together."
        "A picker is told its pods by `--pool-name` or `--endpoint-selector`, one of them, and its configuration by `--config-file` or `--config-text`. Its probes ask `--grpc-health-port`, 9003 unless said otherwise.";
    ServingKserve "serving-kserve"
        "An LLMInferenceService has a parallelism that KServe cannot make pods of."
        "KServe takes pipelines or ranks of data parallelism, the latter with `data` and `dataLocal`. It divides one by the other and drops the rest, and holds neither against the devices that pods ask for (kserve#4946).";
    ServingTwice "serving-twice"
        "Two manifests are the same object."
        "Objects are told apart by group, kind, namespace and name. Charts with fixed names, of which the upstream router chart has some, overwrite each other in one namespace. In a folder of variants, each is checked against the pods of the others.";
    ServingUnread "serving-unread"
        "Pods or a container's command are not looked at."
        "Rules look at the pods of Deployments, StatefulSets, DaemonSets, LeaderWorkerSets, DisaggregatedSets, Pods, and of kinds that have a template in the same place, and at LLMInferenceServices. Other kinds are passed over. So are commands whose variables expand to more text than any launch script has: nothing is said about their flags.";
    ServingRoute "serving-route"
        "Two routes take the same requests."
        "Where two HTTPRoutes of a Gateway match a request equally well, the older one gets it. The other model is never asked, or the first one is asked for a model that it does not have.";

    // --- olm and passes: what keeps a chart from being installed ------------------------------
    OperatorCondition "operator-condition"
        "An operator may read its OperatorCondition."
        "OLM makes an OperatorCondition named after the ClusterServiceVersion, by which an operator says that it must not be upgraded now. Without OLM there is neither the object nor its CRD, and an operator that looks for it may not start. The variable OPERATOR_CONDITION_NAME is set as OLM sets it.";
    ObjectFieldType "object-field-type"
        "A field of an object has a type that the API server does not take."
        "Kubernetes reads the objects of its own kinds strictly: a label or an annotation is a string, a list is a list. An object that does not fit is refused, and the release with it. What a bundle ships can be put right with a `[[bundle.patch]]`, or left out with a filter.";
    ApiRefuses "api-refuses"
        "The API server refuses an object for what is in it."
        "The object has the right types, and still says something that Kubernetes does not take: a port without a name that it could have, a selector that does not select the pods that are made, a mount of a volume that is not there. OLM could not install it either. It is carried through as it is; put it right with a `[[bundle.patch]]`, or leave it out with a filter.";
    ControlCharacter "control-character"
        "Text of an object has a character that server-side apply refuses or changes."
        "Helm 4 installs by server-side apply, and so do Argo CD and kubectl when they are told to. What they send is JSON, in which DEL (U+007F), the controls U+0080 to U+009F, U+FFFE and U+FFFF are written as they are; the API server reads it as YAML, which does not take them (`control characters are not allowed`), and U+0085 (a line break in YAML) comes back as a blank. Other control characters are escaped in JSON, and arrive. Helm 3 and `helm install --server-side=false` send them as they are.";
    CsvMismatch "csv-mismatch"
        "A ClusterServiceVersion says what the rest of the bundle does not."
        "OLM's validators of bundles find this, and registries of operators refuse such bundles. A chart can be made all the same, since it does not depend on it.";
}

#[cfg(test)]
mod tests {
    use super::Code;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_kebab_case_and_unique_and_texts_are_sentences() {
        let mut names = BTreeSet::new();
        for code in Code::ALL {
            let name = code.as_str();
            assert!(names.insert(name), "{name} is used twice");
            let words = || name.split('-');
            assert!(words().all(|word| !word.is_empty()
                && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())));
            // The variant is the same words.
            let variant: String = format!("{code:?}").to_lowercase();
            assert_eq!(variant, words().collect::<String>());
            for text in [code.description(), code.explanation()] {
                let begins = |c: char| c.is_uppercase() || c == '`';
                let sentence = text.starts_with(begins) || text.starts_with("bundle2chart");
                assert!(sentence && text.ends_with('.'), "{name}: {text}");
            }
        }
    }
}
