import Foundation
import Model

/// What a container gets that is to be created.
extension ContainerIdentity {
    /// Of a container that is to be created.
    ///
    /// - Parameter settings: By default its name is the last part of the identifier.
    init(new id: ContainerIdentifier, settings: Settings? = nil) {
        self.init(
            id: id, uuid: UUID(),
            created: Timestamp(seconds: Int64(Date().timeIntervalSince1970), nanoseconds: 0),
            settings: settings
                ?? Settings(name: Self.defaultName(of: id), documentScopePublic: false, folderLevels: .any))
    }

    static func defaultName(of id: ContainerIdentifier) -> String {
        String(id.description.split(separator: ".").last ?? "")
    }
}

extension ContainerIdentifier {
    /// - Throws: ``CommandFailure`` with `usage`.
    init(argument text: String) throws(CommandFailure) {
        guard let identifier = ContainerIdentifier(text) else {
            throw CommandFailure(
                .usage,
                "\(text) is not an identifier: write iCloud., then letters, digits, - and dots, as in iCloud.com.example.Notes"
            )
        }
        self = identifier
    }
}
