package dev.lite.fabric.shm;

import dev.lite.fabric.Post;
import dev.lite.os.RawMemory;
import java.io.IOException;
import java.nio.file.Path;

/**
 * A node in its own process. It prints its address. Then it answers each immediate: it adds the value to the first word of its
 * memory and sends it back, until it is killed or receives 0. When it
 * receives -1, it closes its fabric, and its process stays alive.
 */
final class PeerJvm {
    private PeerJvm() {}

    public static void main(String[] arguments) throws IOException {
        try (var node = new TestNode(Path.of(arguments[0]), "peer")) {
            System.out.println(node.fabric.localAddress());
            int answered = 0;
            while (true) {
                node.fabric.await(TestNode.nanos(1));
                node.fabric.poll(16);
                for (; answered < node.immediates.size(); answered++) {
                    int immediate = node.immediates.get(answered);
                    if (immediate == 0) {
                        return;
                    }
                    if (immediate == -1) {
                        node.fabric.close();
                        int unused = System.in.read(); // until the parent ends
                        return;
                    }
                    RawMemory.getAndAddLong(node.address(), immediate);
                    while (node.accepted.getLast().writeImm(8, node.address(), 8, immediate, 0) == Post.BUSY) {
                        Thread.onSpinWait();
                    }
                }
            }
        }
    }
}
