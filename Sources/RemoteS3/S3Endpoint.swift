import Foundation
import Remote

/// The address of an S3 service: `https://s3.eu-west-1.amazonaws.com`, `http://127.0.0.1:7480`.
struct S3Endpoint: Hashable, Sendable {
    /// `http` only if the endpoint says so.
    let isPlain: Bool
    /// In lower case; an IPv6 address with its brackets.
    let host: String
    /// `nil` for the scheme's default.
    let port: Int?
    /// The path between host and bucket, before percent-encoding: empty, or beginning with a slash and not ending with
    /// one.
    let basePath: String

    /// - Throws: ``StoreError`` with `invalid` and a sentence with the correct form.
    init(_ text: String) throws(StoreError) {
        func refuse(_ sentence: String) -> StoreError { StoreError(.invalid, key: text, sentence) }
        guard let url = URLComponents(string: text), let scheme = url.scheme?.lowercased(), scheme.hasPrefix("http"),
            ["http", "https"].contains(scheme), let host = url.host, !host.isEmpty
        else { throw refuse("the endpoint must be a URL, such as https://s3.example.com or http://127.0.0.1:9000") }
        guard url.user == nil, url.password == nil else {
            // Without the text itself, which contains a secret.
            throw StoreError(
                .invalid, key: host, "the endpoint must not contain keys; put them into ~/.aws/credentials")
        }
        guard url.query == nil, url.fragment == nil else { throw refuse("an endpoint has no query or fragment") }
        guard WebAddress.hasPort(url) else { throw refuse("\(text) cannot be used: \(WebAddress.portFault)") }
        isPlain = scheme == "http"
        self.host = host.lowercased()
        port = url.port
        var path = url.path
        while path.hasSuffix("/") { path.removeLast() }
        basePath = path
    }

    private init(host: String) {
        isPlain = false
        self.host = host
        port = nil
        basePath = ""
    }

    /// Amazon's own endpoint of a region.
    static func amazon(region: String) -> S3Endpoint {
        S3Endpoint(host: "s3.\(region).\(region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com")")
    }

    /// Whether it is Amazon's, where a bucket without dots has its own host name.
    var isAmazon: Bool { host.hasSuffix(".amazonaws.com") || host.hasSuffix(".amazonaws.com.cn") }

    /// The region in the name of an Amazon endpoint; `nil` for any other.
    var region: String? {
        guard isAmazon, let start = host.range(of: "s3") else { return nil }
        let words = host[start.lowerBound...].split(separator: ".")
        // s3.REGION.amazonaws.com, s3.dualstack.REGION.amazonaws.com, s3-fips.REGION.amazonaws.com
        guard let end = words.firstIndex(of: "amazonaws"), end > 1 else { return nil }
        return String(words[end - 1])
    }

    /// As a user writes it.
    var url: String {
        "\(isPlain ? "http" : "https")://\(authority)\(PercentEncoding.encode(basePath, keepingSlashes: true))"
    }

    /// Host and port, as in the `Host` header.
    var authority: String { host + (port.map { ":\($0)" } ?? "") }
}
