import Foundation
import Model
import Remote

/// One response to ListObjectsV2.
struct ListPage: Sendable {
    /// In the order of their bytes, as S3 returns them. The keys are full ones.
    let entries: [ObjectListing]
    /// The start of the next page; `nil` on the last one.
    let continuation: String?

    /// - Parameter key: For errors.
    /// - Throws: ``StoreError`` with `unavailable` for a response that is no listing: it may come from an intermediary.
    init(_ bytes: [UInt8], key: String) throws(StoreError) {
        func refuse(_ sentence: String) -> StoreError { StoreError(.unavailable, key: key, sentence) }
        guard let document = S3Document.parse(bytes), document.name == "ListBucketResult" else {
            throw refuse("the store's response is not a listing")
        }
        let isEncoded = document.text("EncodingType") == "url"
        var entries: [ObjectListing] = []
        for child in document.children where child.name == "Contents" {
            guard let text = child.text("Key"), let count = child.text("Size").flatMap({ Int64($0) }) else {
                throw refuse("the store's listing has an object without key or size")
            }
            // Some services encode a blank as `+` here.
            let plain = isEncoded ? String(percentDecoding: text.replacingOccurrences(of: "+", with: "%20")) : text
            guard let plain else { throw refuse("the store's listing has an unreadable key") }
            entries.append(
                ObjectListing(
                    key: plain, byteCount: count, etag: child.text("ETag") ?? "",
                    modified: Self.time(child.text("LastModified"))))
        }
        self.entries = entries
        continuation = document.text("IsTruncated") == "true" ? document.text("NextContinuationToken") : nil
        guard document.text("IsTruncated") != "true" || continuation != nil else {
            throw refuse("the store's listing is truncated, but has no continuation token")
        }
    }

    /// For example `2026-01-31T12:00:00.000Z`; 1970 for an invalid time, which must not fail the whole listing.
    private static func time(_ text: String?) -> Timestamp {
        let date = text.flatMap { text in
            (try? Date(text, strategy: .iso8601.year().month().day().time(includingFractionalSeconds: true)))
                ?? (try? Date(text, strategy: .iso8601))
        }
        return Timestamp(
            seconds: 0, nanoseconds: Int64(((date?.timeIntervalSince1970 ?? 0) * 1000).rounded()) * 1_000_000)
    }
}
