package dev.lite.manager.web;

import dev.lite.api.LmrSpec;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.Leadership;
import dev.lite.manager.nodes.NodeStates;
import io.swagger.v3.oas.annotations.Operation;
import io.swagger.v3.oas.annotations.Parameter;
import java.util.List;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/**
 * Read access to the cluster's state. Nodes and managers come from a cache, which also works while ZooKeeper is
 * unreachable; records are read from ZooKeeper.
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
    private final NodeStates states;

    ClusterController(
            ClusterDirectory directory,
            Leadership leadership,
            ManagerIdentity identity,
            RecordReader records,
            OrderWatch orders,
            NodeStates states) {
        this.directory = directory;
        this.leadership = leadership;
        this.identity = identity;
        this.records = records;
        this.orders = orders;
        this.states = states;
    }

    @Operation(summary = "This manager and the current leader")
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

    @Operation(summary = "The cluster's epoch: its members and removed nodes")
    @GetMapping("/epochs")
    EpochView epoch() {
        return EpochView.of(directory.epoch());
    }

    @Operation(summary = "The named LMRs, in the order of their names")
    @GetMapping("/lmrs")
    Page<LmrView> lmrs(
            @Parameter(description = "The prefix of the names") @RequestParam(defaultValue = "") String prefix,
            @Parameter(description = "Where to continue: the \"next\" value of the previous page")
                    @RequestParam(defaultValue = "")
                    String after,
            @Parameter(description = "The page size, 1 to 1000") @RequestParam(defaultValue = "100") int limit) {
        // Skip LITE's own records: they sort first, and no LMR's name starts with their prefix.
        String from = after.compareTo(RecordReader.AFTER_INTERNAL) > 0 ? after : RecordReader.AFTER_INTERNAL;
        return records.page(
                prefix, from, Page.checkedLimit(limit), (name, lmr) -> LmrView.of(name, lmr, records::nodeName));
    }

    @Operation(summary = "A named LMR; write a slash in its name as %2F")
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
            @Parameter(description = "The prefix of the names") @RequestParam(defaultValue = "") String prefix,
            @Parameter(description = "Where to continue: the \"next\" value of the previous page")
                    @RequestParam(defaultValue = "")
                    String after,
            @Parameter(description = "The page size, 1 to 1000") @RequestParam(defaultValue = "100") int limit,
            @Parameter(description = "Whether to ask the nodes who holds the locks and how many wait")
                    @RequestParam(defaultValue = "false")
                    boolean state) {
        Page<LockView> page =
                records.page(LOCK_PREFIX + prefix, LOCK_PREFIX + after, Page.checkedLimit(limit), (record, lmr) -> {
                    int home = lmr.shares().getFirst().node();
                    return new LockView(
                            record.substring(LOCK_PREFIX.length()),
                            Long.toString(lmr.id()),
                            records.nodeName(home),
                            home,
                            null,
                            null,
                            null);
                });
        String next = page.next();
        List<LockView> locks = page.items();
        if (state) {
            LockHolders holders = new LockHolders(states.ask(directory.nodes()));
            locks = locks.stream().map(holders::with).toList();
        }
        return new Page<>(locks, next == null ? null : next.substring(LOCK_PREFIX.length()));
    }

    private static void checkName(String name) {
        try {
            LmrSpec.checkName(name);
        } catch (IllegalArgumentException e) {
            throw Refusals.badValue("name", name, e);
        }
    }
}
