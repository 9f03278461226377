package dev.lite.local;

import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Starts a cluster of fake processes, prints its directory and processes, and waits until it is killed. */
final class Launcher {

    private Launcher() {}

    /** Arguments: the jar, the directory of shared memory. */
    public static void main(String[] arguments) throws InterruptedException {
        Path jar = Path.of(arguments[0]);
        LocalCluster cluster = LocalCluster.builder()
                .jars(jar, jar)
                .nodes(2)
                .name("launched")
                .sharedMemory(Path.of(arguments[1]))
                .build();
        cluster.startManager();
        cluster.startNodes();
        System.out.println("work " + cluster.workDirectory());
        for (LocalProcess process : cluster.processes()) {
            System.out.println("pid " + process.pid());
        }
        System.out.println("ready");
        if (new CountDownLatch(1).await(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException("the latch is never counted down");
        }
    }
}
