/// Files in `staging/removed` that wait until the commit that removed them is durable.
struct PostponedRemovals {
    /// How many files and bytes wait at most; beyond that, the index is made durable at once.
    static let countLimit = 512
    static let byteLimit: Int64 = 32 << 20

    private var removals: [BackingChanges.Removal] = []
    private var byteCount: Int64 = 0

    var isEmpty: Bool { removals.isEmpty }
    var isFull: Bool { removals.count >= Self.countLimit || byteCount >= Self.byteLimit }

    mutating func add(_ removal: BackingChanges.Removal) {
        removals.append(removal)
        byteCount += removal.byteCount
    }

    mutating func take() -> [BackingChanges.Removal] {
        defer { self = PostponedRemovals() }
        return removals
    }

    mutating func put(back removals: [BackingChanges.Removal]) {
        for removal in removals { add(removal) }
    }
}
