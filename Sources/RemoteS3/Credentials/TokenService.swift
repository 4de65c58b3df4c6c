import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Remote

/// Asks the Security Token Service for the credentials of a role.
///
/// Source: "AssumeRole" and "AssumeRoleWithWebIdentity", AWS Security Token Service API Reference; version 2011-06-15.
struct TokenService: Sendable {
    let transport: HTTPTransport
    /// For signatures.
    let now: @Sendable () -> Date

    /// How long the service may take to respond: 10 s.
    private static let answerLimit = Duration.seconds(10)
    /// The longest response that is read: 64 KiB.
    private static let answerByteLimit = 64 << 10
    private static let version = "2011-06-15"
    private static let contentType = "application/x-www-form-urlencoded; charset=utf-8"

    /// - Throws: ``StoreError`` with `denied` and the service's reason when it refuses, `unavailable` when it does not
    ///   answer.
    func assume(_ role: AssumedRole, by owner: Credentials) async throws(StoreError) -> Credentials {
        var parameters = parameters("AssumeRole", role)
        if let externalID = role.externalID { parameters.append(("ExternalId", externalID)) }
        return try await ask(role, parameters, signer: owner)
    }

    func assume(_ role: AssumedRole, tokenFile: String) async throws(StoreError) -> Credentials {
        guard let data = FileManager.default.contents(atPath: tokenFile) else {
            throw CredentialSource.refusal("the web identity token \(tokenFile) of \(role.origin) cannot be read")
        }
        let token = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return try await ask(
            role, parameters("AssumeRoleWithWebIdentity", role) + [("WebIdentityToken", token)], signer: nil)
    }

    private func parameters(_ action: String, _ role: AssumedRole) -> [(name: String, value: String)] {
        [
            ("Action", action), ("Version", Self.version), ("RoleArn", role.arn),
            ("RoleSessionName", role.sessionName), ("DurationSeconds", "\(role.seconds)"),
        ]
    }

    private func ask(
        _ role: AssumedRole, _ parameters: [(name: String, value: String)], signer: Credentials?
    ) async throws(StoreError) -> Credentials {
        let endpoint: S3Endpoint
        do throws(StoreError) { endpoint = try S3Endpoint(role.endpoint) } catch {
            throw CredentialSource.refusal(
                "\(role.endpoint), the service for the role of \(role.origin): \(error.detail)")
        }
        let body = Array(Signature.queryText(parameters).utf8)
        var request = HTTPClientRequest(url: "\(endpoint.url)/")
        request.method = .POST
        request.headers.add(name: "Content-Type", value: Self.contentType)
        if let signer {
            let signature = Signature(credentials: signer, region: role.region, service: "sts", time: now())
            let signed = Signature.Request(
                method: "POST", path: "/", headers: [("content-type", Self.contentType), ("host", endpoint.authority)],
                payloadHash: PayloadHash(body).sha256)
            for (name, value) in signature.headers(for: signed) { request.headers.add(name: name, value: value) }
        }
        request.body = .bytes(ByteBuffer(bytes: body))
        let (status, answer) = try await answer(to: request, role)
        let document = S3Document.parse(answer)
        guard status == 200 else {
            let fault = document?.child("Error") ?? document
            let reason = fault?.text("Message") ?? fault?.text("Code") ?? "status \(status)"
            // Only the service itself names a reason: others may answer in its place.
            guard status < 500, fault?.text("Code") != nil else {
                throw unavailable("\(endpoint.url) does not give the role \(role.arn): \(reason)")
            }
            throw CredentialSource.refusal("the role \(role.arn) of \(role.origin) is refused: \(reason)")
        }
        return try credentials(document, role)
    }

    private func answer(
        to request: HTTPClientRequest, _ role: AssumedRole
    ) async throws(StoreError) -> (UInt, [UInt8]) {
        do {
            let response = try await transport.execute(request, deadline: .now() + TimeAmount(Self.answerLimit))
            let body = try await response.collect(upTo: Self.answerByteLimit, within: Self.answerLimit)
            return (response.status.code, body)
        } catch {
            guard !Task.isCancelled else { throw StoreError(.cancelled, key: "credentials") }
            throw unavailable("\(role.endpoint) does not answer: \(TransportFault(error).sentence)")
        }
    }

    private func credentials(_ document: S3Document?, _ role: AssumedRole) throws(StoreError) -> Credentials {
        let result = document?.child("AssumeRoleResult") ?? document?.child("AssumeRoleWithWebIdentityResult")
        guard let found = result?.child("Credentials"), let id = found.text("AccessKeyId"),
            let secret = found.text("SecretAccessKey"), let token = found.text("SessionToken"),
            let expiration = found.text("Expiration").flatMap(CredentialDocument.date)
        else { throw unavailable("\(role.endpoint) sent no credentials for the role \(role.arn)") }
        return Credentials(
            accessKeyID: id, secretAccessKey: secret, sessionToken: token, expiration: expiration,
            origin: "the role \(role.arn)")
    }

    private func unavailable(_ sentence: String) -> StoreError {
        StoreError(.unavailable, key: "credentials", sentence)
    }
}
