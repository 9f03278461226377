package dev.lite.client;

import dev.lite.session.protocol.SessionProtocol;
import org.jspecify.annotations.Nullable;

/**
 * Tuning of a client. {@link dev.lite.api.Lite.AttachOptions} says where it attaches.
 *
 * @param spins how many times a thread polls for its completion before it blocks; 0 blocks at once. One poll takes 40 to 130 ns
 * @param pipelineDepth how many windows a long transfer keeps under way, 1 to {@value #PIPELINE_DEPTH_MAX}
 * @param nodeUid a user id whose node is trusted, beside root and this process's own user; or null
 */
public record ClientConfig(
        int spins, int pipelineDepth, @Nullable Integer nodeUid) {
    /** The largest pipeline depth. */
    public static final int PIPELINE_DEPTH_MAX = 8;

    /** System property for {@link #spins}. */
    public static final String SPINS_PROPERTY = "lite.client.spins";

    /** System property for {@link #pipelineDepth}. */
    public static final String PIPELINE_DEPTH_PROPERTY = "lite.client.pipeline-depth";

    /** System property for {@link #nodeUid}. */
    public static final String NODE_UID_PROPERTY = "lite.client.node-uid";

    private static final int SPINS_MAX = 10_000_000;
    private static final int PIPELINE_DEPTH_DEFAULT = 8;

    /**
     * Checks the values.
     *
     * @throws IllegalArgumentException when one is out of range
     */
    public ClientConfig {
        if (spins < 0 || spins > SPINS_MAX) {
            throw new IllegalArgumentException("spins: %d; must be 0 to %d".formatted(spins, SPINS_MAX));
        }
        if (pipelineDepth < 1 || pipelineDepth > PIPELINE_DEPTH_MAX) {
            throw new IllegalArgumentException(
                    "pipeline depth: %d; must be 1 to %d".formatted(pipelineDepth, PIPELINE_DEPTH_MAX));
        }
    }

    /** The values of the system properties, and defaults for this machine. */
    public static ClientConfig fromSystemProperties() {
        return new ClientConfig(
                Integer.getInteger(
                        SPINS_PROPERTY,
                        SessionProtocol.spinsDefault(Runtime.getRuntime().availableProcessors())),
                Integer.getInteger(PIPELINE_DEPTH_PROPERTY, PIPELINE_DEPTH_DEFAULT),
                Integer.getInteger(NODE_UID_PROPERTY));
    }

    /** With this number of spins. */
    public ClientConfig withSpins(int newSpins) {
        return new ClientConfig(newSpins, pipelineDepth, nodeUid);
    }
}
