package dev.lite.rdma.vm;

import dev.lite.api.Lite;
import dev.lite.api.Lite.AttachOptions;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.Placement;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * Applications in this process that are attached to one node, use memory of another one, and stay attached. Used
 * by one thread.
 */
final class ManyApplications {
    private static final int BYTES = 4096;

    private static int attached;

    private ManyApplications() {}

    /** Attaches more applications, until there are so many. */
    static String attach(Path socket, String other, int applications) {
        for (; attached < applications; attached++) {
            @SuppressWarnings("resource") // until this process ends
            Lite lite = Lite.attach(AttachOptions.to(socket, "many"));
            LmrHandle handle = lite.memory().malloc(LmrSpec.of(BYTES).withPlacement(Placement.on(other)));
            byte[] written = new byte[BYTES];
            Arrays.fill(written, (byte) attached);
            handle.write(0, written);
            byte[] read = new byte[BYTES];
            handle.read(0, read);
            if (!Arrays.equals(read, written)) {
                throw new IllegalStateException("application " + attached + " read other bytes than it wrote");
            }
        }
        return "attached " + applications;
    }
}
