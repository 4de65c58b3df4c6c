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

    private static let digitCount = 20
    /// How a slash may be written.
    private static let slashes = [#"/"#, "%2F", "%2f", #"\/"#]

    /// - Parameter prefix: Of the container's keys: a bucket may have several containers.
    init(_ body: [UInt8], prefix: String) {
        var newest: CommitNumber?
        for slash in Self.slashes {
            let key = Array((prefix + "log/").replacing("/", with: slash).utf8)
            for start in body.ranges(of: key).map(\.upperBound) {
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
