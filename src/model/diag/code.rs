//! The closed list of diagnostic codes, each with all that is known about it.

use super::Severity;

/// The explanation of a code, as `bundle2chart explain` and docs/codes.md show it.
#[derive(Clone, Copy, Debug)]
pub struct Explanation {
    /// Kebab-case name, stable and never reused.
    pub code: &'static str,
    /// Severity of a diagnostic without `[lints]`, or class of a finding of `diff`.
    pub level: &'static str,
    /// The subject: for diagnostics, the part of the input or output that they are about.
    pub area: &'static str,
    /// One-line summary.
    pub title: &'static str,
    /// Background and consequences, as a paragraph.
    pub explanation: &'static str,
    /// Recommended action, if there is one for all findings; diagnostics have hints instead.
    pub todo: Option<&'static str>,
}

/// Declares [`Code`]: by area, a variant, its name, the highest severity of its diagnostics, `attention`
/// for problems of bundles off OpenShift that `inspect` lists, and the texts of its explanation.
macro_rules! codes {
    (@attention) => { false };
    (@attention attention) => { true };
    ($($area:literal: $(
        #[doc = $title:literal]
        #[doc = $blank:literal]
        $(#[doc = $explanation:literal])+
        $variant:ident $code:literal $level:ident $($attention:ident)?;
    )*)*) => {
        /// The kind of a diagnostic. Codes are stable: they are never reused for something else.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $($(#[doc = $title] #[doc = $blank] $(#[doc = $explanation])+ $variant,)*)*
        }

        impl Code {
            /// All codes, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$($(Code::$variant),*),*];

            /// Returns the explanation of the code.
            pub fn explanation(self) -> Explanation {
                match self {
                    $($(Code::$variant => Explanation {
                        code: $code,
                        level: Severity::$level.as_str(),
                        area: $area,
                        title: $title.trim_ascii_start(),
                        explanation: concat!($($explanation),+).trim_ascii_start(),
                        todo: None,
                    }),*),*
                }
            }

            /// Returns true for problems of a bundle off OpenShift, which `inspect` lists.
            pub fn needs_attention(self) -> bool {
                match self { $($(Code::$variant => codes!(@attention $($attention)?)),*),* }
            }
        }
    };
}

impl Code {
    /// Returns the kebab-case name.
    pub fn as_str(self) -> &'static str {
        self.explanation().code
    }
}

