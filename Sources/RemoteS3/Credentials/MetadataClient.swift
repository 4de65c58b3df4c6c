import AsyncHTTPClient
import Foundation
import Model
import NIOCore
import NIOHTTP1
import Remote

/// Queries the servers that give credentials to a container or a machine.
///
/// Source: "Container credential provider" and "IMDS credential provider", AWS SDKs and Tools Reference Guide.
struct MetadataClient: Sendable {
    let http: HTTPClient

    /// How long such a server, which is near, may take to respond: 2 s. Outside of EC2 there is none.
    static let answerLimit = Duration.seconds(2)
    /// The longest response that is read: 64 KiB.
    private static let answerByteLimit = 64 << 10
    /// How long a token of the metadata service is valid: a minute, since each query takes a new one.
    private static let tokenSeconds = "60"
    private static let rolePath = "/latest/meta-data/iam/security-credentials/"

    func container(url: String, token: CredentialSource.Token?) async throws(StoreError) -> Credentials {
        var headers: [(String, String)] = [("Accept", "application/json")]
        switch token {
        case nil: break
        case .text(let text): headers.append(("Authorization", text))
        case .file(let path):
            guard let data = FileManager.default.contents(atPath: path) else {
                throw CredentialSource.refusal("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: \(path) cannot be read")
            }
            let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
            headers.append(("Authorization", text))
        }
        let answer = try await ask(url, headers: headers)
        guard answer.status == 200 else {
            throw unavailable("the container's credential server answered with status \(answer.status)")
        }
        return try credentials(answer.body, origin: "the container's credential server")
    }

    /// - Returns: `nil` when there is no response, as outside of EC2, or the machine has no role.
    func instance(endpoint: String) async throws(StoreError) -> Credentials? {
        let token: Answer
        do throws(StoreError) {
            token = try await ask(
                endpoint + "/latest/api/token", method: .PUT,
                headers: [("X-aws-ec2-metadata-token-ttl-seconds", Self.tokenSeconds)])
        } catch {
            guard error.code != .cancelled else { throw error }
            return nil
        }
        // Similar services have no tokens; keys are accepted from the real one only.
        guard token.status == 200 else { return nil }
        // Outside of EC2, the login page of a network may answer at this address.
        let text = String(decoding: token.body, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        guard Self.isPlain(text) else { throw unavailable("the machine's metadata service does not answer") }
        let headers = [("X-aws-ec2-metadata-token", text)]
        let roles = try await ask(endpoint + Self.rolePath, headers: headers)
        let role = String(decoding: roles.body, as: UTF8.self).split(separator: "\n").first.map(String.init)
        guard roles.status == 200, let role else { return nil }
        guard Self.isPlain(role) else { throw unavailable("the machine's metadata service does not answer") }
        let answer = try await ask(endpoint + Self.rolePath + PercentEncoding.encode(role), headers: headers)
        guard answer.status == 200 else {
            throw unavailable("the machine's metadata service answered with status \(answer.status)")
        }
        return try credentials(answer.body, origin: "the machine's role \(role)")
    }

    // MARK: - Private

    private struct Answer {
        let status: UInt
        let body: [UInt8]
    }

    private func ask(
        _ url: String, method: HTTPMethod = .GET, headers: [(String, String)]
    ) async throws(StoreError) -> Answer {
        if let fault = WebAddress.fault(of: url) {
            throw unavailable("the address of the credential server cannot be used: \(fault)")
        }
        var request = HTTPClientRequest(url: url)
        request.method = method
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        do {
            let response = try await http.execute(request, deadline: .now() + TimeAmount(Self.answerLimit))
            let body = try await response.collect(upTo: Self.answerByteLimit, within: Self.answerLimit)
            return Answer(status: response.status.code, body: body)
        } catch {
            guard !Task.isCancelled else { throw StoreError(.cancelled, key: "credentials") }
            throw unavailable("the credential server does not answer: \(TransportFault(error).sentence)")
        }
    }

    /// Whether it is one word of printable ASCII, as a token or a role's name is, and a page is not.
    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21..<0x7f) ~= $0 && $0 != UInt8(ascii: "<") }
    }

    private func unavailable(_ sentence: String) -> StoreError {
        StoreError(.unavailable, key: "credentials", sentence)
    }

    private func credentials(_ body: [UInt8], origin: String) throws(StoreError) -> Credentials {
        guard let document = try? ForeignJSON.decode(CredentialDocument.self, from: Data(body)),
            document.code == nil || document.code == "Success"
        else { throw unavailable("\(origin) sent no credentials") }
        do throws(CredentialDocument.Fault) {
            return try document.credentials(origin: origin)
        } catch {
            switch error {
            case .noCredentials: throw unavailable("\(origin) sent no credentials")
            case .invalidExpiration: throw unavailable("\(origin) sent an invalid expiration time")
            }
        }
    }
}
