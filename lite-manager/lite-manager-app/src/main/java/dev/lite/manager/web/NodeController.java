package dev.lite.manager.web;

import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.NodeRecord;
import dev.lite.manager.nodes.NodeState;
import dev.lite.manager.nodes.NodeStates;
import io.swagger.v3.oas.annotations.Operation;
import io.swagger.v3.oas.annotations.Parameter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * The nodes and what they report about themselves. The list comes from a cache, which also works while ZooKeeper is
 * unreachable. The state comes from the nodes, which are asked only on request.
 */
@RestController
@RequestMapping("/api")
class NodeController {
    private final ClusterDirectory directory;
    private final OrderWatch orders;
    private final NodeStates states;

    NodeController(ClusterDirectory directory, OrderWatch orders, NodeStates states) {
        this.directory = directory;
        this.orders = orders;
        this.states = states;
    }

    @Operation(summary = "The registered nodes, in the order of their ids")
    @GetMapping("/nodes")
    List<NodeView> nodes(
            @Parameter(description = "Whether to ask the nodes for their memory, sessions, links and counts")
                    @RequestParam(defaultValue = "false")
                    boolean state) {
        return views(directory.nodes(), state);
    }

    @Operation(summary = "A registered node")
    @GetMapping("/nodes/{name}")
    NodeView node(
            @PathVariable String name,
            @Parameter(description = "Whether to ask the node for its memory, sessions, links and counts")
                    @RequestParam(defaultValue = "false")
                    boolean state) {
        List<NodeRecord> found = directory.nodes().stream()
                .filter(node -> node.name().equals(name))
                .toList();
        return views(found, state).stream().findFirst().orElseThrow(() -> Refusals.notFound("node", name));
    }

    private List<NodeView> views(List<NodeRecord> nodes, boolean withState) {
        List<NodeView> views =
                nodes.stream().map(node -> NodeView.of(node, orders.draining())).toList();
        if (!withState) {
            return views;
        }
        Map<String, NodeState> reported = states.ask(nodes);
        return views.stream()
                .map(view -> view.with(Objects.requireNonNull(reported.get(view.name()))))
                .toList();
    }

    @Operation(summary = "The applications that are attached to the nodes")
    @GetMapping("/sessions")
    SessionsView sessions() {
        List<Map<String, Object>> sessions = new ArrayList<>();
        List<SilentNode> silent = new ArrayList<>();
        states.ask(directory.nodes()).forEach((node, reported) -> {
            String problem = reported.problem();
            if (problem != null) {
                silent.add(new SilentNode(node, problem));
            } else if (reported.state() != null && reported.state().get("sessions") instanceof List<?> list) {
                for (Object item : list) {
                    sessions.add(session(node, item));
                }
            }
        });
        return new SessionsView(sessions, silent);
    }

    private static Map<String, Object> session(String node, Object reported) {
        Map<String, Object> session = new LinkedHashMap<>();
        session.put("node", node);
        if (reported instanceof Map<?, ?> fields) {
            fields.forEach((field, value) -> session.put(String.valueOf(field), value));
        }
        return session;
    }

    /**
     * The attached applications.
     *
     * @param sessions each with its node and what the node reports: id, application, principal, process id, since
     * @param silent the nodes that did not answer
     */
    record SessionsView(List<Map<String, Object>> sessions, List<SilentNode> silent) {}

    /**
     * A node that did not answer.
     *
     * @param node its name
     * @param problem why not
     */
    record SilentNode(String node, String problem) {}
}
