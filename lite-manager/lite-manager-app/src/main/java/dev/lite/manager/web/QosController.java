package dev.lite.manager.web;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.qos.QosChange;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.cluster.qos.QosRecord;
import dev.lite.manager.nodes.NodeStates;
import io.swagger.v3.oas.annotations.Operation;
import java.time.Duration;
import java.util.Map;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RestController;

/**
 * The cluster's policy for quality of service. It is kept in the directory, and every node follows it. So any manager can change
 * it, and may die afterwards.
 */
@RestController
@RequestMapping("/api/qos")
class QosController {
    private final ClusterDirectory directory;
    private final QosRecord record;
    private final NodeStates states;
    private final Duration deadline;

    QosController(ClusterDirectory directory, NodeStates states, WebProperties properties) {
        this.directory = directory;
        this.states = states;
        record = new QosRecord(directory);
        deadline = properties.requestDeadline();
    }

    @Operation(
            summary = "The policy for quality of service; revision 0: there never was one, and each node has its own")
    @GetMapping
    QosRecord.Revision policy() {
        return record.read(deadline);
    }

    @Operation(
            summary = "Change the policy for quality of service",
            description =
                    "What is missing stays as it is; quotas replace all former ones. Nodes follow at once, or when they are connected again.")
    @PutMapping
    QosRecord.Revision change(@RequestBody QosChange change) {
        if (change.isEmpty()) {
            throw Refusals.badValue("the request's body", "empty", "an object with one of " + QosChange.FIELDS);
        }
        QosPolicy next;
        try {
            next = change.applyTo(record.read(deadline).policy());
        } catch (IllegalArgumentException e) {
            throw Refusals.badValue("policy", change, e);
        }
        if (next.mode() == QosPolicy.Mode.HW_SEP) {
            requireLanes();
        }
        try {
            return record.change(change, deadline);
        } catch (IllegalArgumentException e) { // another manager changed it meanwhile
            throw Refusals.badValue("policy", change, e);
        }
    }

    /** Refuses what a node could not follow. Nodes that do not answer decide for themselves. */
    private void requireLanes() {
        states.ask(directory.nodes()).forEach((node, reported) -> {
            Map<String, Object> state = reported.state();
            Object trouble = state == null ? null : state.get("laneTrouble");
            if (trouble instanceof String text && !text.isEmpty()) {
                throw Refusals.badValue(
                        "mode",
                        "HW_SEP",
                        new IllegalArgumentException("mode is HW_SEP: at node %s %s".formatted(node, text)));
            }
        });
    }
}
