package dev.lite.cli;

import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import tools.jackson.databind.JsonNode;

/** {@code lite qos}. */
@Command(
        name = "qos",
        description = {
            "Shows the cluster's policy for quality of service, or changes it if an option says how.",
            "Every node follows it, also one that is not connected now."
        },
        mixinStandardHelpOptions = true)
final class QosCommand extends ReadCommands.Read {
    @Option(
            names = "--mode",
            paramLabel = "MODE",
            description = "off, hw-sep (lanes reserved for each priority) or sw-pri (the sender limits low priority)")
    private @Nullable String mode;

    @Option(
            names = "--high-share",
            paramLabel = "PERCENT",
            description = "The percentage of the lanes for high priority under hw-sep; the rest is for low priority")
    private @Nullable Integer highShare;

    @Option(
            names = "--light-load",
            paramLabel = "OPERATIONS",
            description = "Below so many operations of high priority under way, sw-pri does not limit low priority")
    private @Nullable Double lightLoad;

    @Option(
            names = "--heavy-load",
            paramLabel = "OPERATIONS",
            description = "From so many operations of high priority under way, sw-pri limits low priority")
    private @Nullable Double heavyLoad;

    @Option(
            names = "--round-trip-factor",
            paramLabel = "FACTOR",
            description =
                    "sw-pri limits low priority when a round trip of high priority takes so many times its shortest")
    private @Nullable Double roundTripFactor;

    @Option(
            names = "--low-rate",
            paramLabel = "BYTES",
            description = "The bytes per second that low priority keeps at least at each node")
    private @Nullable Long lowRate;

    @Option(
            names = "--bytes-quota",
            paramLabel = "PRINCIPAL=BYTES",
            description = "The bytes per second of a principal at each node; quotas replace all former ones")
    private Map<String, Long> bytesQuotas = new TreeMap<>();

    @Option(
            names = "--operations-quota",
            paramLabel = "PRINCIPAL=OPERATIONS",
            description = "The operations per second of a principal at each node; quotas replace all former ones")
    private Map<String, Long> operationsQuotas = new TreeMap<>();

    @Option(names = "--no-quotas", description = "Ends all quotas")
    private boolean noQuotas;

    @Override
    JsonNode ask(ManagerClient manager) {
        Map<String, Object> change = change();
        return change.isEmpty()
                ? manager.get("/api/qos")
                : manager.put("/api/qos", ManagerClient.JSON.writeValueAsString(change));
    }

    private Map<String, Object> change() {
        Map<String, Object> change = new LinkedHashMap<>();
        put(change, "mode", mode);
        put(change, "highShare", highShare);
        put(change, "lightLoad", lightLoad);
        put(change, "heavyLoad", heavyLoad);
        put(change, "roundTripFactor", roundTripFactor);
        put(change, "lowBytesPerSecond", lowRate);
        Map<String, Map<String, Object>> quotas = new TreeMap<>();
        bytesQuotas.forEach((principal, bytes) ->
                quotas.computeIfAbsent(principal, any -> new TreeMap<>()).put("bytesPerSecond", bytes));
        operationsQuotas.forEach((principal, count) ->
                quotas.computeIfAbsent(principal, any -> new TreeMap<>()).put("operationsPerSecond", count));
        if (noQuotas && !quotas.isEmpty()) {
            throw new IllegalArgumentException("--no-quotas is given together with quotas; give only one of both");
        }
        if (noQuotas || !quotas.isEmpty()) {
            change.put("quotas", quotas);
        }
        return change;
    }

    private static void put(Map<String, Object> change, String field, @Nullable Object value) {
        if (value != null) {
            change.put(field, value);
        }
    }

    @Override
    void print(ManagerClient manager, JsonNode answer, PrintWriter out) {
        JsonNode policy = answer.path("policy");
        if (answer.path("revision").asLong() == 0) {
            out.println("the cluster has no policy; each node has its own");
            return;
        }
        Table table = new Table(
                "REVISION", "MODE", "HIGH SHARE", "LIGHT LOAD", "HEAVY LOAD", "ROUND TRIP FACTOR", "LOW RATE");
        table.row(
                answer.path("revision").asString(),
                policy.path("mode").asString(),
                policy.path("highShare").asString() + " %",
                policy.path("lightLoad").asString(),
                policy.path("heavyLoad").asString(),
                policy.path("roundTripFactor").asString(),
                Table.size(policy.path("lowBytesPerSecond").asLong()) + "/s");
        table.print(out);
        JsonNode quotas = policy.path("quotas");
        if (!quotas.isEmpty()) {
            Table principals = new Table("PRINCIPAL", "BYTES PER SECOND", "OPERATIONS PER SECOND");
            for (String principal : quotas.propertyNames()) {
                JsonNode quota = quotas.path(principal);
                principals.row(principal, text(quota.path("bytesPerSecond")), text(quota.path("operationsPerSecond")));
            }
            principals.print(out);
        }
    }

    private static String text(JsonNode number) {
        return number.isNumber() ? number.asString() : "";
    }
}
