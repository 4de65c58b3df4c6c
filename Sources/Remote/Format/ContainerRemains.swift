import Model

/// The objects of a container whose `container.json` is missing. A container that was created there would take them for
/// its own, and a plain one would be continued in plain text where an encrypted one was.
package struct ContainerRemains: Sendable {
    /// Below it are the keyrings of encrypted containers.
    package static let keyrings = "keyring/"

    /// Below these are all objects of a container, but `container.json` and the probe of a creation; in their order.
    private static let prefixes = [
        "adopted/", "enrol/", keyrings, ChangeLog.prefix, "manifests/", "packs/", "shares/", SnapshotStore.prefix,
    ]

    /// What of a keyring is written while its container is created, before `container.json` is: its first version, the
    /// sealed description, and the version that revokes the founder of a copy.
    private static let firstNames = ["000001", "000002", "container"]

    /// How the `container.json` of an encrypted container is made again by hand.
    package static let stubRemedy =
        #"put it back as {"format":2,"uuid":"UUID"}, where UUID is the name of the directory in keyring/ that has "#
        + "000001"

    /// The prefixes below which there are objects.
    private let places: [String]
    /// Whether they may be no more than what the creation of an encrypted container leaves when it is interrupted.
    private let isUnfinished: Bool
    /// Whether they are those of a copy that is to be continued.
    private let isCopy: Bool

    package init(places: [String], isUnfinished: Bool = false, isCopy: Bool = false) {
        self.places = places
        self.isUnfinished = isUnfinished
        self.isCopy = isCopy
    }

    /// Looks for them, with a request for each prefix.
    ///
    /// - Returns: `nil` where there are none. Whether there is a `container.json` is not looked at.
    package static func find(in store: any ObjectStore) async throws(StoreError) -> ContainerRemains? {
        var places: [String] = []
        // Not by one listing of everything: a directory would be read as a whole, with what others have put there.
        for prefix in prefixes {
            if try await !store.list(prefix: prefix, after: nil, limit: 1).isEmpty { places.append(prefix) }
        }
        guard !places.isEmpty else { return nil }
        if try await CopyMark(in: store) != nil { return ContainerRemains(places: places, isCopy: true) }
        let isUnfinished = places == [keyrings] ? try await areFirst(store) : false
        return ContainerRemains(places: places, isUnfinished: isUnfinished)
    }

    /// Whether the keyrings have no more than a creation writes.
    private static func areFirst(_ store: any ObjectStore) async throws(StoreError) -> Bool {
        var last: String?
        while true {
            let page = try await store.list(prefix: keyrings, after: last, limit: ObjectListing.limit)
            guard let end = page.last else { return true }
            for line in page {
                let parts = line.key.splitBytes(at: UInt8(ascii: "/"))
                guard parts.count == 3, firstNames.contains(String(parts[2])) else { return false }
            }
            last = end.key
        }
    }

    /// Refuses a place for a new container where there are any without a `container.json`.
    ///
    /// - Parameter isEncrypted: Whether the new container is: then what an interrupted creation of one has left is in
    ///   nobody's way, since the new one has another UUID.
    /// - Throws: ``StoreError`` with `preconditionFailed`; nothing was changed.
    package static func refuse(in store: any ObjectStore, creatingEncrypted isEncrypted: Bool) async throws(StoreError)
    {
        guard let remains = try await find(in: store), !(isEncrypted && remains.isUnfinished) else { return }
        do throws(StoreError) {
            // Where it is, whoever creates the container finds out whose it is.
            _ = try await store.head(.container(Container.key))
        } catch {
            guard error.code == .notFound else { throw error }
            throw remains.error(creating: true)
        }
    }

    /// The error of opening a container there, or of creating one.
    ///
    /// - Returns: A ``StoreError`` with `notFound`, or `preconditionFailed` where one was to be created.
    package func error(creating isCreating: Bool) -> StoreError {
        let code: StoreError.Code = isCreating ? .preconditionFailed : .notFound
        if isCopy {
            return StoreError(
                code, key: Container.key, CopyMark.sentence + (isCreating ? ", or choose an empty place" : ""),
                remedy: .putBackDescription)
        }
        let isEncrypted = places.contains(Self.keyrings)
        let kind = isEncrypted ? "an encrypted container" : "a container"
        var remedies = ["put it back from a backup"]
        if isEncrypted { remedies.append(Self.stubRemedy) }
        if isUnfinished { remedies.append("repeat its creation if that was interrupted") }
        if isCreating { remedies.append("choose an empty place") }
        return StoreError(
            code, key: Container.key,
            "there are objects of \(kind) in \(places.joined(separator: ", ")), but \(Container.key) is missing: "
                + remedies.joined(separator: ", or "),
            remedy: .putBackDescription)
    }
}
