import Model

/// A file, directory or symbolic link held in memory: the contents of a document that is a file package.
///
/// A directory wrapper has child wrappers under *keys*, which are their names on disk. The bytes of a file are read when
/// they are first asked for, and a child whose bytes nobody has changed is written as a hard link to its former file:
/// so a file of a package that is not downloaded is neither downloaded nor uploaded by a save.
///
/// Not thread-safe, as Apple's. Differences from Apple's: there is no `icon` and no `NSSecureCoding`;
/// ``serializedRepresentation`` has a format of its own. Misuse that raises an exception there is a precondition here,
/// unless the member says otherwise.
open class FileWrapper: NSObject {
    /// How a wrapper reads.
    public struct ReadingOptions: OptionSet, Sendable, Hashable {
        /// The same value as Apple's.
        public let rawValue: UInt
        /// The value with this raw value.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// All bytes are read at once, recursively, not when they are first asked for.
        public static let immediate = ReadingOptions(rawValue: 1)
        /// Files are not mapped into memory. Differences from Apple's: they never are.
        public static let withoutMapping = ReadingOptions(rawValue: 2)
    }

    /// How a wrapper writes.
    public struct WritingOptions: OptionSet, Sendable, Hashable {
        /// The same value as Apple's.
        public let rawValue: UInt
        /// The value with this raw value.
        public init(rawValue: UInt) { self.rawValue = rawValue }

        /// The item is written beside the URL and then put in its place.
        public static let atomic = WritingOptions(rawValue: 1)
        /// The ``FileWrapper/filename`` of the wrapper and of everything in it is set to the name under which it was
        /// written, so that the next save finds what is unchanged.
        public static let withNameUpdating = WritingOptions(rawValue: 2)
    }

    enum Content {
        case bytes(Data)
        /// Not read yet; what the file was when the wrapper was read.
        case unread(URL)
        case directory(FileWrapperChildren)
        case link(URL)
    }

    var content: Content
    /// What the item on disk was when it was last read or written; `nil` for what was never on disk.
    var signature: ItemSignature?
    private var preferredName: String?
    private var parents: [WeakFileWrapper] = []

    /// Reads the item at a URL.
    ///
    /// - Throws: `NSCocoaErrorDomain`: 260 when there is none, 257 when it may not be read, else 256.
    public init(url: URL, options: ReadingOptions = []) throws {
        let (content, signature) = try Content.read(url, options: options, former: nil)
        self.content = content
        self.signature = signature
        filename = url.fileName
        preferredName = url.fileName
        fileAttributes = FileWrapper.attributes(signature)
        super.init()
        adoptChildren()
    }

    /// Creates a directory with children.
    ///
    /// - Parameter childrenByPreferredName: Children without a ``preferredFilename`` get their key as one.
    public init(directoryWithFileWrappers childrenByPreferredName: [String: FileWrapper]) {
        content = .directory(FileWrapperChildren())
        fileAttributes = [FileAttributeKey.type.rawValue: FileAttributeType.typeDirectory]
        super.init()
        for (name, child) in childrenByPreferredName.sorted(by: { $0.key < $1.key }) {
            if child.preferredFilename == nil { child.preferredFilename = name }
            addFileWrapper(child)
        }
    }

    /// Creates a file.
    public init(regularFileWithContents contents: Data) {
        content = .bytes(contents)
        fileAttributes = [FileAttributeKey.type.rawValue: FileAttributeType.typeRegular]
    }

    /// Creates a symbolic link.
    ///
    /// - Parameter url: A relative URL makes a relative link.
    public init(symbolicLinkWithDestinationURL url: URL) {
        content = .link(url)
        fileAttributes = [FileAttributeKey.type.rawValue: FileAttributeType.typeSymbolicLink]
    }

    /// Creates a wrapper from another one's ``serializedRepresentation``.
    ///
    /// - Returns: `nil` for any other bytes.
    public convenience init?(serializedRepresentation: Data) {
        guard let node = FileWrapperNode(serialized: serializedRepresentation) else { return nil }
        self.init(node)
    }

    init(_ node: FileWrapperNode) {
        switch node.content {
        case .file(let data): content = .bytes(data)
        case .link(let destination): content = .link(destination)
        case .directory(let children):
            content = .directory(FileWrapperChildren(byKey: children.mapValues { FileWrapper($0) }))
        }
        preferredName = node.preferredFilename
        fileAttributes = node.attributes
        super.init()
        adoptChildren()
    }

    /// The wrapper with everything in it as bytes, reading what was not read yet; `nil` when that fails.
    ///
    /// Differences from Apple's: the format is a binary property list of nested dictionaries (see `FileWrapperNode`),
    /// not that of `NSFileWrapper`.
    open var serializedRepresentation: Data? { FileWrapperNode(self)?.serialized }

    /// Whether this wraps a directory.
    open var isDirectory: Bool {
        if case .directory = content { true } else { false }
    }

    /// Whether this wraps a file.
    open var isRegularFile: Bool {
        switch content {
        case .bytes, .unread: true
        case .directory, .link: false
        }
    }

    /// Whether this wraps a symbolic link.
    open var isSymbolicLink: Bool {
        if case .link = content { true } else { false }
    }

    /// The name that a directory uses for this child, made unique if another child has it.
    ///
    /// Changing it gives the child a new key in every directory that contains it.
    open var preferredFilename: String? {
        get { preferredName }
        set {
            precondition(newValue?.isEmpty != true, "a file wrapper's preferred filename must not be empty")
            guard newValue.map(ItemPath.init) != preferredName.map(ItemPath.init) else { return }
            let directories = parents.compactMap(\.wrapper)
            for directory in directories { directory.removeFileWrapper(self) }
            preferredName = newValue
            guard newValue != nil else { return }
            for directory in directories { directory.addFileWrapper(self) }
        }
    }