codes! {
    "bundles.toml":
    /// Cannot read the configuration file.
    ///
    /// bundle2chart reads `bundles.toml` in the working directory, or the file given with `-c`. The
    /// file must exist and be UTF-8 text.
    ConfigUnreadable "config-unreadable" Error;
    /// A pattern in `include` matches no file.
    ///
    /// `include` in bundles.toml names files relative to its directory; `*` and `?` match parts of
    /// a name, but not a leading dot, and `**` is not supported. A pattern without a match adds
    /// nothing, which may be a typo.
    IncludeUnmatched "include-unmatched" Warning;
    /// The configuration file is not valid TOML.
    ///
    /// The excerpt shows where TOML parsing failed. Nothing was built.
    ConfigSyntax "config-syntax" Error;
    /// Unknown key in a table of the configuration.
    ///
    /// Unknown keys are errors because a typo would silently change what is built. The hint names
    /// the closest known key.
    UnknownKey "unknown-key" Error;
    /// A key has a value of the wrong type.
    ///
    /// The message names the expected type and the type found.
    WrongType "wrong-type" Error;
    /// A required key is missing.
    ///
    /// The table named in the message is incomplete without this key.
    MissingKey "missing-key" Error;
    /// The value of a key has the right type but is not allowed.
    ///
    /// The message lists the allowed values.
    InvalidValue "invalid-value" Error;
    /// Two bundles have the same name.
    ///
    /// The bundle name is the chart name, so it must be unique in bundles.toml.
    DuplicateName "duplicate-name" Error;
    /// Two output paths overlap: two bundles, or a bundle and the configuration file.
    ///
    /// Each chart has its own directory; charts cannot be nested.
    OverlappingOutput "overlapping-output" Error;
    /// A jq program does not compile, or uses a function that is not allowed.
    ///
    /// The excerpt marks the position. Filters and patches can use all of jq that depends only on
    /// the input object. Functions that read the environment, the clock, the time zone, files or
    /// other input (`env`, `$ENV`, `now`, `localtime`, `input`, `import`), and functions that write
    /// to stderr or exit (`debug`, `stderr`, `halt`), are not allowed: the same bundle and
    /// configuration must always give the same chart. Very long and very deeply nested programs are
    /// not allowed either.
    InvalidFilter "invalid-filter" Error;
    /// The installed bundle2chart does not match `required-version`.
    ///
    /// `required-version` in bundles.toml is the range of bundle2chart versions that may build this
    /// configuration. Install a matching version, or change the requirement.
    RequiredVersion "required-version" Error;

    /// `migrate` cannot carry something over to bundles.toml.
    ///
    /// Tables of bundles.toml say which bundle to compile and what to change. Secrets are not
    /// copied there, Subscription settings without a counterpart are not translated, and fields of
    /// the bundle that a hand-made chart dropped stay. Each of these is named once, with the
    /// remedy; `bundle2chart diff CHART OUT` shows their effect.
    NotMigrated "not-migrated" Error;

    "jq filters":
    /// A jq filter failed on an object, or its result is not a boolean.
    ///
    /// A filter may output `true`, `false`, `null`, or the object itself (as `select` does); a
    /// filter without output is false, and one with several outputs is true if any of them is. Any
    /// other output, such as the string from `exclude = ['"Route"']`, is probably a mistake: write
    /// `.kind == "Route"`, and to test that a field is set `.spec.replicas != null`. If a filter
    /// fails on an object, the build stops; use `?` or `//` in the filter to handle missing fields.
    FilterFailed "filter-failed" Error;
    /// A jq program exceeded its limit of steps, CPU time or memory.
    ///
    /// The limits for one object are 50 million steps, 10 s of CPU time and 1 GiB of memory. A
    /// program that exceeds them usually loops forever or doubles a value with each step. Nothing
    /// is written.
    FilterBudget "filter-budget" Error;
    /// Filters removed all objects of a bundle, or all its Deployments or CRDs.
    ///
    /// Removing everything is an error, because the chart would install nothing. Removing all
    /// Deployments or all CRDs is a warning, because CRDs are sometimes installed separately.
    /// `exclude = ['true']` excludes everything; to exclude a kind, write `.kind == "Route"`.
    FilteredOut "filtered-out" Error;
    /// A filter, patch, `provided` entry or ignore pattern matched nothing.
    ///
    /// The setting may have a typo, or the bundle no longer has what it matched. Remove unused
    /// settings: an unused ignore pattern can hide a later change.
    UnusedSetting "unused-setting" Warning;

    "bundle":
    /// The file metadata/annotations.yaml is missing, or lacks the annotations of a bundle.
    ///
    /// This file names the package and the directories of a bundle. A directory or image without it
    /// is not a registry+v1 bundle. OLM rejects a bundle without a package name too.
    AnnotationsMissing "annotations-missing" Error;
    /// The bundle is not of media type registry+v1.
    ///
    /// Bundles of other media types contain Helm charts or plain manifests, which can be installed
    /// without conversion.
    UnsupportedMediaType "unsupported-media-type" Error;
    /// The bundle has no ClusterServiceVersion.
    ///
    /// The ClusterServiceVersion defines what to install. It can be in any file of the manifests
    /// directory and is found by its kind.
    CsvMissing "csv-missing" Error;
    /// The bundle has more than one ClusterServiceVersion.
    ///
    /// OLM v1 silently uses the last one in file order and OLM v0 the first. bundle2chart does not
    /// guess.
    SeveralCsvs "several-csvs" Error;
    /// The ClusterServiceVersion uses an install strategy other than `deployment`.
    ///
    /// OLM supports no other strategy.
    UnsupportedStrategy "unsupported-strategy" Error;
    /// A manifest is not UTF-8 text.
    ///
    /// Kubernetes reads manifests as UTF-8. Convert files in UTF-16 or Latin-1.
    NotUtf8 "not-utf8" Error;
    /// A manifest has a byte order mark or Windows line endings.
    ///
    /// The byte order mark is skipped, as Kubernetes' YAML decoder does, and YAML normalizes line
    /// endings, so the chart has neither.
    TextNormalized "text-normalized" Note;
    /// A manifest is not valid YAML or JSON.
    ///
    /// Every file of the manifests directory is parsed, whatever its extension, as OLM does.
    ManifestSyntax "manifest-syntax" Error;
    /// A manifest is too large, nested too deep, or expands too much through YAML aliases.
    ///
    /// The limits protect against malicious files; they are far above every real bundle.
    ManifestLimit "manifest-limit" Error;
    /// A document of a manifest is not a Kubernetes object with apiVersion, kind and metadata.name.
    ///
    /// OLM rejects the bundle too.
    NotAnObject "not-an-object" Error;
    /// A mapping in a manifest has a duplicate key.
    ///
    /// Kubernetes' YAML decoder uses the last value, and so does bundle2chart. This is usually a
    /// mistake of the bundle's author.
    DuplicateKey "duplicate-key" Warning;

    "ClusterServiceVersion":
    /// Invalid Kubernetes name.
    ///
    /// The API server would reject the object.
    InvalidName "invalid-name" Error;
    /// The ClusterServiceVersion owns a CustomResourceDefinition that is not in the bundle.
    ///
    /// The operator would wait for the CRD forever. OLM rejects the bundle too.
    OwnedCrdMissing "owned-crd-missing" Error;
    /// A CustomResourceDefinition is not apiextensions.k8s.io/v1, or has no versions.
    ///
    /// Kubernetes 1.22 removed v1beta1. OLM v1 decodes such a CRD as one without versions;
    /// bundle2chart rejects it.
    CrdApiVersion "crd-api-version" Error;
    /// The operator does not support the requested install mode.
    ///
    /// The install modes of the ClusterServiceVersion define which namespaces an operator can
    /// watch: OwnNamespace, SingleNamespace, MultiNamespace or AllNamespaces. `watch` in
    /// bundles.toml must match a supported mode.
    InstallModeUnsupported "install-mode-unsupported" Error;

    "objects":
    /// The bundle ships an object of a kind that registry+v1 does not allow.
    ///
    /// OLM rejects such a bundle. If the object is only needed on OpenShift, exclude it with a
    /// filter.
    UnsupportedKind "unsupported-kind" Error;
    /// Two objects have the same kind, namespace and name.
    ///
    /// The second one would overwrite the first in the cluster: two objects of a chart, two CRDs or
    /// two deployments of the ClusterServiceVersion, two webhooks of one type, or two owned
    /// APIServices of one group and version. Exclude or rename one of them. OLM rejects a bundle
    /// with two CRDs, deployments, webhooks or APIServices of one name; of other objects the last
    /// one that it applies wins. Of two equal objects in a bundle, one is left out, with a note.
    DuplicateObject "duplicate-object" Error;
    /// A hard-coded namespace is not rewritten.
    ///
    /// Namespaces are rewritten where their meaning is known: metadata, subjects, conversion
    /// webhooks, and the hosts of Services in commands, arguments and environment variables. They
    /// are not rewritten in free text: install the chart into that namespace, or change the text
    /// with a `[[bundle.patch]]`.
    NamespaceLiteral "namespace-literal" Warning;

    "bundles and charts":
    /// The command line names a bundle that is not in the configuration.
    ///
    /// The arguments of `build` are names of [[bundle]] tables.
    UnknownBundle "unknown-bundle" Error;
    /// The version of the ClusterServiceVersion is not a valid chart version.
    ///
    /// Helm requires semantic versions. Set `chart-version` for the bundle.
    InvalidVersion "invalid-version" Error;

    "output directory":
    /// This chart version exists with different content.
    ///
    /// A released chart version must not change: it may be installed already, and Helm and Argo CD
    /// treat two charts with one version as the same. Raise `chart-version` of the bundle in
    /// bundles.toml to give the new content its own version. `--replace` overwrites the old
    /// content; use it only if the old chart was never installed.
    ChartVersionExists "chart-version-exists" Error;
    /// Files of a generated chart were edited by hand.
    ///
    /// Every chart directory has a `.bundle2chart` file with the SHA-256 of each file. Writing the
    /// chart would lose edits to files whose hash differs. Declare the change in bundles.toml (for
    /// example as an overlay), or discard it with `--replace`.
    ChartEdited "chart-edited" Error;
    /// The chart directory exists and was not written by bundle2chart.
    ///
    /// bundle2chart only changes a chart directory that has its `.bundle2chart` file. Move the
    /// directory away, or rename the bundle or the output directory.
    NotOurs "not-ours" Error;
    /// A chart directory has a file that bundle2chart did not write.
    ///
    /// Helm packages every file in a chart directory, so the file would become part of this chart
    /// version only, undeclared. Nothing is written until the file is moved out or declared in
    /// bundles.toml, for example as an overlay.
    ForeignFile "foreign-file" Error;
    /// The `.bundle2chart` file of a chart directory is invalid.
    ///
    /// This file lists the files that bundle2chart owns; without it, bundle2chart does not change
    /// the directory. A common cause is a merge conflict: restore the file from Git, or delete the
    /// whole chart directory and build again.
    OwnershipFile "ownership-file" Error;
    /// The output directory has charts in the other layout.
    ///
    /// The versioned layout writes charts to `out/NAME/VERSION`, the flat layout to `out/NAME`.
    /// Charts cannot be nested, so after changing the layout, move or delete the old charts, or use
    /// another output directory.
    LayoutChanged "layout-changed" Error;
    /// The output directory has a chart that is no longer configured.
    ///
    /// bundle2chart wrote this chart, but no `[[bundle]]` has its name any more. It is kept because
    /// it may still be in use. Delete it when it is not.
    OrphanChart "orphan-chart" Warning;
    /// A check found a file that is not as a build writes it.
    ///
    /// The file is missing, stale (another content), extra (a build removes it) or foreign (not written
    /// by bundle2chart, so that a build refuses it). Reported by `build --check` in the formats for
    /// programs; people get a list.
    OutOfDate "out-of-date" Warning;
    /// Invalid path of a chart or of a file in it.
    ///
    /// Paths are relative and `/`-separated, without empty segments, `.`, `..`, backslashes and
    /// control characters. Charts cannot be nested, and a path cannot be both a file and a
    /// directory.
    ChartPath "chart-path" Error;
    /// Another build is writing to the output directory.
    ///
    /// Builds lock the output directory. Wait for the other build; its lock is released when its
    /// process exits, also when it is killed.
    OutputBusy "output-busy" Error;
    /// The output directory, or a chart in it, cannot be replaced.
    ///
    /// Each chart directory is replaced atomically. This is not possible if the output directory is
    /// a file, or if the chart directory contains the working directory.
    OutputUnsuitable "output-unsuitable" Error;
    /// I/O error in the output directory.
    ///
    /// The message names the path and the cause. If this is an error, the output directory is
    /// unchanged; if it is a warning, the new output is complete and some old files are left, which
    /// the next build removes.
    OutputFailed "output-failed" Error;

    "directories, image layouts and tars":
    /// Malformed image reference.
    ///
    /// Write references in full: registry host, repository, and a tag or a digest, for example
    /// `registry.redhat.io/team/operator-bundle:1.0`. Short names are not allowed because they
    /// resolve differently on each machine.
    InvalidReference "invalid-reference" Error attention;
    /// The path of a bundle or of a mirror does not exist.
    ///
    /// Relative paths in bundles.toml are relative to its directory; on the command line, to the
    /// working directory.
    SourceNotFound "source-not-found" Error;
    /// Cannot read a file.
    ///
    /// The message has the error of the operating system. Files for `--values` are YAML or JSON
    /// with one mapping. Symbolic links inside an image layout are not followed.
    SourceUnreadable "source-unreadable" Error;
    /// A path is not a bundle directory, OCI layout or archive.
    ///
    /// A path must be a bundle directory (with `manifests/` or `metadata/annotations.yaml`), an OCI
    /// image layout (with `oci-layout`), a tar of either, or a Docker archive (with
    /// `manifest.json`).
    UnknownSource "unknown-source" Error;
    /// The image is not in the image layout.
    ///
    /// Images are looked up by digest, or by the annotation `org.opencontainers.image.ref.name` in
    /// the layout's index.json: the full reference, the part after the mirror's prefix, or the bare
    /// tag if it is unambiguous. The hint lists the images of the layout.
    ImageNotFound "image-not-found" Error;
    /// Several images of a layout match.
    ///
    /// Use the full reference of the image, or pin it by digest.
    AmbiguousImage "ambiguous-image" Error;
    /// An image was found by its tag alone.
    ///
    /// The layout names the image by tag only, so its repository cannot be verified. Copy the image
    /// under its full reference, or set the mirror's `from` to the whole repository.
    BareTag "bare-tag" Note;
    /// An image layout, index, manifest or configuration is malformed.
    ///
    /// The document does not match its media type, or contradicts another one. Nothing of the image
    /// was used.
    InvalidLayout "invalid-layout" Error;
    /// A blob of an image is missing.
    ///
    /// The layout's index refers to a blob that is not in the layout. The copy was probably
    /// interrupted.
    MissingBlob "missing-blob" Error;
    /// A blob does not match its descriptor.
    ///
    /// Every blob is checked against the size and digest of its descriptor, and every uncompressed
    /// layer against the image configuration. A mismatch means corruption or tampering; nothing of
    /// the image was used.
    BlobMismatch "blob-mismatch" Error;
    /// A blob has a media type that bundle images do not use.
    ///
    /// Registries also store artifacts that are not container images. A bundle is an OCI or Docker
    /// (schema 2) image whose layers are tars.
    UnknownMediaType "unknown-media-type" Error;
    /// The compression of a layer does not match its media type.
    ///
    /// The layer was decompressed by its content and its digest is right, but other tools may fail
    /// on it.
    LayerType "layer-type" Warning;
    /// A compressed file or tar is corrupt.
    ///
    /// The file is truncated, has trailing data, or is not a tar.
    BrokenArchive "broken-archive" Error;
    /// A bundle exceeds a size limit.
    ///
    /// Layers, files, documents and their decompressed sizes are limited, so that a malicious image
    /// cannot exhaust memory, disk or time. The limits are far above every real bundle.
    SourceLimit "source-limit" Error;
    /// A bundle directory contains an entry that is not allowed.
    ///
    /// The manifests and metadata directories may only contain regular files with plain names; the
    /// manifests directory has no subdirectories, as OLM requires. Links, devices and paths with
    /// `..` are not allowed, because their meaning depends on where they are unpacked.
    UnexpectedEntry "unexpected-entry" Error;
    /// The directory or image has no bundle manifests.
    ///
    /// The manifests directory is the one named in annotations.yaml, else in the image's labels,
    /// else `manifests`. It must contain files.
    NoManifests "no-manifests" Error;
    /// The image's labels and annotations.yaml name different directories.
    ///
    /// OLM and bundle2chart use annotations.yaml, but other tools read the labels.
    FolderMismatch "folder-mismatch" Warning;

    "signatures":
    /// An image has no signature, but `[[verify]]` requires one.
    ///
    /// Signatures of cosign are attached to an image in its registry: as the tag
    /// `sha256-DIGEST.sig`, or as a referrer (cosign 3). They are read from where the image is
    /// read, so a mirror must have them too: `bundle2chart vendor` copies them, and so do `cosign
    /// copy` and `oc mirror`. A registry that cannot be reached is another error. Nothing of the
    /// image was used.
    SignatureMissing "signature-missing" Error;
    /// None of the signatures of an image is valid for the keys or the identity in `[[verify]]`.
    ///
    /// A signature is valid if one of the keys or the identity made it, and if it names the digest
    /// of the image (or of the index that contains it) and, for the tag `sha256-DIGEST.sig`, the
    /// repository of the reference before mirrors. The message lists what was found: another key or
    /// changed bytes, another digest, or another repository. Either the vendor has a new key, or
    /// the image is not the vendor's. With `identity` (keyless), the certificate must name it and
    /// `issuer`, lead to an authority in `roots`, and have been valid when a log in `roots`
    /// recorded the signature; if certificate or log entry are not valid, the instance of sigstore
    /// may have new keys: update the file of `roots`. Nothing of the image was used.
    SignatureInvalid "signature-invalid" Error;
    /// `require = true` rejects an image that no other `[[verify]]` table covers.
    ///
    /// With `require = true`, a `[[verify]]` table with a longer `prefix` must say who signs an
    /// image, or that it is not verified (`insecure = true`). Nothing of the image was used.
    SignatureRequired "signature-required" Error;

    "registries, cache and lock":
    /// Cannot connect to a registry, or the connection is insecure or breaks.
    ///
    /// bundle2chart connects to registries over HTTPS, through the proxy set with HTTPS_PROXY.
    /// Broken connections are retried and downloads resumed, up to `retries` times (`[network]`
    /// table). Set `ca` in a `[[registry]]` table for a private CA, or allow plain HTTP there.
    RegistryUnreachable "registry-unreachable" Error;
    /// A registry rejects the credentials, or requires some.
    ///
    /// Credentials are read from where `podman login` and `docker login` write them: the file in
    /// REGISTRY_AUTH_FILE, else containers/auth.json, else Docker's config.json, including
    /// credential helpers. Some registries give this answer for images that do not exist.
    RegistryDenied "registry-denied" Error;
    /// A registry returned an error or an invalid response.
    ///
    /// Responses 429 and 5xx are retried, after the registry's Retry-After or with growing delays,
    /// up to `retries` times (`[network]` table). Other errors are not retried. `-vv` logs every
    /// request.
    RegistryFailed "registry-failed" Error;
    /// A registry, or its redirect, has a forbidden address.
    ///
    /// Redirects to other hosts are followed over HTTPS only, without credentials. Redirects to
    /// plain HTTP, to link-local addresses (cloud metadata services), or to localhost are not
    /// followed, unless the registry is on localhost. Nor is a registry contacted whose name has such
    /// an address: one on this machine is written as `localhost:PORT`.
    UnsafeRedirect "unsafe-redirect" Error;
    /// A registry's token server is on a host that is not trusted with the credentials.
    ///
    /// Credentials are only sent to the registry itself. If the registry's documentation names
    /// another host for tokens, add it to `auth-hosts` in a `[[registry]]` table. Tokens are never
    /// fetched over plain HTTP for a registry that uses HTTPS.
    UnsafeRealm "unsafe-realm" Error;
    /// Invalid credentials file or failing credential helper.
    ///
    /// The message names the file or the program, never its content. Log in again, or run the
    /// helper by hand.
    InvalidCredentials "invalid-credentials" Error;
    /// Cannot read or write the blob cache.
    ///
    /// Blobs are cached by digest in the directory set with BUNDLE2CHART_CACHE, else in
    /// `bundle2chart` in XDG_CACHE_HOME or `~/.cache`. The cache can be deleted at any time.
    CacheUnusable "cache-unusable" Error;
    /// Network access is needed but disabled with --offline.
    ///
    /// With `--offline`, images are read from directories, layouts and the cache only. Build once
    /// without `--offline`, or vendor the images.
    Offline "offline" Error;
    /// Invalid lock file.
    ///
    /// `bundles.lock` is generated; commit it to Git with bundles.toml. To resolve a merge
    /// conflict, take one side and run `bundle2chart lock`.
    LockInvalid "lock-invalid" Error;
    /// A bundle has no entry in bundles.lock and --locked is set, or its entry contradicts its content.
    ///
    /// With `--locked`, everything must be in the lock file. Run `bundle2chart lock` and commit
    /// bundles.lock. What an entry records about an image follows from the digest of its manifest,
    /// so an entry that differs was edited: restore it from Git, or write it again with `lock
    /// --upgrade`.
    LockStale "lock-stale" Error;
    /// The package of a bundle differs from bundles.toml, the catalog or bundles.lock.
    ///
    /// A different operator under the same name in bundles.toml would replace the first one on
    /// `helm upgrade`. `package` in a `[[bundle]]` sets the expected package of its image or path;
    /// the default is the package in bundles.lock. For a bundle of a catalog, the package in its
    /// annotations must be the catalog's.
    PackageMismatch "package-mismatch" Error;
    /// A new operator version changes the default install mode, and `watch` is not set.
    ///
    /// Without `watch`, the bundle's install modes decide: AllNamespaces if supported, else
    /// OwnNamespace. A version that adds AllNamespaces would turn the operator's Roles into
    /// ClusterRoles, with access to Secrets in all namespaces if its rules include Secrets.
    /// bundles.lock records the install mode; if the default changes, the build stops until `watch`
    /// is set.
    WatchChanged "watch-changed" Error;
    /// The tag of a chart exists in the registry with another digest.
    ///
    /// A released chart must not change: clusters that install it by tag would get another one.
    /// Raise `chart-version` of the bundle in bundles.toml to give the new content its own tag.
    /// `push --replace` moves the tag; use it only if the old chart was never installed. A chart
    /// that was packaged with `helm package` always has another digest, because such packages
    /// contain the time of packaging.
    TagExists "tag-exists" Error;
    /// A chart has no provenance.
    ///
    /// `push` and `package --attest` write a provenance only for a chart that bundles.toml and
    /// bundles.lock compile to, byte for byte. An older version in the output directory, an edited
    /// bundle or another version of bundle2chart has none; `bundle2chart verify CHART` shows the
    /// difference. The chart is pushed with its SBOM. To attest an older version, push it from the
    /// commit that built it.
    NotReproduced "not-reproduced" Warning;
    /// A chart cannot be signed.
    ///
    /// Charts are signed by the key in BUNDLE2CHART_SIGNING_KEY (ECDSA P-256, PKCS#8 in PEM, not
    /// encrypted), by the command of `push --sign-command`, which gets the bytes to sign on stdin
    /// and prints the signature in DER or base64, or by gpg (`package --pgp-key`). The message says
    /// what is wrong with the key, or has the errors of the program. Keys are never printed.
    SigningFailed "signing-failed" Error;
    "catalogs":
    /// Steps of a catalog's upgrade path between the locked and the selected version.
    ///
    /// The entries of a channel say which versions an operator version may replace (`replaces`,
    /// `skips`, `skipRange`), because it can only migrate the data of these. OLM installs each
    /// required version in turn. `lock --upgrade` therefore stops at the next required version:
    /// install it, then upgrade again. `--latest`, or a changed `version`, `channel` or catalog in
    /// bundles.toml, selects the version at once, with a warning.
    UpgradePath "upgrade-path" Warning;
    /// The source is not a file-based catalog.
    ///
    /// A catalog is a directory of JSON and YAML files with olm.package, olm.channel and olm.bundle
    /// objects, or an image whose label operators.operatorframework.io.index.configs.v1 names such
    /// a directory.
    NotACatalog "not-a-catalog" Error;
    /// Invalid object in a catalog.
    ///
    /// Every file of the catalog directory is read, whatever its name, unless `.indexignore`
    /// excludes it. Objects of the requested package must have the fields that OLM defines; objects
    /// of other packages are skipped.
    CatalogInvalid "catalog-invalid" Error;
    /// The package is not in the catalog.
    ///
    /// The hint lists packages with similar names.
    PackageNotFound "package-not-found" Error;
    /// The package does not have the channel.
    ///
    /// Operators add and remove channels between releases. Without `channel`, the package's default
    /// channel is used.
    ChannelNotFound "channel-not-found" Error;
    /// The version is not in the channel.
    ///
    /// Versions are the `olm.package` versions of the channel's bundles, not the versions in bundle
    /// names.
    VersionNotFound "version-not-found" Error;
    /// Several bundles of a channel have the same version.
    ///
    /// bundle2chart does not guess which one to use.
    AmbiguousVersion "ambiguous-version" Error;
    /// A channel does not have exactly one head.
    ///
    /// The head of a channel is the bundle that no other one replaces or skips. OLM rejects a
    /// catalog with several heads or none.
    ChannelHead "channel-head" Error;
    /// The catalog marks a package, channel or bundle as deprecated.
    ///
    /// The message is from the catalog. Deprecated versions still work, but may soon get no more
    /// fixes.
    Deprecated "deprecated" Warning;
    /// A catalog has no image and no complete manifests for a bundle.
    ///
    /// A bundle of a catalog has an image, or all its manifests as olm.bundle.object properties.
    /// Newer catalogs have only the metadata of the ClusterServiceVersion, which is not enough to
    /// install the operator.
    BundleIncomplete "bundle-incomplete" Error;

    "images":
    /// An image is referenced by tag instead of digest.
    ///
    /// A tag can move to another image. Image mirrors for disconnected clusters usually work by
    /// digest only (ImageDigestMirrorSet).
    ImageNotPinned "image-not-pinned" Error attention;
    /// A container image is not in `spec.relatedImages`.
    ///
    /// Tools such as oc-mirror copy the images in `spec.relatedImages`. An image that is not listed
    /// is missing from the mirror, and its pods fail with ImagePullBackOff.
    ImageNotDeclared "image-not-declared" Warning;

    "dependencies":
    /// Invalid dependency or property of a bundle.
    ///
    /// The files metadata/dependencies.yaml and metadata/properties.yaml, the annotation
    /// `olm.properties` and the required APIs of the ClusterServiceVersion must have the fields and
    /// version ranges that OLM defines.
    DependencyInvalid "dependency-invalid" Error;
    /// A required package or API is not provided by any bundle in the configuration.
    ///
    /// OLM would install the dependency automatically. Add a bundle that provides it and list that
    /// bundle in `depends-on`. If the cluster already provides it, add it to `provided`. This is
    /// only checked when the whole configuration is built.
    DependencyMissing "dependency-missing" Error;
    /// A required bundle is not in `depends-on`.
    ///
    /// Both bundles are in the configuration, but their install order is not declared. `depends-on`
    /// sets it, and also documents the dependency in the chart.
    DependencyOrder "dependency-order" Note;
    /// Two charts have the same object.
    ///
    /// Helm lets only one release own an object, so the second release cannot be installed:
    /// `invalid ownership metadata`. Keep the object in one chart, a CRD in that of the bundle with its
    /// newest version, and leave it out of the others with a filter.
    SharedObject "shared-object" Warning;
    /// A bundle has a constraint that only OLM can check.
    ///
    /// CEL and label constraints apply to the properties of all operators in a cluster. Check the
    /// constraint by hand.
    DependencyNotChecked "dependency-not-checked" Note;
    "webhooks and APIServices":
    /// A webhook or an owned APIService names a Deployment that is not in the ClusterServiceVersion.
    ///
    /// `deploymentName` must be the name of an entry of the install strategy's deployments: without
    /// the Deployment, the API server's calls would fail. OLM rejects the bundle too.
    ServerMissing "server-missing" Error;
    /// Invalid conversion webhook.
    ///
    /// A CRD has one conversion webhook, from an operator that owns the CRD and watches all
    /// namespaces (CRDs are cluster-scoped), and the CRD must not set preserveUnknownFields. OLM
    /// rejects other bundles too.
    ConversionWebhook "conversion-webhook" Error attention;
    /// An admission webhook intercepts resources that operators may not intercept.
    ///
    /// A webhook for all API groups, or for webhook configurations, could lock everyone out of the
    /// cluster, including the administrators who would repair it. OLM rejects the bundle too.
    ForbiddenRule "forbidden-rule" Error;
    /// Two webhooks or APIServices of a Deployment use one Service port with different target ports.
    ///
    /// All webhooks and APIServices of a Deployment share one Service, whose ports are their
    /// `containerPort`s. A Service port has one target port.
    PortConflict "port-conflict" Error;
    /// The bundle ships a Service with the name of the generated webhook Service.
    ///
    /// The webhook Service of a Deployment has a fixed name, which the webhook configurations
    /// reference. Only one object can have this name, and the generated Service has the ports that
    /// the webhooks need. OLM v0 replaces the shipped Service too.
    ShippedService "shipped-service" Warning;
    /// No certificate is created for an operator with webhooks or APIServices.
    ///
    /// With `certificates = "none"`, no certificate is created or mounted and no CA bundle is
    /// injected. This works only for operators that do both themselves.
    NoCertificate "no-certificate" Warning;

    "lints":
    /// A Deployment or binding uses a ServiceAccount that is not in the chart.
    ///
    /// The chart has the ServiceAccounts in the permissions of the ClusterServiceVersion and those
    /// that the bundle ships. Pods without their ServiceAccount are not created. A binding to such
    /// a ServiceAccount of the release namespace has no effect until something, such as the
    /// operator, creates it.
    AccountMissing "account-missing" Warning attention;
    /// An operator with delegated authentication cannot read extension-apiserver-authentication.
    ///
    /// Servers with delegated authentication read the ConfigMap extension-apiserver-authentication
    /// in kube-system on startup, and some exit if they cannot. OpenShift lets everyone read it. On
    /// other clusters, `auth-reader = true` adds the RoleBinding. Operators that only use
    /// kube-rbac-proxy or controller-runtime to check tokens do not need it.
    AuthReaderMissing "auth-reader-missing" Note attention;
    /// A chart has objects of kinds that plain Kubernetes does not have.
    ///
    /// Helm rejects the whole release if the cluster does not know the kind of one object. Install
    /// the CRDs of the kind, or exclude the objects with a filter.
    ForeignKind "foreign-kind" Warning attention;
    /// An operator has RBAC for OpenShift-only APIs.
    ///
    /// RBAC rules for missing APIs are harmless, but an operator that requires these APIs does not
    /// work. SecurityContextConstraints exist only on OpenShift; other clusters use pod security
    /// admission per namespace.
    OpenshiftOnly "openshift-only" Note attention;
    /// A container sets runAsNonRoot without runAsUser.
    ///
    /// OpenShift assigns a user ID per namespace. On other clusters the image's USER is used, and
    /// pods fail with CreateContainerConfigError if it is root or not numeric.
    RunAsUserMissing "run-as-user-missing" Note attention;
    /// Pods have neither requests nor limits for CPU and memory.
    ///
    /// Such pods are of the class BestEffort: a node that runs out of memory evicts them first, and
    /// the scheduler reserves nothing for them. Set the chart's values `resources`, by the name of
    /// the container, or `resources` of `[bundle.config]`, which replaces those of all containers of
    /// the operator. For objects of overlays and of `[[chart]]`, change the manifest.
    ResourcesMissing "resources-missing" Note;
    /// A Service or PodDisruptionBudget selects no pods of the chart.
    ///
    /// It may be meant for pods that the operator creates, or its labels differ from the
    /// Deployment's.
    SelectorMatchesNothing "selector-matches-nothing" Warning attention;

    "dropped fields":
    /// A field of an object is dropped because it has no effect.
    ///
    /// The field is unknown, or a controller of the cluster replaces its value. Kubernetes has
    /// typed schemas for its built-in kinds, and OLM for the definitions in a
    /// ClusterServiceVersion. Both drop unknown fields, except with server-side apply (the default
    /// of Helm 4), which rejects the object. bundle2chart drops the fields, so they have no effect;
    /// if a field is only in the wrong place, move it with a `[[bundle.patch]]`. Custom resources,
    /// and other kinds without a known schema, are not changed. Controllers replace `rules` of a
    /// ClusterRole with an `aggregationRule`, the revision of a Deployment, and `caBundle` where an
    /// annotation has it injected. They own the field from then on: `helm upgrade` of Helm 4 would
    /// conflict with it. Move permissions of an aggregated ClusterRole to one with the labels that
    /// its `aggregationRule` selects.
    IgnoredField "ignored-field" Warning;
    /// An object sets a field that a controller of the cluster sets too.
    ///
    /// Examples are `replicas` of a Deployment that a HorizontalPodAutoscaler or ScaledObject of
    /// the chart scales, the token of a ServiceAccount's Secret, and Endpoints of a Service with a
    /// selector. After the controller has set the field, each `helm upgrade` of Helm 4 fails with a
    /// conflict, because server-side apply does not overwrite fields of another field manager.
    /// Leave the field out: `del(.spec.replicas)` in a `[[bundle.patch]]`.
    ControllerOwnedField "controller-owned-field" Error;

    "diff":
    /// Chart not found.
    ///
    /// `NAME@VERSION` is a chart in the output directory, `NAME` its highest version there. With
    /// `--rev`, charts are looked up in that revision of the output directory.
    ChartNotFound "chart-not-found" Error;
    /// Cannot read a chart.
    ///
    /// A chart is a directory with a Chart.yaml, or a .tgz of one. The message names the invalid
    /// file.
    ChartUnreadable "chart-unreadable" Error;
    /// The `helm` program was not found, or failed to render a chart.
    ///
    /// bundle2chart renders the charts that it generates itself. Other charts can use all of Helm's
    /// template language and are rendered with `helm template`: install `helm` in PATH. If Helm
    /// fails, the message ends with its error; set required values with `--values`.
    HelmFailed "helm-failed" Error;
    /// `git` failed to read an earlier revision.
    ///
    /// `--rev` reads the output directory, or if that is not committed `bundles.lock`, from a Git
    /// revision. One of them must be in a Git repository and committed in that revision.
    GitFailed "git-failed" Error;
    /// Invalid pattern for changes.
    ///
    /// A pattern is `KIND`, `KIND/NAME`, `KIND/NAMESPACE/NAME`, a path such as `.spec.replicas`, or
    /// both joined by a colon: `Deployment/manager:.spec.replicas`. `*` matches any characters of a
    /// segment and `**` any segments of a path.
    InvalidPattern "invalid-pattern" Error;
    /// Helm rejects the values for a chart.
    ///
    /// `values.schema.json` of the chart does not allow a value, or expects another type, so `helm
    /// upgrade` with these values fails. The comparison ignores rejected values.
    ValuesRefused "values-refused" Warning;
    "CRDs and release size":
    /// A Helm release takes most of its release Secret, or does not fit.
    ///
    /// Helm stores each revision of a release in a Secret, which Kubernetes limits to 1 MiB. The
    /// compressed size counts: the chart's files, without subcharts, and the rendered manifest. The
    /// cause is usually CRDs: `crds = "separate"` moves them to their own release,
    /// `strip-descriptions` shrinks them, and with `crds = "subchart"` they do not count, but must
    /// be upgraded with kubectl.
    ReleaseSize "release-size" Error;
    /// The CRDs of a chart moved to another place since the previous version.
    ///
    /// Helm handles CRDs in crds/ and in templates/ differently: `helm upgrade` ignores the former,
    /// and does not adopt the latter from another release or from kubectl. To upgrade an existing
    /// release, follow the steps in the hint; new installations need none.
    CrdsMoved "crds-moved" Warning;

    /// The CRDs of a bundle are in a separate chart.
    ///
    /// Helm looks up the kinds of all objects of a release before it creates any, so one release
    /// cannot contain both CRD templates and their custom resources. Unless bundles.toml sets
    /// `crds`, the CRDs are then in the chart NAME-crds, which is installed and upgraded first.
    CrdsSeparate "crds-separate" Note;

    "overlays":
    /// Cannot read the manifests of a `[[chart]]`.
    ///
    /// `manifests` of a `[[chart]]` has files, and directories with .yaml, .yml or .json files,
    /// relative to bundles.toml; `[[chart.vendored]]` has one file. Each file can be in a chart
    /// only once, and symbolic links must not leave the directory of bundles.toml. Missing vendored
    /// files are not downloaded: the hint has the command.
    ManifestsUnreadable "manifests-unreadable" Error;
    /// A vendored file does not have the digest that bundles.toml expects.
    ///
    /// `digest` in `[[chart.vendored]]` is the SHA-256 digest of the file. Another digest means
    /// that the file was changed, or that another release was downloaded. Restore the file, or
    /// review the change and set the new digest.
    VendoredDigest "vendored-digest" Error;
    /// A kustomization is among the manifests of a `[[chart]]`.
    ///
    /// A kustomization is an input of kustomize, not an object of a cluster, and bundle2chart does
    /// not run kustomize. Render it and use the result: `kubectl kustomize DIRECTORY > FILE`.
    KustomizationFile "kustomization-file" Error;
    /// A name in `maas` leads nowhere.
    ///
    /// Models as a service connect their parts by name: a model and its tenant name a Gateway, the
    /// Gateway allows routes of some namespaces, and requests name a model. The controller waits,
    /// without an error, for an object that does not exist. `[chart.maas]` and `maas` of
    /// `[[serving]]` are therefore checked against each other.
    MaasReference "maas-reference" Error;
    /// A gate awaits an object that its chart does not contain.
    ///
    /// A gate (`ready` in bundles.toml) on a custom resource awaits one of the chart's own, if the
    /// chart has any of that kind; the same holds for all kinds in a `[[chart]]` without workloads.
    /// With another name the gate never opens. Objects of other kinds may be created by an
    /// operator, so they are not checked.
    GateObject "gate-object" Error;
    /// A step after the installation cannot be carried out.
    ///
    /// A step (`[[bundle.after]]`, `[[chart.after]]`) changes an object that an operator creates.
    /// The Job of the step has permissions for exactly that object, so the scope of its kind must
    /// be known: built into Kubernetes, of a CRD in the chart, or in `scopes`. Objects of the chart
    /// itself are changed with `patch`: a step would change them back and forth with Helm.
    StepAfter "step-after" Error;
    /// Cannot read an overlay.
    ///
    /// The path of a `[[bundle.overlay]]` is a file, or a directory with .yaml, .yml or .json
    /// files, relative to bundles.toml. Each file can be in one overlay only.
    OverlayUnreadable "overlay-unreadable" Error;
    /// An object of an overlay or of a `[[chart]]` fails validation.
    ///
    /// Custom resources are validated against the bundle's CRDs: version, scope, types, required
    /// fields, enums, bounds, patterns, and unknown fields (which the API server would silently
    /// drop).
    OverlayInvalid "overlay-invalid" Error;
    /// An object of an overlay would be installed before its dependencies.
    ///
    /// Helm looks up the kinds of all objects of a release before it creates any, so a custom
    /// resource cannot be in the same release as its CRD, unless the CRD is in crds/ or in the
    /// chart NAME-crds. See `docs/two-step-install.md` for the phases.
    OverlayPhase "overlay-phase" Error;
    /// An object of an overlay has an unknown kind.
    ///
    /// Neither Kubernetes nor the bundle defines the kind, so the object is not validated. If its
    /// CRD is not installed first, Helm rejects the release.
    OverlayUnchecked "overlay-unchecked" Warning;
    /// A patch failed on an object, or changed its identity.
    ///
    /// A patch returns one object per matched object, with the same kind, apiVersion, name and
    /// namespace. Helm values can be kept or removed by a patch, but not inspected.
    PatchFailed "patch-failed" Error;
    "deployment files":
    /// Argo CD would create new certificates with every sync.
    ///
    /// With `certificates = "helm"` a chart creates its certificates on install and looks them up
    /// in the cluster on upgrade. Argo CD renders charts without cluster access, so each sync
    /// creates new ones, and clients with the old CA stop trusting the operator.
    CertificatesRenewed "certificates-renewed" Warning;

    "model servers":
    /// Not supported by the API profile.
    ///
    /// An API profile (`api`) pins a set of matching API versions, flags and images. Older profiles
    /// lack features of newer ones.
    ServingProfile "serving-profile" Error;
    /// The parallelism of a model does not match the pods of a group.
    ///
    /// The product of tensor, pipeline and data parallelism is the number of devices of a replica,
    /// and must equal the devices of the group's pods. With a rank too few or too many, the engine
    /// waits forever. Known from kserve#4946.
    ServingGroupSize "serving-group-size" Error;
    /// The manifests have no model servers to check.
    ///
    /// The check needs pods with a known model server, InferencePools, or endpoint pickers; without
    /// them it would always succeed.
    ServingNothing "serving-nothing" Error;
    /// An InferencePool selects no pods.
    ///
    /// The pool's selector must match the labels of pods that serve requests. With an empty pool,
    /// the picker returns 503.
    ServingPoolEmpty "serving-pool-empty" Error;
    /// The ports of an InferencePool differ from the ports of its pods.
    ///
    /// Every port of the pool is a separate endpoint on every pod. Requests to a closed port fail,
    /// and ranks on an unlisted port stay idle. Known from llm-d#1855: data parallelism on one
    /// port, and eight ports in the pool.
    ServingPoolPorts "serving-pool-ports" Error;
    /// An InferencePool selects pods that serve no requests.
    ///
    /// If only the leader of a group serves requests, its workers must not match the pool's
    /// selector. Known from llm-d-router#220.
    ServingHeadlessSelected "serving-headless-selected" Error;
    /// The InferencePool is invalid.
    ///
    /// A pool has one to eight unique ports, a label selector, and failure mode FailOpen or
    /// FailClose. The API server rejects anything else, including FailClosed from the upstream
    /// chart's README.
    ServingPoolShape "serving-pool-shape" Error;
    /// A reference to an InferencePool that does not exist.
    ///
    /// HTTPRoutes, InferenceObjectives and InferenceModelRewrites reference their pool by group and
    /// name, in their own namespace unless a route sets another. The API server accepts dangling
    /// references, and they have no effect.
    ServingPoolMissing "serving-pool-missing" Error;
    /// An InferencePool references an endpoint picker that does not exist.
    ///
    /// Gateways call the Service of `endpointPickerRef` on its port. Without it, routes to the pool
    /// are not accepted (GAIE#2915).
    ServingPickerMissing "serving-picker-missing" Error;
    /// The port of an endpoint picker does not match its Service or pool.
    ///
    /// `endpointPickerRef`, the Service, and the picker's `--grpc-port` (default 9002) must agree.
    /// The upstream chart's `extProcPort` changes the first two only.
    ServingPickerPort "serving-picker-port" Error;
    /// An endpoint picker watches a different pool than the one that references it.
    ///
    /// `--pool-name`, `--pool-namespace` and `--pool-group` set the pool of a picker. With a wrong
    /// pool, it picks pods of another model, or never becomes ready.
    ServingPickerPool "serving-picker-pool" Error;
    /// An endpoint picker lacks RBAC permissions.
    ///
    /// A picker lists and watches pods, its pool, and the objectives and rewrites of the API groups
    /// that it knows; with leader election it writes leases. Without one of these permissions it
    /// never becomes ready (istio.io#17528). Sidecars and SGLang's router watch pods, too.
    ServingPickerRights "serving-picker-rights" Error;
    /// Several replicas of an endpoint picker conflict.
    ///
    /// With leader election, only one pod is ever ready: rolling updates never finish, so the
    /// strategy must be Recreate (GAIE#1619), and the probes must use the services `liveness` and
    /// `readiness`. Without it, each pod only knows its own requests.
    ServingPickerReplicas "serving-picker-replicas" Error;
    /// The EndpointPickerConfig is invalid.
    ///
    /// Pickers validate their EndpointPickerConfig on startup, and exit on unknown plugins,
    /// references, feature gates and fields (llm-d-router#1134). This is the same check at build
    /// time.
    ServingPickerConfig "serving-picker-config" Error;
    /// A plugin, a flag or an apiVersion is deprecated.
    ///
    /// It works in the release that the image names, and makes the program exit in a later one
    /// (llm-d-router#936, llm-d-router#761).
    ServingDeprecated "serving-deprecated" Warning;
    /// A kind or field that the CRDs of the release do not have.
    ///
    /// The API server rejects objects of a version that it does not serve, and drops unknown
    /// fields. The release of the CRDs is known from a CRD in the manifests, or from the release of
    /// the endpoint picker; if it is not known, only kinds and fields that no listed release has
    /// are reported.
    ServingApi "serving-api" Error;
    /// Settings that only some releases of a program have.
    ///
    /// The image does not name the version of its program: it has a digest only, a moving tag, or a
    /// tag of another numbering. Flags that all listed releases have are no problem; for others,
    /// the releases that have all of them are listed. The same code reports abbreviated flags,
    /// which fail as soon as a release adds another flag with the same start.
    ServingRelease "serving-release" Note;
    /// The roles of an endpoint picker and of the pods do not match.
    ///
    /// Filters for prefill, decode and encode select pods by the label llm-d.ai/role. If no pod
    /// passes a filter, requests fail; if no filter checks roles, prefill-only pods get whole
    /// requests (llm-d-router#220).
    ServingRoles "serving-roles" Error;
    /// An endpoint picker and its pods, or pods of one pool, serve different models.
    ///
    /// A picker that tokenizes with another model's tokenizer finds no prefix cache hits, and logs
    /// nothing (llm-d#2221). The picker treats all pods of a pool as equal.
    ServingModel "serving-model" Error;
    /// The accelerators of a pod do not match its parallelism.
    ///
    /// The product of tensor, pipeline and data parallelism in a pod is its number of devices. With
    /// too few, the engine waits forever; with too many, the rest is idle (kserve#4946,
    /// kserve#5773, kserve#6044). A TPU v7 counts as two devices.
    ServingDevices "serving-devices" Error;
    /// Pods of a group wait for each other.
    ///
    /// A leader becomes ready when its workers have joined. With `startupPolicy: LeaderReady`,
    /// workers are created only after that, so the group never starts (lws#135).
    ServingStartup "serving-startup" Error;
    /// A worker may start before its leader's address resolves.
    ///
    /// LWS_LEADER_ADDRESS resolves once the leader's pod runs. A worker that starts earlier fails
    /// and restarts its group; wait with `getent hosts` in its command (lws#746).
    ServingLeaderAddress "serving-leader-address" Note;
    /// A routing sidecar does not match its engine.
    ///
    /// With disaggregated prefill, requests go to a sidecar in front of each decode engine. The
    /// sidecar must have the engine's port, and as many ports as the engine (llm-d-router#329,
    /// llm-d-routing-sidecar#59). Without the sidecar, prefill pods get no requests.
    ServingSidecar "serving-sidecar" Error;
    /// A routing sidecar has a flag or value that its release does not support.
    ///
    /// The sidecar exits on unknown flags and connectors. The image's tag names the release:
    /// `--connector` and the per-role TLS flags, for example, were replaced in 0.7 and removed in
    /// 0.10 (llm-d-router#761).
    ServingSidecarFlag "serving-sidecar-flag" Error;
    /// Two containers of a pod listen on the same port.
    ///
    /// Containers of a pod share its network namespace. The second one to start fails in a crash
    /// loop (llm-d-router#329).
    ServingPortClash "serving-port-clash" Error;
    /// A probe uses a port or path that the container does not serve.
    ///
    /// A failing probe restarts the container or keeps the pod unready forever. Workers without a
    /// server cannot have HTTP probes (aibrix#2116).
    ServingProbe "serving-probe" Error;
    /// An image is missing or is a placeholder.
    ///
    /// A pod with a placeholder image cannot start; a container without an image needs one to be
    /// injected.
    ServingImage "serving-image" Error;
    /// An engine on several GPUs has too little shared memory.
    ///
    /// Ranks in a pod exchange data in /dev/shm, which is 64 MiB by default; mount an emptyDir with
    /// `medium: Memory` there. Without it, engines fail under load (llm-d#352).
    ServingSharedMemory "serving-shared-memory" Warning;
    /// Prefill and decode settings differ.
    ///
    /// The KV cache can only be transferred from prefill to decode if both have the same engine,
    /// block size and cache type.
    ServingPair "serving-pair" Error;
    /// KV caches cannot be transferred from prefill to decode.
    ///
    /// Prefill and decode have the same connector in `--kv-transfer-config`, and the sidecar of
    /// decode its protocol (`--kv-connector`). With NIXL, decode connects to
    /// VLLM_NIXL_SIDE_CHANNEL_HOST of prefill, which is localhost by default: set it from
    /// `status.podIP` (vllm#27083, kthena#503). Otherwise decode computes every prompt again, and
    /// prefill GPUs are wasted.
    ServingTransfer "serving-transfer" Error;
    /// The target of a model rewrite is not served.
    ///
    /// An InferenceModelRewrite has the name of a served model or LoRA adapter as its target; requests
    /// for other names get 404.
    ServingAdapters "serving-adapters" Error;
    /// The picker's index of prefix caches does not match the engines.
    ///
    /// Precise routing needs KV events (`--kv-events-config`) with the topic and port that the
    /// picker reads, blocks of the same size, one PYTHONHASHSEED, and a scorer that names the
    /// producer: otherwise it silently uses an approximate index (llm-d-router#2274).
    ServingPrefixCache "serving-prefix-cache" Error;
    /// The engine cannot be connected to.
    ///
    /// An engine that listens on 127.0.0.1 is only reachable from its own pod. If it serves HTTPS,
    /// the sidecar needs `--enable-tls=decoder`.
    ServingAddress "serving-address" Error;
    /// A Service sets an environment variable of the engine.
    ///
    /// Kubernetes sets NAME_PORT to an address for each Service in the namespace. A Service named
    /// `vllm` sets VLLM_PORT, which vLLM reads as a number, so it exits (vllm#34199). Pods with
    /// `enableServiceLinks: false` have no such variables.
    ServingServiceLinks "serving-service-links" Error;
    /// An engine requests no CPU or no memory.
    ///
    /// Requests of accelerators do not count for the QoS class: without requests or limits of CPU
    /// and memory a pod is BestEffort. A node that runs out of memory first evicts pods that use
    /// more than they request, and containers without a request of CPU get the least of it. Set
    /// `engine.resources`; the numbers depend on the model and the nodes.
    ServingRequests "serving-requests" Note;
    /// A pod is invalid, or refers to something that does not exist.
    ///
    /// The API server rejects mounts without a volume, requests of devices that differ from their
    /// limits, and duplicate names. The kubelet does not start a container whose ConfigMap or
    /// Secret lacks the key. Objects that are not in the manifests are only reported if one with
    /// nearly the same name is.
    ServingPod "serving-pod" Error;
    /// A selector or a named port matches nothing.
    ///
    /// Deployments select their own pods. Services, monitors, disruption budgets and NetworkPolicies
    /// select pods by labels, and some name their ports; with a wrong label or port they have no
    /// effect, without an error. So has a rule of Prometheus for a series that vLLM does not have.
    ServingSelector "serving-selector" Error;
    /// An HTTPRoute references a Gateway, listener or Service that does not exist.
    ///
    /// Routes reference Gateways by name and namespace, and optionally a listener. Listeners accept
    /// routes of their own namespace only, unless `allowedRoutes` says otherwise. A Service has the
    /// port of the reference. NetworkPolicies allow ports of pods, not those of Services.
    ServingGateway "serving-gateway" Error;
    /// Invalid LeaderWorkerSet or DisaggregatedSet.
    ///
    /// The webhook rejects it: group names are DNS labels that start with a letter, a rolling
    /// update needs maxUnavailable or maxSurge, subgroups must divide groups evenly, and the roles
    /// of a DisaggregatedSet have all replicas or none.
    ServingGroup "serving-group" Error;
    /// An autoscaler has no target, or several autoscalers have the same target.
    ///
    /// Autoscalers reference their target by kind and name. Two autoscalers, or an autoscaler and
    /// `replicas` in the object, overwrite each other. Endpoint pickers are stateful and are not
    /// scaled by load. A metric has a name, and a target of its type.
    ServingAutoscaler "serving-autoscaler" Error;
    /// A PodDisruptionBudget never allows an eviction.
    ///
    /// Nodes with such pods cannot be drained, which blocks cluster upgrades.
    ServingDisruption "serving-disruption" Warning;
    /// A DestinationRule does not match the endpoint picker's host.
    ///
    /// Istio calls endpoint pickers over TLS with a self-signed certificate, so it needs a
    /// DestinationRule for the host of the picker's Service. The upstream chart hard-codes the
    /// cluster domain cluster.local.
    ServingDestination "serving-destination" Error;
    /// The pods of a group do not form one engine.
    ///
    /// Every pod of a group runs the same command with the leader's address and its own ranks:
    /// `--nnodes`, `--node-rank` and `--master-addr`, or `--data-parallel-size-local`,
    /// `--data-parallel-start-rank` and `--data-parallel-address`, with `--headless` if only the
    /// leader serves requests. Charts of llm-d-modelservice created groups without these flags.
    ServingJoin "serving-join" Error;
    /// Invalid engine flags.
    ///
    /// On startup, vLLM and SGLang parse their flags and exit on unknown names, wrong types,
    /// unknown choices and unsupported combinations, so the pod ends in a crash loop. Flags,
    /// choices, JSON fields and connectors are those of the release that the image names; variables
    /// that it does not read have no effect.
    ServingEngineFlags "serving-engine-flags" Error;
    /// The command starts Ray, but the image has no Ray, or another release than the head.
    ///
    /// The images of vLLM do not include Ray since 0.19 (lws#835). Multi-node vLLM works without
    /// it: topology `lws-mp`, or `--nnodes`. To use Ray, set an image that includes it. All pods of a
    /// Ray cluster need the same release.
    ServingRay "serving-ray" Error;
    /// Invalid endpoint picker flags.
    ///
    /// A picker exits on flags that its release does not have. It selects its pods with either
    /// `--pool-name` or `--endpoint-selector`, and reads its configuration from `--config-file` or
    /// `--config-text`. Its probes use `--grpc-health-port` (default 9003).
    ServingPickerFlags "serving-picker-flags" Error;
    /// An LLMInferenceService has a parallelism that KServe does not support.
    ///
    /// KServe supports pipeline parallelism or data parallelism, the latter with `data` and
    /// `dataLocal`. It divides one by the other, drops the remainder, and does not compare either
    /// with the devices that pods request (kserve#4946).
    ServingKserve "serving-kserve" Error;
    /// Two manifests define the same object.
    ///
    /// Objects are identified by group, kind, namespace and name. Charts with fixed names, such as
    /// parts of the upstream router chart, overwrite each other in one namespace. In a directory of
    /// variants, each variant is checked against the pods of the others.
    ServingTwice "serving-twice" Error;
    /// A part of the manifests is not checked.
    ///
    /// The rules check all pod templates, wherever an object has them, and the pods that KServe
    /// creates for LLMInferenceServices and InferenceServices. Not checked are: presets, runtimes
    /// and files that are not in the manifests; engines that Ray Serve starts in Python; unknown
    /// kinds that name an image or a model; documents without apiVersion and kind; and commands
    /// whose variables expand to an unrealistic amount of text.
    ServingUnread "serving-unread" Note;
    /// Two routes match the same requests.
    ///
    /// If two HTTPRoutes of a Gateway match a request equally well, the older one gets it. The
    /// other model gets no requests, or the first one gets requests for a model that it does not
    /// serve.
    ServingRoute "serving-route" Warning;

    "installation":
    /// An operator has RBAC for its OperatorCondition.
    ///
    /// OLM creates an OperatorCondition named after the ClusterServiceVersion, which an operator
    /// uses to block upgrades. Without OLM neither the object nor its CRD exists, and an operator
    /// that requires it may not start. The environment variable OPERATOR_CONDITION_NAME is set as
    /// OLM sets it.
    OperatorCondition "operator-condition" Warning;
    /// A field of an object has the wrong type.
    ///
    /// Kubernetes decodes built-in kinds strictly: a label or an annotation is a string, a list is
    /// a list. In the ClusterServiceVersion this is an error, as in OLM. For other objects it is a
    /// warning: the API server rejects the object, and the release fails. Fix the field with a
    /// `[[bundle.patch]]`, or exclude the object with a filter.
    ObjectFieldType "object-field-type" Error;
    /// The API server rejects an object with invalid content.
    ///
    /// The object has the right types but fails the API server's validation: for example several
    /// ports without names, a selector that does not match the pod template, a mount of an
    /// undefined volume, or an RBAC rule without verbs. A rule needs verbs, and either apiGroups
    /// with resources, or nonResourceURLs (ClusterRoles only). OLM could not install the object
    /// either. It is not changed; fix it with a `[[bundle.patch]]`, or exclude it with a filter.
    ApiRefuses "api-refuses" Warning attention;
    /// A string has a character that server-side apply rejects or changes.
    ///
    /// Helm 4, and Argo CD and kubectl on request, use server-side apply. They send JSON with
    /// unescaped DEL (U+007F), U+0080 to U+009F, U+FFFE and U+FFFF; the API server parses it as
    /// YAML, which rejects them (`control characters are not allowed`), and turns U+0085 (a YAML
    /// line break) into a space. Other control characters are escaped in JSON and are safe. Helm 3
    /// and `helm install --server-side=false` are not affected.
    ControlCharacter "control-character" Warning attention;
    /// The ClusterServiceVersion contradicts the rest of the bundle.
    ///
    /// OLM's bundle validators report this, and operator catalogs reject such bundles. The chart
    /// does not depend on it and is built anyway.
    CsvMismatch "csv-mismatch" Warning;
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
            for text in [code.explanation().title, code.explanation().explanation] {
                let begins = |c: char| c.is_uppercase() || c == '`';
                let sentence = text.starts_with(begins) || text.starts_with("bundle2chart");
                assert!(sentence && text.ends_with('.'), "{name}: {text}");
            }
        }
    }
}
