package dev.lite.bench.contenders;

import dev.lite.bench.load.Caller;
import dev.lite.bench.load.Contender;
import dev.lite.bench.load.HandOvers;
import dev.lite.bench.load.Operation;
import dev.lite.bench.load.Server;
import dev.lite.bench.load.Workload;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/** The threads of one process compete for a fair {@link ReentrantLock}. */
public final class FairLock implements Contender {
    @Override
    public String name() {
        return "fair ReentrantLock";
    }

    @Override
    public boolean isServed() {
        return false;
    }

    @Override
    public Server openServer(List<String> arguments) {
        throw new IllegalStateException("a lock in one process has no server");
    }

    @Override
    public Caller openCaller(List<String> arguments, String serverAddress) {
        ReentrantLock lock = new ReentrantLock(true);
        HandOvers handOvers = new HandOvers();
        return new Caller() {
            @Override
            public Operation operation(Workload workload, int thread) {
                return nowNs -> {
                    lock.lock();
                    try {
                        return handOvers.by(thread, nowNs);
                    } finally {
                        lock.unlock();
                    }
                };
            }

            @Override
            public void close() {
                // Nothing is open.
            }
        };
    }
}
