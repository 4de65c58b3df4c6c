import Control
import ControlAPI
import Foundation
import Hummingbird
import Logging
import Model

/// Answers the requests of the control API.
struct ControlResponder: HTTPResponder {
    typealias Context = ControlContext

    let daemon: ControlledDaemon
    let monitoring: Monitoring

    /// The requests by their routes.
    private static let routes = Dictionary(grouping: ControlRequests.all) { $0.route }

    func respond(to request: Request, context: ControlContext) async throws -> Response {
        context.enter(.sending)
        let target = request.head.path ?? ""
        let types = Self.routes[String(target.prefix { $0 != "?" })] ?? []
        let type = types.first { $0.method.rawValue == request.method.rawValue }
        let peer = try await context.peer()
        var response: Response
        if !peer.mayAsk {
            response = fault(FileError(.notPermitted, "only the daemon's user and root have access"))
        } else if let type {
            // A GET has no body to wait for.
            if type.method == .get { context.enter(.working) }
            response = await answer(
                type,
                ControlExchange(
                    request: request, context: context, peer: peer, daemon: daemon, monitoring: monitoring))
        } else if let route = types.first?.route {
            let methods = types.map { $0.method.rawValue }.joined(separator: " or ")
            response = fault(FileError(.unsupported, "\(route) requires \(methods)"), status: 405)
        } else {
            response = fault(FileError(.notFound, "no such resource: \(target); see /v1/status"), status: 404)
        }
        guard response.status != .ok || !(type?.isStream ?? false) else {
            context.enter(.streaming)
            return response
        }
        context.enter(.taking)
        let body = response.body
        response.body = ResponseBody(contentLength: body.contentLength) { writer in
            try await body.write(writer)
            context.enter(.resting)
        }
        return response
    }

    private func answer(_ type: any ControlRequest.Type, _ exchange: ControlExchange) async -> Response {
        do {
            guard let response = try await exchange.answer(type) else {
                throw FileError(.unsupported, "\(type.route) is not performed")
            }
            return response
        } catch let error as FileError {
            return fault(error)
        } catch is CancellationError {
            return fault(FileError(.cancelled, "the wait ended: the client disconnected, or the daemon is stopping"))
        } catch {
            daemon.logger.error(
                "a control request failed", metadata: ["route": "\(type.route)", "error": "\(error)"])
            return fault(FileError(.inputOutput, "\(type.route) failed; see the daemon's log"))
        }
    }

    private func fault(_ error: FileError, status: Int? = nil) -> Response {
        let fault = ControlFault(error)
        do {
            var response = try Response.json(fault, status: status ?? fault.httpStatus)
            response.headers[.connection] = "close"  // the rest of the request may not have been read
            return response
        } catch {
            daemon.logger.error("failed to write a response", metadata: ["error": "\(error)"])
            return Response(status: .internalServerError)
        }
    }
}
