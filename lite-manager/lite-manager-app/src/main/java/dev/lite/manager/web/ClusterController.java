package dev.lite.manager.web;

import dev.lite.api.LmrSpec;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.Leadership;
import io.swagger.v3.oas.annotations.Operation;
import io.swagger.v3.oas.annotations.Parameter;
import java.util.List;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * What the cluster is. Nodes and managers as last heard, which is answered also while ZooKeeper is away; records as they are
 * now.
 */
@RestController
@RequestMapping("/api")
class ClusterController {
    private static final String LOCK_PREFIX = ClusterDirectory.INTERNAL_PREFIX + "lock/";

    private final ClusterDirectory directory;
    private final Leadership leadership;
    private final ManagerIdentity identity;
    private final RecordReader records;
    private final OrderWatch orders;

    ClusterController(
            ClusterDirectory directory,
            Leadership leadership,
            ManagerIdentity identity,
            RecordReader records,
            OrderWatch orders) {
        this.directory = directory;
        this.leadership = leadership;
        this.identity = identity;
        this.records = records;
        this.orders = orders;
    }

    @Operation(summary = "This manager, and who leads")
    @GetMapping("/manager")
    ManagerView manager() {
        List<String> managers = leadership.participants();
        return new ManagerView(
                identity.cluster(),
                identity.name(),
                leadership.isLeader(),
                managers.isEmpty() ? null : managers.getFirst(),
                managers,
                directory.isAvailable(),
                directory.epoch().number(),
                orders.open());
    }

    @Operation(summary = "The membership as the leading manager numbered it, and who was removed")
    @GetMapping("/epochs")
    EpochView epoch() {
        return EpochView.of(directory.epoch());
    }

    @Operation(summary = "The registered nodes, in the order of their numbers")
    @GetMapping("/nodes")
    List<NodeView> nodes() {
        return directory.nodes().stream()
                .map(node -> NodeView.of(node, orders.draining()))
                .toList();
    }

    @Operation(summary = "A registered node")
    @GetMapping("/nodes/{name}")
    NodeView node(@PathVariable String name) {
        return directory.nodes().stream()
                .filter(node -> node.name().equals(name))
                .findFirst()
                .map(node -> NodeView.of(node, orders.draining()))
                .orElseThrow(() -> Refusals.notFound("node", name));
    }

    @Operation(summary = "The named LMRs, in the order of their names")
    @GetMapping("/lmrs")
    Page<LmrView> lmrs(
            @Parameter(description = "What the names begin with") @RequestParam(defaultValue = "") String prefix,
            @Parameter(description = "Where to go on: the \"next\" of the part before") @RequestParam(defaultValue = "")
                    String after,
            @Parameter(description = "At most so many, 1 to 1000") @RequestParam(defaultValue = "100") int limit) {
        // LITE's own records come first; no LMR's name begins like theirs.
        String from = after.compareTo(RecordReader.AFTER_INTERNAL) > 0 ? after : RecordReader.AFTER_INTERNAL;
        return records.page(
                prefix, from, Page.checkedLimit(limit), (name, lmr) -> LmrView.of(name, lmr, records::nodeName));
    }

    @Operation(summary = "A named LMR; a slash in its name is written %2F")
    @GetMapping("/lmrs/{name}")
    LmrView lmr(@PathVariable String name) {
        checkName(name);
        return records.read(name)
                .map(lmr -> LmrView.of(name, lmr, records::nodeName))
                .orElseThrow(() -> Refusals.notFound("LMR", name));
    }

    @Operation(summary = "The locks, in the order of their names")
    @GetMapping("/locks")
    Page<LockView> locks(
            @Parameter(description = "What the names begin with") @RequestParam(defaultValue = "") String prefix,
            @Parameter(description = "Where to go on: the \"next\" of the part before") @RequestParam(defaultValue = "")
                    String after,
            @Parameter(description = "At most so many, 1 to 1000") @RequestParam(defaultValue = "100") int limit) {
        Page<LockView> page =
                records.page(LOCK_PREFIX + prefix, LOCK_PREFIX + after, Page.checkedLimit(limit), (record, lmr) -> {
                    int home = lmr.shares().getFirst().node();
                    return new LockView(
                            record.substring(LOCK_PREFIX.length()),
                            Long.toString(lmr.id()),
                            records.nodeName(home),
                            home);
                });
        String next = page.next();
        return new Page<>(page.items(), next == null ? null : next.substring(LOCK_PREFIX.length()));
    }

    private static void checkName(String name) {
        try {
            LmrSpec.checkName(name);
        } catch (IllegalArgumentException e) {
            throw Refusals.badValue("name", name, e);
        }
    }
}
