import NIOHTTP1
import Remote

/// Whose answer a response is, judged by its headers. Between this machine and the store there may be others who answer
/// in its name: the login page of a network, a proxy, a firewall.
///
/// What follows from an answer depends on this: only the store knows whether an object exists, and only it can have
/// written one.
///
///     store       has a header of S3's, or an ETag
///     page        is for people: HTML without a header of S3's
///     unmarked    shows nothing of either
enum AnswerOrigin: Hashable, Sendable {
    case store
    case page
    case unmarked

    init(_ headers: HTTPHeaders) {
        if headers.contains(where: { $0.name.lowercased().hasPrefix("x-amz-") }) {
            self = .store
        } else if Self.isPage(headers.first(name: "content-type") ?? "") {
            self = .page
        } else {
            self = headers.contains(name: "etag") ? .store : .unmarked
        }
    }

    private static func isPage(_ contentType: String) -> Bool {
        let type = contentType.prefix { $0 != ";" }.lowercased()
        return type.hasPrefix("text/html") || type.hasPrefix("application/xhtml+xml")
    }
}

/// A response that the store did not send. Nothing follows from it, whatever its status: the request has to be made
/// again.
struct ForeignAnswer: Error, Hashable, Sendable {
    let status: UInt

    /// Whether the same request may succeed in a moment: gateways fail for moments, login pages stay.
    var isTransient: Bool { status >= 500 }

    func storeError(key: String, _ context: S3Context) -> StoreError {
        context.location.unavailable(
            key,
            "the answer (status \(status)) does not come from the store: this network may "
                + "require a login, or a proxy or firewall is between; if not, check --endpoint")
    }
}
