package import Foundation

/// The contents of `container.json`: written when the container is created, and again only to change its quota.
package struct ContainerIdentity: Hashable, Sendable, Codable {
    /// The version of the container format; see ``Commit/format``.
    package var format: Int
    /// For example `iCloud.com.example.Notes`.
    package var id: ContainerIdentifier
    /// Distinguishes two containers with the same identifier.
    package var uuid: UUID
    package var created: Timestamp
    package var settings: Settings

    package struct Settings: Hashable, Sendable, Codable {
        /// The name shown to people.
        package var name: String
        /// Whether `Documents` is shown to the user (`NSUbiquitousContainerIsDocumentScopePublic`); never affects sync.
        package var documentScopePublic: Bool
        package var folderLevels: FolderLevels
        /// `nil` for no limit.
        package var quota: ContainerQuota?

        package init(
            name: String, documentScopePublic: Bool, folderLevels: FolderLevels, quota: ContainerQuota? = nil
        ) {
            self.name = name
            self.documentScopePublic = documentScopePublic
            self.folderLevels = folderLevels
            self.quota = quota
        }
    }

    /// How deep directories may nest below `Documents` (`NSUbiquitousContainerSupportedFolderLevels`).
    package enum FolderLevels: String, Hashable, Sendable, Codable, CaseIterable {
        case none, one, any

        /// The maximum depth of directories below `Documents`, or `nil` for no limit.
        package var limit: Int? {
            switch self {
            case .none: 0
            case .one: 1
            case .any: nil
            }
        }
    }

    package init(id: ContainerIdentifier, uuid: UUID, created: Timestamp, settings: Settings) {
        format = Commit.format
        self.id = id
        self.uuid = uuid
        self.created = created
        self.settings = settings
    }
}

/// The identifier of a ubiquity container, for example `iCloud.com.example.Notes`: `iCloud.`, then letters, digits, `-`
/// and `.`; at most 155 bytes.
package struct ContainerIdentifier: Hashable, Sendable, Codable, LosslessStringConvertible {
    package let description: String

    package init?(_ description: String) {
        let rest = description.dropFirst("iCloud.".count)
        let parts = rest.split(separator: ".", omittingEmptySubsequences: false)
        guard description.hasPrefix("iCloud."), description.utf8.count <= 155,
            parts.allSatisfy({ part in
                !part.isEmpty && part.utf8.allSatisfy { Self.allowed.contains($0) }
            })
        else { return nil }
        self.description = description
    }

    private static let allowed = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-".utf8)

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = ContainerIdentifier(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "not a container identifier: \(text)")
        }
        self = id
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
