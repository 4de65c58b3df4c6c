/// A shortcut that makes the mount fast and changes nothing else: without it the same bytes come, and the same errors.
///
/// Each can be turned off (`dewpoint mount -o off=NAME:NAME`), to find out whether trouble comes from it.
package enum FastPath: String, Hashable, Sendable, Codable, CaseIterable {
    /// The kernel reads and maps downloaded files by itself. Related: `FUSE_PASSTHROUGH`.
    case passthrough
    /// What the kernel has of a file in its page cache outlasts the last close. Related: `FOPEN_KEEP_CACHE`.
    case kernelCache = "kernel_cache"
    /// The kernel remembers names, attributes, targets of links, and that there is no such name.
    case metadataCache = "metadata_cache"
    /// A listing brings the attributes of what it lists. Related: `FUSE_READDIRPLUS`.
    case readdirplus
    /// The kernel does not ask before each write whether privileges go with it. Related: `FUSE_HANDLE_KILLPRIV_V2`.
    case killpriv
    /// The kernel sends several requests on one file or directory at a time.
    case parallelRequests = "parallel_requests"
    /// Bytes go from the backing file to the kernel without a copy in between. Related: splice(2).
    case splice
    /// More is brought than was asked for, behind it: by the kernel from the backing file, by a download from the store.
    case readAhead = "read_ahead"
    /// The rest of a file comes with several requests at a time, and several requested files do.
    case parallelDownloads = "parallel_downloads"
    /// Small files that lie together in a pack come with one request, and larger ones that are read one after another.
    case packWindows = "pack_windows"
    /// Who reads only a file's first bytes gets them from a request of their own.
    case fileHeads = "file_heads"
}

/// How a fast path of a mount stands.
package struct FastPathStatus: Hashable, Sendable, Codable {
    package enum State: String, Hashable, Sendable, Codable { case on, off, unavailable }

    package var name: FastPath
    package var state: State
    /// Why it is not on, for people; `nil` when it is.
    package var reason: String?

    package init(_ name: FastPath, _ state: State, reason: String? = nil) {
        self.name = name
        self.state = state
        self.reason = reason
    }
}
