package dev.lite.rdma.vm;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import java.nio.file.Path;
import java.util.Arrays;

/** Applications that are attached to one node, use memory of another one, and stay attached. */
final class ManyProgram {
    static final String ATTACHED = "attached";

    private static final int BYTES = 4096;

    private ManyProgram() {}

    /**
     * Attaches, prints a line, and waits to be killed.
     *
     * @param arguments the node's socket; the other node; how many applications
     */
    public static void main(String[] arguments) throws InterruptedException {
        int applications = Integer.parseInt(arguments[2]);
        for (int i = 0; i < applications; i++) {
            @SuppressWarnings("resource") // until this process ends
            Lite lite = Lite.attach(AttachOptions.to(Path.of(arguments[0]), "many"));
            LmrHandle handle = lite.memory().malloc(LmrSpec.of(BYTES).withPlacement(Placement.on(arguments[1])));
            byte[] written = new byte[BYTES];
            Arrays.fill(written, (byte) i);
            handle.write(0, written);
            byte[] read = new byte[BYTES];
            handle.read(0, read);
            if (!Arrays.equals(read, written)) {
                throw new IllegalStateException("application " + i + " read other bytes than it wrote");
            }
        }
        System.out.println(ATTACHED + " " + applications);
        Thread.currentThread().join();
    }
}
