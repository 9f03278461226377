package dev.lite.fabric;

import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Proves to peers which node this is, and checks which node a peer is. Drivers that reach other hosts use it in their handshakes; the
 * cluster's secret alone proves only that a peer is some node. Any thread.
 */
public interface FabricIdentity {
    /** Bytes of a public key. */
    int KEY_BYTES = 32;

    /** Bytes of a signature. */
    int SIGNATURE_BYTES = 64;

    /** This node's public Ed25519 key: {@value #KEY_BYTES} bytes. */
    byte[] publicKey();

    /** Signs with this node's Ed25519 key: {@value #SIGNATURE_BYTES} bytes. */
    byte[] sign(byte[] message);

    /**
     * Why a peer is not the node that it claims to be. The driver has checked that the peer has the private key.
     *
     * @param peer what the peer says and proved
     * @param timeout the method may block so long, because a node that just registered may not be known yet
     * @return a sentence without the subject; null if there is no objection
     */
    @Nullable
    String objectionTo(Peer peer, Duration timeout);

    /**
     * A peer in a handshake.
     *
     * @param fabric the driver's name
     * @param dialled the address to which this node connects; null if the peer connects
     * @param hello the peer's hello
     * @param publicKey the peer's key
     * @param certified the names in the peer's certificate; null without a certificate
     */
    record Peer(
            String fabric,
            @Nullable String dialled,
            byte[] hello,
            byte[] publicKey,
            @Nullable Set<String> certified) {}
}
