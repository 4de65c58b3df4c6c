import Model

/// The part of a container that a query searches.
struct MetadataScope: Equatable, Sendable {
    let mountpoint: String
    var hasDocuments = false
    var hasData = false
    /// Directories, relative to the container's root.
    var directories: [String] = []

    /// What to follow: the whole container for the Documents scope too, since that directory may not exist yet and may
    /// be moved away.
    var followedPath: String {
        guard !hasDocuments, !hasData, let first = directories.first else { return "" }
        let common = directories.dropFirst().reduce(Self.names(first)) { common, path in
            Array(zip(common, Self.names(path)).prefix { $0.isBytewiseEqual(to: $1) }.map(\.0))
        }
        return ItemPath(common).string
    }

    /// Whether a query with this scope searches an item. The directory of a scope itself is not searched.
    func contains(_ status: ItemStatus) -> Bool {
        let path = status.path.utf8
        guard !path.isEmpty else { return false }
        if status.isUbiquitousItem, !path.elementsEqual(Self.documents.utf8) {
            let isDocument = path.starts(with: "\(Self.documents)/".utf8)
            if isDocument ? hasDocuments : hasData { return true }
        }
        return directories.contains { $0.isEmpty || path.starts(with: "\($0)/".utf8) }
    }

    /// Whether an item is in a file package, which is one result, and no searched directory is in the package too.
    func hides(_ status: ItemStatus, isPackage: (String) -> Bool) -> Bool {
        let names = Self.names(status.path)
        var package = ""
        for name in names.dropLast() {
            package += (package.isEmpty ? "" : "/") + String(Substring(name))
            guard isPackage(String(Substring(name))) else { continue }
            let path = package.utf8
            return !directories.contains {
                $0.utf8.elementsEqual(path) || $0.utf8.starts(with: "\(package)/".utf8)
            }
        }
        return false
    }

    private static let documents = "Documents"

    private static func names(_ path: String) -> [Substring] { ItemPath(path).components }
}

extension MetadataScope {
    /// The constants, URLs and paths of `searchScopes`.
    enum Kind {
        case documents, data
        /// One that has no items here.
        case empty
        case local
        case directory(URL)

        init?(_ scope: Any) {
            switch scope {
            case let url as URL: self = .directory(url)
            case let url as NSURL: self = .directory(url as URL)
            case NSMetadataQueryUbiquitousDocumentsScope as String: self = .documents
            case NSMetadataQueryUbiquitousDataScope as String: self = .data
            case NSMetadataQueryAccessibleUbiquitousExternalDocumentsScope as String: self = .empty
            case let name as String where Self.localScopes.contains(name): self = .local
            case let path as String: self = .directory(URL(fileURLWithPath: path))
            default: return nil
            }
        }

        var isUbiquitousConstant: Bool {
            switch self {
            case .documents, .data, .empty: true
            case .local, .directory: false
            }
        }

        var isLocal: Bool { if case .local = self { true } else { false } }

        private static let localScopes: Set<String> = [
            NSMetadataQueryUserHomeScope, NSMetadataQueryLocalComputerScope, NSMetadataQueryLocalDocumentsScope,
            NSMetadataQueryNetworkScope, NSMetadataQueryIndexedLocalComputerScope,
            NSMetadataQueryIndexedNetworkScope,
        ]
    }

    /// The containers to follow. Asks the mounts, and so may block.
    ///
    /// - Parameter kinds: Empty for everything in the program's containers.
    static func resolve(_ kinds: [Kind]) -> [MetadataScope] {
        let isUnlimited = kinds.isEmpty
        var scopes: [MetadataScope] = []
        func update(_ mountpoint: String, _ change: (inout MetadataScope) -> Void) {
            let index = scopes.firstIndex { $0.mountpoint.isBytewiseEqual(to: mountpoint) } ?? scopes.endIndex
            if index == scopes.endIndex { scopes.append(MetadataScope(mountpoint: mountpoint)) }
            change(&scopes[index])
        }
        let hasDocuments = isUnlimited || kinds.contains { if case .documents = $0 { true } else { false } }
        let hasData = isUnlimited || kinds.contains { if case .data = $0 { true } else { false } }
        if hasDocuments || hasData {
            for entry in ProgramContainers.mounted() {
                update(entry.container.mountpoint) {
                    $0.hasDocuments = hasDocuments
                    $0.hasData = hasData
                }
            }
        }
        for case .directory(let url) in kinds {
            guard let (container, path) = MountedContainer.containing(url) else { continue }
            update(container.mountpoint) { $0.directories.append(path) }
        }
        return scopes
    }
}
