/// A pack, adoption or manifest that is unreferenced, and that may never be referenced again; written as its key.
package enum CondemnedObject: Hashable, Sendable {
    case pack(PackID)
    /// The object that names the bucket's object for a pack; never that object itself.
    case adopted(PackID)
    case manifest(ChunkHash)
}

extension CondemnedObject: LosslessStringConvertible, Codable {
    private static let packs = "packs/"
    private static let adoptions = "adopted/"
    private static let manifests = "manifests/"

    /// - Parameter key: For example `packs/4b0…`; for anything but the exact key of such an object the result is `nil`.
    package init?(_ key: String) {
        if key.hasPrefix(Self.packs), let id = PackID(String(key.dropFirst(Self.packs.count))) {
            self = .pack(id)
        } else if key.hasPrefix(Self.adoptions), let id = PackID(String(key.dropFirst(Self.adoptions.count))) {
            self = .adopted(id)
        } else if key.hasPrefix(Self.manifests), let hash = ChunkHash(String(key.dropFirst(Self.manifests.count))) {
            self = .manifest(hash)
        } else {
            return nil
        }
        // A UUID with capitals, for example, would be accepted, but is another object's key.
        guard description.utf8.elementsEqual(key.utf8) else { return nil }
    }

    package var description: String {
        switch self {
        case .pack(let id): "\(Self.packs)\(id)"
        case .adopted(let id): "\(Self.adoptions)\(id)"
        case .manifest(let hash): "\(Self.manifests)\(hash)"
        }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let key = try container.decode(String.self)
        guard let object = CondemnedObject(key) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "no pack or manifest: \(key)")
        }
        self = object
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension Content {
    /// The packs that it refers to, once for each run.
    package var packs: [PackID] {
        runs.compactMap { run in
            switch run {
            case .stored(let pack, _, _): pack
            case .zeros: nil
            }
        }
    }
}

extension ItemRecord {
    /// All contents that the record refers to: they are kept as long as the record is valid.
    package var references: [Reference] { (content.map { [$0] } ?? []) + conflicts.map(\.content) }

    /// The objects that it names directly.
    package var objects: [CondemnedObject] {
        references.flatMap(\.objects) + (preview.map { [.pack($0.pack)] } ?? [])
    }
}

extension ItemRecord.Reference {
    /// The objects that it names directly; those of a manifest are listed in the manifest.
    package var objects: [CondemnedObject] {
        switch self {
        case .inline(let content): content.packs.map { .pack($0) }
        case .manifest(let hash): [.manifest(hash)]
        }
    }
}