    /// The name of the item on disk, as last read or written with `withNameUpdating`; `nil` for a new item.
    open var filename: String?

    /// The item's attributes, by `FileAttributeKey` raw values.
    ///
    /// Differences from Apple's: only `posixPermissions` is written.
    open var fileAttributes: [String: Any]

    /// Whether the item on disk is what this wrapper was last read from or written to.
    ///
    /// Bytes are not compared: a file is judged by its modification date and size, a directory by the names and the
    /// items in it, a symbolic link by its destination.
    open func matchesContents(of url: URL) -> Bool { content.matches(url, signature) }

    /// Reads the item again; what is unchanged on disk keeps its wrapper and its bytes.
    ///
    /// - Throws: As ``init(url:options:)``; the wrapper is then unchanged.
    open func read(from url: URL, options: ReadingOptions = []) throws {
        let (content, signature) = try Content.read(url, options: options, former: self)
        if case .directory(let children) = self.content { children.all.forEach { $0.leave(self) } }
        self.content = content
        self.signature = signature
        filename = url.fileName
        if preferredName == nil { preferredName = url.fileName }
        fileAttributes = FileWrapper.attributes(signature)
        adoptChildren()
    }

    /// Writes the item.
    ///
    /// Without `atomic`, a file is overwritten in place, and a directory or link must not exist yet. With it, an
    /// existing item is replaced: files as a whole, a directory file by file, so that each keeps its history.
    /// - Parameter originalContentsURL: The item's former state on disk. Files in it that were not changed since they
    ///   were read or written are hard-linked, not copied.
    /// - Throws: `NSCocoaErrorDomain`: 4 when the directory is missing, 513 when it may not be written, 516 when an item
    ///   is in the way, 640 when the disk is full, 642 for a read-only one, else 512.
    open func write(to url: URL, options: WritingOptions = [], originalContentsURL: URL?) throws {
        let writer = FileWrapperWriter(updatesNames: options.contains(.withNameUpdating))
        guard options.contains(.atomic) else {
            return try writer.write(self, to: url, original: originalContentsURL, mayOverwrite: true)
        }
        let staging = try DocumentStaging(for: url)
        defer { staging.remove() }
        let staged = staging.url.appendingPathComponent(url.fileName)
        try writer.write(self, to: staged, original: originalContentsURL, mayOverwrite: false)
        try DocumentReplacement.put(staged, at: url)
    }

    /// Adds a child to a directory.
    ///
    /// - Precondition: This is a directory, and the child has a ``preferredFilename``.
    /// - Returns: The child's key: its preferred filename, with a prefix if another child has that key.
    @discardableResult
    open func addFileWrapper(_ child: FileWrapper) -> String {
        guard let name = child.preferredFilename else {
            preconditionFailure("a file wrapper without a preferred filename cannot be added to a directory")
        }
        let key = children.add(child, preferredName: name)
        child.parents.append(WeakFileWrapper(wrapper: self))
        return key
    }

    /// Adds a file to a directory.
    ///
    /// - Returns: As ``addFileWrapper(_:)``.
    @discardableResult
    open func addRegularFile(withContents data: Data, preferredFilename fileName: String) -> String {
        let child = FileWrapper(regularFileWithContents: data)
        child.preferredFilename = fileName
        return addFileWrapper(child)
    }

    /// Removes a child from a directory; does nothing when it is not one.
    open func removeFileWrapper(_ child: FileWrapper) {
        children.remove(child)
        child.leave(self)
    }

    /// The children by key.
    ///
    /// Differences from Apple's: `nil` when this is no directory, where Apple's raises an exception.
    /// Of two children whose keys differ in composition only, as `é` can, a dictionary of Swift has room for one; both
    /// are kept and written.
    open var fileWrappers: [String: FileWrapper]? {
        guard case .directory(let children) = content else { return nil }
        return Dictionary(children.inOrder.map { ($0.key.string, $0.value) }) { first, _ in first }
    }

    /// The key of a child, `nil` when it is not one.
    open func keyForChildFileWrapper(_ child: FileWrapper) -> String? { children.key(of: child) }

    /// The bytes of a file, read now if they were not; `nil` when that fails.
    ///
    /// Differences from Apple's: `nil` when this is no file, where Apple's raises an exception; a file that changed on
    /// disk gives its current bytes.
    open var regularFileContents: Data? {
        switch content {
        case .bytes(let data): return data
        case .unread(let url):
            guard let data = try? Data(contentsOf: url) else { return nil }
            content = .bytes(data)
            return data
        case .directory, .link: return nil
        }
    }

    /// The destination of a symbolic link.
    ///
    /// Differences from Apple's: `nil` when this is no link, where Apple's raises an exception.
    open var symbolicLinkDestinationURL: URL? {
        if case .link(let url) = content { url } else { nil }
    }

    private var children: FileWrapperChildren {
        guard case .directory(let children) = content else {
            preconditionFailure("this file wrapper is not a directory")
        }
        return children
    }

    private func adoptChildren() {
        guard case .directory(let children) = content else { return }
        for child in children.all { child.parents.append(WeakFileWrapper(wrapper: self)) }
    }

    private func leave(_ directory: FileWrapper) {
        parents.removeAll { $0.wrapper == nil || $0.wrapper === directory }
    }

    static func attributes(_ signature: ItemSignature) -> [String: Any] {
        Dictionary(uniqueKeysWithValues: signature.attributes.map { ($0.key.rawValue, $0.value) })
    }
}

/// A directory owns its children, so they refer to it weakly.
private struct WeakFileWrapper {
    weak var wrapper: FileWrapper?
}
