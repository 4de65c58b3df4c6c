/// The status of one item: the value of the `status` attribute and the response of the control API, one JSON object.
package struct ItemStatus: Hashable, Sendable, Codable {
    /// Relative to the container's root, without a leading `/`; empty for the root.
    package var path: String
    package var kind: ItemKind
    /// `nil` for an item that is not synced.
    package var item: ItemID?
    package var logicalSize: Int64 = 0
    package var downloadingStatus = DownloadingStatus.current
    package var percentDownloaded = 100.0
    package var percentUploaded = 100.0
    package var isDownloading = false
    package var downloadRequested = false
    package var isUploaded = true
    package var isUploading = false
    package var pinned = false
    package var isUbiquitousItem = true
    /// Whether sync is paused for it, a directory above it or the container.
    package var isSyncPaused = false
    /// Whether it, or a directory above it, was excluded from sync.
    package var isExcludedFromSync = false
    package var lastEditor: String?
    /// Identifies one state of the item: changes with every committed change.
    package var etag: String?
    /// How many versions of it wait to be resolved.
    package var conflictCount = 0
    package var downloadingError: ItemFault?
    package var uploadingError: ItemFault?
    /// RFC 3339, with nanoseconds; `nil` from a daemon that does not send it.
    package var created: String?
    /// RFC 3339, with nanoseconds; `nil` from a daemon that does not send it.
    package var modified: String?
    /// A uniform type identifier, for example `public.folder`; `nil` from a daemon that does not send it.
    package var contentType: String?
    /// The name for people; `nil` from a daemon that does not send it.
    package var displayName: String?
    /// `true` for a file with a preview of its bytes, else `nil`.
    package var hasPreview: Bool?

    /// An item of the container that is local and uploaded.
    package init(path: String, kind: ItemKind) {
        self.path = path
        self.kind = kind
    }
}

/// Why an item's bytes cannot be transferred, with Apple's number for it (`NSCocoaErrorDomain`).
package struct ItemFault: Hashable, Sendable, Codable, CustomStringConvertible {
    /// 4353: not uploaded yet by the other device; 4354: over quota; 4355: the store does not answer; 640: no space
    /// here; 256: its own disk does not give its bytes; 259: the bytes in the container are damaged.
    package var code: Int
    package var text: String

    package init(code: Int, text: String) {
        self.code = code
        self.text = text
    }

    package var description: String { "NSCocoaErrorDomain \(code) \(text)" }
}

