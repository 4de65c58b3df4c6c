import Control
import ControlAPI
import FileSystem
import Hummingbird
import Metering
import Model

/// The answers to Prometheus and other monitors: metrics and health, without a name of any file.
struct Monitoring: Sendable {
    let fileSystem: FileSystem
    let isMounted: @Sendable () -> Bool

    /// `GET /metrics`.
    func metrics() throws(FileError) -> Response {
        let samples = try MountMetrics(fileSystem).samples() + [MetricSample(.buildInformation, [Release.version], 1)]
        return text(PrometheusText.text(samples), type: PrometheusText.contentType)
    }

    /// `GET /healthz`: 200 and `ok`, or 503 and the reason.
    func health() -> Response {
        let reason = isMounted() ? MountMetrics(fileSystem).healthProblem : "the container is not mounted"
        return text("\(reason?.printable ?? "ok")\n", status: reason == nil ? .ok : .serviceUnavailable)
    }

    private func text(
        _ text: String, status: HTTPResponse.Status = .ok, type: String = "text/plain; charset=utf-8"
    ) -> Response {
        Response(
            status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

extension MetricsRequest: AnsweredRequest {
    static func answer(_ exchange: ControlExchange) throws -> Response { try exchange.monitoring.metrics() }
}

extension HealthRequest: AnsweredRequest {
    static func answer(_ exchange: ControlExchange) -> Response { exchange.monitoring.health() }
}
