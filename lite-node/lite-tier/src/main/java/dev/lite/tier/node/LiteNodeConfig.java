package dev.lite.tier.node;

import dev.lite.api.Priority;
import dev.lite.cluster.qos.QosPolicy;
import dev.lite.tier.NameRules;
import dev.lite.tier.channel.NodeChannels;
import dev.lite.tier.memory.ArenaConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The configuration of a node; see {@link #builder}.
 *
 * @param cluster the cluster's name: 1 to 63 of {@code a–z A–Z 0–9 . _ -}
 * @param name the node's stable name; same characters and length
 * @param arenaRoot the directory of all arenas, on a memory file system
 * @param arenaBytes the size of this node's arena, in bytes
 * @param arenaKept when the arena outlives the process
 * @param runDirectory the directory for sockets; created if missing
 * @param limits the limits of applications
 * @param deadline the default deadline of an operation
 * @param pollSpins the maximum number of poll spins before a waiting thread blocks
 * @param channelsMax the maximum number of ends of channels of this node's applications; 0: no channels
 * @param priorities the priority of principals; one that is missing has {@link Priority#HIGH}
 * @param names the names that principals may use; one that is missing may use every name
 * @param qos the policy at the start
 * @param fabricOptions the settings of each driver, by its name; a driver without an entry has no settings
 */
public record LiteNodeConfig(
        String cluster,
        String name,
        Path arenaRoot,
        long arenaBytes,
        ArenaConfig.Kept arenaKept,
        Path runDirectory,
        Limits limits,
        Duration deadline,
        int pollSpins,
        int channelsMax,
        Map<String, Priority> priorities,
        Map<String, NameRules> names,
        QosPolicy qos,
        Map<String, Map<String, String>> fabricOptions) {

    /** Checks the limit of channels and copies the mutable values. */
    public LiteNodeConfig {
        if (channelsMax < 0 || channelsMax > NodeChannels.CHANNELS_MAX) {
            throw new IllegalArgumentException("channels of a node: %d; must be 0 (no channels) to %d"
                    .formatted(channelsMax, NodeChannels.CHANNELS_MAX));
        }
        priorities = Map.copyOf(priorities);
        names = Map.copyOf(names);
        fabricOptions = fabricOptions.entrySet().stream()
                .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, entry -> Map.copyOf(entry.getValue())));
    }

    /**
     * Limits. The node checks them before it takes any memory.
     *
     * @param lmrBytesMax the largest LMR, in bytes
     * @param handlesPerSession the maximum number of handles of a session
     * @param extentsMax the maximum number of extents in this node's arena; 0: one for every 4 KiB of it
     * @param nodesMax the maximum number of nodes in the cluster; ids are below it
     * @param handlesMax the maximum number of handles of all attached applications, divided among principals; 0: one for each
     *     {@value #HEAP_PER_HANDLE} bytes of the largest heap
     * @param bytesPerPrincipal the maximum bytes in this node's arena of LMRs that one principal created; {@link
     *     Long#MAX_VALUE}: no limit and no counting
     */
    public record Limits(
            long lmrBytesMax,
            int handlesPerSession,
            int handlesMax,
            int extentsMax,
            int nodesMax,
            long bytesPerPrincipal) {
        private static final int HEAP_PER_HANDLE = 1024;

        /** No limits for LMRs and principals; 1 Mi handles per session; extents by the arena's size; 64 nodes. */
        public static final Limits DEFAULT = new Limits(Long.MAX_VALUE, 1 << 20, 0, 64);

        /** Checks the values. */
        public Limits {
            if (lmrBytesMax < 1 || handlesPerSession < 1 || handlesMax < 0 || extentsMax < 0 || bytesPerPrincipal < 1) {
                throw new IllegalArgumentException(
                        "limits must be positive: %d bytes per LMR, %d handles per session, %d handles, %d extents, %d bytes per principal"
                                .formatted(lmrBytesMax, handlesPerSession, handlesMax, extentsMax, bytesPerPrincipal));
            }
        }

        /** Limits without a limit per principal. */
        public Limits(long lmrBytesMax, int handlesPerSession, int extentsMax, int nodesMax) {
            this(lmrBytesMax, handlesPerSession, 0, extentsMax, nodesMax, Long.MAX_VALUE);
        }

        /** A copy with a limit per principal. */
        public Limits withBytesPerPrincipal(long bytes) {
            return new Limits(lmrBytesMax, handlesPerSession, handlesMax, extentsMax, nodesMax, bytes);
        }

        /** A copy with a limit of handles of all attached applications; 0: by the heap. */
        public Limits withHandles(int handles) {
            return new Limits(lmrBytesMax, handlesPerSession, handles, extentsMax, nodesMax, bytesPerPrincipal);
        }

        int handlesOfAll() {
            return handlesMax > 0
                    ? handlesMax
                    : (int) Math.min(Integer.MAX_VALUE, Runtime.getRuntime().maxMemory() / HEAP_PER_HANDLE);
        }
    }

    /**
     * The default of {@link #pollSpins}: 50 to 100 µs, about the time to wake an idle processor. Each miss shortens the
     * spinning, so an idle node spends little on it.
     */
    public static int pollSpinsDefault() {
        int processors = Runtime.getRuntime().availableProcessors();
        return processors == 1 ? 0 : 2000;
    }

    /** A builder with default limits, a deadline of ten seconds and a retained arena in {@code /dev/shm/lite}. */
    public static Builder builder(String cluster, String name, long arenaBytes, Path runDirectory) {
        return new Builder(cluster, name, arenaBytes, runDirectory);
    }

    /** A builder with the values of this configuration. */
    public Builder toBuilder() {
        Builder builder = new Builder(cluster, name, arenaBytes, runDirectory)
                .arena(arenaRoot, arenaKept)
                .limits(limits)
                .deadline(deadline)
                .pollSpins(pollSpins)
                .channelsMax(channelsMax)
                .priorities(priorities)
                .names(names)
                .qos(qos);
        builder.fabricOptions.putAll(fabricOptions);
        return builder;
    }

    /** Builds the configuration of a node. Not thread-safe. */
    public static final class Builder {
        private final String cluster;
        private final String name;
        private final long arenaBytes;
        private final Path runDirectory;
        private final Map<String, Map<String, String>> fabricOptions = new HashMap<>();
        private Path arenaRoot = Path.of("/dev/shm/lite");
        private ArenaConfig.Kept arenaKept = ArenaConfig.Kept.ALWAYS;
        private Limits limits = Limits.DEFAULT;
        private Duration deadline = Duration.ofSeconds(10);
        private int pollSpins = pollSpinsDefault();
        private int channelsMax = NodeChannels.CHANNELS_DEFAULT;
        private Map<String, Priority> priorities = Map.of();
        private Map<String, NameRules> names = Map.of();
        private QosPolicy qos = QosPolicy.OFF;

        private Builder(String cluster, String name, long arenaBytes, Path runDirectory) {
            this.cluster = cluster;
            this.name = name;
            this.arenaBytes = arenaBytes;
            this.runDirectory = runDirectory;
        }

        /** The root of the arenas, and whether this node's arena stays after a clean shutdown. It stays after a crash. */
        public Builder arena(Path root, boolean retained) {
            return arena(root, retained ? ArenaConfig.Kept.ALWAYS : ArenaConfig.Kept.AFTER_CRASH);
        }

        /** The root of the arenas, and when this node's arena outlives the process. */
        public Builder arena(Path root, ArenaConfig.Kept kept) {
            arenaRoot = root;
            arenaKept = kept;
            return this;
        }

        /** The limits of applications. */
        public Builder limits(Limits newLimits) {
            limits = newLimits;
            return this;
        }

        /** The default deadline of an operation. */
        public Builder deadline(Duration newDeadline) {
            deadline = newDeadline;
            return this;
        }

        /** The maximum number of poll spins before a waiting thread blocks. */
        public Builder pollSpins(int spins) {
            pollSpins = spins;
            return this;
        }

        /** The maximum number of ends of channels of this node's applications; 0: no channels. */
        public Builder channelsMax(int ends) {
            channelsMax = ends;
            return this;
        }

        /** The priority of principals; one that is missing has {@link Priority#HIGH}. */
        public Builder priorities(Map<String, Priority> byPrincipal) {
            priorities = byPrincipal;
            return this;
        }

        /** The names that principals may use; one that is missing may use every name. */
        public Builder names(Map<String, NameRules> byPrincipal) {
            names = byPrincipal;
            return this;
        }

        /** The policy for quality of service at the start. */
        public Builder qos(QosPolicy policy) {
            qos = policy;
            return this;
        }

        /** The settings of one driver. */
        public Builder fabricOptions(String driver, Map<String, String> options) {
            fabricOptions.put(driver, options);
            return this;
        }

        /** Builds the configuration. */
        public LiteNodeConfig build() {
            return new LiteNodeConfig(
                    cluster,
                    name,
                    arenaRoot,
                    arenaBytes,
                    arenaKept,
                    runDirectory,
                    limits,
                    deadline,
                    pollSpins,
                    channelsMax,
                    priorities,
                    names,
                    qos,
                    fabricOptions);
        }
    }

    /** Omits the values of the fabrics' options, because one may be a secret. */
    @Override
    public String toString() {
        return "LiteNodeConfig[cluster=%s, name=%s, arenaRoot=%s, arenaBytes=%d, runDirectory=%s, fabricOptions of %s]"
                .formatted(cluster, name, arenaRoot, arenaBytes, runDirectory, fabricOptions.keySet());
    }

    ArenaConfig arena() {
        int extents = limits.extentsMax() == 0 ? ArenaConfig.extentsMaxDefault(arenaBytes) : limits.extentsMax();
        return new ArenaConfig(arenaRoot, cluster, name, arenaBytes, extents, limits.nodesMax(), arenaKept);
    }
}
