import Model
package import Remote

/// The location of a container: `s3://BUCKET/PREFIX` at an endpoint, in a region.
///
/// Each is taken from the first of these that is set:
/// - endpoint: `--endpoint`, `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, the profile's `endpoint_url`, the last mount's,
///   Amazon's of the region
/// - region: `--region`, `AWS_REGION`, `AWS_DEFAULT_REGION`, the profile's `region`, the last mount's, the endpoint's
///   name, `us-east-1`
package struct S3Location: Hashable, Sendable {
    let bucket: String
    /// The prefix of every key: empty, or components that each end with a slash.
    let prefix: String
    let endpoint: S3Endpoint
    package let region: String

    package static let scheme = "s3://"

    /// The default region, which services without regions accept.
    static let usualRegion = "us-east-1"

    /// The longest prefix in bytes, which leaves half of S3's 1024 for the keys.
    static let prefixByteLimit = 512

    /// - Parameters:
    ///   - endpoint: The value of `--endpoint`, if given.
    ///   - region: The value of `--region`, if given.
    ///   - remembered: The values of the last mount.
    ///   - environment: Variables of the process; they also determine the profile's files.
    /// - Throws: ``StoreError`` with `invalid` and a sentence with the correct form.
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

    /// The endpoint as for `--endpoint`.
    package var endpointURL: String { endpoint.url }

    /// The full key of an object of the container.
    func key(_ key: String) -> String { prefix + key }

    /// The prefix of the keys below `s3://BUCKET/PREFIX`, beside the container.
    ///
    /// - Throws: ``StoreError`` with `invalid` and a sentence, when it is in another bucket, in the container, or
    ///   contains it.
    package func neighbourPrefix(_ url: String) throws(StoreError) -> String {
        let (bucket, prefix) = try Self.parts(of: url)
        guard bucket == self.bucket else {
            throw StoreError(
                .invalid, key: url,
                "\(url) is in another bucket than the container, which is in \(self.bucket); import a copy of it instead"
            )
        }
        guard !prefix.utf8.starts(with: self.prefix.utf8) else {
            throw StoreError(.invalid, key: url, "\(url) is inside the container \(self.url) itself")
        }
        guard !self.prefix.utf8.starts(with: prefix.utf8) else {
            throw StoreError(
                .invalid, key: url, "the container \(self.url) is inside \(url); choose a prefix beside it")
        }
        return prefix
    }

    /// Whether the bucket is part of the host name. Amazon requires that; a name with dots would not match its
    /// certificate, and elsewhere host names are seldom set up for it.
    var usesVirtualHost: Bool { endpoint.isAmazon && !bucket.contains(".") }
}

extension S3Location {
    package static func parts(of url: String) throws(StoreError) -> (bucket: String, prefix: String) {
        func refuse(_ sentence: String) -> StoreError { StoreError(.invalid, key: url, sentence) }
        guard url.prefix(scheme.count).lowercased() == scheme else {
            throw refuse("the location must be s3://BUCKET or s3://BUCKET/PREFIX")
        }
        var components = url.droppingBytes(scheme.utf8.count).splitBytes(
            at: ItemPath.separator, omittingEmptySubsequences: false)
        let bucket = String(components.removeFirst())
        guard isBucketName(bucket) else {
            throw refuse(
                "\(bucket.isEmpty ? "nothing" : bucket) is not a bucket name: use 3 to 63 of a-z, 0-9, - and ."
            )
        }
        // A trailing slash is ignored.
        if components.last?.isEmpty == true { components.removeLast() }
        for component in components {
            guard !component.isEmpty, component != ".", component != ".." else {
                throw refuse("the prefix must consist of names separated by single slashes, without . and ..")
            }
            guard
                !component.contains(where: {
                    "%?#\\".contains($0) || $0.asciiValue.map { $0 < 32 || $0 == 127 } ?? false
                })
            else { throw refuse("the prefix is taken literally, and must not contain % ? # \\") }
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

    /// Whether it may be part of a host name and of a signature: a plain word.
    static func isRegion(_ text: String) -> Bool {
        1...64 ~= text.utf8.count && text.utf8.first != UInt8(ascii: "-")
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") }
    }

    private static func checked(region: String, _ url: String) throws(StoreError) -> String {
        guard isRegion(region) else {
            throw StoreError(.invalid, key: url, "\(region) is not a region; use one such as eu-west-1")
        }
        return region
    }
}
