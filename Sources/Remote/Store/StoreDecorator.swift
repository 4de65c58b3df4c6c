package import Model

/// A store in front of another one, which changes some of its calls: what it does not define is forwarded.
package protocol StoreDecorator: ObjectStore {
    /// The store behind this one.
    ///
    /// - Parameter key: Of the call, for errors.
    func base(_ key: String) throws(StoreError) -> any ObjectStore
}

extension StoreDecorator {
    package func get(_ address: ObjectAddress, range: Range<Int64>?) async throws(StoreError) -> ByteStream {
        try await base(address.key).get(address, range: range)
    }

    package func put(_ key: String, _ body: Body) async throws(StoreError) { try await base(key).put(key, body) }

    package func create(_ key: String, _ body: Body) async throws(StoreError) { try await base(key).create(key, body) }

    package func list(
        _ prefix: ObjectAddress, after: String?, limit: Int
    ) async throws(StoreError) -> [ObjectListing] {
        try await base(prefix.key).list(prefix, after: after, limit: limit)
    }

    package func delete(_ key: String) async throws(StoreError) { try await base(key).delete(key) }

    package func head(_ address: ObjectAddress) async throws(StoreError) -> ObjectListing {
        try await base(address.key).head(address)
    }

    package func assemble(_ key: String, from parts: [ObjectPart]) async throws(StoreError) {
        try await base(key).assemble(key, from: parts)
    }

    package func link(to key: String, for request: ObjectLinkRequest) async throws(StoreError) -> ObjectLink {
        try await base(key).link(to: key, for: request)
    }

    package var bodyCopyCount: Int { (try? base(""))?.bodyCopyCount ?? 0 }

    package func changes(prefix: String) -> AsyncStream<Void>? { (try? base(prefix))?.changes(prefix: prefix) }

    /// False while there is none behind it.
    package var isSealed: Bool { (try? base(""))?.isSealed ?? false }

    package func listedByteCount(_ byteCount: Int64, of key: String) -> Int64 {
        (try? base(key))?.listedByteCount(byteCount, of: key) ?? byteCount
    }

    package func verifyDescription() async throws(StoreError) { try await base("container.json").verifyDescription() }

    package func goOn(fromSnapshot number: CommitNumber) { (try? base(""))?.goOn(fromSnapshot: number) }

    package var formerMemberCount: Int { (try? base(""))?.formerMemberCount ?? 0 }
    package var isBaseDoubtful: Bool { (try? base(""))?.isBaseDoubtful ?? false }

    package func isSignedByFormerMember(_ key: String) async throws(StoreError) -> Bool {
        try await base(key).isSignedByFormerMember(key)
    }

    package func keyProblems() async throws(StoreError) -> [String] { try await base("container.json").keyProblems() }
}
