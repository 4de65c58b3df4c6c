import Remote

/// The context of a failed request, for messages.
struct S3Context: Sendable {
    let location: S3Location
    /// The region in the signature.
    let region: String
    /// `nil` when there were none.
    let credentials: Credentials?
    /// The time of the signature, in its format.
    let time: String
    let method: String

    var keyText: String { credentials.map { "the access \($0)" } ?? "the access key" }
}

extension S3Fault {
    /// Translates a response into the error that all stores share.
    ///
    /// - Parameter key: The object's key in the container.
    func storeError(key: String, _ context: S3Context) -> StoreError {
        let (code, sentence) = translation(context)
        return StoreError(code, key: key, sentence, remedy: self.code == "NoSuchBucket" ? .createPlace : nil)
    }

    private func translation(_ context: S3Context) -> (StoreError.Code, String) {
        let location = context.location
        let endpoint = location.endpoint.url
        switch code {
        case "NoSuchBucket":
            return (
                .invalid,
                "there is no bucket \(location.bucket) at \(endpoint): create it first, with: "
                    + "aws s3 mb s3://\(location.bucket) --endpoint-url \(endpoint)"
            )
        case "InvalidAccessKeyId":
            return (.denied, "\(context.keyText) is not known at \(endpoint); check the key and the endpoint")
        case "SignatureDoesNotMatch":
            return (.denied, "the secret key does not belong to \(context.keyText); check it for typing errors")
        case "ExpiredToken", "TokenRefreshRequired", "InvalidToken":
            return (.denied, "\(context.keyText) is no longer valid (\(code)); get new credentials")
        case "RequestTimeTooSkewed":
            return (
                .denied,
                "the clocks differ too much: this machine says \(context.time), the store \(serverTime ?? "another time"); "
                    + "set this machine's clock"
            )
        case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect",
            "IllegalLocationConstraintException":
            let region = region.map { "in the region \($0)" } ?? "in another region"
            return (
                .invalid,
                "the bucket \(location.bucket) is \(region), not in \(context.region); give the right --region and --endpoint"
            )
        case "InvalidBucketName": return (.invalid, "the store rejects \(location.bucket) as a bucket name")
        // Ceph sends the first with 403, MinIO the third with 507.
        case "QuotaExceeded", "EntityTooLarge", "XMinioStorageFull", "InsufficientStorage", "TooManyParts":
            return (.full, said("the store has no room for it"))
        case "SlowDown", "SlowDownRead", "SlowDownWrite", "TooManyRequests", "ServiceUnavailable":
            return (.throttled, said("the store asks to slow down"))
        case "PreconditionFailed": return (.preconditionFailed, "")
        case "NoSuchKey", "NoSuchUpload": return (.notFound, "")
        default: return translationByStatus(context)
        }
    }

    private func translationByStatus(_ context: S3Context) -> (StoreError.Code, String) {
        switch status {
        case 404: (.notFound, "")
        case 412: (.preconditionFailed, "")
        case 401, 403:
            (
                .denied,
                said(
                    "\(context.keyText) may not \(context.method) in the bucket \(context.location.bucket); it needs the "
                        + "rights to list it and to get, put and delete its objects")
            )
        case 429, 503: (.throttled, said("the store asks to slow down"))
        case 507: (.full, said("the store has no room for it"))
        case 501: (.invalid, said("the store does not support this"))
        case 408, 409, 500, 502, 504: (.unavailable, said("the store failed"))
        case 300..<400:
            (.unavailable, said("the request was redirected; is \(context.location.endpoint.url) right?"))
        case 500...: (.unavailable, said("the store failed"))
        default:
            isTransient
                ? (.unavailable, said("the bytes did not arrive intact"))
                : (.invalid, said("the store refuses the request"))
        }
    }

    /// The sentence, with the store's own code and message.
    private func said(_ sentence: String) -> String {
        let words = [code, message].filter { !$0.isEmpty }.joined(separator: ": ")
        return "\(sentence) (\(words.isEmpty ? "status \(status)" : "\(status) \(words)"))"
    }
}

extension TransportFault {
    func storeError(key: String, _ context: S3Context) -> StoreError {
        context.location.unavailable(key, sentence, remedy: isTransient ? nil : .mendConnection)
    }
}

extension S3Location {
    /// An answer that cannot be used, or none: the same request may be answered later. The endpoint comes first, because
    /// it may be the wrong one.
    func unavailable(_ key: String, _ sentence: String, remedy: StoreError.Remedy? = nil) -> StoreError {
        StoreError(.unavailable, key: key, "\(endpoint.url): \(sentence)", remedy: remedy)
    }
}
