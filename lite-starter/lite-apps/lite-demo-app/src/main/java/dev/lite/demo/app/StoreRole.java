package dev.lite.demo.app;

import dev.lite.api.Extent;
import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrSpec;
import dev.lite.api.LtMemory;
import dev.lite.api.NodeInfo;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import dev.lite.demo.app.Control.Word;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/** Stores the file in remote memory, counts the words of its first half, and measures. */
@Component
@ConditionalOnProperty(name = "lite.demo.role", havingValue = "store")
final class StoreRole extends DemoRole {

    private final Lite lite;
    private final LtMemory memory;

    StoreRole(DemoProperties properties, Lite lite, LtMemory memory) {
        super(properties);
        this.lite = lite;
        this.memory = memory;
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
        try (LmrHandle file = memory.malloc(spec);
                Control control = Control.create(memory, properties().deadline())) {
            results.put("sha256", store(source, bytes, file, control));
            describe(results, file.extents());
            countFirstHalf(results, bytes, file, control);
            control.awaitAtLeast(Word.LEFT, 1);
            new Latencies(properties().latencyTime(), results).measure(memory, otherNode());
            if (!properties().keep()) {
                file.free();
                control.free();
            }
        }
    }

    private String store(Path source, long bytes, LmrHandle file, Control control) throws IOException {
        Sha256 sha = new Sha256();
        Progress progress = new Progress("store: disk to remote memory", bytes);
        byte[] piece = new byte[(int) Math.min(Halves.PIECE_BYTES, bytes)];
        try (FileChannel channel = FileChannel.open(source)) {
            for (long offset = 0; offset < bytes; ) {
                int length = channel.read(ByteBuffer.wrap(piece, 0, (int) Math.min(piece.length, bytes - offset)));
                if (length < 0) {
                    throw new DemoException(
                            "the file %s became shorter while it was stored: it ended after %,d of %,d bytes"
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

    private void countFirstHalf(Results results, long bytes, LmrHandle file, Control control) {
        long to = Halves.boundary(bytes);
        Progress progress = new Progress("store: words of the first half", to);
        long words = new Halves(file, control).count(properties().words(), 0, to, progress, (piece, length) -> {});
        progress.done();
        control.add(Word.WORDS, words);
        control.add(Word.COUNTED, 1);
        results.put("words.own", words);
    }

    private void describe(Results results, long bytes) {
        results.put("bytes", bytes);
        results.put("node", lite.nodeName());
        List<NodeInfo> nodes = lite.nodes().stream()
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
        return lite.nodes().stream()
                .map(NodeInfo::name)
                .filter(name -> !name.equals(lite.nodeName()))
                .sorted()
                .findFirst()
                .orElse(lite.nodeName());
    }
}
