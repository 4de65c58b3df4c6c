import Foundation

/// The proxies that the environment names, in the variables that other programs read too.
///
///     HTTPS_PROXY   for https endpoints     http://[USER:PASSWORD@]HOST[:PORT]
///     HTTP_PROXY    for http endpoints      likewise
///     NO_PROXY      exceptions              names, also of all hosts below them; addresses, networks as 10.0.0.0/8; *
///
/// Their names in lower case go first. This machine itself is never reached through a proxy.
struct ProxySettings: Hashable, Sendable {
    /// One proxy.
    struct Proxy: Hashable, Sendable {
        let host: String
        let port: Int
        /// `USER:PASSWORD` in base 64.
        let credentials: String?
    }

    /// A variable that names no proxy that can be used, in a sentence without its value, which may contain a password.
    struct Fault: Error, Hashable, Sendable {
        let sentence: String
    }

    private let secure: Result<Proxy, Fault>?
    private let plain: Result<Proxy, Fault>?
    private let exceptions: [String]

    /// The port when a variable names none.
    private static let usualPort = 80
    private static let secureUsualPort = 443

    init(_ environment: [String: String]) {
        func value(_ name: String) -> String? {
            environment.nonEmpty(name.lowercased()) ?? environment.nonEmpty(name)
        }
        secure = value("HTTPS_PROXY").map { Self.proxy($0, of: "HTTPS_PROXY") }
        plain = value("HTTP_PROXY").map { Self.proxy($0, of: "HTTP_PROXY") }
        exceptions = (value("NO_PROXY") ?? "").split { $0 == "," || $0 == " " }.map { $0.lowercased() }
    }

    /// The proxy for requests to a server.
    ///
    /// - Parameters:
    ///   - host: In lower case; an IPv6 address with or without brackets.
    ///   - port: `nil` for the scheme's default.
    /// - Returns: `nil` when there is none.
    func proxy(isPlain: Bool, host: String, port: Int?) throws(Fault) -> Proxy? {
        let host = host.trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        guard let proxy = isPlain ? plain : secure, !isExcepted(host, port ?? (isPlain ? 80 : Self.secureUsualPort))
        else { return nil }
        return try proxy.get()
    }

    private func isExcepted(_ host: String, _ port: Int) -> Bool {
        if host == "localhost" || host == "::1" || IPv4Network("127.0.0.0/8").contains(host) { return true }
        return exceptions.contains { exception in
            if exception == "*" || exception == host { return true }
            if exception.contains("/") { return IPv4Network(exception).contains(host) }
            var name = exception[...]
            if let colon = name.lastIndex(of: ":"), let only = Int(name[name.index(after: colon)...]) {
                guard only == port else { return false }
                name = name[..<colon]
            }
            if name.hasPrefix("*.") { name = name.dropFirst() }
            return host == name || host.hasSuffix(name.hasPrefix(".") ? name : "." + name) || "." + host == name
        }
    }

    private static func proxy(_ text: String, of variable: String) -> Result<Proxy, Fault> {
        let text = text.contains("://") ? text : "http://" + text
        guard let url = URLComponents(string: text, encodingInvalidCharacters: false), let host = url.host,
            !host.isEmpty, url.scheme?.lowercased() == "http", WebAddress.hasPort(url)
        else {
            return .failure(
                Fault(sentence: "\(variable) must be the URL of a proxy, such as http://proxy.example.com:3128"))
        }
        var credentials: String?
        if let user = url.user {
            credentials = Data("\(user):\(url.password ?? "")".utf8).base64EncodedString()
        }
        return .success(
            Proxy(
                host: host.trimmingCharacters(in: CharacterSet(charactersIn: "[]")), port: url.port ?? usualPort,
                credentials: credentials))
    }
}

/// Addresses that begin with the same bits, as in `10.0.0.0/8`.
private struct IPv4Network {
    private let address: UInt32?
    private let mask: UInt32

    init(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1)
        let length = parts.count == 2 ? Int(parts[1]) ?? -1 : 32
        address = 0...32 ~= length ? Self.address(parts.first ?? "") : nil
        mask = length <= 0 ? 0 : UInt32.max << UInt32(32 - min(length, 32))
    }

    func contains(_ host: String) -> Bool {
        guard let address, let other = Self.address(host[...]) else { return false }
        return address & mask == other & mask
    }

    private static func address(_ text: Substring) -> UInt32? {
        let bytes = text.split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) }
        guard bytes.count == 4 else { return nil }
        var address: UInt32 = 0
        for byte in bytes {
            guard let byte else { return nil }
            address = address << 8 | UInt32(byte)
        }
        return address
    }
}
