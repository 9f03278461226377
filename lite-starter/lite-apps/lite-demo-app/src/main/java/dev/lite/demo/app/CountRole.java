package dev.lite.demo.app;

import dev.lite.api.Lite;
import dev.lite.api.LmrHandle;
import dev.lite.api.LtMemory;
import dev.lite.api.Permission;
import dev.lite.demo.app.Control.Word;
import java.io.IOException;
import java.nio.file.Files;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.stereotype.Component;

/** Reads the file back from remote memory, compares it with the one on disk, and counts the words of its second half. */
@Component
@ConditionalOnProperty(name = "lite.demo.role", havingValue = "count")
final class CountRole extends DemoRole {

    private final Lite lite;
    private final LtMemory memory;

    CountRole(DemoProperties properties, Lite lite, LtMemory memory) {
        super(properties);
        this.lite = lite;
        this.memory = memory;
    }

    @Override
    void work(Results results) throws IOException {
        results.put("node", lite.nodeName());
        try (Control control = Control.await(memory, properties().deadline());
                LmrHandle file = memory.map(Control.FILE, Permission.READ)) {
            long bytes = file.size();
            results.compare(
                    "bytes of the LMR and of the file on disk",
                    Files.size(properties().file()),
                    bytes);
            control.awaitAtLeast(Word.STORED, bytes);
            readBack(results, bytes, file, control);
            control.awaitAtLeast(Word.COUNTED, 2);
            results.put("words", control.get(Word.WORDS));
            control.add(Word.LEFT, 1);
        }
    }

    private void readBack(Results results, long bytes, LmrHandle file, Control control) throws IOException {
        Sha256 sha = new Sha256();
        Halves halves = new Halves(file, control);
        long boundary = Halves.boundary(bytes);
        Progress first = new Progress("count: first half read back", boundary);
        halves.read(0, boundary, first, sha::add);
        first.done();
        Progress second = new Progress("count: second half, and its words", bytes - boundary);
        long words = halves.count(properties().words(), boundary, bytes, second, sha::add);
        second.done();
        control.add(Word.WORDS, words);
        control.add(Word.COUNTED, 1);
        results.put("words.own", words);
        String read = sha.hex();
        results.put("sha256", read);
        String disk = Sha256.of(properties().file(), new Progress("count: checksum of the disk's file", bytes));
        results.compare("SHA-256 read back on %s and of the file on disk".formatted(lite.nodeName()), disk, read);
    }
}
