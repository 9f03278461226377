package dev.lite.node;

import dev.lite.cluster.qos.QosChange;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.cluster.qos.QosPolicy.Quota;
import dev.lite.tier.node.LiteNode;
import dev.lite.tier.qos.QosStatus;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpoint;
import org.springframework.stereotype.Component;

/**
 * {@code /actuator/liteqos}: the node's policy for quality of service, and what it does now. A change lasts until the cluster's
 * policy changes, or the node restarts. For a change, {@link ManagementAccess} requires the management token, if one is configured: an
 * application of this host has none, and must not lift its own quota.
 */
@Component
@WebEndpoint(id = "liteqos")
class QosEndpoint {
    private static final List<String> FIELDS = List.of(
            "mode",
            "highShare",
            "lowShare",
            "lightLoad",
            "heavyLoad",
            "roundTripFactor",
            "lowBytesPerSecond",
            "bytesQuotas",
            "operationsQuotas");

    private final LiteNode node;

    QosEndpoint(LiteNode node) {
        this.node = node;
    }

    /**
     * The policy of the node.
     *
     * @param status the policy and what it does now
     * @param clusterRevision the number of the cluster's policy that the node has seen; 0: none
     * @param trouble why the node does not follow that policy; empty if it does
     */
    record View(QosStatus status, long clusterRevision, String trouble) {}

    /** A refusal: what, the value, and the limit. */
    record Refusal(int status, String detail) {}

    @ReadOperation
    View read() {
        return new View(node.qos().status(), node.qosRevision(), node.qosTrouble());
    }

    /**
     * The values are texts: Actuator has no others, and so a wrong one can be named. What is missing stays as it is. The quotas
     * are as {@code PRINCIPAL=RATE,PRINCIPAL=RATE}; if one of both is given, they replace all former ones.
     */
    @WriteOperation
    WebEndpointResponse<Object> write(
            @Nullable String mode,
            @Nullable String highShare,
            @Nullable String lowShare,
            @Nullable String lightLoad,
            @Nullable String heavyLoad,
            @Nullable String roundTripFactor,
            @Nullable String lowBytesPerSecond,
            @Nullable String bytesQuotas,
            @Nullable String operationsQuotas) {
        try {
            QosChange change = new QosChange(
                    mode,
                    number("highShare", highShare, Integer::valueOf),
                    number("lowShare", lowShare, Integer::valueOf),
                    number("lightLoad", lightLoad, Double::valueOf),
                    number("heavyLoad", heavyLoad, Double::valueOf),
                    number("roundTripFactor", roundTripFactor, Double::valueOf),
                    number("lowBytesPerSecond", lowBytesPerSecond, Long::valueOf),
                    quotas(bytesQuotas, operationsQuotas));
            if (change.isEmpty()) {
                throw new IllegalArgumentException(
                        "the request changes nothing; it must have one of the fields " + FIELDS);
            }
            QosPolicy unused = node.qos().change(change::applyTo);
            return new WebEndpointResponse<>(read());
        } catch (IllegalArgumentException refused) {
            return refusal(String.valueOf(refused.getMessage()));
        }
    }

    private static WebEndpointResponse<Object> refusal(String detail) {
        int status = WebEndpointResponse.STATUS_BAD_REQUEST;
        return new WebEndpointResponse<>(new Refusal(status, detail), status);
    }

    private static <T> @Nullable T number(String what, @Nullable String text, Function<String, T> parse) {
        if (text == null) {
            return null;
        }
        try {
            return parse.apply(text.strip());
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("%s is \"%s\"; it must be a number".formatted(what, text), e);
        }
    }

    private static @Nullable Map<String, Quota> quotas(
            @Nullable String bytesQuotas, @Nullable String operationsQuotas) {
        if (bytesQuotas == null && operationsQuotas == null) {
            return null;
        }
        Map<String, Long> bytes = rates("bytesQuotas", bytesQuotas);
        Map<String, Long> operations = rates("operationsQuotas", operationsQuotas);
        Map<String, Quota> quotas = new TreeMap<>();
        bytes.forEach((principal, rate) -> quotas.put(principal, new Quota(rate, operations.get(principal))));
        operations.forEach((principal, rate) -> quotas.putIfAbsent(principal, new Quota(null, rate)));
        return quotas;
    }

    private static Map<String, Long> rates(String what, @Nullable String text) {
        Map<String, Long> rates = new TreeMap<>();
        if (text == null || text.isBlank()) {
            return rates;
        }
        for (String one : text.split(",", -1)) {
            int equals = one.lastIndexOf('=');
            if (equals < 0) {
                throw new IllegalArgumentException(
                        "%s is \"%s\"; it must be PRINCIPAL=RATE,PRINCIPAL=RATE".formatted(what, text));
            }
            String principal = one.substring(0, equals).strip();
            Long rate = number("%s of \"%s\"".formatted(what, principal), one.substring(equals + 1), Long::valueOf);
            rates.put(principal, Objects.requireNonNull(rate));
        }
        return rates;
    }
}
