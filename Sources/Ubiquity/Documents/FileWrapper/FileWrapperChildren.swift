/// The children of a directory wrapper, by key.
final class FileWrapperChildren {
    private(set) var byKey: [String: FileWrapper]
    private var keys: [ObjectIdentifier: String]

    init(byKey: [String: FileWrapper] = [:]) {
        self.byKey = byKey
        keys = Dictionary(uniqueKeysWithValues: byKey.map { (ObjectIdentifier($0.value), $0.key) })
    }

    var all: [FileWrapper] { Array(byKey.values) }

    func key(of child: FileWrapper) -> String? { keys[ObjectIdentifier(child)] }

    /// - Returns: The preferred name, or as Apple's file wrappers make it unique: `1__#$!@%!#__NAME`.
    func add(_ child: FileWrapper, preferredName: String) -> String {
        if let key = key(of: child) { return key }
        var key = preferredName
        var count = 0
        while byKey[key] != nil {
            count += 1
            key = "\(count)__#$!@%!#__\(preferredName)"
        }
        byKey[key] = child
        keys[ObjectIdentifier(child)] = key
        return key
    }

    func remove(_ child: FileWrapper) {
        guard let key = keys.removeValue(forKey: ObjectIdentifier(child)) else { return }
        byKey[key] = nil
    }
}
