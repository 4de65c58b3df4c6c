import ControlAPI
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Model
import NIOCore

/// Answers the requests of the page.
///
///     GET  /?token=…                       the page; /dashboard.css and /dashboard.js alike
///     GET  /                               401, and a page that opens the former with the token that the tab has kept
///     GET  /reopen.js                      what that page does
///     GET  /api/containers                 → [DashboardContainers.Container]
///     …    /api/containers/ID/v1/…         the control API of one container, as far as ``ForwardedRoute`` allows
struct DashboardResponder: HTTPResponder {
    typealias Context = DashboardContext

    let guardian: RequestGuard
    let containers: DashboardContainers
    let proxy: ContainerProxy
    let token: DashboardToken
    let logger: Logger

    func respond(to request: Request, context: DashboardContext) async throws -> Response {
        var response = await answer(request, context)
        for (name, value) in Self.protections { response.headers[name] = value }
        return response
    }

    /// Sent with every answer: nothing but the page's own three files and requests to this server, in no frame.
    private static let protections: [(HTTPField.Name, String)] = [
        (
            "Content-Security-Policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
                + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"), ("X-Content-Type-Options", "nosniff"),
        ("Cross-Origin-Resource-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
        ("Cache-Control", "no-store"),
    ].compactMap { name, value in HTTPField.Name(name).map { ($0, value) } }

    private func answer(_ request: Request, _ context: DashboardContext) async -> Response {
        if let (status, error) = guardian.refusal(of: request.head) {
            if status == 401, request.method == .get, request.head.path == PageFile.html.rawValue { return reopening }
            return fault(error, status: status)
        }
        context.admit()
        do {
            return try await carryOut(request)
        } catch let error as FileError {
            return fault(error)
        } catch is CancellationError {
            return fault(FileError(.cancelled, "the wait ended: the dashboard is stopping"))
        } catch {
            logger.error("a request of the page failed", metadata: ["error": "\(error)"])
            return fault(FileError(.inputOutput, "the request failed: \(error)"))
        }
    }

    private func carryOut(_ request: Request) async throws -> Response {
        let target = request.head.path ?? ""
        let path = target.prefix { $0 != "?" }
        if let file = PageFile(path: path) {
            guard request.method == .get else { throw FileError(.unsupported, "\(path) requires GET") }
            return Response(
                status: .ok, headers: [.contentType: file.contentType],
                body: .init(byteBuffer: ByteBuffer(bytes: file.bytes(token: token))))
        }
        if path == "/api/containers" { return try json(containers.all) }
        // "", api, containers, ID, and the rest.
        let parts = path.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, parts[1] == "api", parts[2] == "containers" else {
            return fault(FileError(.notFound, "there is nothing at \(path)"), status: 404)
        }
        let rest = "/\(parts[4])"
        guard let route = ForwardedRoute(method: request.method.rawValue, path: rest) else {
            return fault(FileError(.denied, "the dashboard does not pass on \(request.method.rawValue) \(rest)"))
        }
        return try await proxy.forward(
            request, route, target: rest + target.dropFirst(path.count), to: try containers.socket(of: parts[3]))
    }

    private var reopening: Response {
        Response(
            status: .unauthorized, headers: [.contentType: PageFile.html.contentType],
            body: .init(byteBuffer: ByteBuffer(bytes: PageFile.refused)))
    }

    private func json(_ value: some Encodable, status: Int = 200) throws -> Response {
        Response(
            status: .init(code: status), headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: try ControlJSON.encode(value))))
    }

    private func fault(_ error: FileError, status: Int? = nil) -> Response {
        let fault = ControlFault(error)
        // Encoding an object of two texts and a number does not fail.
        var response = (try? json(fault, status: status ?? fault.httpStatus)) ?? Response(status: .internalServerError)
        response.headers[.connection] = "close"  // the rest of the request may not have been read
        return response
    }
}
