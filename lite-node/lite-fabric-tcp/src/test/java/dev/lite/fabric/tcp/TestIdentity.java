package dev.lite.fabric.tcp;

import dev.lite.fabric.conformance.SigningIdentity;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The identity of a node in tests. Its peers' keys and addresses by their names are in a map that the nodes of a test share. */
final class TestIdentity extends SigningIdentity {
    /** The registered nodes: name → key and address. */
    static final class Registry {
        private final Map<String, String> keys = new HashMap<>();
        private final Map<String, String> addresses = new HashMap<>();

        synchronized void add(String name, TestIdentity identity) {
            keys.put(name, HexFormat.of().formatHex(identity.publicKey()));
        }

        synchronized void address(String name, String address) {
            addresses.put(name, address);
        }

        private synchronized @Nullable String objectionTo(Peer peer) {
            String name = new String(peer.hello(), StandardCharsets.UTF_8).replace("hello of ", "");
            if (!HexFormat.of().formatHex(peer.publicKey()).equals(keys.get(name))) {
                return "it does not have the key of " + name;
            }
            if (peer.dialled() != null && !peer.dialled().equals(addresses.get(name))) {
                return "that is not the address of " + name;
            }
            Set<String> certified = peer.certified();
            return certified == null || certified.contains(name) ? null : "its certificate is not for " + name;
        }
    }

    private final Registry registry;
    private final byte @Nullable [] shown;

    TestIdentity(Registry registry) {
        this(registry, null);
    }

    /** @param shown the key that it shows instead of its own; null: its own */
    TestIdentity(Registry registry, byte @Nullable [] shown) {
        this.registry = registry;
        this.shown = shown;
    }

    @Override
    public byte[] publicKey() {
        return shown != null ? shown : super.publicKey();
    }

    @Override
    public @Nullable String objectionTo(Peer peer, Duration timeout) {
        return registry.objectionTo(peer);
    }
}
