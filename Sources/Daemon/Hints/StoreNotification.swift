import Model

/// What a call of a store is about. Stores differ in what they send: JSON of S3's event notifications, their own, or nothing.
/// So keys of commits are looked for in whatever it is.
enum StoreNotification: Equatable {
    /// The newest commit that is named.
    case commit(CommitNumber)
    /// It names nothing: something may have changed.
    case unknown
    /// Other objects than commits.
    case others

    private static let prefixes = [
        Array("log/".utf8), Array("log%2F".utf8), Array("log%2f".utf8), Array(#"log\/"#.utf8),
    ]
    private static let digitCount = 20

    init(_ body: [UInt8]) {
        var newest: CommitNumber?
        for prefix in Self.prefixes {
            for start in body.ranges(of: prefix).map(\.upperBound) {
                let digits = body[start...].prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
                guard digits.count == Self.digitCount,
                    let number = CommitNumber(String(decoding: digits, as: UTF8.self)),
                    number <= Commit.highestNumber
                else { continue }
                newest = max(newest ?? 0, number)
            }
        }
        if let newest {
            self = .commit(newest)
        } else {
            self = body.ranges(of: Array(#""key""#.utf8)).isEmpty ? .unknown : .others
        }
    }
}
