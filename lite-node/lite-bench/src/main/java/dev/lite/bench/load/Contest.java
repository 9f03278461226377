package dev.lite.bench.load;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A contender with its running processes. Used by one thread. */
public final class Contest implements AutoCloseable {
    private static final Duration START = Duration.ofSeconds(60);
    private static final Duration EXTRA = Duration.ofSeconds(60);
    private static final String NO_SERVER = "-";

    private final Contender contender;
    private final Contender.Backing backing;
    private final @Nullable ChildProcess server;
    private final ChildProcess caller;
    private final Map<Workload, Integer> prepared = new HashMap<>();
    private @Nullable Workload served;

    /**
     * Starts the processes.
     *
     * @param root a directory in shared memory; the contender gets its own in it
     */
    public Contest(Contender contender, Path root, Supplier<String> zooKeeper) {
        this.contender = contender;
        Path place = root.resolve(contender.name().replaceAll("[^A-Za-z0-9]+", "-"));
        try {
            Files.createDirectories(place);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create " + place, e);
        }
        backing = contender.start(place, zooKeeper);
        ChildProcess serving = null;
        ChildProcess calling = null;
        try {
            String address = NO_SERVER;
            if (contender.isServed()) {
                serving = party(PartyMain.SERVER, address, backing.serverArguments());
                address = serving.answer(START);
            }
            calling = party(PartyMain.CALLER, address, backing.callerArguments());
            calling.answer(START);
        } catch (RuntimeException e) {
            closeAll(calling, serving, backing);
            throw e;
        }
        server = serving;
        caller = calling;
    }

    private ChildProcess party(String side, String address, List<String> arguments) {
        List<String> all = new ArrayList<>(List.of(side, contender.name(), address));
        all.addAll(arguments);
        List<String> options = new ArrayList<>(contender.jvmOptions());
        options.add("-Dlite.bench.sessions=" + Integer.getInteger("lite.bench.sessions", 0));
        return ChildProcess.java(contender.name() + ", " + side, options, PartyMain.class, all);
    }

    /** Runs a workload once; prepares it if necessary. */
    public Sample run(Workload workload, Duration duration) {
        if (server != null && !workload.equals(served)) {
            server.send("prepare 0 " + workload.toLine());
            server.answer(EXTRA);
            served = workload;
        }
        Integer number = prepared.get(workload);
        if (number == null) {
            number = prepared.size();
            caller.send("prepare %d %s".formatted(number, workload.toLine()));
            caller.answer(EXTRA);
            prepared.put(workload, number);
        }
        caller.send("run %d %d".formatted(number, duration.toMillis()));
        return Sample.parse(caller.answer(duration.plus(EXTRA)));
    }

    @Override
    public void close() {
        closeAll(caller, server, backing);
    }

    private static void closeAll(
            @Nullable ChildProcess caller, @Nullable ChildProcess server, Contender.Backing backing) {
        if (caller != null) {
            caller.close();
        }
        if (server != null) {
            server.close();
        }
        backing.close();
    }
}
