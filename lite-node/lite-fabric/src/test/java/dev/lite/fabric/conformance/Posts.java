package dev.lite.fabric.conformance;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import dev.lite.fabric.FabricEndpoint;
import dev.lite.fabric.Post;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/** Posts that several groups of cases use. */
final class Posts {
    private Posts() {}

    /** One valid post of every kind; {@code local} has at least 8 bytes. */
    static List<Posted> oneOfEach(TestNode node, FabricEndpoint endpoint, MemorySegment local) {
        long address = local.address();
        return List.of(
                node.recorder.post(endpoint, (to, context) -> to.read(0, address, 8, context)),
                node.recorder.post(endpoint, (to, context) -> to.write(0, address, 8, context)),
                node.recorder.post(endpoint, (to, context) -> to.writeImm(0, address, 8, 1, context)),
                node.recorder.post(endpoint, (to, context) -> to.fetchAdd(0, 1, address, context)),
                node.recorder.post(endpoint, (to, context) -> to.compareAndSwap(0, 0, 1, address, context)));
    }

    /** Posts writes, reads, adds and immediates without polling until the endpoint is busy or no longer open. */
    static List<Posted> many(TestNode node, FabricEndpoint endpoint, MemorySegment local, int countMax) {
        long address = local.address();
        List<Posted> taken = new ArrayList<>();
        for (int i = 0; i < countMax; i++) {
            int n = i;
            Posted posted = node.recorder.post(endpoint, (to, context) -> switch (n % 4) {
                case 0 -> to.write(64, address, 8, context);
                case 1 -> to.read(64, address + 8, 8, context);
                case 2 -> to.fetchAdd(128, 1, address + 16, context);
                default -> to.writeImm(64, address, 8, n, context);
            });
            if (!posted.wasTaken()) {
                break;
            }
            taken.add(posted);
        }
        return taken;
    }

    /** Whether a post was refused because the endpoint is not open. */
    static boolean isClosed(Posted posted) {
        return posted.answer() == Post.CLOSED;
    }

    static byte[] randomBytes(TestFabrics fabrics, int length) {
        byte[] bytes = new byte[length];
        fabrics.random().nextBytes(bytes);
        return bytes;
    }

    static void fill(MemorySegment segment, byte[] bytes) {
        MemorySegment.copy(bytes, 0, segment, JAVA_BYTE, 0, bytes.length);
    }
}
