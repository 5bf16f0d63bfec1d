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
        "A jq filter uses something that a filter may not use."
        "Filters decide whether one object is kept. They may not read files or the environment, and they may not use constructs that can run or allocate without end (def, reduce, foreach, label, range, repeat, recurse with a function, assignments, multiplication).";
    RequiredVersion "required-version"
        "This bundle2chart is not the version that the configuration requires."
        "`required-version` in bundles.toml names the versions of bundle2chart that may build it. Install one of these, or change the requirement.";

    // --- passes: filters ------------------------------------------------------------------
    FilterFailed "filter-failed"
        "A jq filter failed on an object."
        "A filter that fails is neither true nor false, so the build stops rather than guess. Use `?` or `//` in the filter to say what a missing field means.";
    FilterTimeout "filter-timeout"
        "A jq filter ran for too long."
        "A filter has a few seconds for all objects of a bundle. Make it simpler.";
    UnusedFilter "unused-filter"
        "A jq filter matched no object."
        "The filter may be misspelt, or the bundle no longer ships what it was written for.";

    // --- source: folders, image layouts and tars ------------------------------------------
    InvalidReference "invalid-reference"
        "A reference to an image is malformed."
        "References are written in full: registry host, repository, and a tag or a digest, for example `registry.redhat.io/team/operator-bundle:1.0`. Short names are refused because what they mean depends on the machine.";
    NoMirror "no-mirror"
        "No mirror has the image."
        "This version of bundle2chart reads images from OCI image layouts only. Copy the image into one and name it in a `[[mirror]]` table whose `from` is the reference's host, or host and first folders.";
    SourceNotFound "source-not-found"
        "The path of a bundle or of a mirror does not exist."
        "Relative paths in bundles.toml start from its folder; on the command line, from the working folder.";
    SourceUnreadable "source-unreadable"
        "A file cannot be read."
        "The operating system refused to give the file; the message says why. Inside an image layout symbolic links are not followed.";
    UnknownSource "unknown-source"
        "A path names nothing that holds a bundle."
        "A path names a bundle folder, which has `manifests/` or `metadata/annotations.yaml`, an OCI image layout, which has `oci-layout`, or a tar of either.";
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
        "annotations.yaml is authoritative, as it is to OLM, but other tools read the labels.";
}
