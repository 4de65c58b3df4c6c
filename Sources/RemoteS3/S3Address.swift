/// The address of an object, or of the bucket: with the bucket in the host name, or at the front of the path.
///
///     https://BUCKET.s3.eu-west-1.amazonaws.com/PREFIX/KEY        virtual host
///     http://127.0.0.1:7480/BUCKET/PREFIX/KEY                     path
struct S3Address: Hashable, Sendable {
    /// Scheme, host and port.
    let origin: String
    /// The `Host` header.
    let authority: String
    /// Before percent-encoding.
    let path: String

    /// - Parameters:
    ///   - region: The bucket's actual region; Amazon's endpoints depend on it.
    ///   - key: The full key; `nil` for the bucket itself.
    init(_ location: S3Location, region: String, key: String?) {
        let isElsewhere = location.endpoint.isAmazon && region != location.region
        let endpoint = isElsewhere ? S3Endpoint.amazon(region: region) : location.endpoint
        let scheme = endpoint.isPlain ? "http" : "https"
        if location.usesVirtualHost {
            authority = "\(location.bucket).\(endpoint.authority)"
            path = "\(endpoint.basePath)/\(key ?? "")"
        } else {
            authority = endpoint.authority
            path = "\(endpoint.basePath)/\(location.bucket)" + (key.map { "/\($0)" } ?? "")
        }
        origin = "\(scheme)://\(authority)"
    }
}
