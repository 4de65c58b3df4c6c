/// A message of the daemon in a session: one JSON object with one key on each line.
///
///     {"welcome":{"client":3,"keepsClaims":false}}                    first of all
///     {"waiting":{"claim":1,"for":"dewpoint(812)"}}                   not granted at once; once per claim
///     {"downloading":{"claim":1,"bytesDone":0,"bytesTotal":9}}        repeated while bytes arrive
///     {"granted":{"claim":1,"id":88,"paths":["a.txt"]}}               the current paths of the items
///     {"released":{"claim":1}}                                        the answer to a release
///     {"ended":{"claim":1,"reason":"timedOut","code":"timedOut","message":"…"}}
///     {"ask":{"question":12,"presenter":7,"message":"save"}}
///     {"reacquire":{"question":12,"presenter":7}}
///     {"notice":{"presenter":7,"notice":"didMove","path":"b.txt"}}
///     {"registered":{"presenter":7}}                                  the answer to present and withdraw
///     {"refused":{"message":"…","code":"invalid"}}                    a request that could not be executed
package enum SessionEvent: Hashable, Sendable {
    /// - Parameter keepsClaims: Whether granted claims outlive the daemon: see ``ClaimRequest/heldBy``.
    case welcome(client: UInt64, keepsClaims: Bool)
    case waiting(claim: UInt64, for: String)
    case downloading(claim: UInt64, bytesDone: Int64, bytesTotal: Int64)
    case granted(claim: UInt64, id: UInt64, paths: [String])
    case released(claim: UInt64)
    case ended(ClaimEnded)
    case ask(PresenterQuestion)
    case reacquire(presenter: UInt64, question: UInt64)
    case notice(PresenterNews)
    case registered(presenter: UInt64)
    case refused(RequestRefused)
}

/// A claim was not granted, or was revoked.
package struct ClaimEnded: Codable, Hashable, Sendable {
    package enum Reason: String, Codable, Hashable, Sendable {
        /// It was broken (`dewpoint locks --break`), or its item disappeared with the daemon's mount.
        case revoked
        case cancelled, timedOut
        /// A presenter answered with an error, or does not answer.
        case presenter
        case download, deadlock, invalid
    }

    package var claim: UInt64
    package var reason: Reason
    package var code: FileError.Code
    package var message: String

    package init(claim: UInt64, reason: Reason, code: FileError.Code, message: String) {
        self.claim = claim
        self.reason = reason
        self.code = code
        self.message = message
    }
}

/// A question that a presenter must answer with a ``PresenterReply``.
package struct PresenterQuestion: Codable, Hashable, Sendable {
    package var question: UInt64
    package var presenter: UInt64
    /// One of the first six of ``PresenterMethod``.
    package var message: PresenterMethod
    /// The subitem that is to be deleted.
    package var path: String?

    package init(question: UInt64, presenter: UInt64, message: PresenterMethod, path: String? = nil) {
        self.question = question
        self.presenter = presenter
        self.message = message
        self.path = path
    }
}

/// A notification to a presenter.
package struct PresenterNews: Codable, Hashable, Sendable {
    package var presenter: UInt64
    package var notice: PresenterMethod
    /// The current path of the item, or of the subitem.
    package var path: String?
    /// The former path of a subitem.
    package var from: String?
    /// The ubiquity attributes that changed.
    package var keys: [String]?
    /// The id of a version.
    package var version: String?

    package init(presenter: UInt64, notice: PresenterMethod, path: String? = nil) {
        self.presenter = presenter
        self.notice = notice
        self.path = path
    }
}

/// A request that was not executed; the session continues.
package struct RequestRefused: Codable, Hashable, Sendable {
    package var code: FileError.Code
    package var message: String
    /// The presenter of the request, if any.
    package var presenter: UInt64?
    /// The claim of the request, if any.
    package var claim: UInt64?

    package init(code: FileError.Code, message: String, presenter: UInt64? = nil, claim: UInt64? = nil) {
        self.code = code
        self.message = message
        self.presenter = presenter
        self.claim = claim
    }
}

extension SessionEvent: Codable {
    private enum Key: String, CodingKey {
        case welcome, waiting, downloading, granted, released, ended, ask, reacquire, notice, registered, refused
    }
    private struct Welcome: Codable {
        var client: UInt64
        /// Earlier daemons do not say it.
        var keepsClaims: Bool?
    }
    private struct Waiting: Codable {
        var claim: UInt64
        var `for`: String
    }
    private struct Downloading: Codable {
        var claim: UInt64
        var bytesDone: Int64
        var bytesTotal: Int64
    }
    private struct Granted: Codable {
        var claim: UInt64
        var id: UInt64
        var paths: [String]
    }
    private struct Claim: Codable { var claim: UInt64 }
    private struct Presenter: Codable { var presenter: UInt64 }
    private struct Reacquire: Codable {
        var presenter: UInt64
        var question: UInt64
    }

    package init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        guard let key = object.allKeys.first else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: "an event of another version"))
        }
        switch key {
        case .welcome:
            let body = try object.decode(Welcome.self, forKey: key)
            self = .welcome(client: body.client, keepsClaims: body.keepsClaims ?? false)
        case .waiting:
            let body = try object.decode(Waiting.self, forKey: key)
            self = .waiting(claim: body.claim, for: body.for)
        case .downloading:
            let body = try object.decode(Downloading.self, forKey: key)
            self = .downloading(claim: body.claim, bytesDone: body.bytesDone, bytesTotal: body.bytesTotal)
        case .granted:
            let body = try object.decode(Granted.self, forKey: key)
            self = .granted(claim: body.claim, id: body.id, paths: body.paths)
        case .released: self = .released(claim: try object.decode(Claim.self, forKey: key).claim)
        case .ended: self = .ended(try object.decode(ClaimEnded.self, forKey: key))
        case .ask: self = .ask(try object.decode(PresenterQuestion.self, forKey: key))
        case .reacquire:
            let body = try object.decode(Reacquire.self, forKey: key)
            self = .reacquire(presenter: body.presenter, question: body.question)
        case .notice: self = .notice(try object.decode(PresenterNews.self, forKey: key))
        case .registered: self = .registered(presenter: try object.decode(Presenter.self, forKey: key).presenter)
        case .refused: self = .refused(try object.decode(RequestRefused.self, forKey: key))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        switch self {
        case .welcome(let client, let keepsClaims):
            try object.encode(Welcome(client: client, keepsClaims: keepsClaims), forKey: .welcome)
        case .waiting(let claim, let other): try object.encode(Waiting(claim: claim, for: other), forKey: .waiting)
        case .downloading(let claim, let done, let total):
            try object.encode(Downloading(claim: claim, bytesDone: done, bytesTotal: total), forKey: .downloading)
        case .granted(let claim, let id, let paths):
            try object.encode(Granted(claim: claim, id: id, paths: paths), forKey: .granted)
        case .released(let claim): try object.encode(Claim(claim: claim), forKey: .released)
        case .ended(let end): try object.encode(end, forKey: .ended)
        case .ask(let question): try object.encode(question, forKey: .ask)
        case .reacquire(let presenter, let question):
            try object.encode(Reacquire(presenter: presenter, question: question), forKey: .reacquire)
        case .notice(let news): try object.encode(news, forKey: .notice)
        case .registered(let presenter): try object.encode(Presenter(presenter: presenter), forKey: .registered)
        case .refused(let refusal): try object.encode(refusal, forKey: .refused)
        }
    }
}
