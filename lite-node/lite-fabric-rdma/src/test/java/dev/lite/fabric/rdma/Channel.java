package dev.lite.fabric.rdma;

import static org.assertj.core.api.Assertions.assertThat;

import com.ibm.disni.verbs.impl.FakeConnectionManager;
import dev.lite.fabric.rdma.verbs.NativeLibrary;
import java.io.IOException;
import java.nio.channels.Pipe;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * A descriptor for the channels of a device that does not exist: a pipe, which is never readable. No other
 * thread may open one meanwhile, since it is found among those of the process.
 */
record Channel(Pipe pipe, FakeConnectionManager calls) implements AutoCloseable {

    /** Skips the test if the library was not built: DiSNI's classes need it. */
    static Channel open() throws IOException {
        NativeBuild.requireLibrary();
        assertThat(NativeLibrary.problem()).isEmpty();
        Set<String> before = pipes();
        Pipe pipe = Pipe.open();
        Set<String> opened = pipes();
        opened.removeAll(before);
        return new Channel(
                pipe,
                new FakeConnectionManager(Integer.parseInt(opened.iterator().next())));
    }

    private static Set<String> pipes() throws IOException {
        try (var descriptors = Files.list(Path.of("/proc/self/fd"))) {
            return descriptors
                    .filter(Channel::isPipe)
                    .map(link -> link.getFileName().toString())
                    .collect(Collectors.toSet());
        }
    }

    private static boolean isPipe(Path link) {
        try {
            return Files.readSymbolicLink(link).toString().startsWith("pipe:");
        } catch (IOException e) {
            return false; // it was the descriptor of the list
        }
    }

    @Override
    public void close() throws IOException {
        pipe.source().close();
        pipe.sink().close();
    }
}
