package import Model

/// A request of a client in a session: one JSON object with one key on each line, at most ``lineByteLimit`` long.
///
///     {"claim":{"claim":1,"items":[{"path":"a.txt","writing":"plain"}],"timeoutSeconds":10}}
///     {"release":{"claim":1}}
///     {"cancel":{"claim":1}}                       a waiting claim; has no effect on a granted one
///     {"cancelCoordinator":{"coordinator":"c"}}    all its waiting claims, and later ones
///     {"present":{"presenter":7,"path":"a.txt","methods":["relinquishToWriter","save","didChange"]}}
///     {"withdraw":{"presenter":7}}
///     {"answer":{"question":12,"reacquires":true}}
///     {"packages":{"extensions":["csdoc"]}}        directories with these extensions are file packages from now on
///
/// The session lasts as long as its connection and the process that opened it: when either ends, so does everything it
/// holds.
package enum SessionRequest: Hashable, Sendable {
    case claim(ClaimRequest)
    case release(UInt64)
    case cancel(UInt64)
    case cancelCoordinator(String)
    case present(PresenterRequest)
    case withdraw(UInt64)
    case answer(PresenterReply)
    case packages([String])

    /// The longest line of a request, in bytes: 1 MiB.
    package static let lineByteLimit = 1 << 20
}

extension SessionRequest: Codable {
    private enum Key: String, CodingKey {
        case claim, release, cancel, cancelCoordinator, present, withdraw, answer, packages
    }
    private struct Claim: Codable { var claim: UInt64 }
    private struct Coordinator: Codable { var coordinator: String }
    private struct Presenter: Codable { var presenter: UInt64 }
    private struct Packages: Codable { var extensions: [String] }

    package init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Key.self)
        guard object.allKeys.count == 1, let key = object.allKeys.first else {
            throw DecodingError.dataCorrupted(
                .init(
                    codingPath: decoder.codingPath,
                    debugDescription: "a line is an object with one key: claim, release, cancel, cancelCoordinator, "
                        + "present, withdraw, answer or packages"))
        }
        switch key {
        case .claim: self = .claim(try object.decode(ClaimRequest.self, forKey: key))
        case .release: self = .release(try object.decode(Claim.self, forKey: key).claim)
        case .cancel: self = .cancel(try object.decode(Claim.self, forKey: key).claim)
        case .cancelCoordinator:
            self = .cancelCoordinator(try object.decode(Coordinator.self, forKey: key).coordinator)
        case .present: self = .present(try object.decode(PresenterRequest.self, forKey: key))
        case .withdraw: self = .withdraw(try object.decode(Presenter.self, forKey: key).presenter)
        case .answer: self = .answer(try object.decode(PresenterReply.self, forKey: key))
        case .packages: self = .packages(try object.decode(Packages.self, forKey: key).extensions)
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Key.self)
        switch self {
        case .claim(let request): try object.encode(request, forKey: .claim)
        case .release(let claim): try object.encode(Claim(claim: claim), forKey: .release)
        case .cancel(let claim): try object.encode(Claim(claim: claim), forKey: .cancel)
        case .cancelCoordinator(let name):
            try object.encode(Coordinator(coordinator: name), forKey: .cancelCoordinator)
        case .present(let request): try object.encode(request, forKey: .present)
        case .withdraw(let presenter): try object.encode(Presenter(presenter: presenter), forKey: .withdraw)
        case .answer(let reply): try object.encode(reply, forKey: .answer)
        case .packages(let extensions): try object.encode(Packages(extensions: extensions), forKey: .packages)
        }
    }
}
