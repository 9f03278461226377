// Statements: the usual variables of an application that is attached to node-1 of a cluster with three nodes.
import dev.lite.api.*;
import dev.lite.embedded.*;
import java.lang.foreign.*;
import java.time.*;
import java.util.*;

public class Context {
    public static void run(EmbeddedCluster cluster) throws Exception {
        try (Lite session = cluster.attach("docs")) {
            LtMemory memory = session.memory();
            LtRpc rpc = session.rpc();
            LtSync sync = session.sync();
            LmrHandle handle = memory.malloc(LmrSpec.of(1 << 20).withPlacement(Placement.on("node-2")));
            // BLOCK
        }
    }
}
