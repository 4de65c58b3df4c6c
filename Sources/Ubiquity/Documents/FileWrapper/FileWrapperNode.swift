import Model

/// A wrapper as a value, for ``FileWrapper/serializedRepresentation``.
///
/// The format is a binary property list:
/// ```
/// { format: "dewpoint file wrapper 1", type: "file" | "directory" | "link", preferredFilename: string?,
///   permissions: integer?, contents: data (file), destination: string (link), children: { KEY: node } (directory) }
/// ```
struct FileWrapperNode {
    enum Content {
        case file(Data)
        case directory([ItemPath: FileWrapperNode])
        case link(URL)
    }

    private static let format = "dewpoint file wrapper 1"
    /// Of directories in each other, in bytes from elsewhere.
    private static let depthLimit = 256

    let preferredFilename: String?
    let permissions: Int?
    let content: Content

    init?(_ wrapper: FileWrapper) {
        preferredFilename = wrapper.preferredFilename
        permissions = (wrapper.fileAttributes[FileAttributeKey.posixPermissions.rawValue] as? NSNumber)?.intValue
        switch wrapper.content {
        case .bytes, .unread:
            guard let data = wrapper.regularFileContents else { return nil }
            content = .file(data)
        case .link(let url): content = .link(url)
        case .directory(let children):
            var nodes: [ItemPath: FileWrapperNode] = [:]
            for (key, child) in children.byKey {
                guard let node = FileWrapperNode(child) else { return nil }
                nodes[key] = node
            }
            content = .directory(nodes)
        }
    }

    init?(serialized: Data) {
        guard let list = try? PropertyListSerialization.propertyList(from: serialized, options: [], format: nil),
            let dictionary = list as? [String: Any], dictionary["format"] as? String == Self.format
        else { return nil }
        self.init(dictionary, depth: 0)
    }

    private init?(_ dictionary: [String: Any], depth: Int) {
        guard depth < Self.depthLimit else { return nil }
        preferredFilename = dictionary["preferredFilename"] as? String
        permissions = dictionary["permissions"] as? Int
        switch dictionary["type"] as? String {
        case "file":
            guard let data = dictionary["contents"] as? Data else { return nil }
            content = .file(data)
        case "link":
            guard let path = dictionary["destination"] as? String else { return nil }
            content = .link(URL(fileURLWithPath: path, relativeTo: nil))
        case "directory":
            guard let children = dictionary["children"] as? [String: [String: Any]] else { return nil }
            var nodes: [ItemPath: FileWrapperNode] = [:]
            for (key, child) in children {
                // Keys become names: they must not lead out of the directory.
                guard !key.isEmpty, key != ".", key != "..", !key.utf8.contains(ItemPath.separator),
                    !key.utf8.contains(0),
                    let node = FileWrapperNode(child, depth: depth + 1)
                else { return nil }
                nodes[ItemPath(key)] = node
            }
            content = .directory(nodes)
        default: return nil
        }
    }

    var attributes: [String: Any] {
        let type: FileAttributeType =
            switch content {
            case .file: .typeRegular
            case .directory: .typeDirectory
            case .link: .typeSymbolicLink
            }
        var attributes: [String: Any] = [FileAttributeKey.type.rawValue: type]
        if let permissions { attributes[FileAttributeKey.posixPermissions.rawValue] = NSNumber(value: permissions) }
        return attributes
    }

    var serialized: Data? {
        try? PropertyListSerialization.data(
            fromPropertyList: dictionary.merging(["format": Self.format]) { $1 }, format: .binary, options: 0)
    }

    private var dictionary: [String: Any] {
        var dictionary: [String: Any] = [:]
        dictionary["preferredFilename"] = preferredFilename
        dictionary["permissions"] = permissions
        switch content {
        case .file(let data):
            dictionary["type"] = "file"
            dictionary["contents"] = data
        case .link(let url):
            dictionary["type"] = "link"
            dictionary["destination"] = url.relativePath
        case .directory(let children):
            dictionary["type"] = "directory"
            dictionary["children"] = Dictionary(children.map { ($0.string, $1.dictionary) }) { first, _ in first }
        }
        return dictionary
    }
}
