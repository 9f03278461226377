package dev.lite.demo.app;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.api.RpcServer;
import dev.lite.demo.app.Control.Word;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/** Stores the file in remote memory, has its words counted on the nodes that hold them, and measures latencies. */
@Component
@ConditionalOnProperty(name = "lite.demo.role", havingValue = "store")
final class StoreRole extends DemoRole {

    StoreRole(DemoProperties properties, Lite lite) {
        super(properties, lite);
    }

    @Override
    void work(Results results) throws IOException {
        Path source = properties().file();
        long bytes = Files.size(source);
        if (bytes == 0) {
            throw new DemoException("the file %s is empty; there is nothing to store".formatted(source));
        }
        describe(results, bytes);
        LmrSpec spec = LmrSpec.of(bytes)
                .withName(Control.FILE)
                .withPlacement(Placement.spread())
                .withDefaultPermissions(Permission.READ);
        LtMemory memory = lite().memory();
        try (LmrHandle file = memory.malloc(spec);
                Control control = Control.create(memory)) {
            results.put("sha256", store(source, bytes, file, control));
            List<Extent> extents = file.extents();
            describe(results, extents);
            count(results, bytes, file, extents, control);
            new Latencies(properties().latencyTime(), results).measure(memory, otherNode());
            meet(Meeting.DONE, 0);
            if (!properties().keep()) {
                file.free();
                control.free();
            }
        }
    }

    private void count(Results results, long bytes, LmrHandle file, List<Extent> extents, Control control) {
        CountCalls calls = calls(file, control);
        Map<String, CountCalls.OfNode> counted;
        try (RpcServer server = calls.serve()) {
            meet(Meeting.STORED, bytes);
            Progress progress = new Progress("store: calls of %s".formatted(server.function()), bytes);
            counted = calls.call(extents, progress);
            progress.done();
            meet(Meeting.COUNTED, bytes);
        }
        int index = 0;
        for (Map.Entry<String, CountCalls.OfNode> node : counted.entrySet()) {
            results.put("counted." + index + ".node", node.getKey());
            results.put("counted." + index + ".extents", node.getValue().extents());
            results.put("counted." + index + ".words", node.getValue().words());
            index++;
        }
        results.put("counted", counted.size());
        long words =
                counted.values().stream().mapToLong(CountCalls.OfNode::words).sum();
        results.put("words.replied", words);
        results.compare(
                "extents, bytes and words of the replies and of the tally under the lock",
                new Tally(extents.size(), bytes, words),
                control.tally());
        results.compare("fencing tokens always grew", 0L, control.get(Word.STALE_TOKENS));
    }

    private String store(Path source, long bytes, LmrHandle file, Control control) throws IOException {
        Sha256 sha = new Sha256();
        Progress progress = new Progress("store: disk to remote memory", bytes);
        byte[] piece = new byte[(int) Math.min(Pieces.PIECE_BYTES, bytes)];
        try (FileChannel channel = FileChannel.open(source)) {
            for (long offset = 0; offset < bytes; ) {
                int length = channel.read(ByteBuffer.wrap(piece, 0, (int) Math.min(piece.length, bytes - offset)));
                if (length < 0) {
                    throw new DemoException(
                            "the file %s was truncated while it was stored: it ended after %,d of %,d bytes"
                                    .formatted(source, offset, bytes));
                }
                file.write(offset, MemorySegment.ofArray(piece).asSlice(0, length));
                sha.add(piece, length);
                offset += length;
                control.add(Word.STORED, length);
                progress.at(offset);
            }
        }
        progress.done();
        return sha.hex();
    }

    private void describe(Results results, long bytes) {
        results.put("bytes", bytes);
        results.put("node", lite().nodeName());
        List<NodeInfo> nodes = lite().nodes().stream()
                .sorted(Comparator.comparing(NodeInfo::name))
                .toList();
        results.put("nodes", nodes.size());
        for (int i = 0; i < nodes.size(); i++) {
            NodeInfo node = nodes.get(i);
            results.put("node." + i + ".name", node.name());
            results.put("node." + i + ".id", node.id());
            results.put("node." + i + ".arena-bytes", node.arenaBytes());
            results.put("node." + i + ".fabric", node.fabric());
        }
    }

    private static void describe(Results results, List<Extent> extents) {
        results.put("extents", extents.size());
        for (int i = 0; i < extents.size(); i++) {
            Extent extent = extents.get(i);
            results.put("extent." + i + ".node", extent.node());
            results.put("extent." + i + ".offset", extent.offset());
            results.put("extent." + i + ".length", extent.length());
        }
    }

    private String otherNode() {
        return lite().nodes().stream()
                .map(NodeInfo::name)
                .filter(name -> !name.equals(lite().nodeName()))
                .sorted()
                .findFirst()
                .orElse(lite().nodeName());
    }
}
