/// The profiles of Apple's Network Link Conditioner.
///
/// Its figures are for packets in each direction, ours for requests: the delay is that of both directions together, and
/// of the bandwidth, given in Mbit/s there, 1 KiB/s is 8192 bit/s. Loss is the share of lost requests here.
package enum LinkProfile: String, CaseIterable, Sendable {
    case totalLoss = "100%-loss"
    case edge = "Edge"
    case threeG = "3G"
    case lte = "LTE"
    case dsl = "DSL"
    case wiFi = "Wi-Fi"
    case wiFiAC = "Wi-Fi-802.11ac"
    case veryBadNetwork = "Very-Bad-Network"
    case highLatencyDNS = "High-Latency-DNS"

    /// - Parameter name: In any case; spaces may stand for the hyphens.
    package init?(name: String) {
        let wanted = name.lowercased().replacing(" ", with: "-")
        guard let found = Self.allCases.first(where: { $0.rawValue.lowercased() == wanted }) else { return nil }
        self = found
    }

    package var settings: LinkSettings {
        switch self {
        case .totalLoss: LinkSettings(profile: rawValue, lossPercent: 100)
        case .edge: settings(delay: 840, down: 29, up: 24)
        case .threeG: settings(delay: 200, down: 95, up: 40)
        case .lte: settings(delay: 115, down: 6104, up: 1221)
        case .dsl: settings(delay: 10, down: 244, up: 31)
        case .wiFi: settings(delay: 2, down: 4883, up: 4028)
        case .wiFiAC: settings(delay: 2, down: 30518, up: 12207)
        case .veryBadNetwork: settings(delay: 1000, down: 122, up: 122, loss: 10)
        case .highLatencyDNS: LinkSettings(profile: rawValue, lookupMilliseconds: 3000)
        }
    }

    private func settings(delay: Int64, down: Int64, up: Int64, loss: Double = 0) -> LinkSettings {
        LinkSettings(
            profile: rawValue, delayMilliseconds: delay, downKiBPerSecond: down, upKiBPerSecond: up, lossPercent: loss)
    }
}
