package dev.lite.bench.load;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.function.Supplier;

/** A system that takes part: LITE in one of its forms, or a peer. Found by {@link ServiceLoader}; stateless. */
public interface Contender {
    /** Its name in the table. */
    String name();

    /** Why it cannot take part here, or empty. */
    default Optional<String> unavailable() {
        return Optional.empty();
    }

    /** Options that its JVMs need. */
    default List<String> jvmOptions() {
        return List.of();
    }

    /** Whether it has a serving process. */
    default boolean isServed() {
        return true;
    }

    /**
     * Starts the processes behind both sides.
     *
     * @param place a directory in shared memory for this contender alone; removed at the end
     * @param zooKeeper the address of a ZooKeeper, which is started when it is first asked for
     */
    default Backing start(Path place, Supplier<String> zooKeeper) {
        return new Backing() {};
    }

    /** Opens the serving side. Runs in the serving process. */
    Server openServer(List<String> arguments);

    /**
     * Opens the calling side. Runs in the calling process.
     *
     * @param arguments those of the backing
     * @param serverAddress see {@link Server#address}; {@code -} without a server
     */
    Caller openCaller(List<String> arguments, String serverAddress);

    /** The processes behind both sides, such as nodes. */
    interface Backing extends AutoCloseable {
        /** For {@link #openServer}. */
        default List<String> serverArguments() {
            return List.of();
        }

        /** For {@link #openCaller}. */
        default List<String> callerArguments() {
            return List.of();
        }

        @Override
        default void close() {}
    }

    /** The contender of this name, or empty when its adapter is not on the class path. */
    static Optional<Contender> named(String name) {
        return ServiceLoader.load(Contender.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(contender -> contender.name().equals(name))
                .findFirst();
    }
}
