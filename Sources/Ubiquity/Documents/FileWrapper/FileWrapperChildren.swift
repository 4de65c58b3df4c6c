import Model

/// The children of a directory wrapper, by key.
final class FileWrapperChildren {
    private(set) var byKey: [ItemPath: FileWrapper]
    private var keys: [ObjectIdentifier: ItemPath]

    init(byKey: [ItemPath: FileWrapper] = [:]) {
        self.byKey = byKey
        keys = Dictionary(uniqueKeysWithValues: byKey.map { (ObjectIdentifier($0.value), $0.key) })
    }

    var all: [FileWrapper] { Array(byKey.values) }

    /// In the order of the keys.
    var inOrder: [(key: ItemPath, value: FileWrapper)] { byKey.sorted { $0.key < $1.key } }

    func key(of child: FileWrapper) -> String? { keys[ObjectIdentifier(child)]?.string }

    /// - Returns: The preferred name, or as Apple's file wrappers make it unique: `1__#$!@%!#__NAME`.
    func add(_ child: FileWrapper, preferredName: String) -> String {
        if let key = key(of: child) { return key }
        var key = ItemPath(preferredName)
        var count = 0
        while byKey[key] != nil {
            count += 1
            key = ItemPath("\(count)__#$!@%!#__\(preferredName)")
        }
        byKey[key] = child
        keys[ObjectIdentifier(child)] = key
        return key.string
    }

    func remove(_ child: FileWrapper) {
        guard let key = keys.removeValue(forKey: ObjectIdentifier(child)) else { return }
        byKey[key] = nil
    }
}
