package import Model

package struct PresenterID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }
    package init(_ rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (left: PresenterID, right: PresenterID) -> Bool { left.rawValue < right.rawValue }
}

/// A message that a presenter must answer before a claim is granted.
package enum PresenterMessage: Hashable, Sendable {
    case relinquishToReader
    case relinquishToWriter
    case save
    case accommodateDeletion
    /// An item to be deleted in the package that it presents.
    case accommodateSubitemDeletion(ClaimItem)
    case accommodateEviction

    package var method: PresenterMethod {
        switch self {
        case .relinquishToReader: .relinquishToReader
        case .relinquishToWriter: .relinquishToWriter
        case .save: .save
        case .accommodateDeletion: .accommodateDeletion
        case .accommodateSubitemDeletion: .accommodateSubitemDeletion
        case .accommodateEviction: .accommodateEviction
        }
    }

    var isRelinquish: Bool {
        switch self {
        case .relinquishToReader, .relinquishToWriter: true
        case .save, .accommodateDeletion, .accommodateSubitemDeletion, .accommodateEviction: false
        }
    }
}

/// The table's identifier for one message that one presenter must answer. Never reused.
package struct QuestionID: RawRepresentable, Hashable, Comparable, Sendable, Codable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    package static func < (left: QuestionID, right: QuestionID) -> Bool { left.rawValue < right.rawValue }
}

package struct Question: Hashable, Sendable {
    package let id: QuestionID
    /// The claim set that it is asked for.
    package let set: ClaimSetID
    package let presenter: PresenterID
    package let message: PresenterMessage
}

package enum PresenterAnswer: Hashable, Sendable {
    case done
    /// Done; the presenter passed a reacquirer, to be called when the claim is over.
    case willReacquire
    /// The claim fails with this error.
    case failed(String)
}
