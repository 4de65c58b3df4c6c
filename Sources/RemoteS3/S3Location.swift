package import Remote

/// A place for a container: `s3://BUCKET/PREFIX` at an endpoint, in a region.
///
/// | | from the first of these that says so |
/// |---|---|
/// | endpoint | `--endpoint`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, the profile's `endpoint_url`, the last mount's, Amazon's of the region |
/// | region | `--region`, `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile's `region`, the last mount's, the endpoint's name, `us-east-1` |
package struct S3Location: Hashable, Sendable {
    let bucket: String
    /// What every key begins with: empty, or components that each end with a slash.
    let prefix: String
    let endpoint: S3Endpoint
    package let region: String

    package static let scheme = "s3://"

    /// The region that services without regions take.
    static let usualRegion = "us-east-1"

    /// The longest prefix in bytes, which leaves half of S3's 1024 for the keys.
    static let prefixByteLimit = 512

    /// - Parameters:
    ///   - endpoint: As `--endpoint` says, if it does.
    ///   - region: As `--region` says, if it does.
    ///   - remembered: What the last mount used.
    ///   - environment: Variables of the process; the profile's files are found by them.
    /// - Throws: ``StoreError`` with `invalid` and a sentence that says what to write instead.
    package init(
        _ url: String, endpoint: String? = nil, region: String? = nil,
        remembered: (endpoint: String?, region: String?) = (nil, nil), environment: [String: String]
    ) throws(StoreError) {
        (bucket, prefix) = try Self.parts(of: url)
        let profile = Profile(environment: environment).settings ?? [:]
        let chosenEndpoint =
            endpoint ?? environment.nonEmpty("AWS_ENDPOINT_URL_S3") ?? environment.nonEmpty("AWS_ENDPOINT_URL")
            ?? profile.nonEmpty("endpoint_url") ?? remembered.endpoint
        var parsed: S3Endpoint?
        if let chosenEndpoint { parsed = try S3Endpoint(chosenEndpoint) }
        self.region =
            try Self.checked(
                region: region ?? environment.nonEmpty("AWS_REGION") ?? environment.nonEmpty("AWS_DEFAULT_REGION")
                    ?? profile.nonEmpty("region") ?? remembered.region ?? parsed?.region ?? Self.usualRegion, url)
        self.endpoint = parsed ?? .amazon(region: self.region)
    }

    /// As it was given: `s3://bucket/prefix`.
    package var url: String { Self.scheme + bucket + (prefix.isEmpty ? "" : "/" + prefix.dropLast()) }

    /// The endpoint as it would be given to `--endpoint`.
    package var endpointURL: String { endpoint.url }

    /// The full key of an object of the container.
    func key(_ key: String) -> String { prefix + key }

    /// What every key begins with that lies below `s3://BUCKET/PREFIX`, beside the container.
    ///
    /// - Throws: ``StoreError`` with `invalid` and a sentence, when it is in another bucket, in the container, or around it.
    package func neighbourPrefix(_ url: String) throws(StoreError) -> String {
        let (bucket, prefix) = try Self.parts(of: url)
        guard bucket == self.bucket else {
            throw StoreError(
                .invalid, key: url,
                "\(url) is in another bucket than the container, which is in \(self.bucket); import a copy of it instead"
            )
        }
        guard !prefix.utf8.starts(with: self.prefix.utf8) else {
            throw StoreError(.invalid, key: url, "\(url) lies in the container \(self.url) itself")
        }
        guard !self.prefix.utf8.starts(with: prefix.utf8) else {
            throw StoreError(.invalid, key: url, "the container \(self.url) lies in \(url); choose a prefix beside it")
        }
        return prefix
    }

    /// Whether the bucket is part of the host's name. Amazon wants that; a name with dots would not fit its certificate, and
    /// elsewhere the names of hosts are seldom set up for it.
    var usesVirtualHost: Bool { endpoint.isAmazon && !bucket.contains(".") }
}

extension S3Location {
    private static func parts(of url: String) throws(StoreError) -> (bucket: String, prefix: String) {
        func refuse(_ sentence: String) -> StoreError { StoreError(.invalid, key: url, sentence) }
        guard url.prefix(scheme.count).lowercased() == scheme else {
            throw refuse("the location must be s3://BUCKET or s3://BUCKET/PREFIX")
        }
        var components = url.dropFirst(scheme.count).split(separator: "/", omittingEmptySubsequences: false)
        let bucket = String(components.removeFirst())
        guard isBucketName(bucket) else {
            throw refuse(
                "\(bucket.isEmpty ? "nothing" : bucket) is no name of a bucket: those have 3 to 63 small letters, digits, - and dots"
            )
        }
        // A slash at the end means the same as none.
        if components.last?.isEmpty == true { components.removeLast() }
        for component in components {
            guard !component.isEmpty, component != ".", component != ".." else {
                throw refuse("the prefix must be names with single slashes between them, none of them . or ..")
            }
            guard
                !component.contains(where: {
                    "%?#\\".contains($0) || $0.asciiValue.map { $0 < 32 || $0 == 127 } ?? false
                })
            else { throw refuse("the prefix is taken as it is written, and must have no % ? # \\ in it") }
        }
        let prefix = components.map { "\($0)/" }.joined()
        guard prefix.utf8.count <= prefixByteLimit else {
            throw refuse("the prefix is longer than \(prefixByteLimit) bytes")
        }
        return (bucket, prefix)
    }

    /// Source: "General purpose bucket naming rules", Amazon S3 User Guide.
    static func isBucketName(_ name: String) -> Bool {
        let lettersAndDigits = Set("abcdefghijklmnopqrstuvwxyz0123456789".utf8)
        guard 3...63 ~= name.utf8.count, let first = name.utf8.first, let last = name.utf8.last,
            lettersAndDigits.contains(first), lettersAndDigits.contains(last), !name.contains("..")
        else { return false }
        let words = name.split(separator: ".")
        let looksLikeAddress = words.count == 4 && words.allSatisfy { UInt8($0) != nil }
        return !looksLikeAddress
            && name.utf8.allSatisfy {
                lettersAndDigits.contains($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".")
            }
    }

    /// Whether it may stand in a host's name and in a signature: a plain word.
    static func isRegion(_ text: String) -> Bool {
        1...64 ~= text.utf8.count && text.utf8.first != UInt8(ascii: "-")
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    }

    private static func checked(region: String, _ url: String) throws(StoreError) -> String {
        guard isRegion(region) else {
            throw StoreError(.invalid, key: url, "\(region) is no region; write one such as eu-west-1")
        }
        return region
    }
}
