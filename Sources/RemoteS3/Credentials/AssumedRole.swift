import Foundation
import Remote

/// A role, and what is asked for when it is assumed.
///
/// Source: "AssumeRole", AWS Security Token Service API Reference.
struct AssumedRole: Equatable, Sendable {
    let arn: String
    /// Shown in the account's logs.
    let sessionName: String
    let externalID: String?
    /// How long the credentials are valid, in seconds.
    let seconds: Int
    /// The service to ask, and its region for the signature.
    let endpoint: String
    let region: String
    /// What sets the role, for messages: `profile work`.
    let origin: String

    static let secondsRange = 900...43_200
    /// The service's own default: an hour.
    private static let usualSeconds = 3_600

    /// - Parameters:
    ///   - settings: Those of a profile.
    ///   - environment: For the service's endpoint and region.
    /// - Throws: ``StoreError`` with `denied` for settings that the service would refuse.
    init(
        _ settings: [String: String], of origin: String, environment: [String: String]
    ) throws(StoreError) {
        arn = settings["role_arn"] ?? ""
        sessionName = settings.nonEmpty("role_session_name") ?? "dewpoint"
        externalID = settings.nonEmpty("external_id")
        self.origin = origin
        let duration = settings.nonEmpty("duration_seconds")
        guard let seconds = duration.map({ Int($0) }) ?? Self.usualSeconds, Self.secondsRange ~= seconds else {
            throw CredentialSource.refusal(
                "the duration_seconds of \(origin) must be \(Self.secondsRange.lowerBound) to "
                    + "\(Self.secondsRange.upperBound), not \(duration ?? "")")
        }
        self.seconds = seconds
        region =
            settings.nonEmpty("region") ?? environment.nonEmpty("AWS_REGION")
            ?? environment.nonEmpty("AWS_DEFAULT_REGION") ?? S3Location.usualRegion
        guard S3Location.isRegion(region) else {
            throw CredentialSource.refusal("\(region) is not a region; use one such as eu-west-1")
        }
        endpoint =
            environment.nonEmpty("AWS_ENDPOINT_URL_STS") ?? environment.nonEmpty("AWS_ENDPOINT_URL")
            ?? settings.nonEmpty("endpoint_url") ?? "https://sts.\(region).amazonaws.com"
    }
}
