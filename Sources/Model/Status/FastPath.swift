/// An optimization of the mount that affects only its speed: without it the same bytes and errors are returned.
///
/// Each can be turned off (`dewpoint mount -o off=NAME:NAME`), to find out whether it causes a problem.
package enum FastPath: String, Hashable, Sendable, Codable, CaseIterable {
    /// The kernel reads and maps downloaded files by itself. Related: `FUSE_PASSTHROUGH`.
    case passthrough
    /// A file's pages in the kernel's page cache are kept after the last close. Related: `FOPEN_KEEP_CACHE`.
    case kernelCache = "kernel_cache"
    /// The kernel caches names, attributes, targets of links, and missing names.
    case metadataCache = "metadata_cache"
    /// A listing includes the attributes of its entries. Related: `FUSE_READDIRPLUS`.
    case readdirplus
    /// The kernel does not ask before each write whether it must drop privileges. Related: `FUSE_HANDLE_KILLPRIV_V2`.
    case killpriv
    /// The kernel sends several requests on one file or directory at a time.
    case parallelRequests = "parallel_requests"
    /// Bytes pass from the backing file to the kernel without a copy. Related: splice(2).
    case splice
    /// Bytes after the requested range are read ahead: by the kernel from the backing file, by a download from the
    /// store.
    case readAhead = "read_ahead"
    /// The rest of a file is fetched with several requests at a time, and so are several requested files.
    case parallelDownloads = "parallel_downloads"
    /// Small files that are adjacent in a pack are fetched with one request, and so are larger ones that are read one
    /// after another.
    case packWindows = "pack_windows"
    /// A read of only a file's first bytes fetches them with a separate request.
    case fileHeads = "file_heads"
    /// Programs that watch the mount see the changes of other devices. Related: inotify(7).
    case watchEvents = "watch_events"
    /// Devices in the same network tell each other of commits. Without it, the store is asked.
    case hints
}

/// The state of a fast path of a mount.
package struct FastPathStatus: Hashable, Sendable, Codable {
    package enum State: String, Hashable, Sendable, Codable { case on, off, unavailable }

    package var name: FastPath
    package var state: State
    /// Why it is off, for people; `nil` when it is on.
    package var reason: String?

    package init(_ name: FastPath, _ state: State, reason: String? = nil) {
        self.name = name
        self.state = state
        self.reason = reason
    }
}
