import APNSProtocol
import Benchmark
import TLSSession

/// Signing a provider token: once in the better part of an hour for each key.
enum TokenBenchmarks {
    static func define() {
        Benchmark("JWT: claims, signature, header value") { benchmark in
            let key = try ES256PrivateKey.generate()
            benchmark.startMeasurement()
            for number in benchmark.scaledIterations {
                let input = ProviderTokenClaims.signingInput(
                    keyID: "ABCDE12345", teamID: "TEAM123456", issuedAtSeconds: 1_760_000_000 + Int64(number))
                blackHole(ProviderTokenClaims.authorizationValue(signingInput: input, signature: try key.sign(input)))
            }
        }
    }
}
