package dev.lite.bench.peers;

import com.hazelcast.client.HazelcastClient;
import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.cluster.Member;
import com.hazelcast.config.Config;
import com.hazelcast.config.JoinConfig;
import com.hazelcast.config.NetworkConfig;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.core.IExecutorService;
import com.hazelcast.map.EntryProcessor;
import com.hazelcast.map.IMap;
import dev.lite.bench.load.Caller;
import dev.lite.bench.load.Contender;
import dev.lite.bench.load.FreePort;
import dev.lite.bench.load.HandOvers;
import dev.lite.bench.load.Operation;
import dev.lite.bench.load.Outstanding;
import dev.lite.bench.load.Server;
import dev.lite.bench.load.Workload;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/**
 * One Hazelcast member and one client over loopback TCP without encryption, with their defaults: an executor's task that returns
 * its argument for a call, a map's {@code get} and {@code set} for a read and a write, an entry processor for an addition, and a
 * map's lock for a lock. The free edition has no consistent words and locks, so these are not replicated.
 */
public final class Hazelcast implements Contender {
    private static final String CLUSTER = "bench";
    private static final String LOOPBACK = "127.0.0.1";

    @Override
    public String name() {
        return "Hazelcast";
    }

    @Override
    public List<String> jvmOptions() {
        return List.of(
                "--sun-misc-unsafe-memory-access=allow",
                "--add-modules=java.se",
                "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
                "--add-opens=java.base/java.lang=ALL-UNNAMED",
                "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
                "--add-opens=java.management/sun.management=ALL-UNNAMED",
                "--add-opens=jdk.management/com.sun.management.internal=ALL-UNNAMED");
    }

    @Override
    public Server openServer(List<String> arguments) {
        int port = FreePort.find();
        Config config = new Config();
        config.setClusterName(CLUSTER);
        config.setProperty("hazelcast.phone.home.enabled", "false");
        config.setProperty("hazelcast.logging.type", "slf4j");
        NetworkConfig network = config.getNetworkConfig();
        network.setPort(port).setPortAutoIncrement(false).setPublicAddress(LOOPBACK);
        network.getInterfaces().setEnabled(true).addInterface(LOOPBACK);
        JoinConfig join = network.getJoin();
        join.getAutoDetectionConfig().setEnabled(false);
        join.getMulticastConfig().setEnabled(false);
        HazelcastInstance member = com.hazelcast.core.Hazelcast.newHazelcastInstance(config);
        return new Server() {
            @Override
            public String address() {
                return Integer.toString(port);
            }

            @Override
            public void close() {
                member.shutdown();
            }
        };
    }

    @Override
    public Caller openCaller(List<String> arguments, String serverAddress) {
        ClientConfig config = new ClientConfig();
        config.setClusterName(CLUSTER);
        config.setProperty("hazelcast.logging.type", "slf4j");
        config.getNetworkConfig().addAddress(LOOPBACK + ":" + serverAddress);
        HazelcastInstance client = HazelcastClient.newHazelcastClient(config);
        HandOvers handOvers = new HandOvers();
        return new Caller() {
            @Override
            public Operation operation(Workload workload, int thread) {
                if (workload.underWay() > 1) {
                    return outstanding(client, workload, thread);
                }
                return switch (workload.kind()) {
                    case CALL -> call(client, new byte[workload.bytes()]);
                    case READ -> read(client.getMap("reads"), thread, new byte[workload.bytes()]);
                    case WRITE -> write(client.getMap("writes"), thread, new byte[workload.bytes()]);
                    case ADD -> add(client.getMap("words"), thread);
                    case LOCK -> lock(client.getMap("locks"), handOvers, thread);
                };
            }

            @Override
            public void close() {
                client.shutdown();
            }
        };
    }

    /** A call's server side: replies with the request. */
    private record Echo(byte[] request) implements Callable<byte[]>, Serializable {
        @Override
        public byte[] call() {
            return request;
        }
    }

    private static Operation call(HazelcastInstance client, byte[] request) {
        IExecutorService executor = client.getExecutorService("echo");
        Member member = client.getCluster().getMembers().iterator().next();
        return nowNs -> {
            try {
                requireLength(executor.submitToMember(new Echo(request), member).get(), request.length);
            } catch (ExecutionException | InterruptedException e) {
                throw new IllegalStateException("a call failed", e);
            }
            return nowNs;
        };
    }

    private static Operation outstanding(HazelcastInstance client, Workload workload, int thread) {
        byte[] bytes = new byte[workload.bytes()];
        if (workload.kind() == Workload.Kind.CALL) {
            IExecutorService executor = client.getExecutorService("echo");
            Member member = client.getCluster().getMembers().iterator().next();
            return new Outstanding(workload.underWay(), slot -> executor.submitToMember(new Echo(bytes), member));
        }
        IMap<Integer, byte[]> map = client.getMap("outstanding");
        map.set(thread, bytes);
        return new Outstanding(
                workload.underWay(),
                slot -> (workload.kind() == Workload.Kind.READ ? map.getAsync(thread) : map.setAsync(thread, bytes))
                        .toCompletableFuture());
    }

    private static Operation read(IMap<Integer, byte[]> map, int thread, byte[] value) {
        map.set(thread, value);
        return nowNs -> {
            requireLength(map.get(thread), value.length);
            return nowNs;
        };
    }

    private static Operation write(IMap<Integer, byte[]> map, int thread, byte[] value) {
        return nowNs -> {
            map.set(thread, value);
            return nowNs;
        };
    }

    private static void requireLength(byte @Nullable [] bytes, int length) {
        if (bytes == null || bytes.length != length) {
            throw new IllegalStateException("not an answer of %d bytes".formatted(length));
        }
    }

    private record Increment() implements EntryProcessor<Integer, Long, Long> {
        @Override
        public Long process(Map.Entry<Integer, Long> word) {
            long before = word.getValue();
            word.setValue(before + 1);
            return before;
        }
    }

    private static Operation add(IMap<Integer, Long> words, int thread) {
        words.set(thread, 0L);
        Increment increment = new Increment();
        return nowNs -> {
            Long unused = words.executeOnKey(thread, increment);
            return nowNs;
        };
    }

    private static Operation lock(IMap<Integer, byte[]> locks, HandOvers handOvers, int thread) {
        return nowNs -> {
            locks.lock(0);
            try {
                return handOvers.by(thread, nowNs);
            } finally {
                locks.unlock(0);
            }
        };
    }
}
