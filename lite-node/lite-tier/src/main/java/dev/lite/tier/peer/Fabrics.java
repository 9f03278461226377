package dev.lite.tier.peer;

import dev.lite.cluster.NodeRecord;
import dev.lite.fabric.AddressRange;
import dev.lite.fabric.Fabric;
import dev.lite.fabric.FabricConfig;
import dev.lite.fabric.FabricHandler;
import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** The fabrics of this node in the order of preference, each with its {@link PollRole}. Any thread. */
final class Fabrics implements AutoCloseable {
    private final String host;
    private final Map<String, Fabric> fabrics = new LinkedHashMap<>();
    private final Map<String, PollRole> pollRoles = new LinkedHashMap<>();

    /** How this node reaches another one. */
    record Route(Fabric fabric, String address) {}

    /**
     * Opens the fabrics.
     *
     * @param host this host's name, as in {@link dev.lite.cluster.NodeAdvert#host}
     * @param config configuration for every driver
     * @param options options by driver name; they replace those in {@code config}
     * @param handlers makes the handler of a fabric from its name
     * @param spins empty polls before a poller blocks
     */
    Fabrics(
            String host,
            List<FabricProvider> providers,
            FabricConfig config,
            Map<String, Map<String, String>> options,
            FabricMemory memory,
            Function<String, FabricHandler> handlers,
            int spins) {
        this.host = host;
        try {
            for (FabricProvider provider : providers) {
                Fabric fabric = provider.open(
                        config.withOptions(options.getOrDefault(provider.name(), config.options())),
                        handlers.apply(provider.name()));
                fabrics.put(provider.name(), fabric);
                fabric.register(memory);
                pollRoles.put(provider.name(), new PollRole(fabric, spins));
            }
        } catch (RuntimeException | Error e) {
            fabrics.values().forEach(Fabric::close);
            throw e;
        }
    }

    /** Starts polling. */
    void start() {
        pollRoles.values().forEach(PollRole::start);
    }

    /** The address that peers connect to, by driver name. */
    Map<String, String> addresses() {
        Map<String, String> addresses = new LinkedHashMap<>();
        fabrics.forEach((name, fabric) -> addresses.put(name, fabric.localAddress()));
        return addresses;
    }

    PollRole pollRole(String fabric) {
        return Objects.requireNonNull(pollRoles.get(fabric));
    }

    /** The poll role of the preferred fabric; null if there is no fabric. */
    @Nullable
    PollRole preferredPollRole() {
        return pollRoles.isEmpty() ? null : pollRoles.values().iterator().next();
    }

    /** The sum of {@link PollRole#standbyWakeups} over all fabrics. */
    long standbyWakeups() {
        return pollRoles.values().stream().mapToLong(PollRole::standbyWakeups).sum();
    }

    /** The first fabric that a node also offers and by which it can be reached; null: there is none. */
    @Nullable
    Route routeTo(NodeRecord node) {
        for (Map.Entry<String, Fabric> candidate : fabrics.entrySet()) {
            String address = node.fabrics().get(candidate.getKey());
            boolean reachable = !candidate.getValue().capabilities().sameHostOnly()
                    || node.host().equals(host);
            if (address != null && reachable) {
                return new Route(candidate.getValue(), address);
            }
        }
        return null;
    }

    /** Why there is no {@link #routeTo} a node. */
    String whyNoRoute(NodeRecord node) {
        return "node %s offers %s at host %s; this node has %s at host %s"
                .formatted(node.name(), node.fabrics().keySet(), node.host(), fabrics.keySet(), host);
    }

    /** {@link PeerLinks#whyNoLanes}. */
    Optional<String> whyNoLanes(List<Peer> peers) {
        List<String> none = new ArrayList<>();
        boolean some = false;
        for (Map.Entry<String, Fabric> fabric : fabrics.entrySet()) {
            int lanes = fabric.getValue().capabilities().lanesMax();
            some |= lanes > 1;
            if (lanes < 2) {
                none.add("%s has %d lane to each node".formatted(fabric.getKey(), lanes));
            }
        }
        if (!some) {
            return Optional.of(
                    "%s; reserving lanes needs a fabric with at least 2 (lite.node.tcp.lanes, lite.node.rdma.lanes)"
                            .formatted(none.isEmpty() ? "there is no fabric" : String.join(", ", none)));
        }
        for (Peer peer : peers) {
            int lanes = peer.endpoint().laneCount();
            Fabric fabric = fabrics.get(peer.fabric());
            if (lanes == 1 && fabric != null && fabric.capabilities().lanesMax() > 1) {
                return Optional.of("the connection to node %s over %s has 1 lane; reserving lanes needs at least 2"
                        .formatted(peer.hello().node(), peer.fabric()));
            }
        }
        return Optional.empty();
    }

    /** {@link Fabric#lostMemories} of all fabrics. */
    List<AddressRange> lostMemories() {
        return fabrics.values().stream()
                .flatMap(fabric -> fabric.lostMemories().stream())
                .toList();
    }

    /** {@link Fabric#unmap}. */
    void unmap(AddressRange lost) {
        fabrics.values().forEach(fabric -> fabric.unmap(lost));
    }

    /** Closes the fabrics, each as soon as nobody polls it. */
    @Override
    public void close() {
        pollRoles.values().forEach(PollRole::close);
    }
}