/// The attributes of items: each is declared by one property, which extended attributes, metadata queries, resource values
/// and the table of the page Semantics derive from. The order is that of the help of `dewpoint query`.
package struct ItemAttributes: Sendable {
    package static let table = ItemAttributes()
    /// In the order of the properties.
    package static let all = Mirror(reflecting: table).children.compactMap { $0.value as? ItemAttribute }

    package let name = ItemAttribute(
        "name", url: "NSURLNameKey", metadata: "kMDItemFSName", "the real name"
    ) { .text($0.fileName) }
    package let displayName = ItemAttribute(metadata: "kMDItemDisplayName") {
        .text($0.status.displayName ?? $0.fileName)
    }
    package let url = ItemAttribute(metadata: "kMDItemURL") { $0.file }
    package let path = ItemAttribute(metadata: "kMDItemPath") { .text($0.absolutePath) }
    package let logicalSize = ItemAttribute(
        "logicalSize", url: "NSURLFileSizeKey", metadata: "kMDItemFSSize", "the real size in bytes"
    ) { .integer($0.status.logicalSize) }
    package let created = ItemAttribute(metadata: "kMDItemFSCreationDate") { .time(rfc3339: $0.status.created) }
    package let modified = ItemAttribute(metadata: "kMDItemFSContentChangeDate") { .time(rfc3339: $0.status.modified) }
    package let contentType = ItemAttribute(
        "contentType", url: "NSURLContentTypeKey", metadata: "kMDItemContentType",
        "a uniform type identifier such as `public.plain-text`"
    ) { .text($0.uniformType) }
    package let contentTypeTree = ItemAttribute(metadata: "kMDItemContentTypeTree") {
        .texts(UniformType.tree(of: $0.uniformType, isDirectory: $0.status.kind == .directory))
    }
    package let isUbiquitousItem = ItemAttribute(
        "isUbiquitousItem", url: "NSURLIsUbiquitousItemKey", metadata: "NSMetadataItemIsUbiquitousKey",
        "`1`; `0` for items that are not synced"
    ) { .flag($0.status.isUbiquitousItem) }
    package let hasUnresolvedConflicts = ItemAttribute(
        ubiquitous: "hasUnresolvedConflicts", "`0`, `1`"
    ) { .flag($0.status.conflictCount > 0) }
    package let isDownloaded = ItemAttribute("isDownloaded", url: "NSURLUbiquitousItemIsDownloadedKey", "`0`, `1`") {
        .flag($0.status.downloadingStatus == .current)
    }
    /// In a query, bytes of an older version count too.
    package let isDownloadedInQueries = ItemAttribute(metadata: "NSMetadataUbiquitousItemIsDownloadedKey") {
        .flag($0.status.downloadingStatus != .notDownloaded)
    }
    package let isDownloading = ItemAttribute(ubiquitous: "isDownloading", "`0`, `1`") {
        .flag($0.status.isDownloading)
    }
    package let isUploaded = ItemAttribute(ubiquitous: "isUploaded", "`0`, `1`") { .flag($0.status.isUploaded) }
    package let isUploading = ItemAttribute(ubiquitous: "isUploading", "`0`, `1`") { .flag($0.status.isUploading) }
    package let downloadRequested = ItemAttribute(
        ubiquitous: "downloadRequested", "`0`, `1`"
    ) { .flag($0.status.downloadRequested) }
    package let isExternalDocument = ItemAttribute(metadata: "NSMetadataUbiquitousItemIsExternalDocumentKey") { _ in
        .flag(false)
    }
    package let isShared = ItemAttribute(ubiquitous: "isShared", "`0`, `1`") { _ in .flag(false) }
    package let downloadingStatus = ItemAttribute(
        ubiquitous: "downloadingStatus",
        "`NotDownloaded`, `Downloaded` (an older version is local), `Current`"
    ) { .state($0.status.downloadingStatus) }
    package let percentDownloaded = ItemAttribute(
        ubiquitous: "percentDownloaded", "`0` to `100`, whole numbers"
    ) { .real($0.status.percentDownloaded) }
    package let percentUploaded = ItemAttribute(
        ubiquitous: "percentUploaded", "`0` to `100`, whole numbers"
    ) { .real($0.status.percentUploaded) }
    package let downloadingError = ItemAttribute(
        ubiquitous: "downloadingError", "`NSCocoaErrorDomain CODE TEXT`", .clearable
    ) { .fault($0.status.downloadingError) }
    package let uploadingError = ItemAttribute(
        ubiquitous: "uploadingError", "`NSCocoaErrorDomain CODE TEXT`", .clearable
    ) { .fault($0.status.uploadingError) }
    package let containerDisplayName = ItemAttribute(ubiquitous: "containerDisplayName", "text") {
        .text($0.containerName())
    }
    package let urlInLocalContainer = ItemAttribute(metadata: "NSMetadataUbiquitousItemURLInLocalContainerKey") {
        $0.file
    }
    package let containerIdentifier = ItemAttribute("containerIdentifier", "text")
    package let scope = ItemAttribute("scope", "`documents` below `Documents`, else `data`")
    package let conflictCount = ItemAttribute("conflictCount", "the number of unresolved conflict versions") {
        .integer(Int64($0.status.conflictCount))
    }
    package let versions = ItemAttribute(
        "versions",
        "JSON array of `{id, kind, date, computer, device, size, conflict, resolved, local}`; at most 64 KiB, so prefer "
            + "`dewpoint versions`")
    package let quotaTotal = ItemAttribute(
        "quotaTotal", "bytes, of the container's root only; `ENODATA` without a quota")
    package let quotaUsed = ItemAttribute("quotaUsed", "bytes, of the container's root only")
    package let lastEditor = ItemAttribute("lastEditor", "the device of the last change") {
        .text($0.status.lastEditor)
    }
    package let etag = ItemAttribute("etag", "a value that changes with every change in the container") {
        .text($0.status.etag)
    }
    package let claims = ItemAttribute(
        "claims", "holders, waiters and presenters of the item, as JSON; `ENODATA` if there are none")
    package let status = ItemAttribute(
        "status",
        "one JSON object, as the control API has it: \(ItemStatus.members); without those that have no value. "
            + "`isSyncPaused` is `syncPaused` here; `created` and `modified` are in RFC 3339, UTC. A container has no creation "
            + "times, so `created` is the earliest modification time known on this device: of the item now, as the "
            + "container has it, or of the earliest version kept")
    package let hasPreview = ItemAttribute(
        "hasPreview", "`0`, `1`: whether a preview of its bytes is in the container, or waits to be uploaded"
    ) { .flag($0.status.hasPreview ?? false) }
    package let syncPaused = ItemAttribute(
        "syncPaused", url: "NSURLUbiquitousItemIsSyncPausedKey",
        "`1`, `0`; reads as `1` in a paused directory and container too", .settable
    ) { .flag($0.status.isSyncPaused) }
    package let isExcludedFromSync = ItemAttribute(
        "isExcludedFromSync", url: "NSURLUbiquitousItemIsExcludedFromSyncKey",
        "`1`, `0`; reads as `1` in an excluded directory too", .settable
    ) { .flag($0.status.isExcludedFromSync) }
    package let download = ItemAttribute(
        "download", "`1` starts the download, `0` cancels it, `wait` returns when the bytes are local", .settable
    ) { .flag($0.status.downloadRequested) }
    package let evict = ItemAttribute("evict", "`1`", .settable) {
        .flag($0.status.downloadingStatus == .notDownloaded)
    }
    package let resolve = ItemAttribute(
        "resolve", "`current`, `newest` or the id of a conflict version: resolves the conflict", .settable)
    package let pinned = ItemAttribute(
        "pinned", "`1`, `0`; items in a directory inherit it", .inherited
    ) { .flag($0.status.pinned) }
    package let preview = ItemAttribute(
        "preview",
        "a JPEG of at most 16 KiB, which other devices show without the bytes; `ENODATA` without one. It is set where the "
            + "bytes are local, and is gone when they change", .removable)
    package let evictAfter = ItemAttribute(
        "evictAfter", "the rule `evict_after` in force: a DURATION or `off`; set on a directory, for what is in it",
        .inherited)
    package let keepRecent = ItemAttribute("keepRecent", "the same of `keep_recent`", .inherited)
    package let downloadSmall = ItemAttribute(
        "downloadSmall", "the same of `download_small`, a SIZE or `off`", .inherited)
}

extension ItemStatus {
    /// The names of the members, for the documentation.
    fileprivate static var members: String {
        let names = Mirror(reflecting: ItemStatus(path: "", kind: .file)).children.compactMap(\.label).map { "`\($0)`" }
        return names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
    }
}

extension ItemAttribute.Item {
    fileprivate var absolutePath: String { status.path.isEmpty ? mountpoint : "\(mountpoint)/\(status.path)" }

    fileprivate var file: ItemAttribute.Value { .file(path: absolutePath, isDirectory: status.kind == .directory) }

    fileprivate var fileName: String { ItemPath(absolutePath).last.map(String.init) ?? "/" }

    /// A daemon that does not send the type still tells directories from files.
    fileprivate var uniformType: String {
        status.contentType ?? (status.kind == .directory ? "public.folder" : "public.data")
    }
}
