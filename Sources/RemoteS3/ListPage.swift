import Foundation
import Remote

/// One answer to ListObjectsV2.
struct ListPage: Sendable {
    /// In the order of their bytes, as S3 gives them. The keys are full ones.
    let entries: [ObjectListing]
    /// Where the next page begins; `nil` on the last one.
    let continuation: String?

    /// - Parameter key: For errors.
    /// - Throws: ``StoreError`` with `unavailable` for what is no listing: it may come from something on the way.
    init(_ bytes: [UInt8], key: String) throws(StoreError) {
        func refuse(_ sentence: String) -> StoreError { StoreError(.unavailable, key: key, sentence) }
        guard let document = S3Document.parse(bytes), document.name == "ListBucketResult" else {
            throw refuse("the store's answer is no listing")
        }
        let isEncoded = document.text("EncodingType") == "url"
        var entries: [ObjectListing] = []
        for child in document.children where child.name == "Contents" {
            guard let text = child.text("Key"), let count = child.text("Size").flatMap({ Int64($0) }) else {
                throw refuse("the store's listing has an object without key or size")
            }
            // Some services write a blank as `+` here.
            let plain = isEncoded ? text.replacingOccurrences(of: "+", with: "%20").removingPercentEncoding : text
            guard let plain else { throw refuse("the store's listing has a key that cannot be read") }
            entries.append(ObjectListing(key: plain, byteCount: count))
        }
        self.entries = entries
        continuation = document.text("IsTruncated") == "true" ? document.text("NextContinuationToken") : nil
        guard document.text("IsTruncated") != "true" || continuation != nil else {
            throw refuse("the store's listing has more, but does not say how to get it")
        }
    }
}
